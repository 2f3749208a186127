//! How core's types look in the OpenAPI document.

use folkmoot_core::{
    Capability, GateId, GateStatus, Name, Phase, Presence, Role, RunId, Scope, SessionId, WorkflowName,
    agent::{AgentRole, DebatePhase, Domain, team::AGENTS_MAX},
    clearance::ReleaseReason,
    debate::{DecidedBy, NoDecision, Provenance, Style, Topology, record},
    delivery::DeliveryStatus,
    gate::{Choice, DecisionWord, GateKind, GateMode, GateType, Next, OnTimeout, Risk, SelfReview},
    journal::{self, EntryKind, EntryStatus},
    plan::{ApprovalStatus, ApprovalType, OnExpiry, PlanStatus},
    question::{Priority, QuestionStatus, QuestionType},
    run::{RunKind, RunOutcome, RunStatus},
    token::TokenKind,
    voting::{Fallback, TieBreak, VotingMethod},
};
use utoipa::{
    PartialSchema,
    openapi::{
        ArrayBuilder, Object, ObjectBuilder, RefOr, Schema,
        schema::{AdditionalProperties, KnownFormat, OneOfBuilder, SchemaFormat, Type},
    },
};

use super::NewAgent;

macro_rules! words {
    ($($function:ident: $type:ty;)+) => {
        $(pub(super) fn $function() -> Object {
            one_of(<$type>::WORDS.iter().copied())
        })+
    };
}

words! {
    role: Role;
    status: GateStatus;
    choice: Choice;
    decision_word: DecisionWord;
    gate_type: GateType;
    kind: GateKind;
    mode: GateMode;
    next: Next;
    on_timeout: OnTimeout;
    risk: Risk;
    self_review: SelfReview;
    presence: Presence;
    token_kind: TokenKind;
    question_type: QuestionType;
    question_status: QuestionStatus;
    priority: Priority;
    scope: Scope;
    reason: ReleaseReason;
    capability: Capability;
    run_kind: RunKind;
    run_status: RunStatus;
    run_outcome: RunOutcome;
    entry_kind: EntryKind;
    progress: EntryStatus;
    delivery_status: DeliveryStatus;
    plan_status: PlanStatus;
    approval_status: ApprovalStatus;
    approval_type: ApprovalType;
    on_expiry: OnExpiry;
    agent_role: AgentRole;
    debate_phase: DebatePhase;
    debate_status: record::DebateStatus;
    domain: Domain;
    provenance: Provenance;
    voting_method: VotingMethod;
    voting_fallback: Fallback;
    decided_by: DecidedBy;
    no_decision: NoDecision;
}

fn one_of(words: impl IntoIterator<Item = &'static str>) -> Object {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words)).build()
}

/// What a step that somebody else executes can be. The others are what our own workflows do.
pub(super) fn step_kind() -> RefOr<Schema> {
    or_null(one_of([EntryKind::Step, EntryKind::Once].map(EntryKind::word)))
}

/// What can be said of such a step.
pub(super) fn step_state() -> Object {
    one_of([EntryStatus::Begun, EntryStatus::Done, EntryStatus::Failed].map(EntryStatus::word))
}

/// How a run can be said to have ended. Cancelling is another verb.
pub(super) fn end_status() -> Object {
    one_of([RunOutcome::Completed, RunOutcome::Failed].map(RunOutcome::word))
}

/// As what a plan is exported.
pub(super) fn export_format() -> Object {
    one_of(["markdown", "html"])
}

/// What can be asked of a timeout. Only our own runs can be tried again.
pub(super) fn asked_on_timeout() -> RefOr<Schema> {
    or_null(one_of(OnTimeout::ALL.iter().filter(|word| **word != OnTimeout::Retry).map(|word| word.word())))
}

macro_rules! ids {
    ($($function:ident, $maybe:ident: $type:ty;)+) => {
        $(pub(super) fn $function() -> Object {
            text(folkmoot_core::id::PATTERN, <$type>::BYTES_MAX)
        }

        pub(super) fn $maybe() -> RefOr<Schema> {
            or_null($function())
        })+
    };
}

ids! {
    name, maybe_name: Name;
    run_id, maybe_run_id: RunId;
    session_id, maybe_session_id: SessionId;
    phase, maybe_phase: Phase;
}

fn text(pattern: &str, chars_max: usize) -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(pattern))
        .min_length(Some(1))
        .max_length(Some(chars_max))
        .build()
}

pub(super) fn gate_ids() -> RefOr<Schema> {
    list(text(folkmoot_core::id::PATTERN, GateId::BYTES_MAX))
}

pub(super) fn maybe_names() -> RefOr<Schema> {
    or_null(list(name()))
}

pub(super) fn maybe_digest() -> RefOr<Schema> {
    or_null(text("^sha256:[0-9a-f]{64}$", "sha256:".len() + 64))
}

pub(super) fn maybe_workflow() -> RefOr<Schema> {
    or_null(text("^[a-z0-9_-]+@[1-9][0-9]{0,8}$", WorkflowName::BYTES_MAX))
}

