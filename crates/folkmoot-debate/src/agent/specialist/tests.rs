use std::collections::BTreeSet;

use super::{SPECIALISTS, Specialist};
use crate::agent::{AgentRole, Domain, Team, ToolKind, team};

#[test]
fn there_are_twenty_three_templates_each_of_its_own_name() {
    let names: BTreeSet<&str> = SPECIALISTS.iter().map(|specialist| specialist.name).collect();
    assert_eq!((SPECIALISTS.len(), names.len()), (23, 23));
    for name in names {
        name.parse::<folkmoot_core::Name>().expect("a template's name can be the id of its agent");
        assert_eq!(Specialist::named(name).map(|found| found.name), Some(name));
    }
    assert_eq!(Specialist::named("astrologer"), None);
}

#[test]
fn the_templates_of_a_domain_take_the_role_that_fits_it_best() {
    let primary = |name: &str| Specialist::named(name).unwrap().primary_role().word();
    assert_eq!(
        Domain::WORDS[..6].iter().map(|domain| primary(&format!("{domain}-specialist"))).collect::<Vec<_>>(),
        ["generator", "security", "architect", "test_agent", "optimizer", "critic"],
    );
}

#[test]
fn a_template_named_after_a_role_has_that_role() {
    for specialist in SPECIALISTS.iter().filter(|specialist| !specialist.name.ends_with("-specialist")) {
        let role: AgentRole = specialist.name.replace('-', "_").parse().unwrap();
        assert_eq!((specialist.roles, specialist.tools), (&[role][..], role.tools()));
    }
}

#[test]
fn every_role_is_the_first_of_some_template() {
    let taken: BTreeSet<AgentRole> = SPECIALISTS.iter().map(Specialist::primary_role).collect();
    assert_eq!(taken, AgentRole::ALL.iter().copied().collect());
}

#[test]
fn every_role_is_in_the_largest_team_once() {
    let team = Team::build(team::MAXIMUM, Domain::General, &[]).unwrap();
    let mut roles: Vec<AgentRole> = team.agents().iter().map(|agent| agent.role).collect();
    roles.sort();
    assert_eq!(roles, AgentRole::ALL);
}

#[test]
fn every_sort_of_tool_is_some_roles_and_no_role_names_one_twice() {
    let used: BTreeSet<ToolKind> = AgentRole::ALL.iter().flat_map(|role| role.tools()).copied().collect();
    assert_eq!(used, ToolKind::ALL.iter().copied().collect());
    for tools in AgentRole::ALL.iter().map(|role| role.tools()).chain(SPECIALISTS.iter().map(|each| each.tools)) {
        assert!(!tools.is_empty());
        assert!(tools.is_sorted_by(|one, next| one < next), "in the order of the vocabulary, each once: {tools:?}");
    }
}

#[test]
fn an_agent_made_from_a_template_is_what_the_template_says() {
    let specialist = Specialist::named("debug-specialist").unwrap();
    let agent = specialist.agent("finder".parse().unwrap());
    assert_eq!((agent.role, agent.domain), (AgentRole::TestAgent, Domain::Debug));
    assert_eq!((agent.expertise, agent.tools()), (specialist.expertise, specialist.tools));
    assert_eq!(agent.affinity().as_ten_thousandths(), 95 * 90);
}
