use super::*;
use folkmoot_core::{SessionId, gate::Choice};

fn pace(max_iterations: u32, checkpoint_interval: u32) -> Pace {
    Pace { max_iterations, checkpoint_interval }
}

#[test]
fn a_plan_has_1_to_20_iterations_and_a_checkpoint_after_1_to_10_of_them() {
    for (iterations, interval) in [(1, 1), (20, 10), (2, 10)] {
        assert_eq!(pace(iterations, interval).check(), Ok(()));
    }
    for (iterations, interval, told) in [
        (0, 3, "max_iterations is 0; say 1 to 20"),
        (21, 3, "max_iterations is 21; say 1 to 20"),
        (6, 0, "checkpoint_interval is 0; say 1 to 10"),
        (6, 11, "checkpoint_interval is 11; say 1 to 10"),
    ] {
        assert_eq!(pace(iterations, interval).check().unwrap_err().to_string(), told);
    }
}

#[test]
fn people_look_at_every_iteration_that_gets_into_the_plan() {
    let stops = |pace: Pace| (1..=pace.max_iterations).filter(|n| pace.stops_after(*n)).collect::<Vec<_>>();
    assert_eq!(stops(pace(6, 3)), [3, 6]);
    assert_eq!(stops(pace(7, 3)), [3, 6, 7]);
    assert_eq!(stops(pace(2, 10)), [2]);
    assert_eq!(stops(pace(1, 1)), Vec::<u32>::new(), "one iteration runs at once");
}

fn request(approval_type: ApprovalType, number: u32) -> PlanGateRequest {
    PlanGateRequest {
        approval_type,
        goal: "a bakery".to_owned(),
        pace: pace(6, 3),
        number,
        insights: Vec::new(),
        frameworks_evolved: 0,
        data_points_collected: 0,
    }
}

#[test]
fn an_approval_is_named_after_its_session() {
    let session: SessionId = "session_12".parse().unwrap();
    for (request, id) in [
        (request(ApprovalType::Proposal, 1), "proposal_session_12"),
        (request(ApprovalType::Proposal, 2), "proposal_session_12~2"),
        (request(ApprovalType::Checkpoint, 3), "checkpoint_iter3_session_12"),
    ] {
        assert_eq!(request.approval_id(&session), id);
        assert!(request.is_called(id, &session));
        assert_eq!(named(id).as_ref(), Some(&session), "{id}");
    }
    assert!(request(ApprovalType::Checkpoint, 3).is_called("checkpoint_iter3", &session));
    assert!(!request(ApprovalType::Checkpoint, 3).is_called("checkpoint_iter6", &session));
    assert!(!request(ApprovalType::Proposal, 2).is_called("proposal", &session), "that is the first one");
    for id in ["", "checkpoint_iter3", "checkpoint_iter_s", "checkpoint_iterX_s", "proposal_", "gate-1"] {
        assert_eq!(named(id), None, "{id}");
    }
    let other: SessionId = "session_12_2".parse().unwrap();
    assert_ne!(
        request(ApprovalType::Proposal, 2).approval_id(&session),
        request(ApprovalType::Proposal, 1).approval_id(&other)
    );
}

#[test]
fn each_type_takes_its_own_words() {
    let words = |approval: ApprovalType| approval.statuses().iter().map(|status| status.word()).collect::<Vec<_>>();
    assert_eq!(words(ApprovalType::Proposal), ["approved", "rejected", "adjust_requested"]);
    assert_eq!(words(ApprovalType::Checkpoint), ["approved", "paused", "adjust_strategy", "rejected"]);
    assert_eq!(ApprovalStatus::Paused.choice(), Choice::Pause);
}

fn iteration(text: &str, frameworks: &[&str]) -> Iteration {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    Iteration {
        title: "Who buys".to_owned(),
        text: text.to_owned(),
        insights: texts(&["People buy in the morning."]),
        frameworks: texts(frameworks),
        data_points: Vec::new(),
    }
}

#[test]
fn what_was_said_twice_counts_once() {
    let all = [iteration("one", &["Jobs to be done", "Lean"]), iteration("two", &["jobs  to be DONE"])];
    assert_eq!(
        IterationTotals::of(&all),
        IterationTotals { insights: 1, frameworks_evolved: 2, data_points_collected: 0 }
    );
}

