//! How core's types look in the OpenAPI document.

use folkmoot_core::{
    Capability, GateId, Name, Phase, Role, RunId, Scope, SessionId, Status, WorkflowName,
    clearance::Reason,
    delivery,
    gate::{Choice, DecisionWord, GateType, Kind, Mode, Next, OnTimeout, Risk, SelfReview},
    journal::{self, EntryKind, Progress},
    plan::{ApprovalStatus, ApprovalType, OnExpiry, PlanStatus},
    question::{self, Priority, QuestionType},
    run::{self, RunKind},
};
use utoipa::openapi::{
    Object, ObjectBuilder, RefOr, Schema,
    schema::{AdditionalProperties, KnownFormat, OneOfBuilder, SchemaFormat, Type},
};

macro_rules! words {
    ($($function:ident: $type:ty;)+) => {
        $(pub(super) fn $function() -> Object {
            one_of(<$type>::WORDS.iter().copied())
        })+
    };
}

words! {
    role: Role;
    status: Status;
    choice: Choice;
    decision_word: DecisionWord;
    gate_type: GateType;
    kind: Kind;
    mode: Mode;
    next: Next;
    on_timeout: OnTimeout;
    risk: Risk;
    self_review: SelfReview;
    question_type: QuestionType;
    question_status: question::Status;
    priority: Priority;
    scope: Scope;
    reason: Reason;
    capability: Capability;
    run_kind: RunKind;
    run_status: run::Status;
    run_outcome: run::Outcome;
    entry_kind: EntryKind;
    progress: Progress;
    delivery_status: delivery::Status;
    plan_status: PlanStatus;
    approval_status: ApprovalStatus;
    approval_type: ApprovalType;
    on_expiry: OnExpiry;
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
    one_of([Progress::Begun, Progress::Done, Progress::Failed].map(Progress::word))
}

/// How a run can be said to have ended. Cancelling is another verb.
pub(super) fn end_status() -> Object {
    one_of([run::Outcome::Completed, run::Outcome::Failed].map(run::Outcome::word))
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
    maybe_choices: choices;
    maybe_timeout: timeout;
    maybe_run_kind: run_kind;
    maybe_limits: limits;
    maybe_on_expiry: on_expiry;
}

fn list(items: Object) -> RefOr<Schema> {
    RefOr::T(Schema::Array(utoipa::openapi::ArrayBuilder::new().items(RefOr::T(Schema::Object(items))).build()))
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
