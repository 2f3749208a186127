//! Routes in the formats of other systems, so that their clients work unchanged.
//! docs/decisions/0012-compatible-routes.md lists them. They contain no rules.

pub(crate) mod debate_gates;
pub(crate) mod plan;
pub(crate) mod ws;
