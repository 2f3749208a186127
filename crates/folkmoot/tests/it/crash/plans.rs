//! SIGKILL while a plan is made: it goes on where it was, at the same gate, and no iteration is
//! made twice.

use std::{collections::BTreeMap, time::Duration};

use folkmoot_api::{
    core::{GateId, gate::Choice},
    debate::plan::PlanStatus,
    wire::{StartPlan, Verdict},
};

use super::{process::Home, random::Random};
use crate::server::{ALICE, ROBOT};

/// Killed at every gate while it waits, and at some moment after every decision.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_plan_goes_on_where_it_was_killed() {
    let mut home = Home::new();
    home.environment.push(("FOLKMOOT_PROVIDER", "rehearsal".to_owned()));
    let mut random = Random::seeded("plans");
    let mut server = home.start().await;
    let start = StartPlan {
        goal: "Open a second bakery".to_owned(),
        max_iterations: Some(6),
        checkpoint_interval: Some(2),
        ..StartPlan::default()
    };
    let id = server.client(ROBOT).start_plan(&start, None).await.expect("it starts").id;
    let mut decided: Option<GateId> = None;
    let (mut gates, mut kills) = (0, 0);
    loop {
        let wait = Duration::from_secs(30);
        let plan = server.client(ALICE).wait_plan(&id, decided.as_ref(), wait).await.expect("the plan");
        if plan.status == PlanStatus::Complete {
            break;
        }
        let gate = plan.waiting_at.clone().unwrap_or_else(|| panic!("it asks: {plan:?}"));
        server.kill();
        server = home.start().await;
        let again = server.client(ALICE).wait_plan(&id, decided.as_ref(), wait).await.expect("the plan");
        assert_eq!(again.waiting_at.as_ref(), Some(&gate), "the same gate, after a kill");
        let verdict = Verdict::default();
        server.client(ALICE).decide(&gate, Choice::Approve, &verdict, None).await.expect("it is approved");
        gates += 1;
        tokio::time::sleep(Duration::from_micros(random.below(30_000))).await;
        server.kill();
        server = home.start().await;
        kills += 2;
        decided = Some(gate);
    }
    assert_eq!((gates, kills), (4, 8), "a proposal and three checkpoints");
    let plan = server.client(ALICE).plan(&id).await.expect("the plan");
    assert_eq!(plan.result.expect("a result").iterations_completed, 6);
    let log = server.client(ALICE).run_events(&id, 0, 500).await.expect("its events").entries;
    let mut told = BTreeMap::new();
    for entry in log.iter().filter(|entry| entry.kind.starts_with("plan.") || entry.kind == "gate.opened") {
        *told.entry(entry.kind.as_str()).or_insert(0) += 1;
    }
    let expected = [
        ("gate.opened", 4),
        ("plan.iteration", 6),
        ("plan.iteration_started", 6),
        ("plan.started", 1),
        ("plan.synthesis_started", 1),
    ];
    assert_eq!(told, BTreeMap::from(expected), "each once");
    let verified = server.client(ALICE).verify().await.expect("it can be verified");
    assert!(verified.ok, "{:?}", verified.problems);
}
