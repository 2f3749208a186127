//! Plans: one file a verb. `/api/plan` and `/api/approve` are [`planner`](super::planner).

pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod list;
pub(crate) mod show;
pub(crate) mod start;
pub(crate) mod wait;
