use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{Basis, choose};
use crate::agent::{Agent, AgentRole, DebatePhase, Domain, Score, Share, Team, team::AGENTS_MAX};
use folkmoot_core::Name;

/// Agents as `id:role:score:confidence`, the last two left out where they do not matter.
fn agents(said: &str) -> Vec<Agent> {
    let agent = |word: &str| {
        let parts: Vec<&str> = word.split(':').collect();
        let mut agent = Agent::new(parts[0].parse().unwrap(), parts[1].parse().unwrap(), Domain::General);
        if let Some(score) = parts.get(2) {
            agent.score = Score::tenths(score.parse().unwrap()).unwrap();
        }
        if let Some(confidence) = parts.get(3) {
            agent.confidence = Share::hundredths(confidence.parse().unwrap()).unwrap();
        }
        agent
    };
    said.split_whitespace().map(agent).collect()
}

/// Who speaks, who is left out, and why.
fn check(phase: DebatePhase, said: &str, groups: &[&str], expected: &str) {
    let agents = agents(said);
    let group = |said: &&str| said.split_whitespace().map(|id| id.parse().unwrap()).collect();
    let groups: Vec<Vec<Name>> = groups.iter().map(group).collect();
    let speakers = choose(phase, &agents, &groups);
    let ids = |agents: &[&Agent]| agents.iter().map(|agent| agent.id.as_str()).collect::<Vec<_>>().join(" ");
    let told = format!(
        "{} | {} | {} | {}",
        ids(&speakers.agents),
        ids(&speakers.left_out),
        speakers.basis,
        speakers.min_responses
    );
    assert_eq!(told, expected, "{phase} of {said}");
}

#[test]
fn those_with_a_required_role_speak() {
    let team = "p:proposer c:critic m:moderator r:reviewer o:optimizer";
    check(DebatePhase::Proposal, team, &[], "p |  | required_roles | 1");
    check(DebatePhase::Critique, team, &[], "c |  | required_roles | 1");
    check(DebatePhase::Convergence, team, &["p c"], "m |  | required_roles | 1");
}

#[test]
fn without_a_required_role_the_groups_speak_and_without_groups_everyone() {
    let pair = "p:proposer c:critic";
    check(DebatePhase::Review, pair, &["c", "nobody"], "c |  | parallel_groups | 1");
    check(DebatePhase::Review, pair, &["nobody"], "p c |  | everyone | 2");
    check(DebatePhase::Adversarial, pair, &[], "p c |  | everyone | 2");
    check(DebatePhase::Convergence, pair, &[], "p c |  | everyone | 2");
    check(DebatePhase::Review, "", &[], " |  | everyone | 0");
}

#[test]
fn over_the_cap_the_best_stay_in_the_order_of_the_team() {
    let five = "a:proposer:70 b:proposer:90 c:proposer:60 d:proposer:80 e:proposer:71";
    check(DebatePhase::Proposal, five, &[], "a b d e | c | required_roles | 1");
}

#[test]
fn of_equal_scores_the_surer_one_stays_then_the_first_of_the_vocabulary_then_the_first_id() {
    let surer = "a:moderator:70:50 b:moderator:70:60 c:moderator:70:55";
    check(DebatePhase::Dehallucination, surer, &[], "b c | a | required_roles | 1");
    check(DebatePhase::Dehallucination, "c:moderator b:moderator a:moderator", &[], "b a | c | required_roles | 1");
    check(DebatePhase::Dehallucination, "a:judge b:critic c:teacher", &[], "b c | a | everyone | 1");
}

#[test]
fn a_required_role_is_heard_however_well_the_others_did() {
    let critics = "a:critic:90 b:critic:90 c:critic:90 d:critic:90 e:critic:90 f:critic:90 r:red_team:10";
    check(DebatePhase::Critique, critics, &[], "a b c d e r | f | required_roles | 2");
}

#[test]
fn the_rules_of_the_phases_can_be_kept() {
    for phase in DebatePhase::ALL {
        let rule = phase.rule();
        assert!((1..=rule.max_parallel).contains(&rule.min_responses), "{phase}");
        assert!((1..=rule.max_parallel).contains(&rule.required.len()), "{phase}");
        assert_eq!(rule.required.iter().collect::<BTreeSet<_>>().len(), rule.required.len(), "{phase}");
    }
    assert_eq!(DebatePhase::WORDS.len(), 8);
}

fn any_agents() -> impl Strategy<Value = Vec<Agent>> {
    let agent = (prop::sample::select(AgentRole::ALL), 0..=3u8, 0..=2u8);
    prop::collection::vec(agent, 1..=AGENTS_MAX).prop_map(|agents| {
        let agent = |(number, (role, score, confidence))| Agent {
            score: Score::tenths(score * 30).unwrap(),
            confidence: Share::hundredths(confidence * 50).unwrap(),
            ..Agent::new(format!("agent-{number}").parse().unwrap(), role, Domain::Code)
        };
        agents.into_iter().enumerate().map(agent).collect()
    })
}

proptest! {
    #[test]
    fn somebody_always_speaks_and_never_too_many(
        agents in any_agents(),
        phase in prop::sample::select(DebatePhase::ALL),
    ) {
        let speakers = choose(phase, &agents, &[]);
        let rule = phase.rule();
        prop_assert!((1..=rule.max_parallel).contains(&speakers.agents.len()));
        prop_assert!((1..=speakers.agents.len()).contains(&speakers.min_responses));
        prop_assert!(speakers.left_out.is_empty() || speakers.agents.len() == rule.max_parallel);
        for role in rule.required {
            let there = agents.iter().any(|agent| agent.role == *role);
            let heard = speakers.agents.iter().any(|agent| agent.role == *role);
            prop_assert_eq!(there, heard, "{}", role);
        }
    }

    #[test]
    fn who_speaks_does_not_depend_on_the_order_of_the_team(
        (agents, shuffled) in any_agents().prop_flat_map(|agents| (Just(agents.clone()), Just(agents).prop_shuffle())),
        phase in prop::sample::select(DebatePhase::ALL),
    ) {
        let ids = |agents: &[Agent]| -> BTreeSet<String> {
            choose(phase, agents, &[]).agents.iter().map(|agent| agent.id.to_string()).collect()
        };
        prop_assert_eq!(ids(&agents), ids(&shuffled));
    }

    #[test]
    fn a_team_of_any_size_can_hold_every_phase(
        size in 1..=AGENTS_MAX,
        domain in prop::sample::select(Domain::ALL),
        phase in prop::sample::select(DebatePhase::ALL),
    ) {
        let team = Team::build(size, domain, &[]).unwrap();
        let speakers = choose(phase, team.agents(), &[]);
        prop_assert!(!speakers.agents.is_empty());
        let everybody_is_there = size >= 10;
        prop_assert!(!everybody_is_there || speakers.basis == Basis::RequiredRoles);
    }
}
