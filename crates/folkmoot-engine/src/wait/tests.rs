//! No wake-up is lost, in whatever order a commit, the tailer and those who wait take their turns.
//! What runs is the code of this module and of `gate_cache`, on a row and a log that are just large
//! enough.

use std::sync::{Arc, Mutex};

use folkmoot_core::{
    Action, Actor, Command, Event, Gate, GateId, Head, Judgement, Loaded, Outcome, Principal, Role, Timestamp, chain,
    gate::{self, Choice, GateKind, GatePolicy, NewGate, Review, Risk},
    judge,
};
use folkmoot_store::{Error, GateView};
use shuttle::{future::block_on, sync::mpsc, thread};

use super::{GateWaiter, WaitSource, Waiters};
use crate::{
    gate_cache::GateCache,
    lock::{lock, shuttled::in_any_order},
};

#[derive(Debug)]
struct Node {
    row: Mutex<GateView>,
    waiters: Waiters,
    gate_cache: GateCache,
}

impl WaitSource for Arc<Node> {
    fn waiters(&self) -> &Waiters {
        &self.waiters
    }

    fn gate_cache(&self) -> &GateCache {
        &self.gate_cache
    }

    fn may_see(&self, _: &Gate) -> bool {
        true
    }

    async fn gate(&self, _: &GateId) -> Result<GateView, Error> {
        Ok(lock(&self.row).clone())
    }
}

#[test]
fn no_order_of_events_loses_a_waiter() {
    let story = story();
    in_any_order(move || {
        let waiting = |node: Arc<Node>, id: GateId| {
            let told = block_on(async {
                let mut waiter = GateWaiter::begin(node.clone(), [id.clone()]).await.expect("it is there");
                let decided = waiter.next().await.expect("no store, no error").expect("it was pending, or is decided");
                assert!(waiter.next().await.expect("no error").is_none(), "it was told twice");
                decided
            });
            assert!(told.gate.decision().is_some());
        };
        let node = play(&story, waiting);
        assert!(lock(&node.waiters.by_stream).is_empty(), "a trace remains");
    });
}

/// That the above can fail at all.
#[test]
#[should_panic(expected = "deadlock")]
fn whoever_reads_before_registering_is_lost_in_some_order() {
    let story = story();
    in_any_order(move || {
        let waiting = |node: Arc<Node>, id: GateId| {
            block_on(async {
                if node.gate(&id).await.expect("it is there").gate.decision().is_none() {
                    let mut events = node.waiters.listen(id.as_str());
                    while events.next().await.expect("the log goes on").fact.kind != "gate.decided" {}
                }
            });
        };
        play(&story, waiting);
    });
}

/// The gate's life: a commit after the other, a tailer behind them, and two who come whenever they
/// come.
fn play(story: &[(Gate, Arc<Event>)], waiting: fn(Arc<Node>, GateId)) -> Arc<Node> {
    let (opened, id) = (story[0].0.clone(), story[0].0.id.clone());
    let row = Mutex::new(GateView { gate: opened.clone(), summary: Some("Deploy".to_owned()) });
    let node = Arc::new(Node { row, waiters: Waiters::default(), gate_cache: GateCache::default() });
    node.gate_cache.put_text(opened.content.summary, "Deploy".to_owned());
    let (committed, log) = mpsc::channel::<Arc<Event>>();
    let (tailing, writing, life) = (node.clone(), node.clone(), story.to_vec());
    let mut tasks = vec![
        thread::spawn(move || {
            // As `feed::tail` does.
            while let Ok(event) = log.recv() {
                tailing.gate_cache.apply(&event);
                tailing.waiters.deliver(&event);
            }
        }),
        thread::spawn(move || {
            for (gate, event) in life {
                lock(&writing.row).gate = gate;
                committed.send(event).expect("the tailer lives");
            }
        }),
    ];
    for _ in 0..2 {
        let (node, id) = (node.clone(), id.clone());
        tasks.push(thread::spawn(move || waiting(node, id)));
    }
    tasks.into_iter().for_each(|task| task.join().expect("no panic"));
    node
}

/// A gate that two must approve: opened, voted on, decided; its row after each, and the event.
fn story() -> Vec<(Gate, Arc<Event>)> {
    let principal = |name: &str, role| Actor::Principal(Principal::new(name.parse().expect("a name"), role));
    let new_gate = NewGate {
        id: "gate-1".parse().expect("an id"),
        run_id: None,
        session_id: None,
        title: None,
        summary: "Deploy".to_owned(),
        phase: "merge".parse().expect("a phase"),
        kind: GateKind::Custom,
        risk: Risk::Medium,
        artifacts: Vec::new(),
        allowed: None,
        timeout: None,
        on_timeout: None,
        reviewers: None,
        quorum: Some(2),
        reject_quorum: None,
        self_review: None,
        dedupe_key: None,
        notification_channels: Vec::new(),
        on_behalf_of: None,
    };
    let mut story: Vec<(Gate, Arc<Event>)> = Vec::new();
    let mut head = Head::START;
    let open = Action::Gate(gate::Action::Open {
        new_gate: Box::new(new_gate),
        policy: GatePolicy::default(),
        contents: Vec::new(),
    });
    let mut execute = |by: Actor, action: Action, story: &mut Vec<(Gate, Arc<Event>)>| {
        let command = Command {
            id: "c".parse().expect("an id"),
            by,
            token: None,
            claims: None,
            idempotency: None,
            action,
            quota: Default::default(),
            subscriptions: [].into(),
        };
        let loaded = Loaded {
            gate: gate::Loaded { gate: story.last().map(|(gate, _)| gate.clone()), ..gate::Loaded::default() },
            ..Loaded::default()
        };
        let Judgement::Done(commit) = judge(&command, loaded, Timestamp::from_micros(1)) else { panic!("refused") };
        let Outcome::Gate(gate) = commit.outcome else { panic!("a gate") };
        let [fact] = commit.events.try_into().expect("one event");
        story.push((*gate, Arc::new(chain::append(&mut head, fact))));
    };
    execute(principal("bot", Role::Agent), open, &mut story);
    for name in ["alice", "bob"] {
        let review = Review::on(&story[0].0, Choice::Approve, "");
        execute(principal(name, Role::Reviewer), Action::Gate(gate::Action::Decide(review)), &mut story);
    }
    assert!(story.len() == 3 && story[1].0.decision().is_none() && story[2].0.decision().is_some());
    story
}
