//! Plans: one file per verb. `/api/plan` and `/api/approve` are in [`compat`](super::compat).

pub(crate) mod events;
pub(crate) mod export;
pub(crate) mod list;
pub(crate) mod show;
pub(crate) mod start;
pub(crate) mod wait;
