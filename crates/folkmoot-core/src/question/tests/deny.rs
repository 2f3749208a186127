//! A denial authorises nothing: it goes on holding its asker until the asker has fetched it.

use crate::transcript::check;

/// TRAPS D3, 11.
#[test]
fn a_denied_approval_does_not_resume_its_asker() {
    check(
        r#"
        09:00 bot asks q1 APPROVAL session=s1       → pending, halts session
        clear bot session=s1                        → q1
        clear elf session=s1                        → q1
        09:01 alice answers "deny"                  → denied "deny" by alice
        clear elf session=s1                        → yes
        clear bot session=s1                        → q1
        clear bot                                   → q1
        09:02 bot fetches                           → denied "deny" by alice, fetched
        clear bot session=s1                        → yes
        log of=q1                                   → asked, agent.halted, session.halted, denied, session.resumed, fetched, agent.resumed
        event 5 of=q1                               → alice: session.resumed {"question_id":"q1","type":"APPROVAL","agent_id":"bot","session_id":"s1","asked_by":"bot","can_proceed":true}
        event 6 of=q1                               → bot: question.fetched {"asked_by":"bot","agent_id":"bot","fetched_at":"2026-01-31T09:02:00.000000Z"}
        event 7 of=q1                               → bot: agent.resumed {"question_id":"q1","type":"APPROVAL","agent_id":"bot","asked_by":"bot","answer":"deny","can_proceed":true}
        "#,
    );
}

#[test]
fn denying_is_the_same_as_answering_deny() {
    check(
        r#"
        09:00 bot asks q1 APPROVAL session=s1                 → pending, halts session
        09:01 alice denies "too risky"                        → denied "deny" by alice
        closure                                               → {"status":"denied","answer":"deny","by":"alice","at":"2026-01-31T09:01:00.000000Z","reason":"too risky"}
        clear bot                                             → q1
        09:00 bot asks q2 EMERGENCY session=s1                → pending, halts all
        09:02 alice denies                                    → denied "deny" by alice
        clear bot                                             → q1, q2
        clear elf session=s1                                  → yes
        log of=q2                                             → asked, agent.halted, session.halted, system.halted, denied, session.resumed, system.resumed
        "#,
    );
}

#[test]
fn an_agent_fetches_only_what_it_asked_and_once() {
    check(
        "
        09:00 bot asks q1 APPROVAL          → pending, halts agent
        09:01 bot fetches                   → unchanged: pending, halts agent
        09:02 alice denies                  → denied \"deny\" by alice
        09:03 vera fetches                  → unchanged: denied \"deny\" by alice
        09:03 elf fetches                   → refused: unknown_question
        09:03 system fetches                → refused: role_may_not fetch an answer
        clear bot                           → q1
        09:04 bot fetches                   → denied \"deny\" by alice, fetched
        09:05 bot fetches                   → unchanged: denied \"deny\" by alice, fetched
        clear bot                           → yes
        ",
    );
}

#[test]
fn whoever_spoke_for_an_agent_and_the_agent_itself_can_fetch() {
    check(
        "
        09:00 bot asks q1 APPROVAL agent=elf     → pending, halts agent
        09:00 bot asks q2 APPROVAL agent=elf     → pending, halts agent
        09:01 alice denies q1                    → denied \"deny\" by alice
        09:01 alice denies q2                    → denied \"deny\" by alice
        clear elf                                → q1, q2
        09:02 bot fetches q1                     → denied \"deny\" by alice, fetched
        clear elf                                → q2
        09:02 elf fetches q2                     → denied \"deny\" by alice, fetched
        clear elf                                → yes
        ",
    );
}

#[test]
fn a_denied_question_that_halted_nobody_holds_nobody() {
    check(
        "
        09:00 bot asks q1 DECISION     → pending
        09:01 alice denies             → denied \"deny\" by alice
        clear bot                      → yes
        09:02 bot fetches              → denied \"deny\" by alice, fetched
        log of=q1                      → asked, denied, fetched
        ",
    );
}

#[test]
fn a_fetched_denial_leaves_the_asker_held_by_what_else_holds_it() {
    check(
        r#"
        09:00 bot asks q1 APPROVAL session=s1           → pending, halts session
        09:00 bot asks q2 BLOCKING session=s1           → pending, halts agent
        09:01 alice denies q1                           → denied "deny" by alice
        09:02 bot fetches q1                            → denied "deny" by alice, fetched
        clear bot session=s1                            → q2
        log of=q1                                       → asked, agent.halted, session.halted, denied, session.resumed, fetched
        09:03 alice answers q2 "go on"                  → answered "go on" by alice
        log of=q2                                       → asked, agent.halted, answered, agent.resumed
        "#,
    );
}
