use proptest::prelude::*;

use super::*;

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn estimate(complexity: u8, ambiguity: u8) -> Estimate {
    Estimate { complexity: Share::of(complexity), ambiguity: Share::of(ambiguity), reasons: Vec::new() }
}

fn at_the_start(configured: Style, (complexity, ambiguity): (u8, u8), agents: usize) -> String {
    let PlanningChoice { style, reason } =
        PlanningChoice::at_the_start(configured, &estimate(complexity, ambiguity), agents);
    format!("{style} {reason}")
}

#[test]
fn adaptive_looks_at_the_task_before_it_looks_at_the_team() {
    let adaptive = |measures, agents| at_the_start(Style::Adaptive, measures, agents);
    assert_eq!(adaptive((71, 29), 20), "cpde complex_and_clear");
    assert_eq!(adaptive((70, 29), 20), "dpde large_team", "0.7 is not above 0.7");
    assert_eq!(adaptive((71, 30), 5), "cpde usual", "0.3 is not below 0.3");
    assert_eq!(adaptive((10, 61), 2), "dpde ambiguous");
    assert_eq!(adaptive((10, 60), 2), "cpde small_team", "0.6 is not above 0.6");
    assert_eq!(adaptive((10, 10), 3), "cpde small_team");
    assert_eq!(adaptive((10, 10), 4), "cpde usual");
    assert_eq!(adaptive((10, 10), 8), "cpde usual");
    assert_eq!(adaptive((10, 10), 9), "dpde large_team");
}

#[test]
fn what_was_configured_is_used_and_stays() {
    for style in [Style::Cpde, Style::Dpde] {
        let chosen = PlanningChoice::at_the_start(style, &estimate(0, 100), 20);
        assert_eq!(chosen, PlanningChoice { style, reason: PlanningReason::Configured });
        assert_eq!(chosen.after_a_round(style, true), chosen);
        assert_eq!(chosen.after_a_round(style, false), chosen);
    }
}

#[test]
fn adaptive_changes_after_a_round_that_missed_and_after_no_other() {
    let first = PlanningChoice::at_the_start(Style::Adaptive, &estimate(0, 0), 5);
    assert_eq!(first.after_a_round(Style::Adaptive, false), first);
    let second = first.after_a_round(Style::Adaptive, true);
    assert_eq!(second, PlanningChoice { style: Style::Dpde, reason: PlanningReason::MissedExpectations });
    assert_eq!(second.after_a_round(Style::Adaptive, true).style, Style::Cpde);
}

/// Tasks as `id:priority<dependency<dependency`.
fn tasks(said: &str) -> Vec<PlannedTask> {
    let task = |word: &str| {
        let mut parts = word.split('<');
        let (id, priority) = parts.next().and_then(|head| head.split_once(':')).unwrap();
        PlannedTask {
            id: name(id),
            title: format!("do {id}"),
            priority: priority.parse().unwrap(),
            depends_on: parts.map(name).collect(),
            agent: None,
        }
    };
    said.split_whitespace().map(task).collect()
}

fn ids<'a>(tasks: impl IntoIterator<Item = &'a PlannedTask>) -> String {
    tasks.into_iter().map(|task| task.id.as_str()).collect::<Vec<_>>().join(" ")
}

fn order(said: &str) -> String {
    TaskPlan::of(tasks(said)).map_or_else(|error| error.to_string(), |plan| ids(plan.tasks()))
}

#[test]
fn what_others_depend_on_comes_first_and_then_what_is_urgent() {
    assert_eq!(order(""), "");
    assert_eq!(order("a:1 b:5 c:3"), "b c a");
    assert_eq!(order("b:1 a:1"), "a b", "of equals the first by id");
    assert_eq!(order("a:9<b b:1 c:5"), "c b a");
    assert_eq!(order("a:9<b<b b:1<c c:0"), "c b a");
}

#[test]
fn tasks_are_ready_when_all_that_they_depend_on_is_done() {
    let plan = TaskPlan::of(tasks("a:1 b:9 c:5<a d:9<a<b")).unwrap();
    let ready = |done: &str| ids(plan.ready(&done.split_whitespace().map(name).collect()));
    assert_eq!(ready(""), "b a");
    assert_eq!(ready("a"), "b c");
    assert_eq!(ready("a b"), "d c");
    assert_eq!(ready("a b c d"), "");
    assert_eq!(ready("nobody"), "b a");
}

