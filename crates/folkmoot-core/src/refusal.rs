//! Refusals: the rules forbid a command. A refusal is expected, is shown to the caller, and is
//! never logged as a fault.

use crate::{
    Deadline, DeliveryId, Digest, GateId, HaltId, Name, Presence, QuestionId, Role, RunId, SessionId, Timestamp,
    TokenId, WebhookId,
    gate::{Choice, Decision, DecisionWord},
    halt::Lift,
    journal::EntryKey,
    presence,
    question::{Closure, QuestionStatus, QuestionType},
    run::RunStatus,
};

/// Why a command was refused, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each sentence says it")]
pub enum Refusal {
    #[error("there is no gate {gate}; `folkmoot gate list` shows those you can see")]
    UnknownGate { gate: GateId },
    #[error("the gate was already decided: {} by {} at {}", .decision.decision, .decision.reviewer, .decision.decided_at)]
    Decided { decision: Box<Decision> },
    #[error("gate {gate} cannot be changed any more: its deadline has passed; open another one")]
    Overdue { gate: GateId, deadline: Deadline },
    #[error(
        "the content has changed since you saw it: it is now revision {revision} with digest {current}; read it again"
    )]
    StaleDigest { seen: Digest, current: Digest, revision: u32 },
    #[error(
        "a decision on this gate must name the digest of what was seen, because {why}; read the gate and send its `digest`"
    )]
    DigestRequired { why: &'static str, current: Digest },
    #[error("you opened gate {gate}; somebody else must decide on it")]
    OwnGate { gate: GateId },
    #[error("you started the run of gate {gate}, and its policy denies self-review; somebody else must decide on it")]
    SelfReview { gate: GateId },
    #[error("the role {role} may not {verb}; use a token of somebody who may")]
    RoleMayNot { role: Role, verb: &'static str },
    #[error(
        "{field} is {name}, who is no agent: nobody speaks in the name of somebody else who has a token; use another"
    )]
    NamesPerson { field: &'static str, name: Name },
    #[error("this takes a person, shown by {demanded}, and this request shows only a {shown}; {}", presence::advice(*.demanded))]
    PresenceRequired { demanded: Presence, shown: Presence },
    #[error("you are {name}, not {claimed}: who decides comes from the token; leave `reviewer` out")]
    NotYou { claimed: Name, name: Name },
    #[error("only {} may decide on this gate", names(.reviewers))]
    NotAReviewer { reviewers: Vec<Name> },
    #[error("this gate does not allow {choice}; it allows {}", words(.allowed))]
    NotAllowed { choice: Choice, allowed: Vec<Choice> },
    #[error("say why: {choice} needs a reason here")]
    ReasonRequired { choice: Choice },
    #[error("say what to change: an adjustment needs feedback or an edited text")]
    FeedbackRequired,
    #[error("you have already voted on this revision of gate {gate}; one person counts once")]
    AlreadyVoted { gate: GateId },
    #[error("an agent may only tighten the policy, and {field} would weaken it: the policy is {policy}")]
    WeakensPolicy { field: &'static str, policy: String },
    #[error("only {requester}, who opened this gate, may {verb} it")]
    NotRequester { requester: Name, verb: &'static str },
    #[error("the gate already waits that long; an extension must end later than the deadline that stands")]
    DeadlineNotLater { deadline: Deadline },
    #[error("your pending gate {gate} has this dedupe_key and asks something else; amend it, or use another key")]
    DedupeConflict { gate: GateId },
    #[error(
        "you have too many {what}: {limit} is the most; wait until some are closed, or cancel those that are not needed"
    )]
    TooManyOpen { what: &'static str, limit: u64 },
    #[error("there is no {entity:?}; name what a complete plan gave, as `plan/entity`")]
    UnknownEntity { entity: String },
    #[error("{field} is {given}; say {least} to {most}")]
    OutOfRange { field: &'static str, given: u32, least: u32, most: u32 },
    #[error("this Idempotency-Key was used with another request; use a new key for a new request")]
    IdempotencyMismatch,
    #[error("run {run} was started by somebody else; name a run of your own")]
    NotYourRun { run: RunId },
    #[error("{name} exists and has the role {role}; a name has one role")]
    RoleTaken { name: Name, role: Role },
    #[error("the token is unknown or was revoked; send a valid one as `Authorization: Bearer TOKEN`")]
    Unauthenticated,
    #[error("there is no token {token}; `folkmoot token list` shows those there are")]
    UnknownToken { token: TokenId },
    #[error("there is no webhook {webhook}; `folkmoot webhook list` shows those there are")]
    UnknownWebhook { webhook: WebhookId },
    #[error("a channel is already called {name}; choose another name, or change the webhook that has it")]
    ChannelTaken { name: Name },
    #[error("there is no delivery {delivery}; `folkmoot delivery list` shows those there are")]
    UnknownDelivery { delivery: DeliveryId },
    #[error("delivery {delivery} is being sent just now; look again after {until}")]
    DeliveryUnderWay { delivery: DeliveryId, until: Timestamp },
    #[error("there is no question {question}; `folkmoot questions` shows those you can see")]
    UnknownQuestion { question: QuestionId },
    #[error("question {question} was already {} by {} at {}{}", .closure.status, .closure.by, .closure.at, still_halts(.closure))]
    QuestionClosed { question: QuestionId, closure: Box<Closure> },
    #[error("question {question} cannot be answered any more: its time is over; ask again")]
    QuestionExpired { question: QuestionId },
    #[error("that answer is not offered; answer one of {}", .options.join(", "))]
    OptionNotOffered { options: Vec<String> },
    #[error("silence never answers a question of type {question_type}: leave `default` out")]
    DefaultNotAllowed { question_type: QuestionType },
    #[error("you asked question {question}; somebody else must answer it")]
    OwnQuestion { question: QuestionId },
    #[error(
        "question {question} halts work, so only a reviewer may {verb} it, not whoever asked; wait for an answer (an \
         admin who asked it may {verb} it with a `reason`)"
    )]
    HaltsAsker { question: QuestionId, verb: &'static str },
    #[error("there is no halt {halt}; `folkmoot status --waiting` shows those there are")]
    UnknownHalt { halt: HaltId },
    #[error("halt {halt} was already lifted by {} at {}", .lifting.by, .lifting.at)]
    HaltLifted { halt: HaltId, lifting: Lift },
    #[error("there is no run {run}; `folkmoot runs` shows those you can see")]
    UnknownRun { run: RunId },
    #[error("there is already a run {run}; leave the id out, or choose another")]
    RunExists { run: RunId },
    #[error("run {run} is over: {status} at {at}; what is still to be done needs a run of its own")]
    RunEnded { run: RunId, status: RunStatus, at: Timestamp },
    #[error(
        "run {run} waits, and goes on by itself when what it waits for is decided; `folkmoot show {run}` says what"
    )]
    RunWaits { run: RunId },
    #[error("run {run} waits at gate {gate}; wait for its decision")]
    GatePending { run: RunId, gate: GateId },
    #[error(
        "gate {gate} was {decision}, which stopped run {run}; open another gate and go on when it is approved, or end the run as failed \
         or cancelled"
    )]
    GateStopped { run: RunId, gate: GateId, decision: DecisionWord },
    #[error("run {run} is executed by somebody else's agent, not by Folkmoot: tell that agent to go on")]
    NotOurs { run: RunId },
    #[error("run {run} is executed by Folkmoot: only its own workflow records its steps and its end")]
    NotYours { run: RunId },
    #[error("run {run} is not ready to be worked on, or somebody else works on it")]
    NotReady { run: RunId },
    #[error("run {run} was taken over: this was claim {epoch}, and the one that counts is {current}")]
    LeaseLost { run: RunId, epoch: u64, current: u64 },
    #[error("step {key:?} of run {run} is recorded already, with another result; results never change")]
    StepRecorded { run: RunId, key: EntryKey },
    #[error(
        "this run was started by another version of its workflow: step {key:?} {differs}; use the version that started \
         it, or register the new code under a new version"
    )]
    Changed { run: RunId, key: EntryKey, differs: String },
    #[error("step {key:?} {differs}; say the same as before, or use another key for something else")]
    StepDiffers { run: RunId, key: EntryKey, differs: String },
    #[error("run {run} has {count} steps that were begun and not ended; say what became of them, or that it failed")]
    StepsOpen { run: RunId, count: u32 },
    #[error(
        "{agent} is halted in session {session} and may not begin anything now; `folkmoot clear {agent} --session \
         {session}` says by what, and waits with --wait"
    )]
    Halted { agent: Name, session: SessionId },
    #[error("run {run} has used up its {limit} {what}; start it with a higher limit")]
    LimitExceeded { run: RunId, what: &'static str, limit: u64 },
    #[error("there is no lesson {lesson}; `folkmoot debate lessons` shows those there are")]
    UnknownLesson { lesson: String },
    #[error("nothing was ever kept under {digest}; `folkmoot gate show` names the digests of a gate's artifacts")]
    UnknownContent { digest: Digest },
    #[error("{by} still needs {digest}; decide, answer, end or cancel that first")]
    ContentInUse { digest: Digest, by: String },
    #[error("{digest} was erased for good and can be shown no more; send it without what was erased")]
    ContentErased { digest: Digest },
    #[error("{field} {problem}")]
    Invalid { field: &'static str, problem: String },
}

impl Refusal {
    /// Refuses the value of one field.
    pub fn invalid(field: &'static str, problem: impl Into<String>) -> Self {
        Refusal::Invalid { field, problem: problem.into() }
    }

    /// The stable code, as docs/errors.md lists it.
    pub fn code(&self) -> &'static str {
        match self {
            Refusal::UnknownGate { .. } => "unknown_gate",
            Refusal::Decided { .. } => "gate_decided",
            Refusal::Overdue { .. } => "gate_overdue",
            Refusal::StaleDigest { .. } => "stale_digest",
            Refusal::DigestRequired { .. } => "digest_required",
            Refusal::OwnGate { .. } => "own_gate",
            Refusal::SelfReview { .. } => "self_review",
            Refusal::RoleMayNot { .. } => "role_may_not",
            Refusal::NamesPerson { .. } => "names_person",
            Refusal::PresenceRequired { .. } => "presence_required",
            Refusal::NotYou { .. } => "not_you",
            Refusal::NotAReviewer { .. } => "not_a_reviewer",
            Refusal::NotAllowed { .. } => "decision_not_allowed",
            Refusal::ReasonRequired { .. } => "reason_required",
            Refusal::FeedbackRequired => "feedback_required",
            Refusal::AlreadyVoted { .. } => "already_voted",
            Refusal::WeakensPolicy { .. } => "weakens_policy",
            Refusal::NotRequester { .. } => "not_requester",
            Refusal::DeadlineNotLater { .. } => "deadline_not_later",
            Refusal::DedupeConflict { .. } => "dedupe_conflict",
            Refusal::TooManyOpen { .. } => "too_many_open",
            Refusal::IdempotencyMismatch => "idempotency_mismatch",
            Refusal::NotYourRun { .. } => "not_your_run",
            Refusal::RoleTaken { .. } => "role_taken",
            Refusal::Unauthenticated => "unauthenticated",
            Refusal::UnknownToken { .. } => "unknown_token",
            Refusal::UnknownWebhook { .. } => "unknown_webhook",
            Refusal::ChannelTaken { .. } => "channel_taken",
            Refusal::UnknownDelivery { .. } => "unknown_delivery",
            Refusal::DeliveryUnderWay { .. } => "delivery_under_way",
            Refusal::UnknownQuestion { .. } => "unknown_question",
            Refusal::QuestionClosed { .. } => "question_closed",
            Refusal::QuestionExpired { .. } => "question_expired",
            Refusal::OptionNotOffered { .. } => "option_not_offered",
            Refusal::DefaultNotAllowed { .. } => "default_not_allowed",
            Refusal::OwnQuestion { .. } => "own_question",
            Refusal::HaltsAsker { .. } => "halts_asker",
            Refusal::UnknownHalt { .. } => "unknown_halt",
            Refusal::HaltLifted { .. } => "halt_lifted",
            Refusal::UnknownRun { .. } => "unknown_run",
            Refusal::RunExists { .. } => "run_exists",
            Refusal::RunEnded { .. } => "run_ended",
            Refusal::RunWaits { .. } => "run_waits",
            Refusal::GatePending { .. } => "gate_pending",
            Refusal::GateStopped { .. } => "gate_stopped",
            Refusal::NotOurs { .. } => "not_ours",
            Refusal::NotYours { .. } => "not_yours",
            Refusal::NotReady { .. } => "run_not_ready",
            Refusal::LeaseLost { .. } => "lease_lost",
            Refusal::StepRecorded { .. } => "step_recorded",
            Refusal::Changed { .. } => "workflow_changed",
            Refusal::StepDiffers { .. } => "step_differs",
            Refusal::StepsOpen { .. } => "steps_open",
            Refusal::Halted { .. } => "halted",
            Refusal::LimitExceeded { .. } => "limit_exceeded",
            Refusal::UnknownLesson { .. } => "unknown_lesson",
            Refusal::UnknownContent { .. } => "unknown_content",
            Refusal::ContentInUse { .. } => "content_in_use",
            Refusal::ContentErased { .. } => "content_erased",
            Refusal::UnknownEntity { .. } => "unknown_entity",
            Refusal::OutOfRange { .. } => "out_of_range",
            Refusal::Invalid { .. } => "invalid",
        }
    }
}

fn names(names: &[Name]) -> String {
    names.iter().map(Name::as_str).collect::<Vec<_>>().join(", ")
}

fn words(choices: &[Choice]) -> String {
    choices.iter().map(|choice| choice.word()).collect::<Vec<_>>().join(", ")
}

/// What to do about a denial that still halts its asker; empty for any other closure.
fn still_halts(closure: &Closure) -> &'static str {
    match closure.status == QuestionStatus::Denied && closure.fetched_at.is_none() {
        true => "; it halts its asker until that has acknowledged it, or a reviewer has (`folkmoot question cancel`)",
        false => "",
    }
}
