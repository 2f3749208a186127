use crate::transcript::{check, play};

#[test]
fn the_end_of_a_run_closes_all_that_its_workflow_and_its_agent_opened() {
    for (end, word, by) in [
        ("system ends r1 \"42\"", "completed", "system"),
        ("system ends r1 code=boom \"it broke\"", "failed", "system"),
        ("alice cancels-run r1 \"no\"", "cancelled", "alice"),
    ] {
        check(&format!(
            r#"
            09:00 bot starts r1 draft@1                    → pending
            09:00 system claims node=n1                    → running on n1, claim 1
            09:01 system records a opens g1                → waiting for gate g1, 1 attempt
            09:01 system records b opens g2                → waiting for gate g2, 1 attempt
            09:01 system records c asks q1 BLOCKING        → waiting for question q1, 1 attempt
            09:01 system records d asks q2 CLARIFYING      → waiting for question q2, 1 attempt
            09:01 bot opens g3 run=r1                      → pending
            09:01 bot asks q3 DECISION run=r1              → pending
            09:01 bot opens other                          → pending
            09:01 bot asks q4 DECISION session=r1          → pending
            09:02 alice approves on=g1                     → approved by alice, proceed
            09:02 {end}                                    → {word} by {by}
            log on=g1                                      → opened, decided
            log on=g2                                      → opened, decided
            log of=q1                                      → asked, agent.halted, cancelled, agent.resumed
            log of=q2                                      → asked, cancelled
            log of=q3                                      → asked, cancelled
            timer on=g2                                    → none
            timer of=q1                                    → none
            09:03 alice approves on=g2                     → refused: gate_decided by {by}
            09:03 alice approves on=g3                     → refused: gate_decided by {by}
            09:03 alice answers q3 "left"                  → refused: question_closed cancelled by {by}
            09:03 alice approves on=other                  → approved by alice, proceed
            09:03 alice answers q4 "left"                  → answered "left" by alice
            closure q1                                     → {{"status":"cancelled","answer":null,"by":"{by}","at":"2026-01-31T09:02:00.000000Z","reason":"its run r1 is over: {word}"}}
            "#
        ));
    }
}

/// What halts, and what others opened, is not an agent's to end: not by ending its run either.
#[test]
fn an_agent_that_ends_its_run_lifts_no_halt_and_closes_nothing_of_others() {
    for end in ["bot ends r1 code=boom \"it broke\"", "bot cancels-run r1"] {
        check(&format!(
            r#"
            09:00 bot starts r1 session=s1                 → outside
            09:01 bot asks q1 APPROVAL run=r1              → pending, halts session
            09:01 bot asks q2 EMERGENCY run=r1             → pending, halts all
            09:01 bot asks q3 BLOCKING run=r1              → pending, halts agent
            09:01 bot asks q4 DECISION run=r1              → pending
            09:01 alice asks q5 BLOCKING run=r1 agent=bot  → pending, halts agent
            09:01 alice asks q6 DECISION run=r1            → pending
            09:01 bot asks q7 APPROVAL run=r1              → pending, halts session
            09:01 alice denies q7                          → denied "deny" by alice
            09:01 bot opens g1 run=r1                      → pending
            09:01 alice opens g2 run=r1 timeout=1h         → pending
            09:02 {end}                                    → {}
            clear bot session=s1                           → q1, q2, q3, q5, q7
            clear elf session=s1                           → q1, q2
            log of=q4                                      → asked, cancelled
            log of=q6                                      → asked
            log on=g1                                      → opened, decided
            log on=g2                                      → opened
            timer on=g2                                    → 10:01:00
            09:03 bob rejects on=g2 "no"                   → rejected by bob, stop
            09:03 alice answers q1 "approve"               → answered "approve" by alice
            09:03 bob cancels-question q2                  → cancelled by bob
            09:03 bob cancels-question q3                  → cancelled by bob
            09:03 bob cancels-question q5                  → cancelled by bob
            09:03 bot fetches q7                           → denied "deny" by alice, fetched
            clear bot session=s1                           → yes
            "#,
            if end.contains("cancels") { "cancelled by bot" } else { "failed by bot" }
        ));
    }
}

