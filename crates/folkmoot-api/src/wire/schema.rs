//! How core's types look in the OpenAPI document.

use folkmoot_core::{
    Capability, Role, Scope, Status,
    clearance::Reason,
    delivery,
    gate::{Choice, DecisionWord, GateType, Kind, Mode, Next, OnTimeout, Risk, SelfReview},
    journal::{EntryKind, Progress},
    question::{self, Priority, QuestionType},
    run::{self, RunKind},
};
use utoipa::openapi::{
    Object, ObjectBuilder, RefOr, Schema,
    schema::{KnownFormat, OneOfBuilder, SchemaFormat, Type},
};

macro_rules! words {
    ($($function:ident: $type:ty;)+) => {
        $(pub(super) fn $function() -> Object {
            ObjectBuilder::new().schema_type(Type::String).enum_values(Some(<$type>::WORDS.iter().copied())).build()
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
}

pub(super) fn limits() -> Object {
    let whole = || ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(0)).build();
    ObjectBuilder::new()
        .property("steps_max", whole())
        .property("journal_bytes_max", whole())
        .property("active_ms_max", whole())
        .build()
}

fn or_null(words: Object) -> RefOr<Schema> {
    let null = ObjectBuilder::new().schema_type(Type::Null).build();
    RefOr::T(Schema::OneOf(OneOfBuilder::new().item(Schema::Object(null)).item(Schema::Object(words)).build()))
}

pub(super) fn maybe_scope() -> RefOr<Schema> {
    or_null(scope())
}

pub(super) fn maybe_question_type() -> RefOr<Schema> {
    or_null(question_type())
}

pub(super) fn capabilities() -> RefOr<Schema> {
    RefOr::T(Schema::Array(utoipa::openapi::ArrayBuilder::new().items(RefOr::T(Schema::Object(capability()))).build()))
}

pub(super) fn choices() -> RefOr<Schema> {
    RefOr::T(Schema::Array(utoipa::openapi::ArrayBuilder::new().items(RefOr::T(Schema::Object(choice()))).build()))
}

/// Milliseconds, or `"never"`.
pub(super) fn timeout() -> RefOr<Schema> {
    let millis = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
        .minimum(Some(1))
        .build();
    let never = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(["never"])).build();
    RefOr::T(Schema::OneOf(OneOfBuilder::new().item(Schema::Object(millis)).item(Schema::Object(never)).build()))
}
