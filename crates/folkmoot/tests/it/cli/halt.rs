//! Halts, and lifting them.

use super::{Desk, run};
use crate::server::{ALICE, ROBOT, Server, folkmoot_with};

#[test]
fn a_halt_reaches_as_far_as_it_says() {
    let desk = Desk::new();
    // Whether a1 in s1, a1 elsewhere, a2 in s1, and a2 elsewhere may work.
    let reach = |halt: &[&str]| {
        let id = desk.say(&[&["halt"], halt, &["--reason", "so"]].concat());
        let who = [
            &["clear", "a1", "--session", "s1"][..],
            &["clear", "a1"],
            &["clear", "a2", "--session", "s1"],
            &["clear", "a2"],
        ];
        let codes = who.map(|who| desk.run(who).code);
        desk.say(&["lift", &id[id.len() - 8..]]);
        codes
    };
    assert_eq!(reach(&["agent", "a1"]), [6, 6, 0, 0]);
    assert_eq!(reach(&["session", "s1"]), [6, 0, 6, 0]);
    assert_eq!(reach(&["all"]), [6, 6, 6, 6]);
    assert_eq!(desk.run(&["clear", "a1"]).code, 0);
}

#[test]
fn a_halt_is_lifted_by_a_part_of_its_id_or_alone() {
    let desk = Desk::new();
    let first = desk.say(&["halt", "agent", "a1", "--reason", "too fast"]);
    desk.say(&["halt", "session", "s1", "-m", "look first"]);
    let several = desk.run(&["lift"]);
    assert_eq!((several.code, several.stderr.contains("2 halts stand; say which")), (1, true), "{several:?}");
    let none = desk.run(&["lift", "zzz"]);
    assert_eq!((none.code, none.stderr.contains("is no standing halt")), (1, true), "{none:?}");
    let unknown = desk.run(&["lift", "halt-1-0123456789abcdef"]);
    assert_eq!((unknown.code, unknown.stderr.contains("there is no halt")), (1, true), "{unknown:?}");
    assert_eq!(desk.say(&["lift", &first[first.len() - 8..]]), format!("lifted: the halt of agent a1 {first}"));
    let again = desk.run(&["lift", &first]);
    assert_eq!((again.code, again.stderr.contains("was already lifted by")), (1, true), "{again:?}");
    let lifted = desk.json(&["lift"]);
    assert_eq!((&lifted["session_id"], &lifted["reason"]), (&"s1".into(), &"look first".into()));
    let nothing = desk.run(&["lift"]);
    assert_eq!((nothing.code, nothing.stderr.as_str()), (1, "error: no halt stands\n"));
}

#[test]
fn a_halt_needs_a_reason_and_a_target() {
    let desk = Desk::new();
    let wrong =
        [&["halt"][..], &["halt", "all"], &["halt", "agent", "--reason", "x"], &["halt", "agent", "", "-m", "x"]];
    for wrong in wrong {
        assert_eq!(desk.run(wrong).code, 2, "{wrong:?}");
    }
    let empty = desk.run(&["halt", "all", "--reason", ""]);
    assert_eq!((empty.code, empty.stderr.contains("reason")), (1, true), "{empty:?}");
}

#[test]
fn admins_halt_and_so_does_a_monitoring_agent_that_may_but_only_admins_lift() {
    let server = Server::start();
    let say = |arguments: &[&str]| run(&mut folkmoot_with(server.data.path(), arguments));
    let halt = ["halt", "all", "--reason", "smoke"];
    for token in [ALICE, ROBOT] {
        let refused = say(&[&["--token", token][..], &halt].concat());
        assert_eq!((refused.code, refused.stderr.contains("may not")), (1, true), "{refused:?}");
    }
    let made = say(&["token", "create", "watchdog", "--role", "agent", "--can", "halt"]);
    assert!(made.stderr.contains("of watchdog (agent, may halt)"), "{made:?}");
    assert!(say(&["token", "list"]).stdout.contains("  agent, may halt  "));
    let watchdog = made.stdout.trim();
    assert_eq!(say(&[&["--token", watchdog][..], &halt].concat()).code, 0);
    let refused = say(&["--token", watchdog, "lift"]);
    assert_eq!((refused.code, refused.stderr.contains("may not lift")), (1, true), "{refused:?}");
    assert_eq!(say(&["lift"]).code, 0);
}

#[test]
fn all_halts_of_one_principal_are_lifted_at_once() {
    let desk = Desk::new();
    let monitor = desk.say(&["token", "create", "monitor", "--role", "agent", "--can", "halt"]);
    for agent in ["a1", "a2", "a3"] {
        desk.say(&["--token", &monitor, "halt", "agent", agent, "--reason", "too fast"]);
    }
    desk.say(&["halt", "agent", "a1", "--reason", "mine"]);
    assert_eq!(desk.say(&["lift", "--raised-by", "monitor"]), "lifted 3 that monitor raised");
    assert_eq!((desk.run(&["clear", "a1"]).code, desk.run(&["clear", "a2"]).code), (6, 0));
    assert_eq!(desk.run(&["lift", "--raised-by", "monitor"]).code, 0);
}
