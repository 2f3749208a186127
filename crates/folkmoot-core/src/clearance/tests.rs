//! Whether an agent may work, as transcripts. The numbers are those of the bugs in TRAPS D3 that
//! each one rules out.

mod properties;

use crate::{
    HoldId,
    clearance::Holds,
    transcript::{check, play},
};

/// D3, 1.
#[test]
fn answering_one_question_does_not_resume_an_agent_with_others_open() {
    check(
        r#"
        09:00 bot asks q1 BLOCKING          → pending, halts agent
        09:01 bot asks q2 ESCALATION        → pending, halts agent
        09:02 bot asks q3 CLARIFYING        → pending
        clear bot                           → q1, q2
        09:03 alice answers q2 "done"       → answered "done" by alice
        clear bot                           → q1
        09:04 alice answers q1 "done"       → answered "done" by alice
        clear bot                           → yes
        "#,
    );
}

/// D3, 2.
#[test]
fn no_answer_lifts_an_operators_halt() {
    check(
        r#"
        09:00 ada halts h1 scope=all "budget"             → stands
        09:00 ada halts h2 scope=agent agent=bot "wild"   → stands
        09:01 bot asks q1 EMERGENCY                       → pending, halts all
        09:02 alice answers "contained"                   → answered "contained" by alice
        clear bot                                         → h1, h2
        clear elf                                         → h1
        log of=q1                                         → asked, agent.halted, system.halted, answered
        09:03 ada lifts h1                                → lifted by ada
        log of=h1                                         → raised, system.halted, lifted, system.resumed
        clear elf                                         → yes
        clear bot                                         → h2
        "#,
    );
}

/// D3, 3.
#[test]
fn an_agent_is_not_cleared_while_its_session_or_everyone_is_halted() {
    check(
        r#"
        09:00 bot asks q1 BLOCKING session=s1                → pending, halts agent
        09:00 ada halts h1 scope=session session=s1 "why"    → stands
        09:00 ada halts h2 scope=all "why"                   → stands
        clear bot session=s1                                 → q1, h1, h2
        09:01 alice answers q1 "go on"                       → answered "go on" by alice
        clear bot session=s1                                 → h1, h2
        09:02 ada lifts h2                                   → lifted by ada
        clear bot session=s1                                 → h1
        clear bot session=s2                                 → yes
        09:03 ada lifts h1                                   → lifted by ada
        clear bot session=s1                                 → yes
        "#,
    );
}

/// D3, 4.
#[test]
fn an_emergency_holds_its_agent_and_its_session_too() {
    let world = play("09:00 bot asks q1 EMERGENCY session=s1");
    let agents: Vec<_> = world.holds.agents().map(|(agent, holds)| (agent.as_str(), holds.count())).collect();
    let sessions: Vec<_> = world.holds.sessions().map(|(session, holds)| (session.as_str(), holds.count())).collect();
    assert_eq!((agents, sessions, world.holds.system().count()), (vec![("bot", 1)], vec![("s1", 1)], 1));
}

/// D3, 5.
#[test]
fn a_type_that_halts_nobody_halts_what_it_says() {
    check(
        r#"
        09:00 bot asks q1 PREFERENCE session=s1 halts=all      → pending, halts all
        09:00 bot asks q2 ALERT session=s1 halts=session       → pending, halts session
        clear elf                                              → q1
        09:01 alice answers q1 "blue"                          → answered "blue" by alice
        clear elf                                              → yes
        clear elf session=s1                                   → q2
        "#,
    );
}

/// D3, 6.
#[test]
fn a_blocking_question_does_not_keep_its_session_halted() {
    check(
        r#"
        09:00 bot asks q1 APPROVAL session=s1      → pending, halts session
        09:00 bot asks q2 BLOCKING session=s1      → pending, halts agent
        09:01 alice answers q1 "approve"           → answered "approve" by alice
        clear elf session=s1                       → yes
        clear bot session=s1                       → q2
        log of=q1                                  → asked, agent.halted, session.halted, answered, session.resumed
        "#,
    );
}

/// D3, 7.
#[test]
fn an_agent_is_held_by_its_questions_in_whichever_session_it_works() {
    check(
        "
        09:00 bot asks q1 BLOCKING                 → pending, halts agent
        09:01 bot asks q2 BLOCKING session=s1      → pending, halts agent
        clear bot                                  → q1, q2
        clear bot session=s1                       → q1, q2
        clear bot session=s2                       → q1, q2
        ",
    );
}

