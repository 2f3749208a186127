use crate::transcript::check;

#[test]
fn a_run_has_no_more_steps_than_it_was_started_with() {
    check(
        r#"
        09:00 bot starts r1 draft@1 steps=2        → pending
        09:00 system claims node=n1                → running on n1, claim 1
        09:01 system records a begins              → begun, 1 attempt
        09:01 system records b sleeps for=1m       → waiting until 09:02:00, 1 attempt
        09:01 system records c does "1"            → refused: limit_exceeded
        09:01 system records c opens g1            → refused: limit_exceeded
        09:01 system records a does "1"            → done "1", 1 attempt
        09:01 system records a does "1"            → unchanged: done "1", 1 attempt
        run                                        → running, claim 1, 2 steps, 1 bytes, active 60s
        "#,
    );
}

#[test]
fn a_journal_has_no_more_bytes_than_it_was_started_with() {
    check(
        r#"
        09:00 bot starts r1 draft@1 bytes=10       → pending
        09:00 system claims node=n1                → running on n1, claim 1
        09:01 system records a does "{8}"          → done "xxxxxxxx", 1 attempt
        09:01 system records b does "{3}"          → refused: limit_exceeded
        09:01 system records b tells event=x.y     → refused: limit_exceeded
        09:01 system records b begins              → begun, 1 attempt
        09:01 system records b does "{3}"          → refused: limit_exceeded
        09:01 system records b does "{2}"          → done "xx", 1 attempt
        09:01 system records c fails "long enough" → failed "long enough", 1 attempt
        run                                        → running, claim 1, 3 steps, 10 bytes, active 60s
        "#,
    );
}

#[test]
fn a_run_is_worked_on_no_longer_than_it_was_started_with() {
    check(
        r#"
        09:00 bot starts r1 draft@1 active_ms=120000   → pending
        09:00 system claims node=n1                    → running on n1, claim 1
        09:01 system records a does "1"                → done "1", 1 attempt
        09:01 system parks                             → parked
        15:00 system wakes                             → unchanged: nothing
        15:00 system claims node=n1                    → running on n1, claim 2
        15:00:59.999999 system records b does "1"      → done "1", 1 attempt
        15:01 system records c does "1"                → refused: limit_exceeded
        15:01 system records b does "1"                → unchanged: done "1", 1 attempt
        15:01 system ends code=limit "too long"        → failed by system
        "#,
    );
}

/// Only workers have a clock that we can read.
#[test]
fn somebody_elses_agent_takes_as_long_as_it_takes() {
    check(
        r#"
        09:00 bot starts r1 active_ms=1 steps=1    → outside
        15:00 bot records a does "1"               → done "1", 1 attempt
        15:00 bot records b does "1"               → refused: limit_exceeded
        "#,
    );
}
