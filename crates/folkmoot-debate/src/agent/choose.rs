//! Who speaks in a phase.

use folkmoot_core::vocabulary;
use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use super::{Agent, AgentRole, DebatePhase, Score, Share};
use folkmoot_core::Name;

#[cfg(test)]
mod tests;

/// Who speaks, and why they.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Speakers<'a> {
    /// In the order of the team.
    pub agents: Vec<&'a Agent>,
    /// Those who would have spoken, were there no cap. In the order of the team.
    pub left_out: Vec<&'a Agent>,
    /// Why they.
    pub basis: Basis,
    /// How many of them must answer. Never more than speak.
    pub min_responses: usize,
}

vocabulary! {
    /// Why these agents speak.
    pub enum Basis {
        /// They have a role that the phase requires.
        RequiredRoles = "required_roles",
        /// Nobody has such a role; the topology groups them for the phase.
        ParallelGroups = "parallel_groups",
        /// Nobody has such a role, and there is no group: everyone speaks.
        Everyone = "everyone",
    }
}

/// Chooses who speaks in `phase`: those with a role that it requires; if nobody has one, the
/// members of `groups`; if there are none, everyone.
///
/// Over the cap, the best of each required role stays, then the best of the rest: by score, then by
/// confidence, then by the order of the roles, then by id. Ids in `groups` that are nobody's are
/// passed over.
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
    // A required role that is there must be heard, however well the others did.
    let mut chosen: BTreeSet<&Name> = first_of_role.into_values().take(cap).collect();
    for agent in ranked {
        if chosen.len() == cap {
            break;
        }
        chosen.insert(&agent.id);
    }
    chosen
}

/// The lower, the better. Ids are unique in a team, so no two are equal.
pub(crate) fn rank(agent: &Agent) -> (Reverse<Score>, Reverse<Share>, AgentRole, &Name) {
    (Reverse(agent.score), Reverse(agent.confidence), agent.role, &agent.id)
}
