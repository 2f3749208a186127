//! Gates on the wire.

use folkmoot_core::{
    Deadline, Digest, GateId, GateStatus, Name, Phase, Presence, Refusal, RunId, SessionId, Timeout, Timestamp,
    gate::{self, Choice, DecisionWord, GateKind, GateMode, GateState, GateType, Next, OnTimeout, Risk, SelfReview},
};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use super::{object, schema};

/// Opens a gate. Only `summary` is needed.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"summary": "Deploy 1.4.2 to production", "risk": "high", "timeout_ms": 1_800_000, "dedupe_key": "deploy-1.4.2"}))]
pub struct OpenGate {
    /// One line; the first line of the summary unless it is given.
    pub title: Option<String>,
    /// What is to be decided, in words.
    pub summary: String,
    /// Where in the run it stands.
    pub phase: Option<Phase>,
    /// The run that cannot pass. An unknown one is started, as yours.
    pub run_id: Option<RunId>,
    /// The session it belongs to.
    pub session_id: Option<SessionId>,
    /// What sort of request; `custom` unless it is given.
    pub kind: Option<GateKind>,
    /// What is at stake; `medium` unless it is given.
    pub risk: Option<Risk>,
    /// What the reviewer can look at.
    #[serde(default, deserialize_with = "object::list", skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<NewArtifact>,
    /// How long it waits.
    pub timeout_ms: Option<Timeout>,
    /// What a timeout does.
    #[schema(schema_with = schema::asked_on_timeout)]
    pub on_timeout: Option<OnTimeout>,
    /// What the reviewer can say.
    pub allowed: Option<Vec<Choice>>,
    /// Who may decide; anybody with the role unless it is given.
    pub reviewers: Option<Vec<Name>>,
    /// Approvals needed.
    pub quorum: Option<u32>,
    /// Rejections needed to end it; 1 unless it is given.
    pub reject_quorum: Option<u32>,
    /// Whether whoever started the run may decide.
    pub self_review: Option<SelfReview>,
    /// "Ask once": while your gate with this key is pending, opening it again returns it. Another
    /// request with the key is refused.
    pub dedupe_key: Option<String>,
    /// Whom to tell, beside the feed: names of webhooks or of configured channels. At most 16, with
    /// those that the policy names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notification_channels: Vec<String>,
    /// The agent that you speak for.
    pub on_behalf_of: Option<Name>,
}

/// Content that comes with a gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewArtifact {
    /// As you call it.
    pub name: String,
    /// What it is, for example `text/x-diff`.
    pub media_type: String,
    pub content: String,
}

/// Changes what a gate asks. What is left out stays.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"summary": "Deploy 1.4.3 to production"}))]
pub struct Amend {
    /// A new title.
    pub title: Option<String>,
    /// A new summary.
    pub summary: Option<String>,
    /// A higher risk.
    pub risk: Option<Risk>,
    /// New artifacts, instead of all the old ones.
    #[serde(default, deserialize_with = "object::maybe_list")]
    pub artifacts: Option<Vec<NewArtifact>>,
}

/// What goes with a decision whose word is in the path.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// Why. A rejection and an override need one.
    pub reason: Option<String>,
    /// What to do otherwise, with an adjustment.
    pub feedback: Option<String>,
    /// A text to use instead, with an adjustment.
    pub edited: Option<String>,
    /// The digest of what you saw. A gate whose content has changed since refuses the decision.
    pub digest: Option<Digest>,
    /// An admin's approval or rejection without the quorum; it needs a reason.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// Must be your own name, if it is given: who decides comes from the credential.
    pub reviewer: Option<Name>,
    /// The gate that you mean, where the path names only its debate. Where the path names a gate,
    /// it must be that one.
    pub request_id: Option<GateId>,
}

/// A decision whose word is in the body.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"decision": "approve", "reason": "the tests pass"}))]
pub struct Decide {
    /// What you say.
    pub decision: Choice,
    /// Why. A rejection and an override need one.
    pub reason: Option<String>,
    /// What to do otherwise, with an adjustment.
    pub feedback: Option<String>,
    /// A text to use instead, with an adjustment.
    pub edited: Option<String>,
    /// The digest of what you saw.
    pub digest: Option<Digest>,
    /// An admin's approval without the quorum; it needs a reason.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// Must be your own name, if it is given.
    pub reviewer: Option<Name>,
}

impl Decide {
    /// The word, and what goes with it.
    pub fn split(self) -> (Choice, Verdict) {
        let Decide { decision, reason, feedback, edited, digest, force, reviewer } = self;
        (decision, Verdict { reason, feedback, edited, digest, force, reviewer, request_id: None })
    }
}

impl Verdict {
    /// What is said, on this gate. A body that names another one is refused.
    pub fn on(self, gate: GateId, choice: Choice) -> Result<gate::Review, Refusal> {
        let Verdict { reason, feedback, edited, digest, force, reviewer, request_id } = self;
        if request_id.is_some_and(|meant| meant != gate) {
            return Err(Refusal::invalid("request_id", "is another gate than the path's; leave it out"));
        }
        let reason = reason.unwrap_or_default();
        Ok(gate::Review { gate, choice, reason, feedback, edited, digest, force, reviewer })
    }
}

