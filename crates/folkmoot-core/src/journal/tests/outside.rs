use crate::transcript::check;

#[test]
fn an_agent_records_the_steps_of_a_run_that_it_executes_itself() {
    check(
        r#"
        09:00 bot starts r1                                → outside
        09:01 bot records a begins given=x                 → begun, 1 attempt
        09:02 bot records a begins                         → begun, 2 attempts
        09:03 bot records a does "1"                       → done "1", 2 attempts
        09:04 bot records a begins                         → unchanged: done "1", 2 attempts
        09:04 bot records a does "2"                       → refused: step_recorded
        09:05 bot records b begins                         → begun, 1 attempt
        09:06 bot records b fails "no"                     → failed "no", 1 attempt
        09:07 bot records b does "1"                       → refused: step_recorded
        09:08 bot records c does "1"                       → done "1", 1 attempt
        run                                                → running, claim 0, 3 steps, 2 bytes, active 0ns
        event 2 of=run:r1                                  → bot: step.recorded {"initiator":"bot","key":"a","kind":"step","ordinal":0,"input":"sha256:2d711642…","state":"begun","attempts":1,"began_at":"2026-01-31T09:01:00.000000Z","at":"2026-01-31T09:01:00.000000Z"}
        "#,
    );
}

/// It need not say again what it was given, but it cannot say something else.
#[test]
fn an_agent_does_not_change_what_it_said() {
    check(
        r#"
        09:00 bot starts r1                                → outside
        09:01 bot records a begins given=x call=2          → begun, 1 attempt
        09:02 bot records a does "1" given=y               → refused: step_differs
        09:02 bot records a does "1" as=once               → refused: step_differs
        09:02 bot records a does "1" call=3                → refused: step_differs
        09:02 bot records a does "1" given=x               → done "1", 1 attempt
        09:03 bot records b begins                         → begun, 1 attempt
        09:03 bot records b does "1" given=x               → refused: step_differs
        "#,
    );
}

#[test]
fn nobody_records_the_steps_of_anothers_run() {
    check(
        r#"
        09:00 bot starts r1                        → outside
        09:01 elf records a does "1"               → refused: unknown_run
        09:01 vera records a does "1"              → refused: role_may_not record a step
        09:01 alice records a does "1"             → refused: not_your_run
        09:01 ada records a does "1"               → refused: not_your_run
        09:01 system records a does "1"            → refused: lease_lost
        09:01 bot records a does "1" of=nobody     → refused: unknown_run
        09:02 alice starts r2                      → outside
        09:02 alice records a does "1"             → done "1", 1 attempt
        "#,
    );
}

#[test]
fn whoever_started_a_workflow_does_not_write_its_journal() {
    check(
        r#"
        09:00 bot starts r1 draft@1            → pending
        09:01 bot records a does "1"           → refused: not_yours
        09:02 system claims node=n1            → running on n1, claim 1
        09:02 bot records a does "1"           → refused: not_yours
        09:03 system parks                     → parked
        09:03 bot records a does "1"           → refused: not_yours
        log of=run:r1                          → started, claimed, parked
        "#,
    );
}

#[test]
fn no_agent_works_under_a_name_that_the_log_uses_itself() {
    check(
        r#"
        09:00 bot starts r1                                    → outside
        09:01 bot records a does "1" worker=system             → refused: invalid agent_id
        09:01 bot records a does "1" worker=workflow:draft@1   → refused: invalid agent_id
        09:01 bot records a does "1" worker=elf                → done "1", 1 attempt
        "#,
    );
}

#[test]
fn what_must_not_repeat_is_begun_once_and_settled_by_whoever_looked() {
    check(
        r#"
        09:00 bot starts r1                                → outside
        09:01 bot records ship begins as=once              → begun, 1 attempt
        09:02 bot records ship begins as=once              → unchanged: begun, 1 attempt
        09:02 bot ends "1"                                 → refused: steps_open
        09:03 elf records ship does "1" as=once            → refused: unknown_run
        09:03 alice records new does "1" as=once           → refused: not_your_run
        09:03 alice records ship begins as=once            → refused: not_your_run
        09:04 alice records ship does "1" as=once          → done "1", 1 attempt
        09:05 alice records ship does "2" as=once          → refused: not_your_run
        09:06 bot ends "1"                                 → completed by bot
        09:07 bot ends "1"                                 → unchanged: completed by bot
        09:07 bot ends "2"                                 → refused: run_ended
        09:08 bot records ship begins as=once              → unchanged: done "1", 1 attempt
        09:08 bot records other begins                     → refused: run_ended
        "#,
    );
}
