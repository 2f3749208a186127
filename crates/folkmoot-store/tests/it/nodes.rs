//! Several nodes on one PostgreSQL database.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use folkmoot_core::{GateStatus, Outcome, Refusal, Timeout, gate::NewGate};
use folkmoot_store::{Clock, Error, ManualClock, Postgres, Store, SystemClock};
use futures_util::future::join_all;

use crate::support::*;

struct Nodes {
    clock: Arc<ManualClock>,
    a: Arc<Postgres>,
    b: Arc<Postgres>,
}

/// Two nodes that start at the same moment on an empty schema.
async fn two_nodes() -> Option<Nodes> {
    let place = InPostgres::new().await?;
    let clock = Arc::new(ManualClock::at(noon()));
    let (a, b) = tokio::join!(place.open(clock.clone()), place.open(clock.clone()));
    Some(Nodes { clock, a: Arc::new(a.unwrap()), b: Arc::new(b.unwrap()) })
}

impl Nodes {
    fn each(&self, n: usize) -> Arc<Postgres> {
        if n.is_multiple_of(2) { self.a.clone() } else { self.b.clone() }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_nodes_tell_the_same_story() {
    let Some(nodes) = two_nodes().await else { return };
    let gates = 400;
    let follow = |node: &Arc<Postgres>| {
        let node = node.clone();
        tokio::spawn(async move { follow_until(&*node, 0, 2 * gates).await })
    };
    let followers = [follow(&nodes.a), follow(&nodes.b)];
    let stories = (0..gates as usize).map(|n| {
        let (here, there) = (nodes.each(n), nodes.each(n + 1));
        tokio::spawn(async move {
            let gate = an_open_gate(&*here).await;
            gate_of(there.execute(approve(&gate.id, "alice")).await);
        })
    });
    join_all(stories).await.into_iter().for_each(Result::unwrap);
    let log = assert_sound(&*nodes.a).await;
    assert_eq!(log.len() as u64, 2 * gates);
    for follower in followers {
        let followed: Vec<_> = follower.await.unwrap().iter().map(|event| event.as_ref().clone()).collect();
        assert_eq!(followed, log);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_over_two_nodes_leaves_one_sound_log() {
    let Some(nodes) = two_nodes().await else { return };
    let (one, other) = tokio::join!(storm(&nodes.a, &nodes.clock, 1, 16, 80), storm(&nodes.b, &nodes.clock, 2, 16, 80));
    for answers in [&one, &other] {
        assert!(answers["pending"] > 100 && answers["gate_decided"] > 10, "{answers:?}");
    }
    assert_eq!(assert_sound(&*nodes.a).await, assert_sound(&*nodes.b).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_on_one_node_reaches_a_follower_on_the_other_at_once() {
    let Some(nodes) = two_nodes().await else { return };
    let mut delays = Vec::new();
    for n in 0..20 {
        let gate = an_open_gate(&*nodes.a).await;
        follow_until(&*nodes.b, 2 * n, 2 * n + 1).await;
        let follower = nodes.b.clone();
        let following = tokio::spawn(async move {
            let events = follower.follow(2 * n + 1).await.unwrap();
            (events[0].fact.kind.to_string(), Instant::now())
        });
        nodes.a.execute(approve(&gate.id, "alice")).await.unwrap();
        let decided = Instant::now();
        let (kind, seen) = following.await.unwrap();
        assert_eq!(kind, "gate.decided");
        delays.push(seen.saturating_duration_since(decided));
    }
    delays.sort();
    // The rescan alone, each second, would take half a second on average.
    println!("from commit to follower: {:?} at the median, {:?} at most", delays[10], delays[19]);
    assert!(delays[10] < Duration::from_millis(100), "{delays:?}");
    assert!(delays[19] < Duration::from_secs(1), "{delays:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_decision_wins_over_all_nodes() {
    let Some(nodes) = two_nodes().await else { return };
    for _ in 0..5 {
        let gate = an_open_gate(&*nodes.a).await;
        let reviewers = (0..64).map(|n| {
            let (node, id) = (nodes.each(n), gate.id.clone());
            tokio::spawn(async move { node.execute(approve(&id, &format!("reviewer-{n}"))).await })
        });
        let answers: Vec<_> = join_all(reviewers).await.into_iter().map(Result::unwrap).collect();
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!(won.len(), 1);
        let decision = gate_of(won.into_iter().next().unwrap()).decision().unwrap().clone();
        let told = Refusal::Decided { decision: Box::new(decision) };
        assert!(lost.into_iter().all(|loser| refusal_of(loser) == told));
    }
    assert_sound(&*nodes.b).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn copies_on_two_nodes_are_done_once() {
    let Some(nodes) = two_nodes().await else { return };
    for round in 0..10 {
        let copies = (0..16).map(|n| {
            let node = nodes.each(n);
            let copy = keyed(open(agent("agent-a"), new_gate()), "POST /v1/gates", &format!("k{round}"), "body");
            tokio::spawn(async move { node.execute(copy).await })
        });
        let answers: Vec<_> = join_all(copies).await.into_iter().map(|answer| gate_of(answer.unwrap())).collect();
        assert!(answers.iter().all(|gate| *gate == answers[0]));
    }
    assert_eq!(assert_sound(&*nodes.a).await.len(), 10);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_question_on_two_nodes_is_asked_once() {
    let Some(nodes) = two_nodes().await else { return };
    for round in 0..10 {
        let copies = (0..16).map(|n| {
            let node = nodes.each(n);
            let question = NewGate { dedupe_key: Some(format!("key-{round}")), ..new_gate() };
            tokio::spawn(async move { node.execute(open(agent("agent-a"), question)).await })
        });
        let answers: Vec<_> = join_all(copies).await.into_iter().map(Result::unwrap).collect();
        let opened = answers.iter().filter(|answer| matches!(answer, Ok(Outcome::Gate(_)))).count();
        let existing = answers.iter().filter(|answer| matches!(answer, Ok(Outcome::Existing(_)))).count();
        assert_eq!((opened, existing), (1, 15), "{answers:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_claim_wins_over_all_nodes() {
    let Some(nodes) = two_nodes().await else { return };
    for n in 0..32 {
        nodes.each(n).execute(beat(&format!("n{n}"), minutes(1))).await.unwrap();
    }
    for round in 0..10 {
        let run = format!("run-{round}");
        run_of(nodes.a.execute(start(new_run(&run))).await);
        let claims = (0..32).map(|n| {
            let (node, claim) = (nodes.each(n), claim(&run, &format!("n{n}")));
            tokio::spawn(async move { node.execute(claim).await })
        });
        let answers: Vec<_> = join_all(claims).await.into_iter().map(Result::unwrap).collect();
        let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        assert_eq!((won.len(), lost.len()), (1, 31));
        assert!(lost.into_iter().all(|lost| refusal_of(lost).code() == "run_not_ready"));
        // Whoever has it lets go, in the moment in which the other node wakes it.
        let (parked, woken) =
            tokio::join!(nodes.a.execute(park(park_request(&run, 1, 0))), nodes.b.execute(wake(&run)));
        woken.unwrap();
        match parked.unwrap() {
            Outcome::Awake(1) => assert_eq!(ready(&*nodes.a).await, [""; 0]),
            Outcome::Run(_) => assert_eq!(ready(&*nodes.b).await, [run.as_str()]),
            other => panic!("{other:?}"),
        }
        nodes.a.execute(cancel_run(&run)).await.unwrap();
    }
    assert_sound(&*nodes.b).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_is_taken_by_one_of_all_nodes() {
    let Some(nodes) = two_nodes().await else { return };
    let told = || NewGate { notification_channels: vec!["ops".to_owned()], ..new_gate() };
    join_all((0..60).map(|n| {
        let node = nodes.each(n);
        tokio::spawn(async move { opened(&*node, told()).await })
    }))
    .await;
    let takers = (0..32).map(|n| {
        let node = nodes.each(n);
        tokio::spawn(async move { deliveries_of(node.execute(take("ops", 4)).await) })
    });
    let taken: Vec<_> = join_all(takers).await.into_iter().flat_map(Result::unwrap).collect();
    let ids: std::collections::BTreeSet<_> = taken.iter().map(|delivery| &delivery.id).collect();
    assert_eq!((taken.len(), ids.len()), (60, 60), "all of them, each once");
    // One of them dies. The other has no claim to what it took before its lease is over.
    assert_eq!(deliveries_of(nodes.b.execute(take("ops", 100)).await), []);
    nodes.clock.advance(LEASE);
    assert_eq!(deliveries_of(nodes.b.execute(take("ops", 100)).await).len(), 60);
    assert_sound(&*nodes.a).await;
}

/// One node settles a lapsed gate on its way to the successor while the other locks that very gate.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_meet_at_a_lapsed_gate_do_not_wait_for_each_other() {
    let Some(nodes) = two_nodes().await else { return };
    let question = |n: usize| NewGate {
        dedupe_key: Some(format!("key-{n}")),
        timeout: Some(Timeout::After(minutes(1))),
        ..new_gate()
    };
    let started = Instant::now();
    for _ in 0..20 {
        let lapsed = join_all((0..20).map(|n| opened(&*nodes.a, question(n)))).await;
        nodes.clock.advance(minutes(2));
        let late = lapsed.iter().map(|gate| {
            let (node, id) = (nodes.a.clone(), gate.id.clone());
            tokio::spawn(async move { refusal_of(node.execute(approve(&id, "alice")).await) })
        });
        let successors = (0..20).map(|n| {
            let node = nodes.b.clone();
            tokio::spawn(async move { gate_of(node.execute(open(agent("agent-a"), question(n))).await) })
        });
        let (late, successors) = tokio::join!(join_all(late), join_all(successors));
        for refusal in late {
            assert!(["gate_overdue", "gate_decided"].contains(&refusal.unwrap().code()));
        }
        for successor in successors {
            let successor = successor.unwrap();
            assert_eq!(
                gate_of(nodes.a.execute(cancel(&successor.id, agent("agent-a"))).await).status(),
                GateStatus::Cancelled
            );
        }
    }
    // PostgreSQL looks for a deadlock after a second.
    assert!(started.elapsed() < Duration::from_secs(60), "took {:?}", started.elapsed());
    assert_sound(&*nodes.a).await;
}

/// A schema in which PostgreSQL's clock is an hour ahead of this machine's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_clock_of_the_database_rules() {
    let Some(place) = InPostgres::new().await else { return };
    place
        .sql(
            "CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql
             RETURN pg_catalog.clock_timestamp() + interval '1 hour'",
        )
        .await;
    // Named after our schema, the system's own comes second.
    let url = format!("{},pg_catalog'", place.url.strip_suffix('\'').unwrap());
    let store = Postgres::open(&url, None).await.unwrap();
    let ahead = |moment: folkmoot_core::Timestamp| moment.since(SystemClock.now()).as_secs();
    assert!(
        (3590..=3600).contains(&ahead(store.now())),
        "a node that has not written yet is {} s ahead",
        ahead(store.now())
    );
    let gate = opened(&store, NewGate { timeout: Some(Timeout::After(minutes(30))), ..new_gate() }).await;
    assert!((3590..=3600).contains(&ahead(gate.requested_at)), "{} s ahead", ahead(gate.requested_at));
    // By this machine's clock its deadline is long to come; by the database's it is not there yet
    // either.
    gate_of(store.execute(approve(&gate.id, "alice")).await);
}

#[tokio::test]
async fn a_database_that_is_not_there_is_unavailable() {
    let nowhere = Postgres::open("host=/nowhere user=folkmoot dbname=postgres", None).await;
    assert!(matches!(nowhere, Err(Error::Unavailable(_))), "{nowhere:?}");
}
