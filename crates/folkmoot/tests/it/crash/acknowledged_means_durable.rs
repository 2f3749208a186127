//! Promise 3: a 2xx is sent after the commit has reached the disk. So SIGKILL, at any moment, takes
//! back nothing.

use std::time::{Duration, Instant};

use super::{
    load::Load,
    number, postgres,
    process::{Home, Process},
    random::Random,
};
use crate::server::ALICE;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_means_durable() {
    storm("SQLite", vec![Home::new()], number("FOLKMOOT_KILLS", 50)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acknowledged_means_durable_on_two_nodes() {
    let Some(database) = postgres::schema().await else { return };
    let homes = vec![Home::on(&database), Home::on(&database)];
    storm("two nodes on PostgreSQL", homes, number("FOLKMOOT_KILLS_POSTGRES", 20)).await;
}

/// Kills the servers in turn, under load, and looks each time whether anything is missing.
async fn storm(what: &str, homes: Vec<Home>, kills: u64) {
    let (begun, mut random) = (Instant::now(), Random::seeded(what));
    let load = Load::new(200);
    let mut servers = Vec::new();
    for home in &homes {
        servers.push(home.start().await);
    }
    serve(&load, &servers);
    let crowd = load.start(12, &mut random);
    let (mut fruitful, mut checks) = (0, tokio::task::JoinSet::new());
    for kill in 1..=kills {
        let victim = usize::try_from(kill).expect("a small number") % homes.len();
        let before = load.ledger().acknowledgements();
        // Mostly while there is something to lose, however slow this machine is just now; and
        // sometimes before.
        let ready = Instant::now();
        while kill % 5 != 0 && load.ledger().acknowledgements() == before && ready.elapsed() < Duration::from_secs(2) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        tokio::time::sleep(Duration::from_millis(20 + random.below(230))).await;
        servers.remove(victim).kill();
        let fresh = {
            let mut ledger = load.ledger();
            fruitful += u64::from(ledger.acknowledgements() > before);
            // The newest are those at risk; all are compared at the end.
            ledger.fresh().into_iter().rev().take(30).collect()
        };
        serve(&load, &servers);
        servers.insert(victim, homes[victim].start().await);
        if kill % 10 == 0 && kill <= 100 || kill % 100 == 0 {
            // Nobody is served meanwhile: a log that grows takes longer to verify.
            load.serve([]);
            let verified = servers[victim].client(ALICE).verify().await.expect("it can be verified");
            assert!(verified.ok, "after kill {kill}: {:?}", verified.problems);
        }
        serve(&load, &servers);
        let checking = load.clone();
        checks.spawn(async move { checking.still_holds(fresh).await });
    }
    crowd.finish().await;
    while let Some(checked) = tokio::time::timeout(Duration::from_secs(120), checks.join_next()).await.expect("no hang")
    {
        checked.expect("what was acknowledged is there");
    }
    let ledger = load.ledger();
    println!(
        "{what}: {kills} kills in {:.1} s, {fruitful} of them after something was acknowledged since the last; acknowledged {} gates and {} decisions, {} of them repeated; \
         {} calls in doubt ({:?}); {} waiters were told",
        begun.elapsed().as_secs_f64(),
        ledger.opens,
        ledger.decisions,
        ledger.repetitions,
        ledger.doubts(),
        ledger.failures,
        ledger.waited.len(),
    );
    assert!(fruitful * 10 >= kills * 8, "something was acknowledged before only {fruitful} of {kills} kills");
    assert!(ledger.decisions >= 3 * kills, "only {} decisions: this proves nothing", ledger.decisions);
    assert!(ledger.doubts() >= kills / 2, "only {} calls were cut off: this proves nothing", ledger.doubts());
    assert!(!ledger.waited.is_empty() && ledger.repetitions > 0, "nobody waited, or nothing was repeated");
}

fn serve(load: &Load, servers: &[Process]) {
    load.serve(servers.iter().map(|server| &server.client));
}