#[test]
fn somebody_who_decides_ends_a_run_with_all_that_is_open_of_it() {
    check(
        r#"
        09:00 bot starts r1 session=s1                 → outside
        09:01 bot asks q1 APPROVAL run=r1              → pending, halts session
        09:01 bot asks q2 EMERGENCY run=r1             → pending, halts all
        09:01 alice asks q3 BLOCKING run=r1 agent=bot  → pending, halts agent
        09:01 bot asks q4 APPROVAL run=r1              → pending, halts session
        09:01 alice denies q4                          → denied "deny" by alice
        09:01 bot opens g1 run=r1                      → pending
        09:01 alice opens g2 run=r1                    → pending
        09:02 bob cancels-run r1                       → cancelled by bob
        clear bot session=s1                           → yes
        log on=g2                                      → opened, decided
        closure q4                                     → {"status":"denied","answer":"deny","by":"alice","at":"2026-01-31T09:01:00.000000Z","reason":"","fetched_at":"2026-01-31T09:02:00.000000Z","released_by":"bob"}
        "#,
    );
}

#[test]
fn a_workflow_that_ends_closes_its_own_and_nothing_of_people() {
    check(
        r#"
        09:00 bot starts r1 draft@1 session=s1         → pending
        09:00 system claims node=n1                    → running on n1, claim 1
        09:01 system records a asks q1 APPROVAL        → waiting for question q1, 1 attempt
        09:01 system records b opens g1                → waiting for gate g1, 1 attempt
        09:01 alice opens g2 run=r1                    → refused: invalid run_id
        09:01 alice asks q2 BLOCKING run=r1 agent=elf  → pending, halts agent
        09:01 bot asks q3 BLOCKING run=r1              → pending, halts agent
        09:02 system ends r1 "1"                       → completed by system
        log on=g1                                      → opened, decided
        clear elf session=s1                           → q2
        clear bot session=s1                           → yes
        clear r1 session=s1                            → q3
        "#,
    );
}

#[test]
fn a_run_that_somebody_else_executes_does_not_pass_its_gate() {
    check(
        r#"
        09:00 bot starts r1                            → outside
        09:01 bot records a begins                     → begun, 1 attempt
        09:01 bot opens g1 run=r1                      → pending
        09:02 bot records b begins                     → refused: gate_pending
        09:02 bot records b does "1"                   → refused: gate_pending
        09:02 bot records a begins                     → begun, 2 attempts
        09:02 bot records a does "1"                   → done "1", 2 attempts
        09:02 bot ends "1"                             → refused: gate_pending
        09:03 alice approves                           → approved by alice, proceed
        09:03 bot records b begins                     → begun, 1 attempt
        09:03 alice opens g2 run=r1                    → pending
        09:03 bot records b does "2"                   → done "2", 1 attempt
        09:03 bot ends "1"                             → refused: gate_pending
        09:03 bot records c begins                     → refused: gate_pending
        09:04 bot ends code=no "it was not wanted"     → failed by bot
        log on=g2                                      → opened
        "#,
    );
}

#[test]
fn a_run_that_somebody_else_executes_does_not_pass_a_gate_that_stopped_it() {
    check(
        r#"
        09:00 bot starts r1                            → outside
        09:01 bot opens g1 run=r1                      → pending
        09:01 bot opens g2 run=r1                      → pending
        09:02 alice rejects on=g1 "no"                 → rejected by alice, stop
        09:02 alice approves on=g2                     → approved by alice, proceed
        09:03 bot records a begins                     → refused: gate_stopped
        09:03 bot records a does "1"                   → refused: gate_stopped
        09:03 bot ends "1"                             → refused: gate_stopped
        09:03 bot opens g3 run=r1                      → pending
        09:04 bot cancels on=g3                        → cancelled by bot, stop
        09:04 bot records a begins                     → refused: gate_stopped
        09:05 bot opens g4 run=r1                      → pending
        09:06 alice approves on=g4                     → approved by alice, proceed
        09:06 bot records a begins                     → begun, 1 attempt
        09:06 bot opens g5 run=r1 timeout=1m           → pending
        09:07 system expires on=g5                     → timed_out by timeout, stop
        09:08 bot records a does "1"                   → done "1", 1 attempt
        09:08 bot records b begins                     → refused: gate_stopped
        09:08 bot ends "1"                             → refused: gate_stopped
        09:08 bot ends code=no "nobody answered"       → failed by bot
        "#,
    );
}

