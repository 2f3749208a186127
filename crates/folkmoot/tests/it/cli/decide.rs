//! Deciding from the command line.

use super::{Desk, run};
use crate::server::{ALICE, ROBOT, Server, folkmoot, folkmoot_with};

#[test]
fn an_id_may_be_cut_to_a_unique_end_or_beginning() {
    let desk = Desk::new();
    let (first, second) = (desk.say(&["gate", "open", "first"]), desk.say(&["gate", "open", "second"]));
    let several = desk.run(&["approve"]);
    assert_eq!((several.code, several.stderr.contains("2 gates are waiting; say which")), (1, true), "{several:?}");
    let both = desk.run(&["approve", "gate-"]);
    assert_eq!((both.code, both.stderr.contains("means 2 gates")), (1, true), "{both:?}");
    let none = desk.run(&["approve", "zzz"]);
    assert_eq!((none.code, none.stderr.contains("is no recent gate")), (1, true), "{none:?}");
    // Lists show the last eight digits; the beginning of those is enough.
    let shown = &second[second.len() - 8..];
    assert!(desk.say(&["approve", &shown[..7]]).starts_with("approved second"));
    assert!(desk.say(&["reject", &first[..first.len() - 3], "--reason", "no"]).starts_with("rejected first"));
    let nothing = desk.run(&["approve"]);
    assert_eq!((nothing.code, nothing.stderr.as_str()), (1, "error: no gate is waiting\n"));
}

#[test]
fn several_gates_are_approved_at_once() {
    let desk = Desk::new();
    let (first, second) = (desk.say(&["gate", "open", "first"]), desk.say(&["gate", "open", "second"]));
    let said = desk.say(&["approve", &first, &second, "--comment", "both fine"]);
    assert_eq!(said.lines().count(), 2, "{said}");
    desk.pending(0);
}

#[test]
fn the_digest_of_what_was_read_goes_with_the_decision() {
    let desk = Desk::new();
    // Without a digest a critical gate refuses every decision.
    desk.say(&["gate", "open", "Drop the table", "--risk", "critical"]);
    let gate = desk.json(&["approve"]);
    assert_eq!(gate["decision"]["digest"], gate["digest"]);
}

#[test]
fn a_decided_gate_says_who_decided() {
    let desk = Desk::new();
    let id = desk.say(&["gate", "open", "Deploy"]);
    desk.say(&["reject", "--reason", "no"]);
    let late = desk.run(&["approve", &id]);
    assert_eq!((late.code, late.stderr.contains("already decided: rejected by ")), (1, true), "{late:?}");
}

#[test]
fn agents_do_not_decide() {
    let server = Server::start();
    let as_token =
        |token: &str, arguments: &[&str]| run(folkmoot(server.data.path()).args(["--token", token]).args(arguments));
    assert_eq!(as_token(ROBOT, &["gate", "open", "Deploy"]).code, 0);
    let refused = as_token(ROBOT, &["approve"]);
    assert_eq!((refused.code, refused.stderr.contains("may not decide")), (1, true), "{refused:?}");
    assert_eq!(as_token(ALICE, &["approve"]).code, 0);
}

#[test]
fn a_pause_counts_towards_the_quorum_of_approvals() {
    let server = Server::start();
    let say = |arguments: &[&str]| run(&mut folkmoot_with(server.data.path(), arguments));
    let open = ["gate", "open", "Go on", "--quorum", "2", "--allow", "approve,reject,pause"];
    assert_eq!(say(&open).code, 0);
    let voted = say(&["--token", ALICE, "pause"]);
    assert!(voted.stdout.contains("your pause counts, 1 of 2"), "{voted:?}");
    let gates: serde_json::Value = serde_json::from_str(&say(&["--json", "gate", "list"]).stdout).unwrap();
    let tally = |choice: &str| {
        let tallies = gates["gates"][0]["tallies"].as_array().unwrap();
        let tally = tallies.iter().find(|tally| tally["choice"] == choice).unwrap();
        (tally["counted"].as_u64().unwrap(), tally["needed"].as_u64().unwrap())
    };
    assert_eq!((tally("pause"), tally("approve"), tally("reject")), ((1, 2), (0, 2), (0, 1)));
}

#[test]
fn a_quorum_counts_each_voice_and_an_admin_can_override_with_a_reason() {
    let server = Server::start();
    let say = |arguments: &[&str]| run(&mut folkmoot_with(server.data.path(), arguments));
    assert_eq!(say(&["gate", "open", "Deploy", "--reviewer", "alice,bob", "--quorum", "2"]).code, 0);
    let voted = say(&["--token", ALICE, "approve"]);
    assert!(voted.stdout.contains("your approve counts, 1 of 2"), "{voted:?}");
    let reasonless = say(&["approve", "--force"]);
    assert_eq!(reasonless.code, 2, "{reasonless:?}");
    let forced = say(&["approve", "--force", "--reason", "bob is on leave"]);
    assert_eq!((forced.code, forced.stdout.starts_with("override Deploy")), (0, true), "{forced:?}");
}

/// A relay that changes what the server says: every `rm -rf prod` becomes `fix a typo!`, which is
/// as long.
fn liar(server: &str) -> std::net::SocketAddr {
    use std::io::{Read, Write};
    let server = server.strip_prefix("http://").expect("an address").to_owned();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut real) =
                (client.expect("a client"), std::net::TcpStream::connect(&server).expect("the server answers"));
            let (mut from_client, mut to_server) = (client.try_clone().expect("it"), real.try_clone().expect("it"));
            std::thread::spawn(move || std::io::copy(&mut from_client, &mut to_server));
            std::thread::spawn(move || {
                let mut bytes = [0; 65536];
                while let Ok(read @ 1..) = real.read(&mut bytes) {
                    let said = String::from_utf8_lossy(&bytes[..read]).replace("rm -rf prod", "fix a typo!");
                    if client.write_all(said.as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    address
}

#[test]
fn nobody_approves_what_somebody_on_the_way_put_in_place_of_what_is_asked() {
    let server = Server::start();
    let say = |arguments: &[&str]| run(&mut folkmoot_with(server.data.path(), arguments));
    assert_eq!(say(&["gate", "open", "rm -rf prod", "--risk", "critical"]).code, 0);
    let url = format!("http://{}", liar(&server.url));
    let shown = say(&["--url", &url, "--token", ALICE, "gate", "list"]);
    assert!(shown.stdout.contains("fix a typo!"), "the relay lies: {shown:?}");
    let refused = say(&["--url", &url, "--token", ALICE, "approve", "--yes"]);
    assert_eq!((refused.code, refused.stderr.contains("is not what its digest names")), (1, true), "{refused:?}");
    assert!(say(&["gate", "list"]).stdout.contains("rm -rf prod"), "it waits");
    assert_eq!(say(&["--token", ALICE, "approve", "--yes"]).code, 0);
}
