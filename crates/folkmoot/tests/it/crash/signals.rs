//! SIGTERM, as a service manager sends it: everybody in flight is answered, and one closed file
//! stays behind.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use folkmoot_api::wire::{OpenGate, StartPlan};

use super::{
    load::Load,
    number, postgres,
    process::Home,
    proxy::{Proxy, Way},
    random::Random,
};
use crate::server::{ALICE, ROBOT, signal};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_under_load_drains_and_closes() {
    let rounds = number("FOLKMOOT_TERMS", 5);
    let (home, mut random) = (Home::new(), Random::seeded("SIGTERM"));
    let load = Load::new(2000);
    let mut server = home.start().await;
    load.serve([&server.client]);
    let crowd = load.start(8, &mut random);
    let (mut slowest, mut whole, mut lasted) = (Duration::ZERO, 0, 0);
    for round in 0..rounds {
        tokio::time::sleep(Duration::from_millis(100 + random.below(200))).await;
        // Connections that look at every byte: an answer that has begun also ends.
        let url = server.client.url().to_owned();
        let readers: Vec<_> = (0..3).map(|_| url.clone()).map(|url| std::thread::spawn(move || read(&url))).collect();
        // Two that would go on for ever: a stream of events, and somebody who waits for a gate that
        // nobody decides.
        let open = OpenGate { summary: format!("Undecided {round}"), ..OpenGate::default() };
        let undecided = server.client(ROBOT).open_gate(&open, None).await.expect("it opens");
        load.ledger().opened(&undecided);
        let wait = format!("/v1/gates/{}/wait?timeout_ms=30000", undecided.id);
        let lasting: Vec<_> = [("/v1/events?after=0".to_owned(), ALICE), (wait, ROBOT)]
            .map(|(path, token)| (url.clone(), path, token))
            .map(|(url, path, token)| std::thread::spawn(move || ask(&url, &path, token)))
            .into();
        tokio::time::sleep(Duration::from_millis(150)).await;
        let told = Instant::now();
        signal(server.pid(), "TERM");
        let status = server.ended(Duration::from_secs(6)).await;
        slowest = slowest.max(told.elapsed());
        assert_eq!(status.code(), Some(0), "round {round}: {}", server.said());
        // No new work.
        assert!(
            TcpStream::connect(url.strip_prefix("http://").expect("an address")).is_err(),
            "somebody still listens"
        );
        for reader in readers {
            whole += reader.join().expect("no answer was cut off");
        }
        for lasting in lasting {
            // On a busy machine it may not have begun, which whoever asked can tell.
            let Some(answer) = lasting.join().expect("what has begun also ends") else { continue };
            assert!(answer.starts_with("HTTP/1.1 200"), "{}", answer.lines().next().unwrap_or_default());
            lasted += 1;
        }
        assert_closed(&home);
        // The newest are those at risk; all are compared at the end.
        let fresh = load.ledger().fresh().into_iter().rev().take(40).collect();
        server = home.start().await;
        load.serve([&server.client]);
        load.still_holds(fresh).await;
    }
    crowd.finish().await;
    let ledger = load.ledger();
    println!(
        "{rounds} times SIGTERM, {slowest:?} at most; {} acknowledged, {} cut off or refused, {whole} answers and {lasted} streams and waits read whole",
        ledger.acknowledgements(),
        ledger.doubts()
    );
    assert!(slowest < Duration::from_secs(5), "one took {slowest:?}");
    assert!(ledger.decisions > 50 && whole > 5 && lasted >= rounds, "too little happened: this proves nothing");
}

/// The database is one file, and nothing says that a server runs.
fn assert_closed(home: &Home) {
    let left: Vec<_> = std::fs::read_dir(home.data())
        .expect("the folder is there")
        .map(|entry| entry.expect("a file").file_name().into_string().expect("a name"))
        .filter(|name| {
            !["folkmoot.db", "folkmoot.toml", "lock", "served.json", "server.key", "tokens.json"]
                .contains(&name.as_str())
        })
        .collect();
    assert_eq!(left, [""; 0], "the database was not closed, or server.json stayed");
}

/// Asks until nobody answers; returns how many answers there were, each of them whole.
fn read(url: &str) -> u64 {
    let mut answers = 0;
    for _ in 0..10_000 {
        if TcpStream::connect(url.strip_prefix("http://").expect("an address")).is_err() {
            return answers;
        }
        // Never begun, which whoever asked can tell, is no answer.
        answers += u64::from(ask(url, "/v1/gates?limit=200", ALICE).is_some());
    }
    panic!("it never ends")
}

/// One answer, which is whole if it has begun.
fn ask(url: &str, path: &str, token: &str) -> Option<String> {
    let address = url.strip_prefix("http://").expect("an address");
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(120))).expect("a timeout");
    let ask =
        format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {token}\r\nconnection: close\r\n\r\n");
    let mut answer = Vec::new();
    let read = stream.write_all(ask.as_bytes()).and_then(|()| stream.read_to_end(&mut answer));
    if answer.is_empty() {
        return None;
    }
    let text = String::from_utf8(answer).expect("text");
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("a head was cut off: {text} {read:?}"));
    let head = head.to_ascii_lowercase();
    if head.contains("transfer-encoding: chunked") {
        assert!(body.ends_with("0\r\n\r\n"), "a stream was cut off ({read:?}): {head}");
    } else {
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        assert_eq!(length, Some(body.len()), "an answer was cut off ({read:?}): {head}");
    }
    Some(text)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_ends_a_server_whose_models_do_not_answer() {
    let home = Home::new();
    // One that is away, and one that never says a word.
    let config = "provider = \"silent\"\n\n[providers.silent]\nkind = \"command\"\ncommand = [\"sleep\", \"600\"]\n\n\
                  [providers.away]\nkind = \"command\"\ncommand = [\"false\"]\nattempts = 1\n";
    std::fs::write(home.data().join("folkmoot.toml"), config).expect("a file");
    let mut server = home.start().await;
    let client = server.client(ALICE);
    for provider in ["silent", "away", "silent", "away"] {
        let wanted = StartPlan { goal: "g".to_owned(), provider: Some(provider.to_owned()), ..StartPlan::default() };
        client.start_plan(&wanted, None).await.expect("it starts");
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    signal(server.pid(), "TERM");
    let status = server.ended(Duration::from_secs(30)).await;
    assert_eq!(status.code(), Some(0), "{}", server.said());
    assert_closed(&home);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_ends_a_server_whose_database_does_not_answer() {
    let Some(database) = postgres::schema().await else { return };
    let way = Proxy::before(&database);
    let home = Home::on(&way.database(&database));
    let mut server = home.start().await;
    let robot = server.client(ROBOT);
    robot.open_gate(&OpenGate { summary: "before".to_owned(), ..OpenGate::default() }, None).await.expect("it opens");
    way.way.send_replace(Way::Silent);
    let waits = tokio::spawn(async move {
        let open = OpenGate { summary: "never answered".to_owned(), ..OpenGate::default() };
        robot.open_gate(&open, None).await
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    signal(server.pid(), "TERM");
    server.ended(Duration::from_secs(40)).await;
    assert!(waits.await.expect("no panic").is_err(), "nothing is acknowledged that was not written");
}
