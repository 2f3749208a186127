//! Deciding on a gate: one person's vote, and the decision once there are enough votes.

use super::{
    Choice, Decision, DecisionWord, Gate, GateEvent, GateKind, GateState, Next, OnTimeout, Risk, SelfReview, Vote,
};
use crate::{
    Commit, Digest, GateId, Name, Principal, Refusal, Role, Row, Timestamp,
    judge::{Case, RefusedWith},
    presence::PresenceClaim,
    text,
};

/// A reviewer's vote or decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    pub gate: GateId,
    /// Must be one that the gate allows.
    pub choice: Choice,
    /// Required for a rejection, and with `force`.
    pub reason: String,
    /// What to do differently, for an adjustment.
    pub feedback: Option<String>,
    /// A text to use instead, for an adjustment.
    pub edited: Option<String>,
    /// The digest of the content that the reviewer saw.
    pub digest: Option<Digest>,
    /// Approves or rejects without the quorum. Only admins may set it.
    pub force: bool,
    /// Who the caller claims to be. It must be the principal that the token names.
    pub reviewer: Option<Name>,
}

impl Review {
    /// A review of the gate's current content.
    pub fn on(gate: &Gate, choice: Choice, reason: impl Into<String>) -> Self {
        Self {
            gate: gate.id.clone(),
            choice,
            reason: reason.into(),
            feedback: None,
            edited: None,
            digest: Some(gate.digest),
            force: false,
            reviewer: None,
        }
    }
}

/// Judges a review and returns what to write. A refused review is recorded too.
pub(super) fn judge(case: &Case<'_>, review: &Review, gate: Option<Gate>) -> Result<Commit, RefusedWith> {
    let by = case.principal("decide")?;
    // The gate need not be visible to the caller: an agent that tries to decide on another's gate
    // is refused because of its role, and the attempt is recorded.
    let gate = gate.ok_or_else(|| Refusal::UnknownGate { gate: review.gate.clone() })?;
    let edited = || case.store_contents_unless_erased(review.edited.iter().map(|text| text.as_bytes().to_vec()));
    match decide(&gate, review, by, case.presence, case.now).and_then(|event| Ok((event, edited()?))) {
        Ok((event, edited)) => {
            let mut commit = gate.commit_event(case, &event);
            commit.rows.extend(edited);
            Ok(commit)
        }
        Err(refusal) => Err(refused(case, gate, review, refusal)),
    }
}

fn refused(case: &Case<'_>, mut gate: Gate, review: &Review, refusal: Refusal) -> RefusedWith {
    if !case.command.quota.records_refusals {
        return refusal.into();
    }
    let event = GateEvent::Refused {
        requested_by: gate.requested_by.clone(),
        attempted: review.choice,
        force: review.force,
        code: refusal.code().to_owned(),
        refusal: refusal.to_string(),
        unrecorded: case.command.quota.unrecorded,
    };
    gate.apply(&event).expect("a refusal changes nothing but the count");
    let events = vec![gate.fact(case, &event)];
    let rows = vec![Row::Gate(Box::new(gate))];
    RefusedWith { refusal, record: Box::new(Commit { events, rows, ..Commit::default() }) }
}

