//! Tokens.

use super::{Desk, run};
use crate::server::{Server, folkmoot_with};

#[test]
fn a_token_works_until_it_is_revoked() {
    let server = Server::start();
    let say = |arguments: &[&str]| run(&mut folkmoot_with(server.data.path(), arguments));
    let secret = say(&["token", "create", "--name", "carol", "--role", "reviewer"]).stdout.trim().to_owned();
    assert_eq!(say(&["gate", "open", "Deploy"]).code, 0);
    let approved = say(&["--token", &secret, "approve", "--json"]);
    assert!(approved.stdout.contains(r#""reviewer":"carol""#), "{approved:?}");
    let list = say(&["token", "list"]).stdout;
    let id = list.lines().find(|line| line.contains("carol")).and_then(|line| line.split(' ').next()).unwrap();
    assert!(!list.contains(&secret), "{list}");
    let log = say(&["audit", "export", "--token-id", id]).stdout;
    assert!(log.lines().count() == 1 && log.contains(r#""type":"gate.decided""#), "what it did: {log}");
    assert_eq!(say(&["token", "revoke", id]).code, 0);
    assert_eq!(say(&["--token", &secret, "status"]).code, 1);
}

#[test]
fn a_name_has_one_role() {
    let desk = Desk::new();
    desk.say(&["token", "create", "--name", "carol", "--role", "viewer"]);
    let again = desk.run(&["token", "create", "--name", "carol", "--role", "admin"]);
    assert_eq!((again.code, again.stderr.contains("a name has one role")), (1, true), "{again:?}");
    let unknown = desk.run(&["token", "create", "--name", "dave", "--role", "king"]);
    assert_eq!((unknown.code, unknown.stderr.contains("possible values: admin, reviewer")), (2, true), "{unknown:?}");
}
