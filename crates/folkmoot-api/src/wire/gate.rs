//! Gates on the wire.

use folkmoot_core::{
    Deadline, Digest, GateId, GateStatus, Name, Phase, Presence, Refusal, RunId, SessionId, Timeout, Timestamp,
    gate::{self, Choice, DecisionWord, GateKind, GateMode, GateState, GateType, Next, OnTimeout, Risk, SelfReview},
    principal,
};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use super::{object, schema};

/// Opens a gate. Only `summary` is required.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"summary": "Deploy 1.4.2 to production", "risk": "high", "timeout_ms": 1_800_000, "dedupe_key": "deploy-1.4.2"}))]
pub struct OpenGate {
    /// One line; by default the first line of the summary.
    pub title: Option<String>,
    /// What is to be decided.
    pub summary: String,
    /// The part of the run that the gate belongs to.
    pub phase: Option<Phase>,
    /// The run that waits at the gate. If no run has this id, it is started as your run.
    pub run_id: Option<RunId>,
    pub session_id: Option<SessionId>,
    /// The kind of request; default `custom`.
    pub kind: Option<GateKind>,
    /// How much is at stake; default `medium`.
    pub risk: Option<Risk>,
    /// The content that reviewers see.
    #[serde(default, deserialize_with = "object::list", skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<NewArtifact>,
    /// How long the gate waits for a decision; by default as the server's policy says.
    pub timeout_ms: Option<Timeout>,
    /// What a timeout does; by default as the server's policy says.
    #[schema(schema_with = schema::asked_on_timeout)]
    pub on_timeout: Option<OnTimeout>,
    /// What reviewers can decide; by default `approve` and `reject`.
    pub allowed: Option<Vec<Choice>>,
    /// Who may decide; by default as the server's policy says, which is any reviewer unless it
    /// names some.
    pub reviewers: Option<Vec<Name>>,
    /// The number of approvals that it takes.
    pub quorum: Option<u32>,
    /// The number of rejections or adjustments that it takes to close the gate; by default as the
    /// server's policy says, which is 1 unless it is configured.
    pub reject_quorum: Option<u32>,
    /// Whether the principal that started the run may decide.
    pub self_review: Option<SelfReview>,
    /// Prevents duplicates: while your gate with this key is pending, opening it again returns that
    /// gate. A different request with the same key is refused.
    pub dedupe_key: Option<String>,
    /// The channels that are notified: names of webhooks or of configured channels. At most 16,
    /// including those of the policy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notification_channels: Vec<String>,
    /// The agent for which you open the gate.
    pub on_behalf_of: Option<Name>,
}

/// Content that a gate shows to reviewers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewArtifact {
    /// A name of your choice.
    pub name: String,
    /// For example `text/x-diff`.
    pub media_type: String,
    pub content: String,
}

/// Changes the content of a pending gate. Fields that are left out stay as they are.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"summary": "Deploy 1.4.3 to production"}))]
pub struct Amend {
    pub title: Option<String>,
    pub summary: Option<String>,
    /// A higher risk; it cannot be lowered.
    pub risk: Option<Risk>,
    /// New artifacts, which replace all existing ones.
    #[serde(default, deserialize_with = "object::maybe_list")]
    pub artifacts: Option<Vec<NewArtifact>>,
}

/// The body of a decision whose choice is in the path.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// Required for a rejection and with `force`.
    pub reason: Option<String>,
    /// For an adjustment: what should change.
    pub feedback: Option<String>,
    /// For an adjustment: a text to use instead.
    pub edited: Option<String>,
    /// The digest of the content that you saw. If the content has changed since, the decision is
    /// refused.
    pub digest: Option<Digest>,
    /// Approves or rejects without the quorum. For admins only; needs a reason.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// Must be your own name, if it is given: the token says who decides.
    pub reviewer: Option<Name>,
    /// The gate that you decide on, if the path names only its debate. If the path names a gate,
    /// this must be the same one.
    pub request_id: Option<GateId>,
}

/// A decision whose choice is in the body.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"decision": "approve", "reason": "the tests pass"}))]
pub struct Decide {
    pub decision: Choice,
    /// Required for a rejection and with `force`.
    pub reason: Option<String>,
    /// For an adjustment: what should change.
    pub feedback: Option<String>,
    /// For an adjustment: a text to use instead.
    pub edited: Option<String>,
    /// The digest of the content that you saw. If the content has changed since, the decision is
    /// refused.
    pub digest: Option<Digest>,
    /// Approves or rejects without the quorum. For admins only; needs a reason.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// Must be your own name, if it is given: the token says who decides.
    pub reviewer: Option<Name>,
}

