//! Webhooks, channels and deliveries.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener},
    sync::mpsc,
};

use serde_json::Value;

use super::run;
use crate::server::{Server, TEST_TIMEOUT, eventually, folkmoot_with, with_yours};

/// A receiver that takes everything, on a thread that ends with the test.
fn receiver() -> (SocketAddr, mpsc::Receiver<Value>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let (sender, received) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.expect("a connection"));
            let mut length = 0;
            let mut line = String::new();
            while stream.read_line(&mut line).unwrap_or(0) > 2 {
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().expect("a length");
                }
                line.clear();
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).expect("a body");
            stream.get_mut().write_all(b"HTTP/1.1 204 Taken\r\nconnection: close\r\n\r\n").expect("it listens");
            if sender.send(serde_json::from_slice(&body).expect("JSON")).is_err() {
                return;
            }
        }
    });
    (address, received)
}

#[test]
fn a_webhook_is_added_told_changed_and_removed() {
    let data = tempfile::tempdir().unwrap();
    std::fs::write(data.path().join("folkmoot.toml"), "[notify]\nallow = [\"127.0.0.0/8\"]\n").unwrap();
    let server = Server::start_in(data);
    let (address, received) = receiver();
    let url = format!("http://{address}/");
    let say = |arguments: &[&str]| run(&mut folkmoot_with(server.data.path(), arguments));
    let added = say(&["webhook", "add", &url, "--name", "builder", "--events", "halt.raised"]);
    let secret = added.stdout.trim().to_owned();
    assert!(secret.starts_with("whsec_") && added.stderr.contains("shown once"), "{added:?}");
    let tested = say(&["notify", "test", "builder"]);
    assert_eq!((tested.code, tested.stdout.trim()), (0, "told builder"), "{tested:?}");
    assert_eq!(received.recv_timeout(TEST_TIMEOUT).unwrap()["type"], "notify.test");
    assert_eq!(say(&["gate", "open", "Deploy", "--tell", "builder"]).code, 0);
    assert_eq!(received.recv_timeout(TEST_TIMEOUT).unwrap()["type"], "gate.opened");
    let listed = eventually("it is said to be delivered", || {
        let listed = say(&["delivery", "list", "--channel", "builder"]).stdout;
        listed.contains(" delivered ").then_some(listed)
    });
    let id = listed.lines().nth(1).and_then(|line| line.split(' ').next()).unwrap();
    assert!(say(&["delivery", "show", id]).stdout.contains("gate.opened of gate-"));
    assert_eq!(say(&["delivery", "resend", id]).code, 0);
    assert_eq!(received.recv_timeout(TEST_TIMEOUT).unwrap()["type"], "gate.opened");
    let changed = say(&["webhook", "change", "builder", "--events", "gate.*,run.*", "--disable"]);
    assert!(changed.stdout.contains("gate.* run.*") && changed.stdout.contains("disabled"), "{changed:?}");
    let channels = say(&["notify", "list"]).stdout;
    assert!(channels.contains("builder") && channels.contains("it is disabled"), "{channels}");
    let rotated = say(&["webhook", "rotate", "builder"]).stdout;
    assert!(rotated.starts_with("whsec_") && rotated.trim() != secret, "{rotated}");
    assert!(!say(&["webhook", "list", "--json"]).stdout.contains("whsec_"));
    assert_eq!(say(&["webhook", "remove", "builder"]).code, 0);
    let gone = say(&["webhook", "show", "builder"]);
    assert_eq!((gone.code, gone.stderr.contains("folkmoot webhook list")), (1, true), "{gone:?}");
}

#[test]
fn a_channel_that_cannot_be_told_says_why() {
    let data = with_yours();
    let toml = "[channels.team]\nkind = \"slack\"\nurl_env = \"FOLKMOOT_TEST_NOT_SET\"\n";
    std::fs::write(data.path().join("folkmoot.toml"), toml).unwrap();
    let say = |arguments: &[&str]| run(&mut folkmoot_with(data.path(), arguments));
    let tested = say(&["notify", "test", "team"]);
    assert_eq!((tested.code, tested.stderr.contains("has no FOLKMOOT_TEST_NOT_SET")), (1, true), "{tested:?}");
    let refused = say(&["webhook", "add", "https://169.254.169.254/latest/meta-data"]);
    assert_eq!((refused.code, refused.stderr.contains("where clouds keep their metadata")), (1, true), "{refused:?}");
    std::fs::write(data.path().join("folkmoot.toml"), "[channels.team]\nkind = \"pigeon\"\n").unwrap();
    let wrong = say(&["notify", "list"]);
    assert_eq!((wrong.code, wrong.stderr.contains("webhook, slack, mail, desktop")), (1, true), "{wrong:?}");
}
