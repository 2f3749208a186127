//! Skipping and cancelling: who may, and that it releases what was held.

use crate::transcript::check;

#[test]
fn a_reviewer_skips_or_cancels_what_halts_and_that_releases_it() {
    check(
        r#"
        09:00 bot asks q1 APPROVAL session=s1                 → pending, halts session
        09:00 bot asks q2 EMERGENCY                           → pending, halts all
        09:01 alice skips q1 "not today"                      → skipped by alice
        clear elf session=s1                                  → q2
        09:02 ada cancels-question q2 "false alarm"           → cancelled by ada
        clear bot session=s1                                  → yes
        closure q2                                            → {"status":"cancelled","answer":null,"by":"ada","at":"2026-01-31T09:02:00.000000Z","reason":"false alarm"}
        log of=q1                                             → asked, agent.halted, session.halted, skipped, session.resumed
        log of=q2                                             → asked, agent.halted, system.halted, cancelled, agent.resumed, system.resumed
        "#,
    );
}

#[test]
fn an_asker_withdraws_only_what_halts_nobody() {
    check(
        "
        09:00 bot asks q1 BLOCKING                → pending, halts agent
        09:00 bot asks q2 CLARIFYING halts=agent  → pending, halts agent
        09:00 bot asks q3 CLARIFYING              → pending
        09:00 bot asks q4 DECISION                → pending
        09:01 bot cancels-question q1             → refused: halts_asker cancel
        09:01 bot skips q1                        → refused: halts_asker skip
        09:01 bot cancels-question q2             → refused: halts_asker cancel
        09:01 bot cancels-question q3             → cancelled by bot
        09:01 bot skips q4                        → skipped by bot
        clear bot                                 → q1, q2
        ",
    );
}

#[test]
fn an_asker_who_decides_elsewhere_does_not_withdraw_what_halts_either() {
    check(
        "
        09:00 alice asks q1 BLOCKING              → pending, halts agent
        09:00 ada asks q2 EMERGENCY               → pending, halts all
        09:00 alice asks q3 ALERT                 → pending
        09:01 alice cancels-question q1           → refused: halts_asker cancel
        09:01 ada skips q2                        → refused: halts_asker skip
        09:01 alice cancels-question q3           → cancelled by alice
        09:02 bob cancels-question q1             → cancelled by bob
        09:02 alice skips q2                      → skipped by alice
        ",
    );
}

/// A lone owner is never locked out.
#[test]
fn an_admin_closes_what_halts_with_a_reason_also_their_own() {
    check(
        r#"
        09:00 ada asks q1 EMERGENCY                      → pending, halts all
        09:00 ada asks q2 APPROVAL session=s1            → pending, halts session
        09:01 ada answers q2 "approve"                   → refused: own_question
        09:01 ada cancels-question q1 "false alarm"      → cancelled by ada
        09:01 ada skips q2 "nobody else is here"         → skipped by ada
        clear bot session=s1                             → yes
        "#,
    );
}

#[test]
fn whoever_decides_releases_a_denial_that_its_asker_has_not_heard() {
    check(
        r#"
        09:00 bot asks q1 APPROVAL agent=planner session=s1   → pending, halts session
        09:01 alice denies                                    → denied "deny" by alice
        clear planner                                         → q1
        09:02 bot cancels-question                            → refused: halts_asker cancel
        09:02 elf cancels-question                            → refused: role_may_not cancel
        09:02 bob skips                                       → refused: question_closed denied by alice
        09:02 bob cancels-question                            → refused: question_closed denied by alice
        09:02 vera fetches "it is gone"                       → unchanged: denied "deny" by alice
        09:02 elf fetches "it is gone"                        → refused: unknown_question
        clear planner                                         → q1
        09:02 bob fetches "it is gone"                        → denied "deny" by alice, fetched
        clear planner                                         → yes
        event 10 of=q1                                         → bob: question.fetched {"asked_by":"bot","agent_id":"planner","fetched_at":"2026-01-31T09:02:00.000000Z","released_by":"bob","reason":"it is gone"}
        "#,
    );
}

#[test]
fn the_agent_that_is_spoken_for_takes_nothing_back() {
    check(
        "
        09:00 bot asks q1 BLOCKING agent=elf      → pending, halts agent
        09:00 bot asks q2 ALERT agent=elf         → pending
        09:01 elf cancels-question q1             → refused: role_may_not cancel
        09:01 elf cancels-question q2             → refused: role_may_not cancel
        ",
    );
}

#[test]
fn other_agents_and_viewers_withdraw_nothing() {
    check(
        "
        09:00 bot asks q1 ALERT                   → pending
        09:01 elf cancels-question q1             → refused: role_may_not cancel
        09:01 elf skips q1                        → refused: role_may_not skip
        09:01 mon cancels-question q1             → refused: role_may_not cancel
        09:01 vera skips q1                       → refused: role_may_not skip
        log of=q1                                 → asked, refused, refused, refused, refused
        ",
    );
}
