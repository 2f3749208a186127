//! A database that goes away under load and comes back: every answer in between is a 503 in bounded
//! time, none is a lie.

use std::time::{Duration, Instant};

use super::{
    eventually,
    load::Load,
    postgres,
    process::{Home, Process},
    proxy::{Proxy, Way},
    random::Random,
};
use crate::server::{ALICE, ROBOT};
use folkmoot_api::{
    core::{GateStatus, gate::Choice, question::QuestionType},
    wire::{Answer, Ask, ClearanceFor, GateListParams, OpenGate, Verdict},
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_cut_off_for_a_while_loses_and_doubles_nothing() {
    lost("cut", &[(Way::Cut, 2500), (Way::Cut, 300)], Duration::from_secs(6)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_falls_silent_for_a_while_loses_and_doubles_nothing() {
    lost("silent", &[(Way::Silent, 2500), (Way::Silent, 12_000)], Duration::from_secs(12)).await;
}

/// What was written is not called unwritten because something that goes into the answer could not
/// be read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_lost_after_the_commit_leaves_no_false_denial() {
    let Some(database) = postgres::schema().await else { return };
    let (near, proxy) = (Home::on(&database).start().await, Proxy::before(&database));
    let far = Home::on(&proxy.database(&database)).start().await;
    let open = OpenGate { summary: "Deploy".to_owned(), ..OpenGate::default() };
    let gate = near.client(ROBOT).open_gate(&open, None).await.expect("it opens");
    proxy.way.send_replace(Way::CutAfterCommit);
    let approve = async |server: &Process| {
        server.client(ALICE).decide(&gate.id, Choice::Approve, &Verdict::default(), Some("key")).await
    };
    let answer = approve(&far).await;
    let decided = near.client(ALICE).gate(&gate.id).await.expect("it can be read");
    assert_eq!(decided.status, GateStatus::Approved, "it was not committed: this proves nothing");
    match answer {
        Ok(answer) => assert_eq!(answer.decision, decided.decision),
        Err(error) => assert_eq!(error.code(), Some("outcome_unknown"), "{error:?}"),
    }
    proxy.way.send_replace(Way::Open);
    let repeated = eventually(async || approve(&far).await.ok()).await;
    assert_eq!(repeated.decision, decided.decision);
}

/// What it does not know may be a halt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_has_not_heard_from_the_database_for_two_seconds_clears_nobody() {
    let Some(database) = postgres::schema().await else { return };
    let (near, proxy) = (Home::on(&database).start().await, Proxy::before(&database));
    let far = Home::on(&proxy.database(&database)).start().await;
    let agent = ClearanceFor { agent_id: Some("a1".parse().expect("a name")), ..ClearanceFor::default() };
    let (near_robot, far_robot) = (near.client(ROBOT), far.client(ROBOT));
    assert!(far_robot.clearance(&agent).await.expect("an answer").can_proceed);
    proxy.way.send_replace(Way::Silent);
    let silent = Instant::now();
    let emergency = near_robot.ask(&Ask::new(QuestionType::Emergency, "Stop?"), None).await.expect("it asks");
    let waiting = {
        let (robot, agent) = (far_robot.clone(), agent.clone());
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(2500)).await;
            robot.wait_clearance(&agent, Duration::from_secs(30)).await.expect("an answer")
        })
    };
    let mut refused = 0;
    while silent.elapsed() < Duration::from_secs(6) {
        let asked = silent.elapsed();
        let found = far_robot.clearance(&agent).await.expect("it answers, whatever it knows");
        if asked > Duration::from_millis(2100) {
            assert!(!found.can_proceed && found.out_of_touch, "it guesses after {asked:?}: {found:?}");
            refused += 1;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(refused > 20, "only {refused} answers: this proves nothing");
    proxy.way.send_replace(Way::Open);
    let known = eventually(async || {
        let found = far_robot.clearance(&agent).await.expect("an answer");
        (!found.out_of_touch).then_some(found)
    });
    let known = known.await;
    let by: Vec<_> = known.blocked_by.iter().map(|by| by.id.as_str()).collect();
    assert_eq!((known.can_proceed, by), (false, vec![emergency.id.as_str()]), "back in touch, it knows");
    assert!(!waiting.is_finished(), "whoever began to wait meanwhile still waits");
    let answer = Answer { answer: "go on".into(), reason: None };
    near.client(ALICE).answer(&emergency.id, &answer, None).await.expect("it is answered");
    let waited = tokio::time::timeout(Duration::from_secs(120), waiting).await.expect("no hang").expect("no panic");
    assert!(waited.cleared, "{waited:?}");
}

/// An operator's `statement_timeout` ends a statement, not the server's patience.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_operators_time_limit_ends_is_503_and_works_again_when_it_is_tried_again() {
    let Some(database) = postgres::schema().await else { return };
    let limited = database.replacen("search_path=", "statement_timeout=300 -c search_path=", 1);
    let server = Home::on(&limited).start().await;
    let open = OpenGate { summary: "Deploy".to_owned(), ..OpenGate::default() };
    server.client(ROBOT).open_gate(&open, None).await.expect("it opens");
    let (other, connection) = tokio_postgres::connect(&database, tokio_postgres::NoTls).await.expect("it answers");
    let connection = tokio::spawn(connection);
    other.batch_execute("BEGIN; LOCK TABLE gates IN ACCESS EXCLUSIVE MODE").await.expect("a lock");
    let (robot, alice) = (server.client(ROBOT), server.client(ALICE));
    let opens = futures_util::future::join_all((0..4).map(|_| robot.open_gate(&open, None)));
    for refused in opens.await {
        let error = refused.expect_err("it cannot be written");
        assert!(matches!(&error, folkmoot_api::client::Error::Problem(problem) if problem.status == 503), "{error:?}");
        assert_eq!(error.code(), Some("database_cancelled"), "{error:?}");
    }
    let error = alice.gates(&GateListParams::default()).await.expect_err("it cannot be read");
    assert_eq!(error.code(), Some("database_cancelled"), "{error:?}");
    other.batch_execute("ROLLBACK").await.expect("it lets go");
    robot.open_gate(&open, None).await.expect("it opens again");
    assert_eq!(alice.gates(&GateListParams::default()).await.expect("it can be read").gates.len(), 2);
    connection.abort();
}

