//! SIGKILL at any moment: every halt that was acknowledged is still there, and every release still
//! counts.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use folkmoot_api::{
    Client,
    core::{Name, QuestionId, Scope, SessionId, clearance::ReleaseReason, question::QuestionType},
    wire::{Answer, Ask, ClearanceFor, RaiseHalt, WithReason},
};
use tokio::task::JoinSet;

use super::{
    number, postgres,
    process::{Home, Process},
    random::Random,
};
use crate::server::{ALICE, ROBOT};

const ROOT: &str = "root-token-0123456789";

/// What was last acknowledged about an agent, each of which is asked about once.
#[derive(Clone, Debug, PartialEq)]
enum Known {
    /// It is halted by this.
    Halted(String),
    /// Its denial was not fetched.
    Denied(String),
    /// What halted it was closed or lifted.
    Released,
    /// A call was on its way when the server was killed.
    InDoubt,
}

type Ledger = Arc<Mutex<BTreeMap<String, Known>>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_halt_is_still_there_and_every_release_still_counts() {
    storm("SQLite", vec![Home::new()], number("FOLKMOOT_KILLS", 50) / 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_halt_is_still_there_on_two_nodes() {
    let Some(database) = postgres::schema().await else { return };
    let homes = vec![Home::on(&database), Home::on(&database)];
    storm("two nodes on PostgreSQL", homes, number("FOLKMOOT_KILLS_POSTGRES", 20) / 2).await;
}

async fn storm(what: &str, homes: Vec<Home>, kills: u64) {
    let mut random = Random::seeded(what);
    let ledger = Ledger::default();
    let mut servers = Vec::new();
    for home in &homes {
        servers.push(home.start().await);
    }
    // It waits through every kill, for what nobody answers before the end.
    let lasting = servers[0].client(ROBOT).ask(&ask("lasting", QuestionType::Blocking), None).await.expect("it asks");
    for kill in 1..=kills {
        let victim = usize::try_from(kill).expect("a small number") % homes.len();
        let over = Arc::new(AtomicBool::new(false));
        let mut crowd = JoinSet::new();
        for worker in 0..8_usize {
            let client = servers[worker % servers.len()].client.clone();
            crowd.spawn(work(client, format!("k{kill}w{worker}"), ledger.clone(), over.clone(), random.fork()));
        }
        tokio::time::sleep(Duration::from_millis(40 + random.below(160))).await;
        servers.remove(victim).kill();
        over.store(true, Ordering::Relaxed);
        crowd.join_all().await;
        servers.insert(victim, homes[victim].start().await);
        let known = ledger.lock().expect("no panic").clone();
        for server in &servers {
            still_holds(server, known.iter().filter(|(agent, _)| agent.starts_with(&format!("k{kill}w")))).await;
        }
    }
    let known = ledger.lock().expect("no panic").clone();
    for server in &servers {
        still_holds(server, known.iter()).await;
        assert!(!cleared(server, "lasting").await.0, "nobody answered that");
        let verified = server.client(ALICE).verify().await.expect("it can be verified");
        assert!(verified.ok, "{:?}", verified.problems);
    }
    let waiting = {
        let client = servers[homes.len() - 1].client(ROBOT);
        tokio::spawn(async move { client.cleared(&agent("lasting"), Duration::from_secs(10)).await })
    };
    let answer = Answer { answer: "at last".into(), reason: None };
    servers[0].client(ALICE).answer(&lasting.id, &answer, None).await.expect("it is answered");
    let waited = waiting.await.expect("no panic").expect("it is told");
    assert_eq!((waited.cleared, waited.reason), (true, ReleaseReason::Answered));
    let count = |wanted: fn(&Known) -> bool| known.values().filter(|known| wanted(known)).count();
    let (halted, released) = (count(|k| matches!(k, Known::Halted(_))), count(|k| *k == Known::Released));
    let (denied, doubts) = (count(|k| matches!(k, Known::Denied(_))), count(|k| *k == Known::InDoubt));
    println!("{what}: {kills} kills; {halted} halted, {denied} denied, {released} released, {doubts} in doubt");
    assert!(halted > 20 && released > 20, "too little happened to prove anything");
}

/// Halts and releases one agent after the other, until the server is gone.
async fn work(client: Client, name: String, ledger: Ledger, over: Arc<AtomicBool>, mut random: Random) {
    for n in 0.. {
        if over.load(Ordering::Relaxed) {
            return;
        }
        let agent = format!("{name}n{n}");
        let note = |known| drop(ledger.lock().expect("no panic").insert(agent.clone(), known));
        note(Known::InDoubt);
        let done = match random.below(4) {
            0 => halt_and_lift(&client, &agent, random.below(2) == 0, note).await,
            kind => {
                let types = [QuestionType::Blocking, QuestionType::Approval, QuestionType::Escalation];
                ask_and_close(&client, &agent, types[kind as usize - 1], random.below(4), note).await
            }
        };
        if done.is_none() {
            return;
        }
    }
}

async fn ask_and_close(
    client: &Client,
    agent: &str,
    question_type: QuestionType,
    end: u64,
    note: impl Fn(Known),
) -> Option<()> {
    let (robot, alice) = (client.with_token(ROBOT), client.with_token(ALICE));
    let id: QuestionId = robot.ask(&ask(agent, question_type), None).await.ok()?.id;
    note(Known::Halted(id.to_string()));
    if end == 0 {
        return Some(());
    }
    note(Known::InDoubt);
    match end {
        1 => {
            alice.deny(&id, &WithReason::default(), None).await.ok()?;
            note(Known::Denied(id.to_string()));
        }
        2 => {
            alice.skip(&id, &WithReason::default(), None).await.ok()?;
            note(Known::Released);
        }
        _ => {
            alice.answer(&id, &Answer { answer: "approve".into(), reason: None }, None).await.ok()?;
            note(Known::Released);
        }
    }
    Some(())
}

async fn halt_and_lift(client: &Client, agent: &str, lift: bool, note: impl Fn(Known)) -> Option<()> {
    let root = client.with_token(ROOT);
    let agent_id = Some(agent.parse().expect("a name"));
    let halt = RaiseHalt { scope: Scope::Agent, agent_id, session_id: None, reason: "smoke".to_owned() };
    let id = root.raise_halt(&halt, None).await.ok()?.id;
    note(Known::Halted(id.to_string()));
    if lift {
        note(Known::InDoubt);
        root.lift_halt(&id).await.ok()?;
        note(Known::Released);
    }
    Some(())
}

async fn still_holds<'a>(server: &Process, known: impl Iterator<Item = (&'a String, &'a Known)>) {
    for (agent, known) in known {
        let (can_proceed, by) = cleared(server, agent).await;
        match known {
            Known::Halted(id) | Known::Denied(id) => {
                assert_eq!((can_proceed, by), (false, vec![id.clone()]), "{agent} was {known:?}");
            }
            Known::Released => assert_eq!((can_proceed, by), (true, vec![]), "{agent} was released"),
            Known::InDoubt => {}
        }
    }
}

/// Whether the agent may work, once this server has heard of everything that others have written.
async fn cleared(server: &Process, name: &str) -> (bool, Vec<String>) {
    let found = server.client(ROBOT).clearance(&agent(name)).await.expect("it can be asked");
    assert!(!found.out_of_touch, "it is in touch");
    (found.can_proceed, found.blocked_by.into_iter().map(|by| by.id).collect())
}

fn agent(name: &str) -> ClearanceFor {
    let agent_id: Name = name.parse().expect("a name");
    ClearanceFor { agent_id: Some(agent_id), ..ClearanceFor::default() }
}

fn ask(agent: &str, question_type: QuestionType) -> Ask {
    let session: SessionId = format!("session-of-{agent}").parse().expect("an id");
    Ask {
        agent_id: Some(agent.parse().expect("a name")),
        session_id: Some(session),
        ..Ask::new(question_type, "May I?")
    }
}