#[test]
fn a_run_that_somebody_else_executes_does_not_pass_a_gate_that_it_withdrew() {
    check(
        r#"
        policy reject_quorum=2
        09:00 bot starts r1                                       → outside
        09:01 bot opens g1 run=r1 quorum=2 reviewers=alice,bob,carol → pending
        09:01 bob rejects on=g1 "no"                              → pending, bob reject
        09:02 bot cancels on=g1                                   → cancelled by bot, stop
        09:03 bot records a begins                                → refused: gate_stopped
        09:03 bot ends "1"                                        → refused: gate_stopped
        09:04 bot opens g2 run=r1                                 → pending
        09:05 alice approves on=g2                                → approved by alice, proceed
        09:05 bot records a begins                                → begun, 1 attempt
        09:05 bot records a does "1"                              → done "1", 1 attempt
        09:06 alice opens g3 run=r1                               → pending
        09:07 bot records b begins                                → refused: gate_pending
        09:08 alice cancels on=g3                                 → cancelled by alice, stop
        09:08 bot records b begins                                → begun, 1 attempt
        09:08 bot records b does "1"                              → done "1", 1 attempt
        09:09 bot ends "1"                                        → completed by bot
        "#,
    );
}

#[test]
fn the_last_decision_counts_however_the_gates_were_opened() {
    check(
        r#"
        09:00 bot starts r1                            → outside
        09:00 bot records early begins                 → begun, 1 attempt
        09:01 bot opens danger run=r1                  → pending
        09:01 bot opens decoy run=r1 timeout=1m        → pending
        09:02 system expires on=decoy                  → timed_out by timeout, stop
        09:03 bot opens harmless run=r1                → pending
        09:04 alice approves on=harmless               → approved by alice, proceed
        09:05 alice rejects on=danger "no"             → rejected by alice, stop
        09:06 bot records a begins                     → refused: gate_stopped
        09:06 bot records early begins                 → refused: gate_stopped
        09:06 bot records early does "1"               → done "1", 1 attempt
        09:06 bot ends "1"                             → refused: gate_stopped
        "#,
    );
}

#[test]
fn a_run_that_somebody_else_executes_is_not_done_where_people_want_a_change_or_took_the_gate_away() {
    check(
        r#"
        09:00 bot starts r1                                       → outside
        09:01 bot opens g1 run=r1 kind=proposal                   → pending
        09:02 alice adjusts on=g1 feedback="smaller"              → adjust_requested by alice, retry
        09:03 bot records a begins                                → begun, 1 attempt
        09:03 bot records a does "1"                              → done "1", 1 attempt
        09:03 bot ends "1"                                        → refused: gate_stopped
        09:04 bot opens g2 run=r1                                 → pending
        09:05 alice cancels on=g2                                 → cancelled by alice, stop
        09:06 bot records b begins                                → refused: gate_stopped
        09:06 bot opens g3 run=r1                                 → pending
        09:07 alice approves on=g3                                → approved by alice, proceed
        09:08 bot records b does "2"                              → done "2", 1 attempt
        09:08 bot ends "2"                                        → completed by bot
        "#,
    );
}

#[test]
fn a_gate_of_a_run_that_is_over_stops() {
    let world = play("09:00 bot opens g1 run=r1\n09:01 bot cancels-run r1");
    let decision = world.gates["g1"].decision().unwrap();
    assert_eq!((decision.decision.word(), decision.outcome.word()), ("cancelled", "stop"));
    assert_eq!(decision.reason, "its run r1 is over: cancelled");
}

#[test]
fn what_was_late_when_its_run_ended_is_settled_by_the_clock() {
    check(
        r#"
        09:00 bot starts r1 draft@1                                    → pending
        09:00 system claims node=n1                                    → running on n1, claim 1
        09:00 system records a opens g1 timeout=1m                     → waiting for gate g1, 1 attempt
        09:00 system records b opens g2 timeout=1m on_timeout=escalate → waiting for gate g2, 1 attempt
        09:00 system records c asks q1 CONFIRMING timeout=1m           → waiting for question q1, 1 attempt
        09:00 system records d asks q2 CLARIFYING timeout=1m           → waiting for question q2, 1 attempt
        09:00 system records e asks q3 DECISION timeout=1m             → waiting for question q3, 1 attempt
        09:01 system ends "1"                                          → completed by system
        09:02 alice approves on=g1                                     → refused: gate_decided by timeout
        09:02 alice approves on=g2                                     → refused: gate_decided by system
        09:02 alice answers q1 "x"                                     → refused: question_closed expired by timeout
        09:02 alice answers q2 "x"                                     → refused: question_closed expired by timeout
        09:02 alice answers q3 "x"                                     → refused: question_closed cancelled by system
        "#,
    );
}

