//! The mesh: everybody is linked with everybody.

use std::cmp::Reverse;

use super::concern;
use crate::agent::{Agent, AgentRole, DebatePhase, choose::rank};
use folkmoot_core::Name;

/// The best of the agents whose role the phase concerns, or of all agents if there are none. How
/// busy an agent is does not count, so that the same debate always has the same leaders.
pub(super) fn leader(agents: &[Agent], phase: DebatePhase) -> &Name {
    let concerned = |agent: &&Agent| concern::roles(phase).contains(&agent.role);
    let candidates: Vec<&Agent> = agents.iter().filter(concerned).collect();
    let candidates = if candidates.is_empty() { agents.iter().collect() } else { candidates };
    let best = candidates.into_iter().min_by_key(|agent| (Reverse(standing(agent, phase)), rank(agent)));
    &best.expect("a network has at least one agent").id
}

/// How suitable an agent is as the leader of a phase, in thousandths: its score, plus 0.2 for a
/// role that the phase requires, 0.15 for a domain that is useful in it, and a tenth of its
/// confidence.
fn standing(agent: &Agent, phase: DebatePhase) -> u32 {
    let required = phase.rule().required.contains(&agent.role);
    let knows = concern::domains(phase).contains(&agent.domain);
    u32::from(agent.score.as_tenths()) * 100
        + if required { 200 } else { 0 }
        + if knows { 150 } else { 0 }
        + u32::from(agent.confidence.as_hundredths())
}

/// First the agents whose role the phase concerns, then attack and defence, then the rest.
pub(super) fn groups(agents: &[Agent], phase: DebatePhase) -> Vec<Vec<Name>> {
    let turn = |agent: &Agent| match agent.role {
        role if concern::roles(phase).contains(&role) => 0,
        AgentRole::RedTeam | AgentRole::BlueTeam | AgentRole::Security => 1,
        _ => 2,
    };
    let group = |number| agents.iter().filter(|agent| turn(agent) == number).map(|agent| agent.id.clone()).collect();
    (0..3).map(group).collect()
}

/// In hundredths: the mean of both scores, where a score of 10 counts as 1, plus 0.1 for different
/// domains and 0.15 for different roles.
pub(super) fn weight(one: &Agent, two: &Agent) -> u16 {
    let mean = (u16::from(one.score.as_tenths()) + u16::from(two.score.as_tenths())) / 2;
    mean + if one.domain != two.domain { 10 } else { 0 } + if one.role != two.role { 15 } else { 0 }
}
