//! What a request may say, in the OpenAPI document, where that is less or more than core's type
//! says.

use folkmoot_core::{
    gate::OnTimeout,
    journal::{EntryKind, EntryStatus},
    openapi::one_of,
    run::RunOutcome,
};
use folkmoot_debate::agent::team::AGENTS_MAX;
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{
        ArrayBuilder, ObjectBuilder, Ref, RefOr, Schema,
        schema::{OneOfBuilder, Type},
    },
};

use super::{Agents, NewAgent, PhaseSwitch};

/// What a step that somebody else executes can be. The others are what our own workflows do.
pub(super) fn step_kind() -> OneOfBuilder {
    or_null().item(one_of(&[EntryKind::Step, EntryKind::Once].map(EntryKind::word)))
}

/// What can be said of such a step.
pub(super) fn step_state() -> ObjectBuilder {
    one_of(&[EntryStatus::Begun, EntryStatus::Done, EntryStatus::Failed].map(EntryStatus::word))
}

/// How a run can be said to have ended. Cancelling is another verb.
pub(super) fn end_status() -> ObjectBuilder {
    one_of(&[RunOutcome::Completed, RunOutcome::Failed].map(RunOutcome::word))
}

/// As what a plan is exported.
pub(super) fn export_format() -> ObjectBuilder {
    one_of(&["markdown", "html"])
}

/// What can be asked of a timeout. Only our own runs can be tried again.
pub(super) fn asked_on_timeout() -> OneOfBuilder {
    let words: Vec<_> = OnTimeout::WORDS.iter().copied().filter(|word| *word != OnTimeout::Retry.word()).collect();
    or_null().item(one_of(&words))
}

pub(super) fn or_auto<T: PartialSchema>() -> OneOfBuilder {
    or_null().item(one_of(&["auto"])).item(T::schema())
}

pub(super) fn or_none<T: PartialSchema>() -> OneOfBuilder {
    or_null().item(one_of(&["none"])).item(T::schema())
}

impl PartialSchema for Agents {
    fn schema() -> RefOr<Schema> {
        let most = i64::try_from(AGENTS_MAX).unwrap_or(i64::MAX);
        let count = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1)).maximum(Some(most));
        let agent = Ref::from_schema_name(NewAgent::name());
        let listed = ArrayBuilder::new().items(agent).min_items(Some(1)).max_items(Some(AGENTS_MAX));
        OneOfBuilder::new().description(Some("A number of agents, or a list of them.")).item(count).item(listed).into()
    }
}

impl ToSchema for Agents {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((NewAgent::name().into_owned(), NewAgent::schema()));
        NewAgent::schemas(schemas);
    }
}

folkmoot_core::openapi!(
    PhaseSwitch,
    ["Whether a debate has a phase: `true`, `false` or `auto`."],
    OneOfBuilder::new().item(ObjectBuilder::new().schema_type(Type::Boolean)).item(one_of(&["auto"]))
);

fn or_null() -> OneOfBuilder {
    OneOfBuilder::new().item(ObjectBuilder::new().schema_type(Type::Null))
}