/// D3, 8. Whoever starts again reads the rows, and knows the same.
#[test]
fn a_restart_forgets_nothing_that_holds() {
    let world = play(
        r#"
        09:00 bot asks q1 APPROVAL session=s1
        09:01 bot asks q2 APPROVAL session=s2
        09:02 elf asks q3 EMERGENCY
        09:03 ada halts h1 scope=session session=s3 "why"
        09:04 alice denies q2
        09:05 alice answers q3 "contained"
        "#,
    );
    let mut again = Holds::default();
    for hold in world.all_holds().into_iter().rev() {
        assert_eq!(again.replace(&hold.id.clone(), Some(hold)), None);
    }
    let ids = |agent, session| {
        let ids: Vec<_> = again.covering(agent, session).iter().map(|hold| hold.id.as_str().to_owned()).collect();
        assert_eq!(again.can_proceed(agent, session), ids.is_empty());
        ids
    };
    assert_eq!(ids("elf", Some("s1")), ["q1"]);
    assert_eq!(ids("elf", Some("s2")), [""; 0]);
    assert_eq!(ids("elf", Some("s3")), ["h1"]);
    assert_eq!(ids("bot", None), ["q1", "q2"]);
}

/// D3, 10: what a timeout does is in question/tests/timeout.rs; here, that it clears.
#[test]
fn a_default_clears_and_a_reminder_does_not() {
    check(
        r#"
        09:00 bot asks q1 BLOCKING default=main    → pending, halts agent
        09:00 elf asks q2 BLOCKING                 → pending, halts agent
        09:15 system lapses q1                     → expired "main" by timeout
        09:15 system lapses q2                     → pending, halts agent, reminded 1
        clear bot                                  → yes
        clear elf                                  → q2
        "#,
    );
}

/// D3, 12.
#[test]
fn what_is_cancelled_skipped_or_expired_releases_what_it_held_and_says_so() {
    check(
        r#"
        09:00 bot asks q1 BLOCKING                 → pending, halts agent
        09:01 alice cancels-question               → cancelled by alice
        clear bot                                  → yes
        log of=q1                                  → asked, agent.halted, cancelled, agent.resumed
        09:02 bot asks q2 BLOCKING                 → pending, halts agent
        09:03 alice skips                          → skipped by alice
        clear bot                                  → yes
        log of=q2                                  → asked, agent.halted, skipped, agent.resumed
        09:04 bot asks q3 BLOCKING default=x       → pending, halts agent
        09:30 system lapses                        → expired "x" by timeout
        clear bot                                  → yes
        log of=q3                                  → asked, agent.halted, expired, agent.resumed
        event 4 of=q1                              → alice: agent.resumed {"question_id":"q1","type":"BLOCKING","agent_id":"bot","asked_by":"bot","can_proceed":true}
        "#,
    );
}

#[test]
fn what_covers_is_told_oldest_first_and_once() {
    check(
        r#"
        09:03 bot asks q3 EMERGENCY session=s1                → pending, halts all
        09:02 ada halts h2 scope=session session=s1 "why"     → stands
        09:01 bot asks q9 APPROVAL session=s1                 → pending, halts session
        09:02 bot asks q2 BLOCKING                            → pending, halts agent
        clear bot session=s1                                  → q9, q2, h2, q3
        "#,
    );
}

#[test]
fn a_hold_is_replaced_under_its_id_and_can_be_asked_for() {
    let denied = play("09:00 bot asks q1 APPROVAL session=s1\n09:01 alice denies");
    let open = play("09:00 bot asks q1 APPROVAL session=s1");
    let id = HoldId::Question("q1".parse().unwrap());
    let mut holds = Holds::default();
    assert_eq!(holds.get(&id), None);
    assert_eq!(holds.replace(&id, Some(open.all_holds().remove(0))), None);
    assert!(!holds.can_proceed("elf", Some("s1")));
    let was = holds.replace(&id, Some(denied.all_holds().remove(0))).unwrap();
    assert!(!was.denied && holds.get(&id).unwrap().denied);
    assert!(holds.can_proceed("elf", Some("s1")) && !holds.can_proceed("bot", None));
    assert!(holds.replace(&id, None).is_some());
    assert_eq!(holds.replace(&id, None), None);
    let left = (holds.agents().count(), holds.sessions().count(), holds.system().count());
    assert_eq!(left, (0, 0, 0));
}
