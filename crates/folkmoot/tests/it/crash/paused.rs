//! One node of two stands still (SIGSTOP) and goes on as if no time had passed. It clears nobody on
//! what it knew before, it approves nothing that is overdue, and nothing is timed out twice.

use std::time::{Duration, Instant};

use folkmoot_api::{
    Client,
    core::{GateStatus, Scope, Timeout, gate::Choice},
    wire::{ClearanceFor, OpenGate, RaiseHalt, Verdict},
};
use futures_util::future::join_all;

use super::{number, postgres, process::Home};
use crate::server::{ALICE, ROBOT, signal};

const ROOT: &str = "root-token-0123456789";
const SPAN: Duration = Duration::from_millis(700);
const GATES: usize = 40;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_stood_still_knows_that_it_knows_nothing() {
    let Some(database) = postgres::schema().await else { return };
    let stop = Duration::from_millis(1000 * number("FOLKMOOT_STOP_SECONDS", 0)).max(Duration::from_millis(2300));
    let (stopped, other) = (Home::on(&database).start().await, Home::on(&database).start().await);
    let agent = ClearanceFor { agent_id: Some("a1".parse().expect("a name")), ..ClearanceFor::default() };
    assert!(stopped.client(ROBOT).clearance(&agent).await.expect("an answer").can_proceed, "nothing covers it yet");
    let gates = join_all((0..GATES).map(|n| open(if n % 2 == 0 { &stopped.client } else { &other.client }, n))).await;

    signal(stopped.pid(), "STOP");
    let stood = Instant::now();
    let agent_id = agent.agent_id.clone();
    let halt = RaiseHalt { scope: Scope::Agent, agent_id, session_id: None, reason: "smoke".to_owned() };
    other.client(ROOT).raise_halt(&halt, None).await.expect("the other halts it");
    // Asked while it stands still, and answered as soon as it goes on.
    let asking = (0..20).map(|_| (stopped.client(ROBOT), agent.clone()));
    let asking: Vec<_> =
        asking.map(|(robot, agent)| tokio::spawn(async move { robot.clearance(&agent).await })).collect();
    let approving = gates.iter().map(|id| (stopped.client(ALICE), id.clone()));
    let approving: Vec<_> = approving
        .map(|(alice, id)| {
            tokio::spawn(async move { alice.decide(&id, Choice::Approve, &Verdict::default(), None).await })
        })
        .collect();
    // The other does what both would have done.
    let mut latest = Duration::ZERO;
    for id in &gates {
        let gate = other.client(ALICE).wait_gate(id, Duration::from_secs(10)).await.expect("it can be asked");
        assert_eq!(gate.status, GateStatus::TimedOut);
        let (at, due) = (gate.decision.expect("a decision").decided_at, gate.deadline.moment().expect("a deadline"));
        assert!(at >= due, "too early");
        latest = latest.max(at.since(due));
    }
    tokio::time::sleep((stood + stop).saturating_duration_since(Instant::now())).await;
    signal(stopped.pid(), "CONT");

    let went_on = Instant::now();
    for answer in join_all(asking).await {
        let found = answer.expect("no panic").expect("an answer");
        assert!(!found.can_proceed, "it was cleared on old knowledge: {found:?}");
    }
    for answer in join_all(approving).await {
        let error = answer.expect("no panic").expect_err("too late");
        assert!(matches!(error.code(), Some("gate_decided" | "gate_overdue")), "{error:?}");
    }
    let mut back = None;
    while went_on.elapsed() < Duration::from_millis(1500) {
        let found = stopped.client(ROBOT).clearance(&agent).await.expect("an answer");
        assert!(!found.can_proceed, "it was cleared on old knowledge: {found:?}");
        if !found.out_of_touch {
            back.get_or_insert_with(|| went_on.elapsed());
            assert_eq!(found.blocked_by.len(), 1, "back in touch, it knows");
        }
    }
    let back = back.expect("it is back in touch");
    // And it works.
    let id = open(&stopped.client, GATES).await;
    stopped.client(ALICE).decide(&id, Choice::Approve, &Verdict::default(), None).await.expect("it decides");
    let log = other.client(ALICE).audit(0, 1000).await.expect("the log").entries;
    let decided = log.iter().filter(|entry| entry.kind == "gate.decided").count();
    assert_eq!(decided, GATES + 1, "each was closed once");
    let verified = other.client(ALICE).verify().await.expect("it can be verified");
    assert!(verified.ok, "{:?}", verified.problems);
    println!(
        "stood still for {:?}: {GATES} gates timed out once each by the other, {latest:?} late at most; back in touch {back:?} \
         after it went on",
        went_on - stood
    );
    assert!(latest < Duration::from_secs(10), "{latest:?}");
}

async fn open(client: &Client, n: usize) -> folkmoot_api::core::GateId {
    let open = OpenGate { summary: format!("gate {n}"), timeout_ms: Some(Timeout::After(SPAN)), ..OpenGate::default() };
    client.with_token(ROBOT).open_gate(&open, None).await.expect("it opens").id
}
