//! Routes that answer in the shapes of other systems, so that their clients work here unchanged.
//! docs/decisions/0012-compatible-routes.md says what each is compatible with. They hold no rules.

pub(crate) mod debate_gates;
pub(crate) mod plan;
pub(crate) mod ws;
