use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{AGENTS_MAX, MAXIMUM, MINIMUM, STANDARD, Team, TeamError, by_need, is_required};
use crate::agent::{Agent, AgentRole, Domain, ModelName};
use folkmoot_core::Refusal;

fn ids(size: usize, domain: Domain) -> String {
    let team = Team::build(size, domain, &[]).unwrap();
    team.agents().iter().map(|agent| agent.id.as_str()).collect::<Vec<_>>().join(" ")
}

fn model(provider: &str) -> ModelName {
    ModelName { provider: provider.to_owned(), model: None }
}

#[test]
fn a_small_team_has_those_who_are_needed_most() {
    assert_eq!(ids(1, Domain::Code), "proposer-1");
    assert_eq!(ids(2, Domain::Code), "proposer-1 critic-1");
    assert_eq!(ids(3, Domain::Code), "proposer-1 critic-1 moderator-1");
    assert_eq!(ids(MINIMUM, Domain::Code), "proposer-1 critic-1 moderator-1 reviewer-1 optimizer-1");
}

#[test]
fn beyond_the_minimum_the_domain_decides() {
    let minimum = ids(MINIMUM, Domain::Code);
    assert_eq!(ids(7, Domain::Code), format!("{minimum} generator-1 validator-1"));
    assert_eq!(ids(7, Domain::Security), format!("{minimum} red-team-1 blue-team-1"));
    assert_eq!(ids(7, Domain::Architecture), format!("{minimum} architect-1 validator-1"));
}

#[test]
fn the_standard_team_has_all_that_phases_require_and_two_who_know_the_domain() {
    for (domain, two) in [
        (Domain::Code, [AgentRole::TestAgent, AgentRole::Implementer]),
        (Domain::Security, [AgentRole::Security, AgentRole::TestAgent]),
        (Domain::Reasoning, [AgentRole::Teacher, AgentRole::Judge]),
    ] {
        let team = Team::build(STANDARD, domain, &[]).unwrap();
        let roles: BTreeSet<AgentRole> = team.agents().iter().map(|agent| agent.role).collect();
        let required: BTreeSet<AgentRole> = AgentRole::ALL.iter().copied().filter(|role| is_required(*role)).collect();
        assert_eq!(roles, required.into_iter().chain(two).collect());
    }
}

#[test]
fn over_twenty_the_most_needed_roles_are_there_twice() {
    let all = ids(AGENTS_MAX, Domain::Debug);
    assert!(all.ends_with(" proposer-2 critic-2 moderator-2 reviewer-2 optimizer-2"), "{all}");
}

#[test]
fn a_team_of_none_or_of_too_many_is_refused_with_the_limits() {
    for size in [0, AGENTS_MAX + 1, usize::MAX] {
        let refused = Team::build(size, Domain::General, &[]).unwrap_err();
        assert_eq!(refused, TeamError::Size { given: size });
        assert!(refused.to_string().ends_with("ask for 1 to 25 (the standard is 12)"), "{refused}");
    }
    assert_eq!(Team::of(vec![]), Err(TeamError::Size { given: 0 }));
    let refusal = Refusal::from(TeamError::Size { given: 0 });
    assert_eq!(refusal.code(), "invalid");
    assert!(refusal.to_string().starts_with("agents are refused: a team of 0 agents"), "{refusal}");
}

#[test]
fn agents_that_are_named_are_taken_as_they_are() {
    let said = r#"[
        {"id": "ann", "role": "judge", "model": {"provider": "anthropic", "model": "opus"}},
        {"id": "bob", "role": "judge", "domain": "code", "score": 91}
    ]"#;
    let team: Team = serde_json::from_str(said).unwrap();
    assert_eq!(team.agents().iter().map(|agent| agent.id.as_str()).collect::<Vec<_>>(), ["ann", "bob"]);
    assert_eq!(team.agent(&"bob".parse().unwrap()).unwrap().score.to_string(), "9.1");
    let again: Team = serde_json::from_str(&serde_json::to_string(&team).unwrap()).unwrap();
    assert_eq!(again, team);
}