/// No control character, and no space at its ends.
pub(super) fn step_key() -> Object {
    let pattern = r"^[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?$";
    text(pattern, journal::KEY_BYTES_MAX)
}

pub(super) fn limits() -> Object {
    let whole = |format| {
        let format = Some(SchemaFormat::KnownFormat(format));
        ObjectBuilder::new().schema_type(Type::Integer).format(format).minimum(Some(0)).build()
    };
    ObjectBuilder::new()
        .property("steps_max", whole(KnownFormat::Int32))
        .property("journal_bytes_max", whole(KnownFormat::Int64))
        .property("active_ms_max", whole(KnownFormat::Int64))
        .additional_properties(Some(AdditionalProperties::FreeForm(false)))
        .build()
}

fn or_null(schema: impl Into<RefOr<Schema>>) -> RefOr<Schema> {
    let null = ObjectBuilder::new().schema_type(Type::Null).build();
    RefOr::T(Schema::OneOf(OneOfBuilder::new().item(Schema::Object(null)).item(schema).build()))
}

macro_rules! maybe {
    ($($maybe:ident: $function:ident;)+) => {
        $(pub(super) fn $maybe() -> RefOr<Schema> {
            or_null($function())
        })+
    };
}

maybe! {
    maybe_kind: kind;
    maybe_risk: risk;
    maybe_next: next;
    maybe_scope: scope;
    maybe_priority: priority;
    maybe_question_type: question_type;
    maybe_self_review: self_review;
    maybe_presence: presence;
    maybe_choices: choices;
    maybe_timeout: timeout;
    maybe_run_kind: run_kind;
    maybe_limits: limits;
    maybe_on_expiry: on_expiry;
    maybe_on_timeout: on_timeout;
    maybe_domain: domain;
    maybe_debate_phase: debate_phase;
    maybe_topology: topology;
    maybe_planning: planning;
    maybe_voting: voting;
    maybe_voting_method: voting_method;
    maybe_voting_fallback: voting_fallback;
    maybe_tie_break: tie_break;
    maybe_decided_by: decided_by;
    maybe_no_decision: no_decision;
    maybe_share: share;
    maybe_score: score;
    maybe_agents: agents;
}

fn topology() -> Object {
    one_of(["auto"].into_iter().chain(Topology::WORDS.iter().copied()))
}

fn planning() -> Object {
    one_of(["auto"].into_iter().chain(Style::WORDS.iter().copied()))
}

fn voting() -> Object {
    one_of(["auto"].into_iter().chain(VotingMethod::WORDS.iter().copied()))
}

fn tie_break() -> Object {
    one_of(["none"].into_iter().chain(TieBreak::WORDS.iter().copied()))
}

fn share() -> Object {
    steps(1.0, 0.01)
}

fn score() -> Object {
    steps(10.0, 0.1)
}

/// A number from 0 to `most` that has no more digits than `step`.
fn steps(most: f64, step: f64) -> Object {
    ObjectBuilder::new()
        .schema_type(Type::Number)
        .minimum(Some(0.0))
        .maximum(Some(most))
        .multiple_of(Some(step))
        .build()
}

/// A number of agents, or a list of them.
fn agents() -> RefOr<Schema> {
    let most = i64::try_from(AGENTS_MAX).unwrap_or(i64::MAX);
    let count = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1)).maximum(Some(most)).build();
    let listed = ArrayBuilder::new().items(NewAgent::schema()).min_items(Some(1)).max_items(Some(AGENTS_MAX)).build();
    RefOr::T(Schema::OneOf(OneOfBuilder::new().item(Schema::Object(count)).item(Schema::Array(listed)).build()))
}

/// `true`, `false` or `"auto"` for each phase that is named.
pub(super) fn phases() -> Object {
    let switch = || {
        let set = ObjectBuilder::new().schema_type(Type::Boolean).build();
        Schema::OneOf(OneOfBuilder::new().item(Schema::Object(set)).item(Schema::Object(one_of(["auto"]))).build())
    };
    let object = DebatePhase::WORDS.iter().fold(ObjectBuilder::new(), |object, word| object.property(*word, switch()));
    object.additional_properties(Some(AdditionalProperties::FreeForm(false))).build()
}

pub(super) fn gate_points() -> RefOr<Schema> {
    list(debate_phase())
}

fn list(items: Object) -> RefOr<Schema> {
    RefOr::T(Schema::Array(ArrayBuilder::new().items(RefOr::T(Schema::Object(items))).build()))
}

pub(super) fn capabilities() -> RefOr<Schema> {
    list(capability())
}

pub(super) fn choices() -> RefOr<Schema> {
    list(choice())
}

/// Milliseconds, or `"never"`.
pub(super) fn timeout() -> RefOr<Schema> {
    let millis = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
        .minimum(Some(1))
        .maximum(Some(i64::MAX - 1))
        .build();
    let never = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["never"])).build();
    RefOr::T(Schema::OneOf(OneOfBuilder::new().item(Schema::Object(millis)).item(Schema::Object(never)).build()))
}