/// Applies all rules for reviews. Only content that was erased for good is refused elsewhere.
fn decide(
    gate: &Gate,
    review: &Review,
    by: &Principal,
    claim: Option<PresenceClaim>,
    now: Timestamp,
) -> Result<GateEvent, Refusal> {
    if !by.role.decides() {
        return Err(Refusal::RoleMayNot { role: by.role, verb: "decide" });
    }
    // Checked first, so that a late reviewer is told the decision even if they could not have
    // decided.
    let votes = gate.must_be_open(now)?;
    may_decide(gate, review, by)?;
    // A program that embeds Folkmoot and calls the rules directly has no token, and vouches for its
    // own users.
    if let Some(claim) = claim {
        // If a timeout approves the gate, a rejection takes no more than the token itself demands.
        // Otherwise there might be nobody left who can object.
        let objects = review.choice == Choice::Reject && gate.content.on_timeout == OnTimeout::Approve;
        claim.must_decide(gate.presence.filter(|_| !objects))?;
    }
    let presence = claim.map(PresenceClaim::presence);
    check_content(gate, review)?;
    check_words(gate, review)?;
    if votes.iter().any(|vote| vote.reviewer == by.name) && !review.force {
        return Err(Refusal::AlreadyVoted { gate: gate.id.clone() });
    }
    let vote =
        Vote { reviewer: by.name.clone(), choice: review.choice, reason: review.reason.clone(), at: now, presence };
    let mut votes: Vec<Vote> = votes.iter().filter(|earlier| earlier.reviewer != by.name).cloned().collect();
    votes.push(vote.clone());

    let tally = gate.tally(review.choice, &votes);
    if !review.force && tally.counted < tally.needed {
        return Ok(GateEvent::Vote { requested_by: gate.requested_by.clone(), vote, digest: gate.digest });
    }
    let word = word(review, gate.content.kind);
    let closed = gate.decision_without_votes((word, next(word)), by.name.clone(), review.reason.clone(), now);
    Ok(gate.closes(Decision {
        feedback: review.feedback.clone(),
        edited: review.edited.as_ref().map(|text| Digest::of(text.as_bytes())),
        presence,
        votes: if gate.content.quorum > 1 || gate.reject_quorum > 1 { votes } else { Vec::new() },
        ..closed
    }))
}

/// The votes for one choice on a pending gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VoteTally {
    pub choice: Choice,
    /// How many votes count for it so far.
    pub counted: u32,
    /// How many votes close the gate.
    pub needed: u32,
}

impl Gate {
    /// The tally of each allowed choice; empty once the gate is closed.
    pub fn tallies(&self) -> Vec<VoteTally> {
        match &self.state {
            GateState::Pending { votes } => {
                self.content.allowed.iter().map(|choice| self.tally(*choice, votes)).collect()
            }
            GateState::Closed(_) => Vec::new(),
        }
    }

    fn tally(&self, choice: Choice, votes: &[Vote]) -> VoteTally {
        let needed = match choice {
            Choice::Approve | Choice::Pause => self.content.quorum,
            Choice::Reject | Choice::Adjust => self.reject_quorum,
        };
        let counted = votes.iter().filter(|vote| is_one_side(vote.choice, choice)).count();
        VoteTally { choice, counted: u32::try_from(counted).unwrap_or(u32::MAX), needed }
    }
}

/// Whether votes for these two choices are counted together. Rejections and adjustments are,
/// because both object to the content as it is. The last such vote decides which of the two it
/// becomes. Otherwise a split among those who object could leave the gate undecided.
fn is_one_side(one: Choice, other: Choice) -> bool {
    let objects = |choice| matches!(choice, Choice::Reject | Choice::Adjust);
    one == other || objects(one) && objects(other)
}

fn may_decide(gate: &Gate, review: &Review, by: &Principal) -> Result<(), Refusal> {
    if let Some(claimed) = review.reviewer.as_ref().filter(|claimed| **claimed != by.name) {
        return Err(Refusal::NotYou { claimed: claimed.clone(), name: by.name.clone() });
    }
    if gate.requested_by == by.name {
        return Err(Refusal::OwnGate { gate: gate.id.clone() });
    }
    if gate.self_review == SelfReview::Deny && gate.initiator.as_ref() == Some(&by.name) {
        return Err(Refusal::SelfReview { gate: gate.id.clone() });
    }
    if review.force {
        return match by.role {
            Role::Admin => Ok(()),
            Role::Reviewer | Role::Agent | Role::Viewer => Err(Refusal::RoleMayNot { role: by.role, verb: "override" }),
        };
    }
    let named: &[Name] = &gate.content.reviewers;
    if !named.is_empty() && !named.contains(&by.name) && !objects(gate, review) {
        return Err(Refusal::NotAReviewer { reviewers: named.to_vec() });
    }
    Ok(())
}

/// Whether this rejects a gate that a timeout would approve. Every reviewer and admin may do that:
/// neither a list of reviewers nor content that changes faster than it can be read prevents it.
fn objects(gate: &Gate, review: &Review) -> bool {
    gate.content.on_timeout == OnTimeout::Approve && review.choice == Choice::Reject
}