/// Two questions of one run hold the same agent and session: only the second that goes releases
/// them.
#[test]
fn what_two_questions_of_a_run_held_is_resumed_once() {
    check(
        "
        09:00 bot starts r1 draft@1 session=s1         → pending
        09:00 system claims node=n1                    → running on n1, claim 1
        09:01 system records a asks q1 APPROVAL        → waiting for question q1, 1 attempt
        09:01 system records b asks q2 APPROVAL        → waiting for question q2, 1 attempt
        09:02 bob cancels-run r1                       → cancelled by bob
        log of=q1                                      → asked, agent.halted, session.halted, cancelled, agent.resumed, session.resumed
        log of=q2                                      → asked, agent.halted, session.halted, cancelled
        clear elf session=s1                           → yes
        ",
    );
}

#[test]
fn what_two_emergencies_of_a_run_halted_is_resumed_once() {
    check(
        "
        09:00 bot starts r1 draft@1 session=s1                 → pending
        09:00 system claims node=n1                            → running on n1, claim 1
        09:01 system records a asks q1 EMERGENCY agent=elf     → waiting for question q1, 1 attempt
        09:01 system records b asks q2 EMERGENCY agent=mon     → waiting for question q2, 1 attempt
        09:02 bob cancels-run r1                               → cancelled by bob
        log of=q2                                              → asked, agent.halted, session.halted, system.halted, cancelled, agent.resumed
        log of=q1                                              → asked, agent.halted, session.halted, system.halted, cancelled, agent.resumed, session.resumed, system.resumed
        clear elf session=s1                                   → yes
        ",
    );
}

#[test]
fn what_two_questions_of_a_run_held_is_not_resumed_while_something_else_holds_it() {
    check(
        r#"
        09:00 bot starts r1 draft@1 session=s1                     → pending
        09:00 system claims node=n1                                → running on n1, claim 1
        09:00 ada halts h1 scope=session session=s1 "wait"         → stands
        09:01 system records a asks q1 APPROVAL                    → waiting for question q1, 1 attempt
        09:01 system records b asks q2 EMERGENCY                   → waiting for question q2, 1 attempt
        09:02 system ends "1"                                      → completed by system
        log of=q1                                                  → asked, agent.halted, session.halted, cancelled, agent.resumed
        log of=q2                                                  → asked, agent.halted, session.halted, system.halted, cancelled, system.resumed
        event 5 of=q1                                              → system: agent.resumed {"question_id":"q1","type":"APPROVAL","agent_id":"r1","session_id":"s1","asked_by":"workflow:draft@1","can_proceed":false}
        clear elf session=s1                                       → h1
        "#,
    );
}

/// A denial that its asker has not heard is closed, and so is none of those that the end closes;
/// but it holds.
#[test]
fn a_denial_that_nobody_can_fetch_any_more_holds_nobody() {
    check(
        r#"
        09:00 bot starts r1 draft@1 session=s1                 → pending
        09:00 system claims node=n1                            → running on n1, claim 1
        09:01 system records a asks q1 APPROVAL agent=bot      → waiting for question q1, 1 attempt
        09:01 system records b asks q2 APPROVAL agent=bot      → waiting for question q2, 1 attempt
        09:02 alice denies q1                                  → denied "deny" by alice
        09:03 system ends "1"                                  → completed by system
        log of=q2                                              → asked, agent.halted, session.halted, cancelled, session.resumed
        clear bot                                              → yes
        "#,
    );
}

#[test]
fn what_a_run_started_is_not_claimed_but_cancelled_when_it_is_over() {
    check(
        r#"
        09:00 bot starts r1 draft@1                    → pending
        09:00 system claims node=n1                    → running on n1, claim 1
        09:01 system records a starts r2 part@1        → waiting for run r2, 1 attempt
        09:01 system records b starts r3 part@1        → waiting for run r3, 1 attempt
        09:01 system claims r3 node=n1                 → running on n1, claim 1
        09:01 system records ok opens g1 of=r3         → waiting for gate g1, 1 attempt
        09:01 system parks r3                          → parked
        09:02 system ends r1 "1"                       → completed by system
        wakes                                          → r2, r3
        09:03 system claims r2 node=n1                 → unchanged: pending
        09:03 system claims r3 node=n1                 → unchanged: parked
        09:03 system cancels-run r2 "its parent is over" → cancelled by system
        09:03 system cancels-run r3                    → cancelled by system
        log of=run:r3                                  → started, claimed, recorded, parked, ended
        log on=g1                                      → opened, decided
        event 2 of=run:r2                              → system: run.ended {"initiator":"bot","outcome":"cancelled","reason":"its parent is over","by":"system","at":"2026-01-31T09:03:00.000000Z"}
        "#,
    );
}

