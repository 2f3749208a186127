//! Two nodes whose ways to PostgreSQL are clogged one after the other and mended in another order,
//! while one of them stands still now and then. Whatever they acknowledged is there, once; and what
//! a node leaves behind that dies, the other does.

use std::time::{Duration, Instant};

use folkmoot_api::{
    core::{GateStatus, Timeout},
    wire::{GateListParams, OpenGate},
};
use futures_util::future::join_all;

use super::{
    load::Load,
    number, postgres,
    process::Home,
    proxy::{Proxy, Way},
    random::Random,
};
use crate::server::{ALICE, ROBOT, signal};

/// `FOLKMOOT_SWIZZLES=20` does it so often, for up to six seconds each; else it is a short run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_whose_ways_to_the_database_clog_in_any_order_lose_and_double_nothing() {
    let Some(database) = postgres::schema().await else { return };
    let mut random = Random::seeded("swizzle");
    let (swizzles, longest) = match number("FOLKMOOT_SWIZZLES", 0) {
        0 => (3, 700),
        long => (long, 6000),
    };
    let ways = [Proxy::before(&database), Proxy::before(&database)];
    let homes = ways.each_ref().map(|way| Home::on(&way.database(&database)));
    let mut servers = vec![homes[0].start().await, homes[1].start().await];
    let mut load = Load::new(200);
    load.pause = Duration::from_millis(10);
    load.serve(servers.iter().map(|server| &server.client));
    let crowd = load.start(8, &mut random);
    let (begun, mut slowest) = (Instant::now(), Duration::ZERO);
    let mut done = 0;
    // A busy machine may be so slow that nothing was under way when a way was clogged. Then it is
    // clogged once more.
    while done < swizzles || (load.ledger().doubts() == 0 && done < swizzles + 50) {
        done += 1;
        let before = load.ledger().acknowledgements();
        while load.ledger().acknowledgements() < before + 10 {
            assert!(begun.elapsed() < Duration::from_secs(300 + 60 * swizzles), "nothing is acknowledged");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let paused = (random.below(3) == 0).then(|| usize::try_from(random.below(2)).expect("0 or 1"));
        // One after the other, each in its own way; and then the other way round, or not.
        for n in shuffled(&mut random) {
            let way = if random.below(2) == 0 { Way::Cut } else { Way::Silent };
            ways[n].way.send_replace(way);
            if paused == Some(n) {
                signal(servers[n].pid(), "STOP");
            }
            tokio::time::sleep(Duration::from_millis(random.below(longest / 2))).await;
        }
        tokio::time::sleep(Duration::from_millis(random.below(longest))).await;
        for n in shuffled(&mut random) {
            ways[n].way.send_replace(Way::Open);
            if paused == Some(n) {
                signal(servers[n].pid(), "CONT");
            }
            tokio::time::sleep(Duration::from_millis(random.below(longest / 2))).await;
        }
        // Each of them works again, by itself.
        let mended = Instant::now();
        for server in &servers {
            let open = OpenGate {
                summary: "Are you there?".to_owned(),
                dedupe_key: Some("there".to_owned()),
                ..OpenGate::default()
            };
            while let Err(error) = server.client(ROBOT).open_gate(&open, None).await {
                assert!(mended.elapsed() < Duration::from_secs(120), "it does not come back: {error}");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        slowest = slowest.max(mended.elapsed());
    }
    while load.ledger().decisions <= 10 * done {
        assert!(begun.elapsed() < Duration::from_secs(600 + 60 * swizzles), "nothing is decided any more");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let pending = GateListParams { status: Some(GateStatus::Pending), limit: Some(500), ..GateListParams::default() };
    let alice = servers[0].client(ALICE);
    let asked = alice.gates(&pending);
    let there = asked.await.expect("a list").gates.into_iter().find(|gate| gate.title == "Are you there?");
    load.ledger().opened(&there.expect("it was asked once, and waits"));
    crowd.finish().await;
    let (opens, decisions, failures) = {
        let ledger = load.ledger();
        assert!(ledger.doubts() > 0, "too little happened: this proves nothing");
        (ledger.opens, ledger.decisions, ledger.failures.clone())
    };
    println!(
        "{done} swizzles in {:.0} s: {opens} gates and {decisions} decisions acknowledged, none lost or doubled; \
         {failures:?}; {slowest:?} at most until both worked again",
        begun.elapsed().as_secs_f64()
    );

    // What the one that dies has promised to time out, the other does.
    let span = Timeout::After(Duration::from_millis(1200));
    let robot = servers[0].client(ROBOT);
    let opened = join_all((0..50).map(|n| {
        let open = OpenGate { summary: format!("late {n}"), timeout_ms: Some(span), ..OpenGate::default() };
        let robot = &robot;
        async move { robot.open_gate(&open, None).await.expect("it opens").id }
    }));
    let ids = opened.await;
    servers.remove(0).kill();
    let alice = servers[0].client(ALICE);
    let mut latest = Duration::ZERO;
    for id in &ids {
        let gate = alice.wait_gate(id, Duration::from_secs(60)).await.expect("it can be asked");
        assert_eq!(gate.status, GateStatus::TimedOut, "{id}");
        let decided = gate.decision.as_ref().expect("a decision").decided_at;
        let due = gate.deadline.moment().expect("a deadline");
        assert!(decided >= due, "{id} was timed out too early");
        latest = latest.max(decided.since(due));
    }
    println!("{} timers of a node that died were fired by the other, {latest:?} late at most", ids.len());
    assert!(latest < Duration::from_secs(50), "{latest:?} late");
}

fn shuffled(random: &mut Random) -> [usize; 2] {
    if random.below(2) == 0 { [0, 1] } else { [1, 0] }
}