impl Decide {
    /// The choice, and the rest of the body.
    pub fn split(self) -> (Choice, Verdict) {
        let Decide { decision, reason, feedback, edited, digest, force, reviewer } = self;
        (decision, Verdict { reason, feedback, edited, digest, force, reviewer, request_id: None })
    }
}

impl Verdict {
    /// The review of this gate. A body that names another gate is refused.
    pub fn on(self, gate: GateId, choice: Choice) -> Result<gate::Review, Refusal> {
        let Verdict { reason, feedback, edited, digest, force, reviewer, request_id } = self;
        if request_id.is_some_and(|meant| meant != gate) {
            return Err(Refusal::invalid("request_id", "is another gate than the path's; leave it out"));
        }
        let reason = reason.unwrap_or_default();
        Ok(gate::Review { gate, choice, reason, feedback, edited, digest, force, reviewer })
    }
}

/// Gives a pending gate more time.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"timeout_ms": 172_800_000}))]
pub struct Extend {
    /// The time from now to the new deadline, which must be later than the present one.
    pub timeout_ms: Timeout,
}

/// Cancels a gate.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"reason": "not needed any more"}))]
pub struct Cancel {
    pub reason: Option<String>,
}

/// Which gates to list. Pending gates are sorted by risk, deadline and age, others newest first.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GateListParams {
    /// Only gates with this status.
    pub status: Option<GateStatus>,
    /// Only gates of this run.
    pub run: Option<RunId>,
    /// Only gates of this session.
    pub session: Option<SessionId>,
    /// Only gates that this principal opened, or a workflow in a run that it started.
    /// `workflow:NAME` means the gates of that workflow in all runs.
    pub requested_by: Option<Name>,
    /// Lists pending gates of all requesters in turn: first the most urgent one of each, then the
    /// second of each. Gates of a workflow count as those of whoever started the run. It allows no
    /// other filter, and there is no next page.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interleaved: bool,
    /// Cuts each text after about 400 bytes, so that the list is short however long the texts are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub brief: bool,
    /// `next` of the previous page.
    pub cursor: Option<String>,
    /// The maximum number of gates; default 50.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}

/// How long a wait may last.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct WaitFor {
    /// The longest wait, at most 60,000; default 30,000. When it is over, the response shows the
    /// present state.
    pub timeout_ms: Option<u64>,
}

/// Waits for many gates on one connection.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WaitMany {
    /// At most 10,000 gates.
    pub ids: Vec<GateId>,
    /// Whether to respond only when all gates are decided; by default the first decision is enough.
    /// A stream ignores it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// The longest wait, at most 60,000; default 30,000. A stream ignores it and lasts until all
    /// gates are decided.
    pub timeout_ms: Option<u64>,
}

/// The result of a wait for many gates.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Waited {
    /// The gates that are decided.
    pub decided: Vec<Gate>,
    /// The gates that are still pending.
    pub pending: Vec<GateId>,
}

/// A page of gates.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct GateList {
    /// Without the artifacts' content.
    pub gates: Vec<Gate>,
    /// The `cursor` of the next page; `null` at the end.
    pub next: Option<String>,
}

