use super::{Capability, Principal, RESERVED, Role, asker, check_name, shown_asker};
use crate::transcript::principal;

#[test]
fn a_principal_is_written_without_capabilities_where_it_has_none() {
    let written = |principal: &Principal| serde_json::to_string(principal).unwrap();
    assert_eq!(written(&principal("bot")), r#"{"name":"bot","role":"agent"}"#);
    assert_eq!(written(&principal("mon")), r#"{"name":"mon","role":"agent","capabilities":["halt"]}"#);
    for name in ["bot", "mon", "ada", "alice", "vera"] {
        let principal = principal(name);
        assert_eq!(serde_json::from_str::<Principal>(&written(&principal)).unwrap(), principal);
    }
}

#[test]
fn a_capability_that_nobody_knows_is_not_read() {
    let read = |text| serde_json::from_str::<Principal>(text).map_err(|error| error.to_string());
    let refused = read(r#"{"name":"bot","role":"agent","capabilities":["fly"]}"#).unwrap_err();
    assert!(refused.starts_with("\"fly\" is not one of halt"), "{refused}");
    assert_eq!(Capability::WORDS, ["halt"]);
}

#[test]
fn admins_may_halt_and_so_may_whoever_shows_a_token_that_says_so() {
    let may: Vec<_> =
        ["ada", "mon", "alice", "bot", "vera"].into_iter().filter(|who| principal(who).may_halt()).collect();
    assert_eq!(may, ["ada", "mon"]);
    let reviewer = Principal { capabilities: vec![Capability::Halt], ..principal("alice") };
    assert!(reviewer.may_halt() && reviewer.role == Role::Reviewer);
}

#[test]
fn reserved_names_are_refused_however_they_are_written() {
    for name in RESERVED {
        assert!(check_name("name", &name.parse().unwrap()).is_err(), "{name}");
        assert!(check_name("name", &name.to_uppercase().parse().unwrap()).is_err(), "{name}");
        assert_eq!(check_name("name", &format!("{name}-1").parse().unwrap()), Ok(()));
    }
    assert!(check_name("name", &"Ai:judge".parse().unwrap()).is_err());
}

#[test]
fn what_a_workflow_asks_is_asked_by_whoever_started_its_run() {
    let name = |text: &str| text.parse::<crate::Name>().unwrap();
    for (by, initiator, who, shown) in [
        ("workflow:plan@1", Some("bot"), "bot", "bot (workflow:plan@1)"),
        ("workflow:plan@1", None, "workflow:plan@1", "workflow:plan@1"),
        ("bot", Some("bot"), "bot", "bot"),
        // Somebody who opens a gate in another's run asks for themselves.
        ("alice", Some("bot"), "alice", "alice"),
        ("workflow", Some("bot"), "workflow", "workflow"),
    ] {
        let (by, initiator) = (name(by), initiator.map(name));
        assert_eq!(asker(&by, initiator.as_ref()).as_str(), who);
        assert_eq!(shown_asker(&by, initiator.as_ref()), shown);
    }
}
