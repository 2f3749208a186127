//! Timeouts, defaults and reminders.

use crate::transcript::check;

#[test]
fn a_halting_question_without_a_default_never_expires_but_reminds() {
    check(
        r#"
        09:00 bot asks q1 BLOCKING                → pending, halts agent
        timer of=q1                               → 09:15:00
        09:14:59.999999 system lapses             → unchanged: pending, halts agent
        09:15 system lapses                       → pending, halts agent, reminded 1
        timer of=q1                               → 09:30:00
        09:31 system lapses                       → pending, halts agent, reminded 2
        timer of=q1                               → 09:46:00
        clear bot                                 → q1
        23:00 alice answers "at last"             → answered "at last" by alice
        timer of=q1                               → none
        23:01 system lapses                       → unchanged: answered "at last" by alice
        log of=q1                                 → asked, agent.halted, reminded, reminded, answered, agent.resumed
        event 3 of=q1                             → system: question.reminded {"asked_by":"bot","agent_id":"bot","due":"2026-01-31T09:30:00.000000Z"}
        "#,
    );
}

#[test]
fn approvals_and_emergencies_remind_for_ever() {
    check(
        "
        09:00 bot asks q1 APPROVAL session=s1     → pending, halts session
        09:00 bot asks q2 EMERGENCY               → pending, halts all
        timer of=q1                               → 10:00:00
        timer of=q2                               → 09:30:00
        09:30 system lapses q2                    → pending, halts all, reminded 1
        10:00 system lapses q1                    → pending, halts session, reminded 1
        10:00 system lapses q2                    → pending, halts all, reminded 2
        clear bot session=s1                      → q1, q2
        09:00 bot asks q3 APPROVAL timeout=never  → pending, halts agent
        timer of=q3                               → none
        ",
    );
}

#[test]
fn a_halting_question_with_a_default_is_answered_by_it_and_releases_what_it_held() {
    check(
        r#"
        09:00 bot asks q1 BLOCKING default="use main" session=s1     → pending, halts agent
        09:15 alice answers "use dev"                                → refused: question_expired
        09:15 alice skips                                            → refused: question_expired
        clear bot                                                    → q1
        09:15 system lapses                                          → expired "use main" by timeout
        clear bot                                                    → yes
        09:16 alice answers "use dev"                                → refused: question_closed expired by timeout
        closure                                                      → {"status":"expired","answer":"use main","by":"timeout","at":"2026-01-31T09:15:00.000000Z","reason":"nobody answered in time, so its default counts"}
        log of=q1                                                    → asked, agent.halted, refused, refused, expired, agent.resumed, refused
        event 6 of=q1                                                → system: agent.resumed {"question_id":"q1","type":"BLOCKING","agent_id":"bot","asked_by":"bot","answer":"use main","can_proceed":true}
        "#,
    );
}

#[test]
fn the_timeout_itself_is_the_first_moment_too_late() {
    check(
        r#"
        09:00 bot asks q1 CLARIFYING              → pending
        09:00 bot asks q2 CLARIFYING              → pending
        09:04:59.999999 alice answers q1 "x"      → answered "x" by alice
        09:05 alice answers q2 "x"                → refused: question_expired
        09:05 bot cancels-question q2             → refused: question_expired
        09:05 system lapses q2                    → expired by timeout
        timer of=q2                               → none
        09:06 system lapses q2                    → unchanged: expired by timeout
        "#,
    );
}

#[test]
fn each_type_waits_as_long_as_is_usual() {
    check(
        r#"
        09:00 bot asks q1 BLOCKING default=x       → pending, halts agent
        09:00 bot asks q2 CLARIFYING default=x     → pending
        09:00 bot asks q3 PREFERENCE default=x     → pending
        09:00 bot asks q4 CONFIRMING               → pending
        09:00 bot asks q5 DECISION                 → pending
        09:00 bot asks q6 ESCALATION               → pending, halts agent
        09:00 bot asks q7 ALERT                    → pending
        timer of=q1                                → 09:15:00
        timer of=q2                                → 09:05:00
        timer of=q3                                → 09:05:00
        timer of=q4                                → 09:10:00
        timer of=q5                                → 09:30:00
        timer of=q6                                → 10:00:00
        timer of=q7                                → none
        10:00 system lapses q1                     → expired "x" by timeout
        10:00 system lapses q2                     → expired "x" by timeout
        10:00 system lapses q3                     → expired "x" by timeout
        10:00 system lapses q4                     → expired "proceed" by timeout
        10:00 system lapses q5                     → pending, reminded 1
        10:00 system lapses q6                     → pending, halts agent, reminded 1
        10:00 system lapses q7                     → unchanged: pending
        timer of=q5                                → 10:30:00
        timer of=q6                                → 11:00:00
        "#,
    );
}

#[test]
fn what_halts_nobody_and_has_no_default_closes_without_an_answer() {
    check(
        r#"
        09:00 bot asks q1 CLARIFYING                         → pending
        09:05 system lapses                                  → expired by timeout
        closure                                              → {"status":"expired","answer":null,"by":"timeout","at":"2026-01-31T09:05:00.000000Z","reason":"nobody answered in time, and it has no default"}
        09:00 bot asks q2 CONFIRMING options=yes,no          → pending
        09:10 system lapses                                  → expired by timeout
        09:00 bot asks q3 ALERT timeout=1m                   → pending
        09:01 system lapses                                  → expired by timeout
        09:00 bot asks q4 CLARIFYING halts=agent             → pending, halts agent
        09:05 system lapses                                  → pending, halts agent, reminded 1
        "#,
    );
}

#[test]
fn configuration_says_what_is_usual_and_a_question_says_otherwise() {
    check(
        r#"
        usual BLOCKING timeout=2h default=skip           →
        09:00 bot asks q1 BLOCKING                       → pending, halts agent
        09:00 bot asks q2 BLOCKING timeout=1h            → pending, halts agent
        09:00 bot asks q3 BLOCKING default=stop          → pending, halts agent
        09:00 bot asks q4 BLOCKING options=a,b           → pending, halts agent
        timer of=q1                                      → 11:00:00
        timer of=q2                                      → 10:00:00
        12:00 system lapses q1                           → expired "skip" by timeout
        12:00 system lapses q2                           → expired "skip" by timeout
        12:00 system lapses q3                           → expired "stop" by timeout
        12:00 system lapses q4                           → pending, halts agent, reminded 1
        usual APPROVAL timeout=5m                        →
        12:00 bot asks q5 APPROVAL                       → pending, halts agent
        12:05 system lapses q5                           → pending, halts agent, reminded 1
        usual ALERT timeout=0ms                          → refused: invalid timeout_ms
        usual ALERT json=null                            → refused: invalid default
        usual ALERT default=" "                          → refused: invalid default
        "#,
    );
}

#[test]
fn a_timeout_is_whole_milliseconds_above_zero() {
    check(
        "
        09:00 bot asks q0 BLOCKING timeout=0m         → refused: invalid timeout_ms
        09:00 bot asks q0 BLOCKING timeout=1500us     → refused: invalid timeout_ms
        09:00 bot asks q1 BLOCKING timeout=1ms        → pending, halts agent
        09:00 bot asks q2 CLARIFYING timeout=never    → pending
        timer of=q2                                   → none
        23:59 system lapses q2                        → unchanged: pending
        ",
    );
}
