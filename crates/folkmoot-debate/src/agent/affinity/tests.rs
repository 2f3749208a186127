use proptest::prelude::*;

use super::{affinity, primary_role, weight};
use crate::agent::{Agent, AgentRole, Domain, Score, Share};

#[test]
fn an_affinity_is_the_weight_times_the_expertise() {
    let security = affinity(Domain::Security, AgentRole::RedTeam, Share::EXPERTISE);
    assert_eq!(security.as_ten_thousandths(), 95 * 70);
    assert_eq!(affinity(Domain::Code, AgentRole::Judge, Share::ONE).as_ten_thousandths(), 60 * 100);
}

#[test]
fn each_domain_has_a_role_of_its_own() {
    let primary: Vec<&str> = Domain::ALL
        .iter()
        .map(|domain| primary_role(*domain, AgentRole::ALL).expect("there are roles").word())
        .collect();
    assert_eq!(
        primary,
        ["generator", "security", "architect", "test_agent", "optimizer", "critic", "proposer"],
        "for {:?}",
        Domain::WORDS
    );
}

#[test]
fn of_equals_the_vocabularys_first_is_the_primary_role() {
    use AgentRole::*;
    assert_eq!(weight(Domain::Code, Refactorer), weight(Domain::Code, Executor));
    assert_eq!(primary_role(Domain::Code, &[Executor, Refactorer]), Some(Refactorer));
    assert_eq!(primary_role(Domain::Code, &[]), None);
}

/// A role that no domain wants would never be chosen by affinity.
#[test]
fn every_role_matters_somewhere() {
    for role in AgentRole::ALL {
        let best = Domain::ALL.iter().map(|domain| weight(*domain, *role).as_hundredths()).max();
        assert!(best >= Some(60), "{role} fits nothing: {best:?}");
    }
}

#[test]
fn an_agent_of_which_nothing_is_known_is_of_middling_worth() {
    let said = r#"{"id":"ann","role":"critic"}"#;
    let agent: Agent = serde_json::from_str(said).unwrap();
    assert_eq!(agent, Agent::new("ann".parse().unwrap(), AgentRole::Critic, Domain::General));
    assert_eq!((agent.score.to_string(), agent.confidence.to_string()), ("7.0".into(), "0.50".into()));
    assert_eq!(agent.expertise.to_string(), "0.70");
    assert_eq!(agent.tools(), AgentRole::Critic.tools());
}

#[test]
fn measures_out_of_range_are_refused() {
    for field in ["score", "confidence", "expertise"] {
        let said = format!(r#"{{"id":"ann","role":"critic","{field}":101}}"#);
        let refused = serde_json::from_str::<Agent>(&said).unwrap_err().to_string();
        assert!(refused.starts_with("101 is out of range: a s"), "{refused}");
    }
    assert!(Share::hundredths(101).is_err());
    assert!(Score::tenths(101).is_err());
}

proptest! {
    #[test]
    fn an_affinity_is_at_most_its_weight_and_never_over_one(
        domain in prop::sample::select(Domain::ALL),
        role in prop::sample::select(AgentRole::ALL),
        hundredths in 0..=100u8,
    ) {
        let expertise = Share::hundredths(hundredths).unwrap();
        let affinity = affinity(domain, role, expertise).as_ten_thousandths();
        prop_assert!(affinity <= 10_000);
        prop_assert!(affinity <= u16::from(weight(domain, role).as_hundredths()) * 100);
        prop_assert_eq!(affinity == 0, hundredths == 0);
    }

    #[test]
    fn the_primary_role_does_not_depend_on_the_order(
        domain in prop::sample::select(Domain::ALL),
        roles in prop::sample::subsequence(AgentRole::ALL, 1..=AgentRole::ALL.len()).prop_shuffle(),
    ) {
        let mut sorted = roles.clone();
        sorted.sort();
        let primary = primary_role(domain, &roles);
        prop_assert_eq!(primary, primary_role(domain, &sorted));
        let primary = primary.expect("there is a role");
        prop_assert!(roles.iter().all(|role| weight(domain, *role) <= weight(domain, primary)));
    }
}