#[test]
fn an_iteration_that_says_the_same_repeats() {
    assert!(iteration("Bake  bread.\n", &[]).repeats(&iteration("bake bread.", &["Lean"])));
    assert!(!iteration("Bake bread.", &[]).repeats(&iteration("Bake more bread.", &[])));
}

#[test]
fn a_checkpoint_shows_the_whole_text_and_what_gave_nothing() {
    let shown = [
        NumberedIteration { number: 1, gave: Ok(iteration("Bake bread.", &["Lean"])) },
        NumberedIteration { number: 2, gave: Err("It repeated iteration 1.".to_owned()) },
    ];
    let tally = IterationTotals::of(shown.iter().filter_map(|shown| shown.gave.as_ref().ok()).collect::<Vec<_>>());
    assert_eq!(
        summary(&shown, tally, 6),
        "## Iteration 1: Who buys\n\nBake bread.\n\n### Insights\n\n- People buy in the morning.\n\n### Frameworks\n\n- Lean\n\n\
         ## Iteration 2 gave nothing\n\nIt repeated iteration 1.\n\nAfter 2 of 6 iterations: 1 insight, 1 framework, 0 data points.\n"
    );
}

#[test]
fn a_final_plan_is_saved_by_its_sections() {
    let plan = "# A bakery\n\nSome words.\n\n## 1. Executive summary\n\nBake.\n\n## Implementation plan ##\n\n```sh\n## no heading\n```\n\
                \n### Week 1\n\nBuy flour.\n\n## Risks & limits\n\nFire.\n\n## Risks: limits\n\nWater.\n\n## Empty\n";
    let found = entities(plan).unwrap();
    let names: Vec<&str> = found.iter().map(|entity| entity.name.as_str()).collect();
    assert_eq!(names, ["executive_summary_report", "detailed_implementation_plan", "risks_limits", "risks_limits_2"]);
    assert_eq!(found[0].title, "1. Executive summary");
    assert_eq!(found[1].text, "```sh\n## no heading\n```\n\n### Week 1\n\nBuy flour.");
}

/// A model that writes tens of thousands of sections holds nobody up.
#[test]
fn a_final_plan_has_so_many_sections_and_no_more() {
    let begun = std::time::Instant::now();
    let plan = |sections: usize| {
        format!("## Executive summary\nBake.\n## Implementation plan\nBuy.\n{}", "## a\nb\n".repeat(sections))
    };
    assert_eq!(entities(&plan(98)).unwrap().last().unwrap().name, "a_98");
    assert_eq!(entities(&plan(50_000)).unwrap_err(), "there are 50002 sections; write at most 100");
    assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[test]
fn a_final_plan_without_its_two_main_sections_is_none() {
    assert_eq!(
        entities("All will be well.").unwrap_err(),
        "there is no section `## Executive summary` with a text under it"
    );
    assert_eq!(
        entities("## Executive summary\nBake.\n## Implementation plan\n").unwrap_err(),
        "there is no section `## Implementation plan` with a text under it"
    );
}

#[test]
fn whatever_is_told_is_read_back() {
    let told = [
        PlanEvent::Started { goal: "g".to_owned(), pace: pace(6, 3), provider: "rehearsal".to_owned() },
        PlanEvent::Iterates { iteration: 1, total_iterations: 6 },
        PlanEvent::Iterated {
            iteration: 1,
            total_iterations: 6,
            title: "t".to_owned(),
            produced: true,
            insights: vec!["i".to_owned()],
            frameworks_evolved: 1,
            data_points_collected: 2,
        },
        PlanEvent::Concludes { accepted: vec![1, 2] },
    ];
    let mut progress = PlanProgress::default();
    for told in told {
        let payload = serde_json::to_string(&told).unwrap();
        assert_eq!(PlanEvent::read(told.kind(), &payload), Some(told.clone()));
        assert_eq!(PlanEvent::read("plan.other", &payload), None);
        progress.apply(&told);
    }
    assert_eq!(progress, PlanProgress { current_iteration: 1, completed: 1, doing: PlanActivity::Concludes });
}