#[test]
fn what_cannot_be_done_is_refused_and_no_task_is_dropped() {
    assert_eq!(order("a:1<b b:1"), "b a");
    assert_eq!(
        order("a:1<b b:1<c c:1<a d:1"),
        "these tasks wait for each other: a -> b -> c -> a; take one of the dependencies out"
    );
    assert_eq!(
        order("x:1<b b:1<c c:1<b"),
        "these tasks wait for each other: b -> c -> b; take one of the dependencies out"
    );
    assert_eq!(order("a:1<a"), "these tasks wait for each other: a -> a; take one of the dependencies out");
    assert_eq!(
        order("a:1<z"),
        "task a depends on z, which is no task of the plan; add it, or leave the dependency out"
    );
    assert_eq!(order("a:1 a:2"), "two tasks have the id a; give each its own");
    let many = |count: usize| (0..count).map(|number| format!("t{number}:1")).collect::<Vec<_>>().join(" ");
    assert_eq!(order(&many(TASKS_MAX)).split(' ').count(), TASKS_MAX);
    assert_eq!(
        order(&many(TASKS_MAX + 1)),
        "a plan of 201 tasks is too long; at most 200 are allowed, so put some together"
    );
}

#[test]
fn a_plan_that_is_read_is_checked() {
    let read = |json: &str| serde_json::from_str::<TaskPlan>(json).map_err(|error| error.to_string());
    let plan =
        read(r#"[{"id":"b","title":"B","depends_on":["a"]},{"id":"a","title":"A","priority":2,"agent":"p"}]"#).unwrap();
    assert_eq!(ids(plan.tasks()), "a b");
    let refused = read(r#"[{"id":"a","title":"A","depends_on":["a"]}]"#).unwrap_err();
    assert!(refused.contains("a -> a"), "{refused}");
    assert!(read(r#"[{"id":"a","title":"A","urgent":true}]"#).is_err(), "unknown fields are refused");
}

fn any_tasks() -> impl Strategy<Value = Vec<PlannedTask>> {
    let task = (0..4u8, prop::collection::vec(0..12usize, 0..3));
    prop::collection::vec(task, 0..12).prop_map(|tasks| {
        let count = tasks.len().max(1);
        let id = |number: usize| name(&format!("t{}", number % count));
        let task = |(number, (priority, needs)): (usize, (u8, Vec<usize>))| PlannedTask {
            id: id(number),
            title: String::new(),
            priority,
            depends_on: needs.into_iter().map(id).collect(),
            agent: None,
        };
        tasks.into_iter().enumerate().map(task).collect()
    })
}

proptest! {
    #[test]
    fn a_plan_has_every_task_after_what_it_depends_on_or_a_cycle_that_is_one(
        (tasks, shuffled) in any_tasks().prop_flat_map(|tasks| (Just(tasks.clone()), Just(tasks).prop_shuffle())),
    ) {
        let needs: BTreeMap<Name, Vec<Name>> =
            tasks.iter().map(|task| (task.id.clone(), task.depends_on.clone())).collect();
        match TaskPlan::of(tasks.clone()) {
            Ok(plan) => {
                prop_assert_eq!(plan.tasks().len(), tasks.len());
                let mut done = BTreeSet::new();
                for task in plan.tasks() {
                    prop_assert!(task.depends_on.iter().all(|id| done.contains(id)));
                    prop_assert_eq!(plan.ready(&done).first().map(|task| &task.id), Some(&task.id));
                    done.insert(task.id.clone());
                }
                prop_assert_eq!(TaskPlan::of(shuffled), Ok(plan));
            }
            Err(BadPlan::Cycle { tasks: circle }) => {
                prop_assert!(!circle.is_empty());
                for (at, id) in circle.iter().enumerate() {
                    prop_assert!(needs[id].contains(&circle[(at + 1) % circle.len()]));
                }
                prop_assert_eq!(TaskPlan::of(shuffled), Err(BadPlan::Cycle { tasks: circle }));
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }
}