fn check_content(gate: &Gate, review: &Review) -> Result<(), Refusal> {
    match review.digest {
        _ if objects(gate, review) => Ok(()),
        Some(seen) if seen != gate.digest => {
            Err(Refusal::StaleDigest { seen, current: gate.digest, revision: gate.revision })
        }
        None if gate.content.risk == Risk::Critical => {
            Err(Refusal::DigestRequired { why: "it is critical", current: gate.digest })
        }
        None if gate.revision > 1 => {
            Err(Refusal::DigestRequired { why: "it was changed since it was opened", current: gate.digest })
        }
        Some(_) | None => Ok(()),
    }
}

fn check_words(gate: &Gate, review: &Review) -> Result<(), Refusal> {
    if !gate.content.allowed.contains(&review.choice) {
        return Err(Refusal::NotAllowed { choice: review.choice, allowed: gate.content.allowed.clone() });
    }
    if review.force && !matches!(review.choice, Choice::Approve | Choice::Reject) {
        return Err(Refusal::invalid("force", "approves or rejects; leave it out to say anything else"));
    }
    if (review.force || review.choice == Choice::Reject) && review.reason.trim().is_empty() {
        return Err(Refusal::ReasonRequired { choice: review.choice });
    }
    text::check("reason", &review.reason, text::REASON_BYTES_MAX)?;
    text::check("feedback", review.feedback.as_deref().unwrap_or_default(), text::REASON_BYTES_MAX)?;
    text::check("edited", review.edited.as_deref().unwrap_or_default(), text::SUMMARY_BYTES_MAX)?;
    let filled = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.trim().is_empty());
    let says_how = filled(&review.feedback) || filled(&review.edited);
    match review.choice {
        Choice::Adjust if !says_how => Err(Refusal::FeedbackRequired),
        Choice::Approve | Choice::Reject | Choice::Pause if review.edited.is_some() => {
            Err(Refusal::invalid("edited", "goes with an adjustment; use adjust, or leave it out"))
        }
        Choice::Approve | Choice::Reject | Choice::Adjust | Choice::Pause => Ok(()),
    }
}

fn word(review: &Review, kind: GateKind) -> DecisionWord {
    match review.choice {
        Choice::Approve if review.force => DecisionWord::Override,
        Choice::Approve => DecisionWord::Approved,
        Choice::Reject => DecisionWord::Rejected,
        Choice::Pause => DecisionWord::Paused,
        Choice::Adjust => match kind {
            GateKind::Checkpoint => DecisionWord::AdjustStrategy,
            GateKind::Phase | GateKind::Proposal | GateKind::Tool | GateKind::Custom => DecisionWord::AdjustRequested,
        },
    }
}

fn next(word: DecisionWord) -> Next {
    match word {
        DecisionWord::Approved | DecisionWord::Override | DecisionWord::Paused => Next::Proceed,
        DecisionWord::Rejected | DecisionWord::TimedOut | DecisionWord::Cancelled => Next::Stop,
        DecisionWord::AdjustRequested | DecisionWord::AdjustStrategy => Next::Retry,
    }
}

impl Gate {
    /// The votes so far. Refuses if the gate is closed or its deadline has passed.
    pub(super) fn must_be_open(&self, now: Timestamp) -> Result<&[Vote], Refusal> {
        match &self.state {
            GateState::Closed(decision) => Err(Refusal::Decided { decision: Box::new(decision.clone()) }),
            GateState::Pending { .. } if self.deadline.has_passed(now) => {
                Err(Refusal::Overdue { gate: self.id.clone(), deadline: self.deadline })
            }
            GateState::Pending { votes } => Ok(votes),
        }
    }

    /// A decision on the current content without votes: by a timeout, by the configuration, or by a
    /// cancellation. `decide` adds what a reviewer said.
    pub(super) fn decision_without_votes(
        &self,
        (decision, outcome): (DecisionWord, Next),
        reviewer: Name,
        reason: String,
        now: Timestamp,
    ) -> Decision {
        Decision {
            request_id: self.id.clone(),
            decision,
            reviewer,
            reason,
            feedback: None,
            edited: None,
            decided_at: now,
            digest: self.digest,
            revision: self.revision,
            outcome,
            presence: None,
            votes: Vec::new(),
        }
    }

    pub(super) fn closes(&self, decision: Decision) -> GateEvent {
        GateEvent::Decided { requested_by: self.requested_by.clone(), decision: Box::new(decision) }
    }
}
