//! The star: everybody is linked with one moderator.

use crate::agent::{Agent, AgentRole, choose::rank};
use folkmoot_core::Name;

/// The best agent with the role of moderator, or the best agent if there is none.
pub(super) fn moderator(agents: &[Agent]) -> &Name {
    let best = agents.iter().min_by_key(|agent| (agent.role != AgentRole::Moderator, rank(agent)));
    &best.expect("a network has at least one agent").id
}

/// The moderator speaks last, after hearing the others.
pub(super) fn groups(agents: &[Agent], moderator: &Name) -> Vec<Vec<Name>> {
    let others = agents.iter().map(|agent| agent.id.clone()).filter(|id| id != moderator).collect();
    vec![others, vec![moderator.clone()]]
}

pub(super) fn next<'a>(moderator: &'a Name, at: &Name, to: &'a Name) -> &'a Name {
    if at == moderator { to } else { moderator }
}
