use crate::{
    run::RunState,
    transcript::{check, play},
};

#[test]
fn a_run_is_not_claimed_by_another_while_its_node_lives() {
    check(
        "
        09:00 system beats n1 for=1m               → unchanged: nothing
        09:00 bot starts r1 draft@1                → pending
        09:00 system claims node=n1                → running on n1, claim 1
        09:00:30 system claims node=n2             → refused: run_not_ready
        09:00:30 system claims node=n1             → running on n1, claim 2
        09:00:59.999999 system claims node=n2      → refused: run_not_ready
        09:01 system claims node=n2                → running on n2, claim 3
        ",
    );
}

#[test]
fn a_node_that_goes_on_beating_keeps_its_runs() {
    check(
        "
        09:00 system beats n1 for=1m               → unchanged: nothing
        09:00 bot starts r1 draft@1                → pending
        09:00 system claims node=n1                → running on n1, claim 1
        09:00:50 system beats n1 for=1m            → unchanged: nothing
        09:01 system claims node=n2                → refused: run_not_ready
        09:01:50 system claims node=n2             → running on n2, claim 2
        ",
    );
}

#[test]
fn a_node_that_leaves_lets_go_of_its_runs() {
    check(
        "
        09:00 system beats n1 for=1h               → unchanged: nothing
        09:00 bot starts r1 draft@1                → pending
        09:00 system claims node=n1                → running on n1, claim 1
        09:00 system leaves n1                     → unchanged: nothing
        09:00 system claims node=n2                → running on n2, claim 2
        ",
    );
}

#[test]
fn a_node_that_is_alone_waits_for_no_other() {
    check(
        "
        09:00 system beats n1 for=1h               → unchanged: nothing
        09:00 bot starts r1 draft@1                → pending
        09:00 system claims node=n1                → running on n1, claim 1
        09:01 system beats n2 for=1h               → unchanged: nothing
        09:01 system claims node=n2                → refused: run_not_ready
        09:02 system beats n2 for=1h alone=true    → unchanged: nothing
        09:02 system claims node=n2                → running on n2, claim 2
        ",
    );
}

#[test]
fn whoever_lost_a_run_writes_nothing_for_it() {
    check(
        r#"
        09:00 bot starts r1 draft@1                        → pending
        09:00 system records a does "1" claim=0            → refused: lease_lost
        09:00 system claims node=n1                        → running on n1, claim 1
        09:01 system claims node=n2                        → running on n2, claim 2
        09:02 system records a does "1" claim=1            → refused: lease_lost
        09:02 system records g opens g1 claim=1            → refused: lease_lost
        09:02 system parks claim=1                         → refused: lease_lost
        09:02 system stops claim=1                         → refused: lease_lost
        09:02 system ends "1" claim=1                      → refused: lease_lost
        09:02 system ends code=boom "no" claim=1           → refused: lease_lost
        09:02 system records a does "1" claim=3            → refused: lease_lost
        09:03 system records a does "2" claim=2            → done "2", 1 attempt
        09:04 system parks claim=2                         → parked
        09:05 system records b does "3" claim=2            → refused: lease_lost
        09:05 system ends "1" claim=2                      → refused: lease_lost
        09:06 system wakes                                 → unchanged: nothing
        09:06 system claims node=n1                        → running on n1, claim 3
        09:07 system records b does "3" claim=2            → refused: lease_lost
        09:07 system stops claim=3                         → stopped stuck
        09:08 system records b does "3" claim=3            → refused: lease_lost
        log of=run:r1                                      → started, claimed, resumed, recorded, parked, resumed, stopped
        "#,
    );
}

#[test]
fn what_nobody_started_nobody_claims() {
    check(
        "
        09:00 system claims r1 node=n1     → refused: unknown_run
        09:00 system parks r1              → refused: unknown_run
        09:00 system stops r1              → refused: unknown_run
        09:00 system wakes r1              → unchanged: nothing
        wakes                              → none
        ",
    );
}

#[test]
fn what_a_stop_says_is_cut() {
    let world = play(
        r#"
        09:00 bot starts r1 draft@1
        09:00 system claims node=n1
        09:01 system stops code={301} "{nul}{16385}"
        "#,
    );
    let RunState::Stopped { code, message } = &world.runs["r1"].state else { panic!("it stopped") };
    assert_eq!((code.len(), message.starts_with("\u{fffd}x")), (300, true));
}

#[test]
fn a_run_that_waits_for_a_provider_is_resumed_before_its_time() {
    check(
        r#"
        09:00 bot starts r1 draft@1                → pending
        09:01 system claims node=n1                → running on n1, claim 1
        09:02 system parks due=09:10 away=local    → parked
        09:03 system claims node=n1                → refused: run_not_ready
        09:03 vera resumes                         → refused: role_may_not resume a run
        09:03 elf resumes                          → refused: unknown_run
        09:03 alice resumes                        → pending
        09:04 system claims node=n1                → running on n1, claim 2
        "#,
    );
}

#[test]
fn only_a_run_that_stopped_is_resumed_and_nobody_passes_a_gate_so() {
    check(
        r#"
        09:00 bot starts r1 draft@1                → pending
        09:00 alice resumes                        → unchanged: pending
        09:01 system claims node=n1                → running on n1, claim 1
        09:01 alice resumes                        → unchanged: running on n1, claim 1
        09:02 system records ok opens g1           → waiting for gate g1, 1 attempt
        09:02 system parks                         → parked
        09:03 alice resumes                        → refused: run_waits
        09:03 ada resumes                          → refused: run_waits
        09:03 bot resumes                          → refused: run_waits
        09:04 system claims node=n1                → refused: run_not_ready
        09:05 alice approves                       → approved by alice, proceed
        09:05 system claims node=n1                → running on n1, claim 2
        09:06 system stops "look at it"            → stopped stuck
        09:07 vera resumes                         → refused: role_may_not resume a run
        09:07 elf resumes                          → refused: unknown_run
        09:07 system resumes                       → refused: role_may_not resume a run
        09:07 bot resumes                          → pending
        09:07 bot resumes nobody                   → refused: unknown_run
        event 7 of=run:r1                          → bot: run.reopened {"initiator":"bot","by":"bot"}
        "#,
    );
}
