use crate::transcript::check;

#[test]
fn the_deadline_itself_is_the_first_moment_too_late() {
    check(
        r#"
        09:00 bot opens a                        → pending
        09:00 bot opens b                        → pending
        09:29:59.999999 system expires on=a      → unchanged: pending
        09:29:59.999999 alice approves on=a      → approved by alice, proceed
        09:30 alice approves on=b                → refused: gate_overdue
        09:30 ada overrides "urgent" on=b        → refused: gate_overdue
        09:30 alice rejects "no" on=b            → refused: gate_overdue
        09:30 system expires on=b                → timed_out by timeout, stop
        log on=b                                 → opened, refused, refused, refused, decided
        "#,
    );
}

#[test]
fn silence_fails_unless_somebody_who_may_said_otherwise() {
    check(
        r#"
        09:00 bot opens a                          → pending
        09:30 system expires                       → timed_out by timeout, stop
        decision                                   → {"request_id":"a","decision":"timed_out","reviewer":"timeout","reason":"nobody decided before the deadline; on_timeout is fail","decided_at":"2026-01-31T09:30:00.000000Z","digest":"its digest","revision":1,"outcome":"stop"}
        10:00 bot opens b on_timeout=reject        → pending
        10:30 system expires                       → timed_out by timeout, stop
        11:00 alice opens c on_timeout=approve     → pending
        11:30 system expires                       → timed_out by timeout, proceed
        12:00 alice opens d on_timeout=retry       → refused: invalid on_timeout
        "#,
    );
}

#[test]
fn votes_short_of_the_quorum_do_not_speak_for_the_silent() {
    check(
        "
        09:00 bot opens a quorum=2     → pending
        09:01 alice approves           → pending, alice approve
        09:30 system expires           → timed_out by timeout, stop
        ",
    );
}

#[test]
fn an_escalated_gate_waits_once_more_and_then_fails() {
    check(
        "
        09:00 bot opens a on_timeout=escalate quorum=2    → pending
        09:01 alice approves                              → pending, alice approve
        09:30 bob approves                                → refused: gate_overdue
        09:31 system expires                              → pending, escalated, alice approve
        timer                                             → 10:01:00
        09:32 system expires                              → unchanged: pending, escalated, alice approve
        10:01 bob approves                                → refused: gate_overdue
        10:01 system expires                              → timed_out by timeout, stop
        10:02 system expires                              → unchanged: timed_out by timeout, stop
        log                                               → opened, vote, refused, escalated, refused, decided
        ",
    );
}

#[test]
fn an_escalated_gate_can_be_decided() {
    check(
        "
        09:00 bot opens a on_timeout=escalate    → pending
        09:30 system expires                     → pending, escalated
        09:59 alice approves                     → approved by alice, proceed
        ",
    );
}

#[test]
fn a_closed_gate_ignores_its_timer_and_an_unknown_one_loses_it() {
    check(
        "
        09:00 bot opens a              → pending
        09:01 alice approves           → approved by alice, proceed
        09:30 system expires           → unchanged: approved by alice, proceed
        09:30 system expires on=gone   → unchanged: nothing
        ",
    );
}
