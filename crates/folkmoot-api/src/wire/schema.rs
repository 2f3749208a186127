//! OpenAPI schemas of request fields that accept fewer or more values than the core type.

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

/// The kinds of steps that an outside agent can record. All other kinds belong to Folkmoot's own
/// workflows.
pub(super) fn step_kind() -> OneOfBuilder {
    or_null().item(one_of(&[EntryKind::Step, EntryKind::Once].map(EntryKind::word)))
}

/// The states in which an outside agent can record a step.
pub(super) fn step_state() -> ObjectBuilder {
    one_of(&[EntryStatus::Begun, EntryStatus::Done, EntryStatus::Failed].map(EntryStatus::word))
}

/// The outcomes with which an outside agent can end its run. Cancelling is a separate request.
pub(super) fn end_status() -> ObjectBuilder {
    one_of(&[RunOutcome::Completed, RunOutcome::Failed].map(RunOutcome::word))
}

/// The formats of an exported plan.
pub(super) fn export_format() -> ObjectBuilder {
    one_of(&["markdown", "html"])
}

/// All values but `retry`, which only Folkmoot's own runs can use.
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