/// A gate: a request for a decision, which its run cannot pass until it is decided.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Gate {
    pub id: GateId,
    pub status: GateStatus,
    /// The run that waits at the gate.
    pub run_id: Option<RunId>,
    pub session_id: Option<SessionId>,
    pub title: String,
    /// What is to be decided; `null` if it was erased.
    pub summary: Option<String>,
    /// The part of the run that the gate belongs to.
    pub phase: Phase,
    /// The kind of request.
    pub kind: GateKind,
    /// Whether people or the configuration decide.
    #[serde(rename = "type")]
    pub gate_type: GateType,
    /// Whether the gate blocks its run.
    pub mode: GateMode,
    /// How much is at stake.
    pub risk: Risk,
    /// The content that reviewers see.
    pub artifacts: Vec<Artifact>,
    /// Why the gate was opened: the rule that required it, or who asked for it.
    pub why: String,
    /// The principal that opened the gate; `workflow:NAME` if a workflow did in a run.
    pub requested_by: Name,
    /// The principal that started the run; absent if the gate has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initiator: Option<Name>,
    /// The agent for which the principal opened it.
    pub on_behalf_of: Option<Name>,
    /// When the gate was opened.
    pub requested_at: Timestamp,
    /// How long the gate waits for a decision.
    pub timeout_ms: Timeout,
    /// From this moment on nobody can decide; `null` if the gate waits forever.
    pub deadline: Deadline,
    pub on_timeout: OnTimeout,
    /// Whether the gate passed its deadline once, was escalated, and now waits for the last time.
    pub escalated: bool,
    /// What reviewers can decide.
    pub allowed: Vec<Choice>,
    /// Who may decide; empty if any reviewer may.
    pub reviewers: Vec<Name>,
    /// The number of approvals that it takes.
    pub quorum: u32,
    /// The number of rejections or adjustments that it takes to close the gate.
    pub reject_quorum: u32,
    /// Whether the principal that started the run may decide.
    pub self_review: SelfReview,
    /// The requester's key that prevents duplicates.
    pub dedupe_key: Option<String>,
    /// The channels that are notified.
    pub notification_channels: Vec<String>,
    /// How a request must show that a person decides; absent if the configuration demands nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence: Option<Presence>,
    /// The number of the present content, from 1. Each change of the content raises it.
    pub revision: u32,
    /// The digest of the present content. Send it with your decision.
    pub digest: Digest,
    /// While the gate is pending: the votes so far.
    pub votes: Vec<Vote>,
    /// While the gate is pending: how many votes each allowed choice has and needs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tallies: Vec<VoteTally>,
    /// `null` while the gate is pending.
    pub decision: Option<Decision>,
    /// What follows for the run; `null` while the gate is pending.
    pub outcome: Option<Next>,
}

/// Content that a gate shows to reviewers.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Artifact {
    pub name: String,
    pub media_type: String,
    /// The digest of the content.
    pub digest: Digest,
    /// The length of the content in bytes.
    pub bytes: u64,
    /// Absent in lists, and if it was erased.
    pub content: Option<String>,
}

/// The votes for one choice on a pending gate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VoteTally {
    /// The choice that the votes are counted for.
    pub choice: Choice,
    /// The number of votes for it so far. Rejections and adjustments count together.
    pub counted: u32,
    /// The number of votes that close the gate.
    pub needed: u32,
}

impl From<gate::VoteTally> for VoteTally {
    fn from(tally: gate::VoteTally) -> Self {
        let gate::VoteTally { choice, counted, needed } = tally;
        Self { choice, counted, needed }
    }
}

/// The vote of one reviewer.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Vote {
    pub reviewer: Name,
    pub choice: Choice,
    pub reason: String,
    pub at: Timestamp,
    /// How the request showed that a person sent it.
    pub presence: Option<Presence>,
}

/// What was decided, by whom, when, why, and about exactly which content.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Decision {
    pub request_id: GateId,
    pub decision: DecisionWord,
    /// The principal that decided; `timeout` if the deadline passed.
    pub reviewer: Name,
    pub reason: String,
    /// What should change, after an adjustment.
    pub feedback: Option<String>,
    /// The reviewer's replacement text, after an adjustment.
    pub edited: Option<String>,
    pub decided_at: Timestamp,
    /// The digest of the content that was decided on.
    pub digest: Digest,
    /// The revision of that content.
    pub revision: u32,
    /// How the request showed that a person decided; absent if no person did.
    pub presence: Option<Presence>,
    /// Every vote, if it took more than one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub votes: Vec<Vote>,
}

impl Gate {
    /// The digest of what this gate shows, computed here. It differs from `digest` if somebody
    /// between the server and the client changed the content. `None` if the summary was erased,
    /// because then nothing can be compared.
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

    /// Who really asks: whoever started the run if its workflow opened the gate, and otherwise the
    /// principal that opened it.
    pub fn asker(&self) -> &Name {
        principal::asker(&self.requested_by, self.initiator.as_ref())
    }

    /// A gate without the content of its artifacts, which is stored separately.
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
            initiator: gate.initiator,
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

/// Leaves out the edited text, because core holds only its digest.
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
