//! A node that does not hear from the database clears nobody.

use std::{path::Path, time::Duration};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpStream, UnixListener, UnixStream},
    sync::watch,
};
use tokio_postgres::config::Host;

use crate::{
    halting::{covered, ended},
    http,
    node::{Node, Setting, postgres, token},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_does_not_hear_from_the_database_clears_nobody() {
    let Some(setting) = postgres().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let (frozen, watched) = watch::channel(false);
    let database = proxied(setting.database.as_deref().unwrap(), folder.path(), watched);
    let here = Node::with(setting.clone()).await;
    let there = Node::with(Setting { database: Some(database), ..setting }).await;
    let early = here.asks("a1", "", "BLOCKING").await;
    let nodes = [here, there];
    covered(&nodes, "a1", "", &[&early]).await;
    let [here, there] = nodes;
    assert!(there.can_proceed("a2", "").await);
    let waiting = there.waiting("a1", "", 50_000).await;

    frozen.send_replace(true);
    let unheard = here.asks("a2", "", "BLOCKING").await;
    here.answers(&early, "yes").await;
    let clearance = |agent: &'static str| {
        let there = &there;
        async move { there.get("vera", &format!("/v1/clearance?agent_id={agent}")).await.json() }
    };
    tokio::time::sleep(Duration::from_millis(2500)).await;
    for agent in ["a2", "somebody"] {
        let said: Value = clearance(agent).await;
        assert_eq!((&said["can_proceed"], &said["out_of_touch"]), (&json!(false), &json!(true)), "{agent}: {said}");
    }
    ended(&there.waited("a2", "", 300).await, false, "timeout", &[]);
    ended(&there.waited("somebody", "", 300).await, false, "timeout", &[]);
    assert!(here.can_proceed("somebody", "").await, "the other node hears, and goes on");

    let later = there.waiting("somebody", "", 30_000).await;
    assert!(!later.is_finished());
    frozen.send_replace(false);
    ended(&later.await.unwrap(), true, "answered", &[]);
    ended(&waiting.await.unwrap(), true, "answered", &[(&early, json!("yes"))]);
    let nodes = [here, there];
    covered(&nodes, "a2", "", &[&unheard]).await;
    covered(&nodes, "a1", "", &[]).await;
    nodes[1].verifies().await;
}

/// What was asked while the database was silent was asked once or not at all, and the key tells
/// which.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_asking_whose_fate_is_unknown_is_repeated_with_its_key() {
    let Some(setting) = postgres().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let (frozen, watched) = watch::channel(false);
    let database = proxied(setting.database.as_deref().unwrap(), folder.path(), watched);
    let node = Node::with(Setting { database: Some(database), ..setting }).await;
    let body = json!({"agent_id": "a1", "type": "BLOCKING", "text": "?"}).to_string();
    let key = [("idempotency-key", "k")];
    frozen.send_replace(true);
    let unsure = http::send(&node.url, "POST", "/v1/questions", &token("agent-a"), &key, &body).await;
    assert_eq!(unsure.status, 503, "{unsure:?}");
    eprintln!("while the database is silent: {}", unsure.code());
    frozen.send_replace(false);
    let mut asked = http::send(&node.url, "POST", "/v1/questions", &token("agent-a"), &key, &body).await;
    for _ in 0..100 {
        if asked.status != 503 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
        asked = http::send(&node.url, "POST", "/v1/questions", &token("agent-a"), &key, &body).await;
    }
    assert_eq!(asked.status, 201, "{asked:?}");
    let question = crate::halting::id(&asked.json());
    covered(std::slice::from_ref(&node), "a1", "", &[&question]).await;
    node.verifies().await;
}

