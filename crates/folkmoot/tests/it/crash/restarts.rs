//! A PostgreSQL that is restarted again and again under two nodes: every answer is right or a clean
//! 503, what was acknowledged is there once, and the same key finds out what became of the rest.

use std::time::{Duration, Instant};

use super::{
    cluster::{Cluster, Stop},
    load::Load,
    number,
    process::Home,
    random::Random,
};

/// `FOLKMOOT_RESTARTS=20` restarts it so often, every 5 to 20 seconds for up to 5; else it is a
/// short run.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_restarted_again_and_again_loses_and_doubles_nothing() {
    let Some(mut cluster) = Cluster::start().await else { return };
    let mut random = Random::seeded("restarts");
    let long = number("FOLKMOOT_RESTARTS", 0);
    let (restarts, up, down, cycles) = match long {
        0 => (2, 300..900, 0..500, 30),
        long => (long, 5000..20_000, 0..5000, 2000),
    };
    let between = |random: &mut Random, span: &std::ops::Range<u64>| {
        Duration::from_millis(span.start + random.below(span.end - span.start))
    };
    let homes = [Home::on(&cluster.database()), Home::on(&cluster.database())];
    let servers = [homes[0].start().await, homes[1].start().await];
    let mut load = Load::new(200);
    load.pause = Duration::from_millis(if long == 0 { 5 } else { 200 });
    load.serve(servers.iter().map(|server| &server.client));
    let crowd = load.start(8, &mut random);
    let (begun, mut slowest) = (Instant::now(), Duration::ZERO);
    let mut round = 0;
    while round < restarts || load.ledger().decisions < cycles {
        tokio::time::sleep(between(&mut random, &up)).await;
        let how = if random.below(2) == 0 { Stop::Fast } else { Stop::Immediate };
        cluster.stop(how);
        let away = between(&mut random, &down);
        tokio::time::sleep(away).await;
        cluster.resume();
        // It comes back by itself, on both.
        let (back, before) = (Instant::now(), load.ledger().acknowledgements());
        while load.ledger().acknowledgements() < before + 10 {
            assert!(back.elapsed() < Duration::from_secs(90), "nothing is acknowledged after a {how:?} stop");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        for server in &servers {
            server.client.ready().await.expect("it is ready again");
        }
        slowest = slowest.max(back.elapsed());
        round += 1;
    }
    crowd.finish().await;
    let ledger = load.ledger();
    println!(
        "{round} restarts in {:.0} s: {} gates and {} decisions acknowledged, none lost or doubled; {:?}; {slowest:?} at most \
         until it went on; an answer that was no success took {:?} at most",
        begun.elapsed().as_secs_f64(),
        ledger.opens,
        ledger.decisions,
        ledger.failures,
        ledger.slowest_failure
    );
    let clean = ["database_unavailable", "outcome_unknown"];
    assert!(ledger.failures.keys().all(|code| clean.contains(&code.as_str())), "{:?}", ledger.failures);
    assert!(ledger.doubts() > 0, "nobody noticed: this proves nothing");
}