/// Gives a gate more time, counted from now.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"timeout_ms": 172_800_000}))]
pub struct Extend {
    /// From now on; it must end later than the deadline that stands.
    pub timeout_ms: Timeout,
}

/// Withdraws a gate.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"reason": "not needed any more"}))]
pub struct Cancel {
    pub reason: Option<String>,
}

/// Which gates to list. Pending ones come by risk, deadline and age, others newest first.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GateListParams {
    /// Only these.
    pub status: Option<GateStatus>,
    /// Only of this run.
    pub run: Option<RunId>,
    /// Only of this session.
    pub session: Option<SessionId>,
    /// Only those that this principal opened.
    pub requested_by: Option<Name>,
    /// Pending gates of all requesters in turn: the most urgent one of each, then the second of
    /// each. Without other filters, and without a next page.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interleaved: bool,
    /// `next` of the page before.
    pub cursor: Option<String>,
    /// At most so many, up to 500; 50 unless it is given.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}

/// How long a wait may last.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WaitFor {
    /// At most so long, up to 60,000; 30,000 unless it is given. Then what was waited for comes
    /// back as it is.
    pub timeout_ms: Option<u64>,
}

/// Waits for many gates on one connection.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitMany {
    /// Up to 10,000 of them.
    pub ids: Vec<GateId>,
    /// Whether to answer only when all are decided; the first is enough unless it is given. A
    /// stream ignores it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// At most so long, up to 60,000; 30,000 unless it is given. A stream lasts until all are
    /// decided.
    pub timeout_ms: Option<u64>,
}

/// What a wait for many gates came to.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Waited {
    /// Those that are decided.
    pub decided: Vec<Gate>,
    /// Those that are not.
    pub pending: Vec<GateId>,
}

/// A page of gates.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct GateList {
    /// In order, without the artifacts' content.
    pub gates: Vec<Gate>,
    /// `cursor` of the next page; null at the end.
    pub next: Option<String>,
}

/// A gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Gate {
    /// Unique across everything.
    pub id: GateId,
    /// Where it is in its life.
    pub status: GateStatus,
    /// The run that cannot pass.
    pub run_id: Option<RunId>,
    /// The session it belongs to.
    pub session_id: Option<SessionId>,
    /// One line.
    pub title: String,
    /// What is to be decided; null where it was erased.
    pub summary: Option<String>,
    /// Where in the run it stands.
    pub phase: Phase,
    /// What sort of request.
    pub kind: GateKind,
    /// How it is decided.
    #[serde(rename = "type")]
    pub gate_type: GateType,
    /// Whether it blocks.
    pub mode: GateMode,
    /// What is at stake.
    pub risk: Risk,
    /// What the reviewer can look at.
    pub artifacts: Vec<Artifact>,
    /// The rule that made it stand here.
    pub why: String,
    /// The principal that opened it.
    pub requested_by: Name,
    /// The agent that the principal spoke for.
    pub on_behalf_of: Option<Name>,
    /// When it was opened.
    pub requested_at: Timestamp,
    /// How long it waits.
    pub timeout_ms: Timeout,
    /// The first moment too late; null where there is none.
    pub deadline: Deadline,
    /// What a timeout does.
    pub on_timeout: OnTimeout,
    /// Whether admins were told and it waits for the last time.
    pub escalated: bool,
    /// What the reviewer can say.
    pub allowed: Vec<Choice>,
    /// Who may decide; empty means any reviewer.
    pub reviewers: Vec<Name>,
    /// Approvals needed.
    pub quorum: u32,
    /// Rejections needed to end it.
    pub reject_quorum: u32,
    /// Whether whoever started the run may decide.
    pub self_review: SelfReview,
    /// What the requester calls it.
    pub dedupe_key: Option<String>,
    /// Whom to tell, beside the feed.
    pub notification_channels: Vec<String>,
    /// How a person must show that they decide, where the configuration demands something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence: Option<Presence>,
    /// Counts the contents it has had.
    pub revision: u32,
    /// Of the content; name it when you decide.
    pub digest: Digest,
    /// The voices so far, while it is pending.
    pub votes: Vec<Vote>,
    /// How many votes each allowed choice has and needs, while it is pending.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tallies: Vec<VoteTally>,
    /// What was decided; null while it is pending.
    pub decision: Option<Decision>,
    /// What follows for the run; null while it is pending.
    pub outcome: Option<Next>,
}

/// What the reviewer can look at.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Artifact {
    /// As the requester calls it.
    pub name: String,
    pub media_type: String,
    /// Of the content.
    pub digest: Digest,
    /// How long it is.
    pub bytes: u64,
    /// The text; not in lists, and null where it was erased.
    pub content: Option<String>,
}

/// How far one choice is on a pending gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VoteTally {
    /// The choice that the votes are counted for.
    pub choice: Choice,
    /// Votes that count for it so far; rejections and adjustments count together.
    pub counted: u32,
    /// Votes that it takes to close the gate.
    pub needed: u32,
}