/// What is found late is still looked at as a whole: an agent that was free for a moment in the
/// past is not free.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_catches_up_releases_nobody_whom_something_later_covers() {
    let Some(setting) = postgres().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let (frozen, watched) = watch::channel(false);
    let database = proxied(setting.database.as_deref().unwrap(), folder.path(), watched);
    let here = Node::with(setting.clone()).await;
    let there = Node::with(Setting { database: Some(database), ..setting }).await;
    let one = here.asks("a1", "", "BLOCKING").await;
    let nodes = [here, there];
    covered(&nodes, "a1", "", &[&one]).await;
    let [here, there] = nodes;
    let waiting = there.waiting("a1", "", 50_000).await;
    frozen.send_replace(true);
    here.answers(&one, "yes").await;
    let two = here.asks("a1", "", "APPROVAL").await;
    tokio::time::sleep(Duration::from_millis(2500)).await;
    frozen.send_replace(false);
    let nodes = [here, there];
    covered(&nodes, "a1", "", &[&two]).await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    if waiting.is_finished() {
        panic!("cleared although {two} was open for two seconds: {}", waiting.await.unwrap());
    }
    nodes[0].answers(&two, "approve").await;
    ended(&waiting.await.unwrap(), true, "answered", &[(&one, json!("yes")), (&two, json!("approve"))]);
}

/// Whoever was told that its question was asked must not be cleared by another node that has not
/// heard of it yet.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agent_that_asks_on_one_node_is_not_cleared_by_a_wait_on_another() {
    let Some(setting) = postgres().await else { return };
    let (here, there) = (Node::with(setting.clone()).await, Node::with(setting).await);
    let (mut free, mut cleared) = (0, 0);
    for round in 0..100 {
        let agent = format!("a{round}");
        here.asks(&agent, "", "APPROVAL").await;
        free += usize::from(there.can_proceed(&agent, "").await);
        let agent = format!("b{round}");
        here.asks(&agent, "", "APPROVAL").await;
        let waited = there.waited(&agent, "", 10).await;
        cleared += usize::from(waited["cleared"] == true);
    }
    eprintln!("of 100 looks from memory so many found the agent free: {free}");
    assert_eq!(cleared, 0, "of 100 waits so many ended with `cleared: true` while the APPROVAL was open");
}

/// The node that asked is gone: another one applies the default.
#[tokio::test]
async fn a_default_falls_due_on_another_node_when_the_one_that_asked_is_gone() {
    let Some(setting) = postgres().await else { return };
    let (here, there) = (Node::with(setting.clone()).await, Node::with(setting).await);
    let body = json!({"agent_id": "a1", "type": "BLOCKING", "text": "?", "default": "main", "timeout_ms": 400});
    let question = crate::halting::id(&here.asked(body).await);
    covered(std::slice::from_ref(&there), "a1", "", &[&question]).await;
    here.stop().await;
    ended(&there.waited("a1", "", 20_000).await, true, "default", &[(&question, json!("main"))]);
}

/// The same database behind a socket of ours, through which nothing goes while it is frozen.
fn proxied(database: &str, folder: &Path, frozen: watch::Receiver<bool>) -> String {
    let config: tokio_postgres::Config = database.parse().unwrap();
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let host = config.get_hosts()[0].clone();
    let listener = UnixListener::bind(folder.join(format!(".s.PGSQL.{port}"))).unwrap();
    tokio::spawn(async move {
        while let Ok((ours, _)) = listener.accept().await {
            let (host, frozen) = (host.clone(), frozen.clone());
            tokio::spawn(async move {
                let (from, to) = ours.into_split();
                match host {
                    Host::Tcp(name) => {
                        let (back, forth) = TcpStream::connect((name.as_str(), port)).await.unwrap().into_split();
                        tokio::join!(copy(from, forth, frozen.clone()), copy(back, to, frozen));
                    }
                    Host::Unix(path) => {
                        let socket = path.join(format!(".s.PGSQL.{port}"));
                        let (back, forth) = UnixStream::connect(socket).await.unwrap().into_split();
                        tokio::join!(copy(from, forth, frozen.clone()), copy(back, to, frozen));
                    }
                }
            });
        }
    });
    let host = database.split(' ').find(|word| word.starts_with("host=")).expect("it says which host");
    database.replacen(host, &format!("host={}", folder.display()), 1)
}

async fn copy(
    mut from: impl AsyncReadExt + Unpin,
    mut to: impl AsyncWriteExt + Unpin,
    mut frozen: watch::Receiver<bool>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        // An error means that the test has ended.
        let _ = frozen.wait_for(|frozen| !frozen).await;
        if to.write_all(&buffer[..read]).await.is_err() {
            break;
        }
    }
    let _ = to.shutdown().await;
}
