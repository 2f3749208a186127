use crate::transcript::{check, play};

#[test]
fn a_gate_reminds_when_so_much_time_is_left_and_goes_on_waiting() {
    check(
        "
        policy timeout=2h remind=10,60 tell=ops
        09:00 bot opens a                         → pending
        timer                                     → 10:00:00
        09:59:59 system expires                   → unchanged: pending
        10:00 system expires                      → pending, reminded
        timer                                     → 10:50:00
        10:00 system expires                      → unchanged: pending, reminded
        10:50 system expires                      → pending, reminded 2 times
        timer                                     → 11:00:00
        10:55 alice approves                      → approved by alice, proceed
        timer                                     → none
        log                                       → opened, reminded, reminded, decided
        outbox                                    → ops a gate.opened, ops a gate.reminded, ops a gate.reminded, ops a gate.decided
        ",
    );
}

#[test]
fn whoever_was_down_for_longer_reminds_once_and_not_after_the_deadline() {
    check(
        "
        policy timeout=2h remind=60,30,10 escalate=20
        09:00 bot opens a                         → pending
        09:00 bot opens b                         → pending
        10:55 system expires on=a                 → pending, escalated early
        10:55 system expires on=a                 → pending, reminded, escalated early
        10:55 system expires on=a                 → unchanged: pending, reminded, escalated early
        timer on=a                                → 11:00:00
        11:00 system expires on=b                 → timed_out by timeout, stop
        log on=b                                  → opened, decided
        ",
    );
}

#[test]
fn a_gate_escalates_before_its_deadline_to_those_whom_the_policy_names() {
    check(
        "
        policy timeout=1h escalate=15 escalate_to=boss,ops tell=ops
        09:00 bot opens a                         → pending
        timer                                     → 09:45:00
        09:45 system expires                      → pending, escalated early
        timer                                     → 10:00:00
        10:00 system expires                      → timed_out by timeout, stop
        outbox                                    → ops a gate.opened, ops a gate.escalated, boss a gate.escalated, ops a gate.decided
        ",
    );
}

#[test]
fn an_early_escalation_does_not_use_up_the_one_at_the_deadline() {
    check(
        "
        policy timeout=1h on_timeout=escalate escalate=15 remind=30 escalate_to=boss
        09:00 bot opens a                         → pending
        09:30 system expires                      → pending, reminded
        09:45 system expires                      → pending, reminded, escalated early
        10:00 system expires                      → pending, reminded, escalated early, escalated
        timer                                     → 10:30:00
        10:30 system expires                      → pending, reminded 2 times, escalated early, escalated
        10:45 system expires                      → pending, reminded 2 times, escalated early 2 times, escalated
        11:00 system expires                      → timed_out by timeout, stop
        outbox                                    → boss a gate.escalated, boss a gate.escalated, boss a gate.escalated
        ",
    );
}

#[test]
fn after_an_extension_reminders_count_from_the_new_deadline() {
    check(
        "
        policy timeout=1h remind=30,10 escalate=20
        09:00 bot opens a                         → pending
        09:30 system expires                      → pending, reminded
        09:40 system expires                      → pending, reminded, escalated early
        09:41 bot extends by=1h                   → pending, reminded, escalated early
        timer                                     → 10:11:00
        10:11 system expires                      → pending, reminded 2 times, escalated early
        timer                                     → 10:21:00
        10:20 bot extends by=22m                  → pending, reminded 2 times, escalated early
        timer                                     → 10:22:00
        10:22 system expires                      → pending, reminded 2 times, escalated early 2 times
        10:30 bot extends by=13m                  → pending, reminded 2 times, escalated early 2 times
        timer                                     → 10:33:00
        10:31 bot extends by=never                → pending, reminded 2 times, escalated early 2 times
        timer                                     → none
        ",
    );
}

#[test]
fn what_would_have_been_due_before_it_opened_is_not_said_but_no_short_timeout_evades_the_escalation() {
    check(
        "
        policy timeout=2h remind=60,10 escalate=90 escalate_to=boss
        09:00 bot opens a timeout=30m             → pending
        timer                                     → 09:00:00
        09:00 system expires                      → pending, escalated early
        timer                                     → 09:20:00
        09:20 system expires                      → pending, reminded, escalated early
        09:21 bot opens b timeout=never           → pending
        timer                                     → none
        ",
    );
}

#[test]
fn an_amendment_keeps_what_is_still_to_be_said_and_moves_it_with_the_deadline() {
    check(
        r#"
        policy timeout=1h remind=30
        09:00 bot opens a                             → pending
        09:10 bot amends "Something else"             → pending, revision 2
        timer                                         → 09:30:00
        09:30 system expires                          → pending, revision 2, reminded
        09:35 bot amends "Something else again"       → pending, revision 3, reminded
        timer                                         → 10:00:00
        policy timeout=1h remind=30 on_timeout=approve
        11:00 bot opens b                             → pending
        11:20 bot amends "Where silence consents"     → pending, revision 2
        timer                                         → 11:50:00
        "#,
    );
}

#[test]
fn a_gate_that_stands_keeps_what_it_was_opened_with() {
    check(
        "
        policy timeout=1h remind=30
        09:00 bot opens a                         → pending
        policy timeout=1h
        09:01 bot opens b                         → pending
        timer on=a                                → 09:30:00
        timer on=b                                → 10:01:00
        ",
    );
}

#[test]
fn the_log_says_when_it_reminds_next() {
    check(
        r#"
        policy timeout=2h remind=60,10 escalate=5
        09:00 bot opens a                         → pending
        10:00 system expires                      → pending, reminded
        10:56 system expires                      → pending, reminded, escalated early
        event 2 of=a                              → system: gate.reminded {"requested_by":"bot","deadline":"2026-01-31T11:00:00.000000Z","remind_at":"2026-01-31T10:50:00.000000Z","escalate_at":"2026-01-31T10:55:00.000000Z"}
        event 3 of=a                              → system: gate.escalated {"requested_by":"bot","deadline":"2026-01-31T11:00:00.000000Z","early":true,"remind_at":"2026-01-31T10:50:00.000000Z"}
        "#,
    );
}

#[test]
fn a_policy_that_cannot_be_followed_is_refused() {
    check(
        "
        policy remind=0                                              → refused: invalid remind_before_ms
        policy escalate=0                                            → refused: invalid escalate_before_ms
        policy escalate_to={300}x                                    → refused: invalid escalate_to
        policy remind=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17      → refused: invalid remind_before_ms
        policy remind=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16 escalate=1 escalate_to={300}
        ",
    );
}

#[test]
fn a_gate_without_reminders_is_written_as_before_there_were_any() {
    let world = play("09:00 bot opens a\n09:01 bot extends by=1h");
    for event in world.stream("a") {
        let payload = &event.fact.payload;
        assert!(!payload.contains("remind") && !payload.contains("escalate_"), "{payload}");
    }
}
