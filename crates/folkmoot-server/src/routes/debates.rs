//! Debates: one file a verb. HelixAgent's paths are
//! [`compat::debate_gates`](super::compat::debate_gates).

pub(crate) mod audit;
pub(crate) mod cancel;
pub(crate) mod code_versions;
pub(crate) mod decide;
pub(crate) mod events;
pub(crate) mod gates;
pub(crate) mod lessons;
pub(crate) mod list;
pub(crate) mod replay;
pub(crate) mod results;
pub(crate) mod show;
pub(crate) mod start;
pub(crate) mod status;
pub(crate) mod turns;
pub(crate) mod votes;