async fn lost(what: &str, times: &[(Way, u64)], patience: Duration) {
    let Some(database) = postgres::schema().await else { return };
    let proxy = Proxy::before(&database);
    let home = Home::on(&proxy.database(&database));
    let (server, mut random) = (home.start().await, Random::seeded(what));
    let load = Load::new(200);
    load.serve([&server.client]);
    let crowd = load.start(8, &mut random);
    tokio::time::sleep(Duration::from_millis(500)).await;
    let mut slowest_read = Duration::ZERO;
    for (way, millis) in times {
        let before = load.ledger().acknowledgements();
        assert!(before > 0, "nothing was acknowledged before");
        let client = server.client(ALICE);
        let reading = async {
            let (mut slowest, begun, mut unready) = (Duration::ZERO, Instant::now(), 0);
            while begun.elapsed() < Duration::from_millis(*millis) {
                let asked = Instant::now();
                if let Err(error) = client.ready().await {
                    assert_eq!(error.code(), Some("not_ready"), "{error:?}");
                    unready += 1;
                }
                if let Err(error) = client.gates(&GateListParams::default()).await {
                    assert_eq!(error.code(), Some("database_unavailable"), "{error:?}");
                }
                slowest = slowest.max(asked.elapsed());
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
            assert!(
                unready > 0 || *millis < 5000 && *way == Way::Silent || *millis < 1000,
                "it says that it is ready without a database"
            );
            slowest
        };
        let (slowest, ()) = tokio::join!(reading, proxy.closed(*way, Duration::from_millis(*millis)));
        slowest_read = slowest_read.max(slowest);
        // It comes back by itself.
        let (back, lost) = (Instant::now(), load.ledger().acknowledgements());
        while load.ledger().acknowledgements() < lost + 20 {
            assert!(back.elapsed() < Duration::from_secs(90), "{what}: it does not come back: {}", server.said());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        println!("{what} for {millis} ms: {} ms until 20 calls were acknowledged again", back.elapsed().as_millis());
    }
    crowd.finish().await;
    let ledger = load.ledger();
    println!(
        "{what}: acknowledged {} gates and {} decisions; failures {:?}, {:?} at most; reads {slowest_read:?} at most",
        ledger.opens, ledger.decisions, ledger.failures, ledger.slowest_failure
    );
    assert!(ledger.slowest_failure < patience, "an answer took {:?}", ledger.slowest_failure);
    assert!(slowest_read < Duration::from_secs(10), "two reads took {slowest_read:?}");
    let codes: Vec<_> = ledger.failures.keys().map(String::as_str).collect();
    assert!(
        !codes.is_empty() && codes.iter().all(|code| ["database_unavailable", "outcome_unknown"].contains(code)),
        "{codes:?}"
    );
}
