//! Deciding on a gate: one person's voice, and the decision once enough have spoken.

use super::{
    Choice, Decision, DecisionWord, Gate, GateEvent, GateKind, GateState, Next, OnTimeout, Risk, SelfReview, Vote,
};
use crate::{
    Commit, Digest, GateId, Name, Principal, Refusal, Role, Row, Timestamp,
    judge::{Case, RefusedWith},
    presence::PresenceClaim,
    text,
};

/// What a reviewer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Review {
    /// On which gate.
    pub gate: GateId,
    /// Which of the choices it allows.
    pub choice: Choice,
    /// Why. A rejection and an override need one.
    pub reason: String,
    /// What to do otherwise, with an adjustment.
    pub feedback: Option<String>,
    /// A text to use instead, with an adjustment.
    pub edited: Option<String>,
    /// The digest of what the reviewer saw.
    pub digest: Option<Digest>,
    /// An admin's approval or rejection without the quorum.
    pub force: bool,
    /// Who the caller says they are; it must be who they are.
    pub reviewer: Option<Name>,
}

impl Review {
    /// A review of what this gate shows.
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

/// Judges a review, and what it writes. A refused one is recorded too.
pub(super) fn judge(case: &Case<'_>, review: &Review, gate: Option<Gate>) -> Result<Commit, RefusedWith> {
    let by = case.principal("decide")?;
    // An agent that tries to decide on another's gate is refused for what it is, and that is
    // recorded: so it need not be visible.
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

/// Every rule that can refuse a review is here.
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
    // Whoever comes too late is told who won, whether or not they could have decided.
    let votes = gate.must_be_open(now)?;
    may_decide(gate, review, by)?;
    // Whoever calls the rules directly has no token: an embedding program answers for its own
    // people.
    if let Some(claim) = claim {
        // Where silence consents, a no takes no more than the token itself demands: else nobody
        // might be left to say it.
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

/// How far one choice is on a pending gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VoteTally {
    /// The choice that the votes are counted for.
    pub choice: Choice,
    /// Votes that count for it so far.
    pub counted: u32,
    /// Votes that it takes to close the gate.
    pub needed: u32,
}

impl Gate {
    /// How far each allowed choice is; empty once the gate is closed.
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

/// Whoever wants it changed does not want it as it is: rejections and adjustments count together,
/// and the last of them says which it is. Otherwise a split among those who object could leave
/// nobody to end it.
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

/// Whether somebody says no where silence consents. Nobody who decides is kept from that: not by a
/// list of reviewers, and not by content that changes faster than it can be read.
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
    /// The votes so far, if the gate can still be changed; else why not.
    pub(super) fn must_be_open(&self, now: Timestamp) -> Result<&[Vote], Refusal> {
        match &self.state {
            GateState::Closed(decision) => Err(Refusal::Decided { decision: Box::new(decision.clone()) }),
            GateState::Pending { .. } if self.deadline.has_passed(now) => {
                Err(Refusal::Overdue { gate: self.id.clone(), deadline: self.deadline })
            }
            GateState::Pending { votes } => Ok(votes),
        }
    }

    /// A decision on the content as it is now that no person voted for: by the clock, the
    /// configuration, or a withdrawal.
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