#[test]
fn two_agents_of_one_id_are_refused_by_name() {
    let ann = Agent::new("ann".parse().unwrap(), AgentRole::Critic, Domain::Code);
    let other = Agent { role: AgentRole::Judge, ..ann.clone() };
    assert_eq!(Team::of(vec![ann.clone(), other]), Err(TeamError::DuplicateId { id: ann.id }));
}

#[test]
fn a_provider_or_model_without_a_name_is_refused() {
    let with = |provider: &str, model: Option<&str>| {
        let model = ModelName { provider: provider.to_owned(), model: model.map(str::to_owned) };
        let agent = Agent::new("ann".parse().unwrap(), AgentRole::Critic, Domain::Code);
        Team::of(vec![Agent { model: Some(model), ..agent }])
    };
    let field = |refused| match refused {
        Err(TeamError::Model { field, .. }) => field,
        other => panic!("{other:?}"),
    };
    assert_eq!(field(with(" ", None)), "provider");
    assert_eq!(field(with("a\nb", None)), "provider");
    assert_eq!(field(with("openai", Some(""))), "model");
    assert_eq!(field(with("openai", Some(&"m".repeat(201)))), "model");
    with("openai", None).unwrap();
}

#[test]
fn those_who_answer_each_other_speak_with_different_models() {
    let models = [model("one"), model("two"), model("three")];
    let team = Team::build(AGENTS_MAX, Domain::Code, &models).unwrap();
    let speaks = |id: &str| team.agent(&id.parse().unwrap()).unwrap().model.clone().unwrap().provider;
    assert_eq!(["proposer-1", "critic-1", "moderator-1"].map(speaks), ["one", "two", "three"]);
    assert_ne!(speaks("critic-1"), speaks("critic-2"));
}

proptest! {
    #[test]
    fn a_team_of_any_size_has_ids_of_its_own_and_is_always_the_same(
        size in 1..=AGENTS_MAX,
        domain in prop::sample::select(Domain::ALL),
        models in 0..5usize,
    ) {
        let models: Vec<ModelName> = (0..models).map(|n| model(&format!("provider-{n}"))).collect();
        let team = Team::build(size, domain, &models).unwrap();
        let ids: BTreeSet<&str> = team.agents().iter().map(|agent| agent.id.as_str()).collect();
        prop_assert_eq!(ids.len(), size);
        prop_assert_eq!(&Team::build(size, domain, &models).unwrap(), &team);
        let roles: BTreeSet<AgentRole> = team.agents().iter().map(|agent| agent.role).collect();
        prop_assert_eq!(roles.len(), size.min(MAXIMUM));
        for agent in team.agents() {
            prop_assert_eq!(agent.domain, domain);
            prop_assert_eq!(agent.model.is_some(), !models.is_empty());
        }
    }

    #[test]
    fn a_larger_team_is_a_smaller_one_and_more(
        size in 1..AGENTS_MAX,
        domain in prop::sample::select(Domain::ALL),
    ) {
        let smaller = Team::build(size, domain, &[]).unwrap();
        let larger = Team::build(size + 1, domain, &[]).unwrap();
        prop_assert_eq!(smaller.agents(), &larger.agents()[..size]);
    }

    #[test]
    fn the_second_of_a_role_never_speaks_with_the_model_of_the_first(
        size in MAXIMUM + 1..=AGENTS_MAX,
        models in 2..25usize,
    ) {
        let models: Vec<ModelName> = (0..models).map(|n| model(&format!("provider-{n}"))).collect();
        let team = Team::build(size, Domain::General, &models).unwrap();
        for (first, second) in team.agents().iter().zip(&team.agents()[MAXIMUM..]) {
            prop_assert_eq!(first.role, second.role);
            prop_assert_ne!(&first.model, &second.model);
        }
    }

    #[test]
    fn every_role_has_one_place_by_need(domain in prop::sample::select(Domain::ALL)) {
        let mut roles = by_need(domain);
        roles.sort();
        prop_assert_eq!(roles, AgentRole::ALL);
    }
}
