//! A disk that takes nothing for a while, as a file system does that was mounted again read-only
//! after an error. (A healthy one cannot be made so while files on it are open; so the writes are
//! made to fail instead.)

use std::time::{Duration, Instant};

use folkmoot_api::{client::Error, wire::OpenGate};

use super::{ledger, process::Home, readiness, strace};
use crate::server::{ALICE, ROBOT};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_takes_nothing_is_503_until_it_does() {
    for (error, code) in [("EROFS", "database_unavailable"), ("EIO", "database_unavailable"), ("ENOSPC", "disk_full")] {
        let home = Home::new();
        home.start().await.kill();
        let log = home.data().join("folkmoot.db-wal");
        let Some(strace) = strace::failing("write,pwrite64", error, "40..80", &log) else { return };
        let server = home.start_under(&strace).await;
        let (robot, alice) = (server.client(ROBOT), server.client(ALICE));
        let (mut acknowledged, mut refused, begun) = (Vec::new(), 0, Instant::now());
        for n in 0.. {
            let open = OpenGate { summary: format!("{error} {n}"), ..OpenGate::default() };
            match robot.open_gate(&open, None).await {
                Ok(gate) => {
                    acknowledged.push(gate);
                    assert_eq!(readiness(server.client.url()), "200 ready");
                }
                Err(problem) => {
                    assert!(matches!(&problem, Error::Problem(problem) if problem.status == 503), "{problem:?}");
                    assert_eq!(problem.code(), Some(code), "{problem:?}");
                    refused += 1;
                    // Reading goes on meanwhile, and it says how it is.
                    assert_eq!(readiness(server.client.url()), "200 degraded");
                    alice.gate(&acknowledged[0].id).await.expect("it can be read");
                }
            }
            if refused > 0 && acknowledged.len() > refused + 20 {
                break;
            }
            assert!(begun.elapsed() < Duration::from_secs(120), "{error}: {refused} of {n} refused");
        }
        server.kill();
        let server = home.start().await;
        let found = ledger::every_gate(&server.client(ALICE)).await;
        for gate in &acknowledged {
            let found = found.get(&gate.id).unwrap_or_else(|| panic!("{error}: {} is lost", gate.id));
            ledger::kept(gate, found).unwrap_or_else(|lost| panic!("{error}: {lost}"));
        }
        assert_eq!(found.len(), acknowledged.len(), "{error}: something is there that was refused");
        let verified = server.client(ALICE).verify().await.expect("it can be verified");
        assert!(verified.ok, "{error}: {:?}", verified.problems);
        println!("{error}: {} acknowledged, {refused} refused", acknowledged.len());
    }
}