impl From<gate::VoteTally> for VoteTally {
    fn from(tally: gate::VoteTally) -> Self {
        let gate::VoteTally { choice, counted, needed } = tally;
        Self { choice, counted, needed }
    }
}

/// One person's voice.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Vote {
    pub reviewer: Name,
    pub choice: Choice,
    pub reason: String,
    pub at: Timestamp,
    /// How it was shown that a person said it.
    pub presence: Option<Presence>,
}

/// What was decided, by whom, when, why, and about exactly which content.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Decision {
    pub request_id: GateId,
    /// The word.
    pub decision: DecisionWord,
    /// Who; `timeout` where it was the clock.
    pub reviewer: Name,
    pub reason: String,
    /// What to do otherwise.
    pub feedback: Option<String>,
    /// The text that the reviewer wrote instead.
    pub edited: Option<String>,
    pub decided_at: Timestamp,
    /// The content it was made on.
    pub digest: Digest,
    /// That content's revision.
    pub revision: u32,
    /// How it was shown that a person decided; nothing where none did.
    pub presence: Option<Presence>,
    /// Every vote that counted, where there was a quorum.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub votes: Vec<Vote>,
}

impl Gate {
    /// The digest of what this shows, computed here. It differs from `digest` where somebody
    /// between the server and us changed what is shown. `None` where the summary was erased, so
    /// that nothing can be compared.
    pub fn shown_digest(&self) -> Option<Digest> {
        let summary = self.summary.as_deref()?;
        let artifact = |artifact: &Artifact| gate::ArtifactRef {
            name: artifact.name.clone(),
            media_type: artifact.media_type.clone(),
            digest: artifact.content.as_ref().map_or(artifact.digest, |content| Digest::of(content.as_bytes())),
            bytes: artifact.bytes,
        };
        let content = gate::Content {
            title: self.title.clone(),
            summary: Digest::of(summary.as_bytes()),
            phase: self.phase.clone(),
            kind: self.kind,
            risk: self.risk,
            artifacts: self.artifacts.iter().map(artifact).collect(),
            allowed: self.allowed.clone(),
            on_timeout: self.on_timeout,
            reviewers: self.reviewers.clone(),
            quorum: self.quorum,
        };
        Some(content.digest(summary))
    }

    /// A gate without the content that is kept elsewhere.
    pub fn new(gate: gate::Gate, summary: Option<String>) -> Self {
        let status = gate.status();
        let tallies = gate.tallies().into_iter().map(VoteTally::from).collect();
        let (votes, decision) = match gate.state {
            GateState::Pending { votes } => (votes, None),
            GateState::Closed(decision) => (Vec::new(), Some(decision)),
        };
        let content = gate.content;
        Self {
            id: gate.id,
            status,
            run_id: gate.run_id,
            session_id: gate.session_id,
            title: content.title,
            summary,
            phase: content.phase,
            kind: content.kind,
            gate_type: gate.gate_type,
            mode: gate.mode,
            risk: content.risk,
            artifacts: content.artifacts.into_iter().map(Artifact::from).collect(),
            why: gate.why,
            requested_by: gate.requested_by,
            on_behalf_of: gate.on_behalf_of,
            requested_at: gate.requested_at,
            timeout_ms: gate.timeout,
            deadline: gate.deadline,
            on_timeout: content.on_timeout,
            escalated: gate.escalated,
            allowed: content.allowed,
            reviewers: content.reviewers,
            quorum: content.quorum,
            reject_quorum: gate.reject_quorum,
            self_review: gate.self_review,
            dedupe_key: gate.dedupe_key,
            notification_channels: gate.notification_channels,
            presence: gate.presence,
            revision: gate.revision,
            digest: gate.digest,
            votes: votes.into_iter().map(Vote::from).collect(),
            tallies,
            outcome: decision.as_ref().map(|decision| decision.outcome),
            decision: decision.map(Decision::from),
        }
    }
}

impl From<gate::ArtifactRef> for Artifact {
    fn from(artifact: gate::ArtifactRef) -> Self {
        let gate::ArtifactRef { name, media_type, digest, bytes } = artifact;
        Self { name, media_type, digest, bytes, content: None }
    }
}

impl From<gate::Vote> for Vote {
    fn from(vote: gate::Vote) -> Self {
        let gate::Vote { reviewer, choice, reason, at, presence } = vote;
        Self { reviewer, choice, reason, at, presence }
    }
}

/// Without the edited text, of which core has only the digest.
impl From<gate::Decision> for Decision {
    fn from(decision: gate::Decision) -> Self {
        Self {
            request_id: decision.request_id,
            decision: decision.decision,
            reviewer: decision.reviewer,
            reason: decision.reason,
            feedback: decision.feedback,
            edited: None,
            decided_at: decision.decided_at,
            digest: decision.digest,
            revision: decision.revision,
            presence: decision.presence,
            votes: decision.votes.into_iter().map(Vote::from).collect(),
        }
    }
}
