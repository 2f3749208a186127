use super::{Capability, Principal, RESERVED, Role, check_name};
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
