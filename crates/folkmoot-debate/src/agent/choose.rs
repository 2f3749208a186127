//! Chooses which agents speak in a phase.

use folkmoot_core::vocabulary;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use super::{Agent, AgentRole, DebatePhase, Score, Share};
use folkmoot_core::Name;

#[cfg(test)]
mod tests;

/// The agents that speak in a phase, and why they were chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speakers<'a> {
    /// In the order of the team.
    pub agents: Vec<&'a Agent>,
    /// Candidates that do not speak because the phase allows fewer speakers. In the order of the
    /// team.
    pub left_out: Vec<&'a Agent>,
    pub basis: Basis,
    /// How many of them must answer; at most the number of speakers.
    pub min_responses: usize,
}

vocabulary! {
    /// Why these agents speak.
    pub enum Basis {
        /// They have a role that the phase requires.
        RequiredRoles = "required_roles",
        /// Nobody has such a role, so the groups speak that the topology makes for the phase.
        ParallelGroups = "parallel_groups",
        /// Nobody has such a role and there are no groups, so everyone speaks.
        Everyone = "everyone",
    }
}

/// Chooses who speaks in `phase`: the agents with a role that it requires; if there are none, the
/// members of `groups`; if there are none of these either, everyone.
///
/// If there are more than the phase allows, the best agent of each required role stays, then the
/// best of the rest: by score, then by confidence, then by the order of the roles, then by id. Ids
/// in `groups` that belong to no agent are ignored.
pub fn choose<'a>(phase: DebatePhase, agents: &'a [Agent], groups: &[Vec<Name>]) -> Speakers<'a> {
    let rule = phase.rule();
    let (candidates, basis) = candidates(rule.required, agents, groups);
    let chosen = best(&candidates, rule.required, rule.max_parallel);
    let (agents, left_out): (Vec<&Agent>, Vec<&Agent>) =
        candidates.into_iter().partition(|agent| chosen.contains(&agent.id));
    let min_responses = rule.min_responses.min(agents.len());
    Speakers { agents, left_out, basis, min_responses }
}

fn candidates<'a>(required: &[AgentRole], agents: &'a [Agent], groups: &[Vec<Name>]) -> (Vec<&'a Agent>, Basis) {
    let with_role: Vec<&Agent> = agents.iter().filter(|agent| required.contains(&agent.role)).collect();
    if !with_role.is_empty() {
        return (with_role, Basis::RequiredRoles);
    }
    let grouped: BTreeSet<&Name> = groups.iter().flatten().collect();
    let in_groups: Vec<&Agent> = agents.iter().filter(|agent| grouped.contains(&agent.id)).collect();
    if !in_groups.is_empty() {
        return (in_groups, Basis::ParallelGroups);
    }
    (agents.iter().collect(), Basis::Everyone)
}

fn best<'a>(candidates: &[&'a Agent], required: &[AgentRole], cap: usize) -> BTreeSet<&'a Name> {
    let mut ranked = candidates.to_vec();
    ranked.sort_by_key(|agent| rank(agent));
    let mut first_of_role: BTreeMap<AgentRole, &Name> = BTreeMap::new();
    for agent in ranked.iter().filter(|agent| required.contains(&agent.role)) {
        first_of_role.entry(agent.role).or_insert(&agent.id);
    }
    // Each required role that the team has must be heard, however good the others are.
    let mut chosen: BTreeSet<&Name> = first_of_role.into_values().take(cap).collect();
    for agent in ranked {
        if chosen.len() == cap {
            break;
        }
        chosen.insert(&agent.id);
    }
    chosen
}

/// Sorts the best agent first. Ids are unique in a team, so no two agents are equal.
pub(crate) fn rank(agent: &Agent) -> (Reverse<Score>, Reverse<Share>, AgentRole, &Name) {
    (Reverse(agent.score), Reverse(agent.confidence), agent.role, &agent.id)
}