#[test]
fn a_child_is_not_parked_once_its_parent_is_over() {
    check(
        r#"
        09:00 bot starts r1 draft@1                    → pending
        09:00 system claims node=n1                    → running on n1, claim 1
        09:01 system records a starts r2 part@1        → waiting for run r2, 1 attempt
        09:01 system claims r2 node=n1                 → running on n1, claim 1
        09:02 bot cancels-run r1                       → cancelled by bot
        09:03 system parks r2 wakes=0                  → unchanged: awake, 1 wake-ups
        09:03 system parks r2 wakes=1                  → unchanged: awake, 1 wake-ups
        "#,
    );
}

#[test]
fn the_end_of_a_child_wakes_its_parent() {
    check(
        r#"
        09:00 bot starts r1 draft@1                    → pending
        09:00 system claims node=n1                    → running on n1, claim 1
        09:01 system records a starts r2 part@1        → waiting for run r2, 1 attempt
        09:01 system parks r1                          → parked
        09:02 system claims r2 node=n1                 → running on n1, claim 1
        09:03 system claims r1 node=n1                 → refused: run_not_ready
        09:03 system ends r2 "7"                       → completed by system
        wakes                                          → r1
        09:04 system claims r1 node=n1                 → running on n1, claim 2
        "#,
    );
}

#[test]
fn only_reviewers_and_whoever_started_a_run_cancel_it() {
    check(
        "
        09:00 bot starts r1 draft@1        → pending
        09:01 vera cancels-run             → refused: role_may_not cancel a run
        09:01 elf cancels-run              → refused: unknown_run
        09:01 mon cancels-run              → refused: unknown_run
        09:02 bob cancels-run              → cancelled by bob
        09:03 alice starts r2 draft@1      → pending
        09:03 bot cancels-run              → refused: unknown_run
        09:03 ada cancels-run              → cancelled by ada
        ",
    );
}

#[test]
fn only_its_own_agent_ends_a_run_that_it_executes() {
    check(
        r#"
        09:00 bot starts r1                    → outside
        09:01 elf ends "1"                     → refused: unknown_run
        09:01 vera ends "1"                    → refused: role_may_not end a run
        09:01 alice ends "1"                   → refused: not_your_run
        09:01 ada ends code=no "no"            → refused: not_your_run
        09:02 bot ends code=boom "it broke"    → failed by bot
        event 2 of=run:r1                      → bot: run.ended {"initiator":"bot","outcome":"failed","code":"boom","reason":"it broke","by":"bot","at":"2026-01-31T09:02:00.000000Z"}
        09:03 alice starts r2                  → outside
        09:03 bot ends "1"                     → refused: unknown_run
        09:04 alice ends "1"                   → completed by alice
        09:05 alice ends nobody "1"            → refused: unknown_run
        "#,
    );
}

#[test]
fn nobody_but_its_worker_ends_a_workflow() {
    check(
        r#"
        09:00 bot starts r1 draft@1            → pending
        09:01 bot ends "1"                     → refused: not_yours
        09:01 alice ends "1"                   → refused: not_your_run
        09:01 elf ends "1"                     → refused: unknown_run
        09:01 system ends "1"                  → refused: lease_lost
        09:02 system claims node=n1            → running on n1, claim 1
        09:03 bot ends "1"                     → refused: not_yours
        09:03 system ends "1"                  → completed by system
        "#,
    );
}

#[test]
fn an_output_is_stored_or_refused_and_an_error_is_cut() {
    check(
        r#"
        09:00 bot starts r1                            → outside
        09:01 bot ends "{4194305}"                     → refused: invalid output
        09:01 bot ends "{nul}"                         → refused: invalid output
        09:01 bot cancels-run "{16385}"                → refused: invalid reason
        09:01 bot cancels-run "{nul}"                  → refused: invalid reason
        09:02 bot ends code={301} "{nul}{16385}"       → failed by bot
        "#,
    );
    let world = play("09:00 bot starts r1\n09:01 bot ends code={301} \"{nul}{16385}\"");
    let ending = world.runs["r1"].ending().unwrap();
    assert_eq!((ending.code.len(), ending.reason.starts_with("\u{fffd}x")), (300, true));
}
