//! A node whose clock is a minute and a half wrong: the database's clock rules, so nothing is too
//! early and nothing too late.

use std::{
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    time::{Duration, Instant},
};

use folkmoot_api::{
    core::{GateStatus, Role, Timeout, gate::Choice},
    wire::{Gate, NewToken, OpenGate, Verdict},
};
use futures_util::future::join_all;

use super::{
    postgres,
    process::{Home, Process},
};
use crate::server::{ALICE, ROBOT};

/// Makes a program believe that it is another time.
const SHIMS: [&str; 3] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    "/usr/lib/faketime/libfaketimeMT.so.1",
];
const SPAN: Duration = Duration::from_millis(1200);
/// How often a node looks for what is due, and a little for a machine that is busy.
const LATE_MAX: Duration = Duration::from_secs(3);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_whose_clock_is_wrong_is_neither_too_early_nor_too_late() {
    let Some(database) = postgres::schema().await else { return };
    let Some(shim) = SHIMS.into_iter().find(|shim| Path::new(shim).exists()) else {
        return super::skipped("no libfaketime, so no clock can be wrong; use `cargo xtask test`");
    };
    let wrong = |skew: &str| {
        let mut home = Home::on(&database);
        home.environment = vec![
            ("LD_PRELOAD", shim.to_owned()),
            ("FAKETIME", skew.to_owned()),
            // Only what the clock on the wall says.
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
        ];
        home
    };
    let homes = [Home::on(&database), wrong("+90s"), wrong("-90s")];
    let servers = join_all(homes.iter().map(Home::start)).await;
    // That the shim works at all: such a node dates its answers otherwise than the first one does.
    let times: Vec<_> = servers.iter().map(|server| dated(server.client.url())).collect();
    for (n, skew) in [(1, 90), (2, -90)] {
        let off = (times[n] - times[0] - skew).rem_euclid(24 * 3600);
        assert!(!(30..=24 * 3600 - 30).contains(&off), "{times:?}: the clock of node {n} is not wrong");
    }

    // A minute is long enough for anybody here, and over for whoever believes the clock that is
    // ahead.
    let long = opened(&servers, Duration::from_secs(60)).await;
    for (n, gate) in long.iter().enumerate() {
        let verdict = Verdict { digest: Some(gate.digest), ..Verdict::default() };
        servers[n % 3].client(ALICE).decide(&gate.id, Choice::Approve, &verdict, None).await.expect("there is time");
        // The key is known to all three, and to none of them too old.
        let again = open(&servers[(n + 1) % 3], &gate.title, Duration::from_secs(60)).await;
        assert_eq!(&again, gate, "the same key, the same answer");
    }
    let begun = Instant::now();
    let short = opened(&servers, SPAN).await;
    let mut latest = Duration::ZERO;
    for (n, gate) in short.iter().enumerate() {
        let gate = servers[n % 3].client(ALICE).wait_gate(&gate.id, Duration::from_secs(10)).await.expect("an answer");
        assert!(begun.elapsed() >= SPAN, "{} was told too early", gate.id);
        assert_eq!(gate.status, GateStatus::TimedOut);
        let (at, due) = (gate.decision.expect("a decision").decided_at, gate.deadline.moment().expect("a deadline"));
        assert!(at >= due, "{} was timed out too early", gate.id);
        latest = latest.max(at.since(due));
    }
    assert!(latest < LATE_MAX, "{latest:?} late");
    // A token that a node makes whose clock is wrong is one everywhere, and so is its end.
    let root = servers[1].client("root-token-0123456789");
    let token = NewToken {
        name: "zoe".parse().expect("a name"),
        role: Role::Reviewer,
        capabilities: Vec::new(),
        kind: Default::default(),
    };
    let made = root.create_token(&token).await.expect("a token");
    let secret = made.token.expect("it is shown once");
    for server in &servers {
        let zoe = server.client(&secret);
        super::eventually(async || zoe.gates(&Default::default()).await.ok()).await;
    }
    root.revoke_token(&made.id).await.expect("it ends");
    for server in &servers {
        let zoe = server.client(&secret);
        super::eventually(async || zoe.gates(&Default::default()).await.err()).await;
    }
    let verified = servers[0].client(ALICE).verify().await.expect("it can be verified");
    assert!(verified.ok, "{:?}", verified.problems);
    println!("clocks 90 s ahead and 90 s behind: {} gates, none too early, {latest:?} late at most", short.len());
}

/// There is one server and no other clock: what is overdue stays so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_set_back_gives_no_gate_more_time() {
    let Some(shim) = SHIMS.into_iter().find(|shim| Path::new(shim).exists()) else {
        return super::skipped("no libfaketime, so no clock can be set back; use `cargo xtask test`");
    };
    let mut home = Home::new();
    let time = home.data().with_file_name("time");
    std::fs::write(&time, "+0s").expect("a file");
    home.environment = vec![
        ("LD_PRELOAD", shim.to_owned()),
        ("FAKETIME_TIMESTAMP_FILE", time.display().to_string()),
        ("FAKETIME_NO_CACHE", "1".to_owned()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
    ];
    let server = home.start().await;
    let before = dated(server.client.url());
    let (waits, ended) = (open(&server, "waits", Duration::from_secs(5)).await, open(&server, "ended", SPAN).await);
    std::fs::write(&time, "-3600s").expect("a file");
    let ended = server.client(ALICE).wait_gate(&ended.id, Duration::from_secs(10)).await.expect("an answer");
    assert_eq!(ended.status, GateStatus::TimedOut);
    // Nor when it is started again, which is when nobody remembers how long it has run.
    server.kill();
    let server = home.start().await;
    let off = (dated(server.client.url()) - before + 3600).rem_euclid(24 * 3600);
    assert!(off < 120, "the clock was not set back");
    let waits = server.client(ALICE).wait_gate(&waits.id, Duration::from_secs(30)).await.expect("an answer");
    assert_eq!(waits.status, GateStatus::TimedOut);
    let verified = server.client(ALICE).verify().await.expect("it can be verified");
    assert!(verified.ok, "{:?}", verified.problems);
}

/// Ten gates on each.
async fn opened(servers: &[Process], span: Duration) -> Vec<Gate> {
    let titles = (0..30).map(|n| format!("gate {n} for {span:?}")).collect::<Vec<_>>();
    join_all(titles.iter().enumerate().map(|(n, title)| open(&servers[n % 3], title, span))).await
}

/// A gate, under a key of its own.
async fn open(server: &Process, title: &str, span: Duration) -> Gate {
    let timeout_ms = Some(Timeout::After(span));
    let open = OpenGate { summary: title.to_owned(), timeout_ms, ..OpenGate::default() };
    server.client(ROBOT).open_gate(&open, Some(title)).await.expect("it opens")
}

/// The second of the day at which a server says that it answers.
fn dated(url: &str) -> i64 {
    let address = url.strip_prefix("http://").expect("an address");
    let mut stream = TcpStream::connect(address).expect("it answers");
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it answers");
    let line = answer.lines().find(|line| line.to_ascii_lowercase().starts_with("date: "));
    // date: Sat, 31 Jan 2026 12:00:00 GMT
    let time = line.and_then(|line| line.split(' ').find(|word| word.contains(':') && word.len() == 8));
    time.unwrap_or_else(|| panic!("no date in {answer}"))
        .split(':')
        .fold(0, |sum, part| 60 * sum + part.parse::<i64>().expect("a number"))
}
