//! Of any number of simultaneous decisions exactly one is recorded; the others get 409 and are told
//! who won.

use std::sync::Arc;

use folkmoot_api::{client::Error, wire::Verdict};
use folkmoot_core::gate::Choice;
use tokio::{sync::Barrier, task::JoinSet};

use crate::node::everywhere;

const CLIENTS: usize = 64;
const ROUNDS: usize = 200;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_decision_wins() {
    for nodes in everywhere().await {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|n| {
                (
                    nodes[n % nodes.len()].client(["alice", "bob", "carol"][n % 3]),
                    [Choice::Approve, Choice::Reject][n % 2],
                )
            })
            .collect();
        let mut winners = std::collections::BTreeSet::new();
        for round in 0..ROUNDS {
            let gate = nodes[round % nodes.len()].open(&format!("round {round}")).await;
            let start = Arc::new(Barrier::new(CLIENTS));
            let mut racing = JoinSet::new();
            for (n, (client, choice)) in clients.iter().cloned().enumerate() {
                let (start, id) = (start.clone(), gate.id.clone());
                racing.spawn(async move {
                    start.wait().await;
                    let verdict = Verdict { reason: Some(format!("client {n}")), ..Verdict::default() };
                    client.decide(&id, choice, &verdict, None).await
                });
            }
            let answers = racing.join_all().await;
            let won: Vec<_> = answers.iter().filter_map(|answer| answer.as_ref().ok()).collect();
            assert_eq!(won.len(), 1, "round {round}");
            let decision = won[0].decision.as_ref().expect("the winner decided");
            for lost in answers.iter().filter_map(|answer| answer.as_ref().err()) {
                let Error::Problem(problem) = lost else { panic!("round {round}: {lost}") };
                assert_eq!((problem.status, problem.code.as_str()), (409, "gate_decided"), "round {round}");
                assert_eq!(problem.decision.as_ref(), Some(decision), "round {round}: told the wrong winner");
            }
            winners.insert(decision.reason.clone());
        }
        assert!(winners.len() > 3, "the same client always wins: nothing raced");
        nodes[0].verifies().await;
    }
}
