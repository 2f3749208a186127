use crate::transcript::check;

#[test]
fn a_withdrawn_gate_stops_its_run() {
    check(
        r#"
        09:00 bot opens a                     → pending
        09:01 bot cancels "not needed"        → cancelled by bot, stop
        decision                              → {"request_id":"a","decision":"cancelled","reviewer":"bot","reason":"not needed","decided_at":"2026-01-31T09:01:00.000000Z","digest":"its digest","revision":1,"outcome":"stop"}
        timer                                 → none
        09:02 alice approves                  → refused: gate_decided by bot
        09:03 bot cancels                     → refused: gate_decided by bot
        "#,
    );
}

#[test]
fn whoever_opened_it_or_may_decide_withdraws_it() {
    check(
        "
        09:00 bot opens a         → pending
        09:01 elf cancels         → refused: unknown_gate
        09:02 vera cancels        → refused: role_may_not cancel
        09:03 system cancels      → refused: role_may_not cancel a gate
        09:04 alice cancels       → cancelled by alice, stop
        09:05 alice opens b       → pending
        09:06 alice cancels       → cancelled by alice, stop
        ",
    );
}

#[test]
fn an_overdue_gate_is_the_clocks_to_close() {
    check(
        "
        09:00 bot opens a         → pending
        09:30 bot cancels         → refused: gate_overdue
        09:30 system expires      → timed_out by timeout, stop
        ",
    );
}
