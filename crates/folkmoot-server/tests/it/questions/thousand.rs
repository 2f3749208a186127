//! A thousand wait.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::Semaphore,
    task::JoinSet,
};

use super::replay::replay;
use crate::{
    halting::{covered, id, of, settles},
    node::{everywhere, token},
};

const WAITERS: usize = 1000;
const IN_SESSION: usize = 100;
const WITH_OWN: usize = 10;

/// All wait on the last node; everything else is said on the first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_thousand_waiters_exactly_those_are_released_that_nothing_covers() {
    for nodes in everywhere().await {
        let (first, last) = (&nodes[0], nodes.last().unwrap());
        let emergency = first.asks("monitor-1", "", "EMERGENCY").await;
        let halt = first.halts(json!({"scope": "session", "session_id": "s1"})).await;
        let mut own = Vec::new();
        for n in WAITERS - WITH_OWN..WAITERS {
            own.push(first.asks(&format!("w{n}"), "", "BLOCKING").await);
        }
        covered(&nodes, "w0", "s1", &[&emergency, &halt]).await;
        covered(&nodes, &format!("w{}", WAITERS - 1), "", &[&emergency, own.last().unwrap()]).await;
        let mut waiting = JoinSet::new();
        let connected = Arc::new(Semaphore::new(0));
        for n in 0..WAITERS {
            let (url, connected) = (last.url.clone(), connected.clone());
            let session = if n < IN_SESSION { "s1" } else { ["", "s2", "s3"][n % 3] };
            waiting.spawn(async move { (n, connected_and_waited(&url, n, session, &connected).await) });
        }
        // Whoever comes after the answer is not told it: it is somebody else's. So all must be
        // there before.
        drop(connected.acquire_many(WAITERS as u32).await.unwrap());
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(waiting.try_join_next().is_none(), "somebody did not wait");

        let began = Instant::now();
        first.answers(&emergency, "the fire is out").await;
        let expected = WAITERS - IN_SESSION - WITH_OWN;
        let released = released(&mut waiting, expected).await;
        eprintln!("{expected} waiters were released {:?} after the answer", began.elapsed());
        for (n, waited) in &released {
            assert!((IN_SESSION..WAITERS - WITH_OWN).contains(n), "w{n} was released early: {waited}");
            assert_eq!((&waited["cleared"], &waited["reason"]), (&json!(true), &json!("answered")));
            assert_eq!(answers(waited), [(emergency.clone(), json!("the fire is out"))]);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(waiting.try_join_next().is_none(), "somebody was released who is still covered");

        first.lifts(&halt).await;
        for (n, waited) in self::released(&mut waiting, IN_SESSION).await {
            assert!(n < IN_SESSION, "w{n} was released early: {waited}");
            assert_eq!((&waited["cleared"], &waited["reason"]), (&json!(true), &json!("lifted")));
            assert_eq!(answers(&waited), [(emergency.clone(), json!("the fire is out"))]);
        }
        for question in &own {
            first.answers(question, "go").await;
        }
        for (n, waited) in self::released(&mut waiting, WITH_OWN).await {
            let own = &own[n - (WAITERS - WITH_OWN)];
            let expected = [(emergency.clone(), json!("the fire is out")), (own.clone(), json!("go"))];
            assert_eq!(answers(&waited), expected);
        }
        assert!(waiting.is_empty());
        settles(&nodes, "w0", "s1", true).await;
        assert!(replay(&first.log("vera").await).0.is_empty());
        first.verifies().await;
    }
}

/// Waits on a connection that the server has already answered on.
async fn connected_and_waited(url: &str, n: usize, session: &str, connected: &Semaphore) -> Value {
    let address = url.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).await.unwrap();
    let head = format!("HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {}\r\n", token("agent-a"));
    stream.write_all(format!("GET /healthz {head}\r\n").as_bytes()).await.unwrap();
    let mut answer = vec![0; 4096];
    assert!(stream.read(&mut answer).await.unwrap() > 0);
    let path = format!("/v1/clearance/wait?{}&timeout_ms=55000", of(&format!("w{n}"), session));
    stream.write_all(format!("GET {path} {head}connection: close\r\n\r\n").as_bytes()).await.unwrap();
    connected.add_permits(1);
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    serde_json::from_str(body).unwrap_or_else(|error| panic!("{error} in {answer}"))
}

async fn released(waiting: &mut JoinSet<(usize, Value)>, count: usize) -> BTreeMap<usize, Value> {
    let mut released = BTreeMap::new();
    while released.len() < count {
        let next = tokio::time::timeout(Duration::from_secs(120), waiting.join_next()).await;
        let next = next.unwrap_or_else(|_| panic!("{} of {count} were released, and the others hang", released.len()));
        let (n, waited) = next.expect("there are more").unwrap();
        released.insert(n, waited);
    }
    released
}

fn answers(waited: &Value) -> Vec<(String, Value)> {
    let answers = waited["answers"].as_array().unwrap();
    answers.iter().map(|answer| (id(&json!({"id": answer["question_id"]})), answer["answer"].clone())).collect()
}
