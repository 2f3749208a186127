//! The rules of an operator's halts, as transcripts. `crate::transcript` says how to read one.

use crate::{
    Fact, Halt,
    audit::{AuditedRow, check_row},
    transcript::{check, play, principal},
};

#[test]
fn a_halt_reaches_as_far_as_its_scope_says() {
    check(
        r#"
        09:00 ada halts h1 scope=agent agent=bot "runs wild"       → stands
        clear bot                                                  → h1
        clear bot session=s1                                       → h1
        clear elf                                                  → yes
        09:01 ada halts h2 scope=session session=s1 "wrong repo"   → stands
        clear bot session=s1                                       → h1, h2
        clear elf session=s1                                       → h2
        clear elf session=s2                                       → yes
        09:02 ada halts h3 scope=all "budget"                      → stands
        clear bot session=s1                                       → h1, h2, h3
        clear elf                                                  → h3
        log of=h1                                                  → raised, agent.halted
        log of=h2                                                  → raised, session.halted
        log of=h3                                                  → raised, system.halted
        sessions                                                   → s1
        "#,
    );
}

#[test]
fn the_scope_says_which_id_there_must_be() {
    check(
        r#"
        09:00 ada halts h0 scope=agent "why"                             → refused: invalid agent_id
        09:00 ada halts h0 scope=agent session=s1 "why"                  → refused: invalid agent_id
        09:00 ada halts h0 scope=agent agent=bot session=s1 "why"        → refused: invalid session_id
        09:00 ada halts h0 scope=session "why"                           → refused: invalid session_id
        09:00 ada halts h0 scope=session agent=bot "why"                 → refused: invalid agent_id
        09:00 ada halts h0 scope=session agent=bot session=s1 "why"      → refused: invalid agent_id
        09:00 ada halts h0 scope=all agent=bot "why"                     → refused: invalid agent_id
        09:00 ada halts h0 scope=all session=s1 "why"                    → refused: invalid session_id
        09:00 ada halts h0 scope=agent agent=system "why"                → refused: invalid agent_id
        09:00 ada halts h0 scope=agent agent=AI:judge "why"              → refused: invalid agent_id
        log of=h0                                                        → none
        "#,
    );
}

#[test]
fn a_halt_says_why() {
    check(
        r#"
        09:00 ada halts h0 scope=all                     → refused: invalid reason
        09:00 ada halts h0 scope=all " {nl}"             → refused: invalid reason
        09:00 ada halts h0 scope=all "x{nul}"            → refused: invalid reason
        09:00 ada halts h0 scope=all "{16385}"           → refused: invalid reason
        09:00 ada halts h1 scope=all "{16384}"           → stands
        "#,
    );
}

#[test]
fn admins_and_those_whose_token_says_so_raise_halts() {
    check(
        r#"
        09:00 ada halts h1 scope=agent agent=bot "why"      → stands
        09:00 mon halts h2 scope=all "error rate"           → stands
        09:00 alice halts h3 scope=all "why"                → refused: role_may_not raise a halt
        09:00 bot halts h4 scope=agent agent=elf "why"      → refused: role_may_not raise a halt
        09:00 vera halts h5 scope=all "why"                 → refused: role_may_not raise a halt
        09:00 system halts h6 scope=all "why"               → refused: role_may_not raise a halt
        clear elf                                           → h2
        log of=h3                                           → refused
        log of=h6                                           → none
        event 1 of=h4                                       → bot: halt.refused {"asked_by":"bot","attempted":"raise","code":"role_may_not","refusal":"the role agent may not raise a halt; use a token of somebody who may"}
        "#,
    );
}

#[test]
fn an_operators_halt_is_lifted_only_by_an_operator() {
    check(
        r#"
        09:00 mon halts h1 scope=all "error rate"      → stands
        09:01 mon lifts h1                             → refused: role_may_not lift a halt
        09:01 alice lifts h1                           → refused: role_may_not lift a halt
        09:01 bot lifts h1                             → refused: role_may_not lift a halt
        09:01 vera lifts h1                            → refused: role_may_not lift a halt
        09:01 system lifts h1                          → refused: role_may_not lift a halt
        clear bot                                      → h1
        09:02 max lifts h1                             → lifted by max
        clear bot                                      → yes
        log of=h1                                      → raised, system.halted, refused, refused, refused, refused, lifted, system.resumed
        event 4 of=h1                                  → alice: halt.refused {"asked_by":"mon","attempted":"lift","code":"role_may_not","refusal":"the role reviewer may not lift a halt; use a token of somebody who may"}
        event 7 of=h1                                  → max: halt.lifted {"raised_by":"mon","agent_id":null,"by":"max","at":"2026-01-31T09:02:00.000000Z"}
        event 8 of=h1                                  → max: system.resumed {"halt_id":"h1","asked_by":"mon","can_proceed":true}
        "#,
    );
}

#[test]
fn a_halt_is_lifted_once() {
    check(
        r#"
        09:00 ada halts h1 scope=all "why"       → stands
        09:01 ada lifts h1                       → lifted by ada
        09:02 max lifts h1                       → refused: halt_lifted by ada
        09:02 mon lifts h1                       → refused: role_may_not lift a halt
        09:02 ada lifts h9                       → refused: unknown_halt
        log of=h1                                → raised, system.halted, lifted, system.resumed, refused, refused
        log of=h9                                → none
        "#,
    );
}

#[test]
fn of_several_halts_on_the_same_only_the_last_lifting_resumes() {
    check(
        r#"
        09:00 ada halts h1 scope=agent agent=bot "one"      → stands
        09:00 mon halts h2 scope=agent agent=bot "two"      → stands
        09:00 ada halts h3 scope=agent agent=elf "three"    → stands
        09:01 ada lifts h2                                  → lifted by ada
        09:01 ada lifts h1                                  → lifted by ada
        log of=h2                                           → raised, agent.halted, lifted
        log of=h1                                           → raised, agent.halted, lifted, agent.resumed
        clear bot                                           → yes
        clear elf                                           → h3
        "#,
    );
}

#[test]
fn an_agent_sees_the_halts_that_are_its_own_or_everyones() {
    let world = play(
        r#"
        09:00 ada halts h1 scope=agent agent=bot "one"
        09:00 ada halts h2 scope=agent agent=elf "two"
        09:00 mon halts h3 scope=session session=s1 "three"
        09:00 ada halts h4 scope=all "four"
        "#,
    );
    let seen = |who| {
        let seen = world.halts.values().filter_map(Halt::hold).filter(|hold| hold.may_be_seen_by(&principal(who)));
        seen.map(|hold| hold.id.as_str().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(seen("bot"), ["h1", "h4"]);
    assert_eq!(seen("mon"), ["h3", "h4"]);
    assert_eq!(seen("vera"), ["h1", "h2", "h3", "h4"]);
}

#[test]
fn what_somebody_only_tried_to_raise_never_came_to_be() {
    let world = play("09:00 bot halts h1 scope=all \"why\"");
    let events = world.stream("h1");
    assert_eq!(AuditedRow::fold("halt", &events), Ok(None));
    assert_eq!(check_row("h1", None, &events), None);
    assert!(world.halts.is_empty());

    let forged = play("09:00 ada halts h1 scope=all \"why\"").halts.into_values().next().unwrap();
    let problem = check_row("h1", Some(&AuditedRow::Halt(Box::new(forged))), &events).unwrap().problem;
    assert_eq!(problem, "its row (standing, 2 events) is of something that never came to be");
}

#[test]
fn rows_of_questions_and_halts_are_compared_with_the_log() {
    let world = play(
        r#"
        09:00 bot asks q1 APPROVAL
        09:01 alice answers "approve"
        09:02 ada halts h1 scope=all "why"
        09:03 ada lifts h1
        "#,
    );
    let (events, mut question) = (world.stream("q1"), world.questions.values().next().unwrap().clone());
    assert_eq!(check_row("q1", None, &events).unwrap().problem, "the log has this question, but its row is gone");
    question.seq = 9;
    let problem = check_row("q1", Some(&AuditedRow::Question(Box::new(question))), &events).unwrap().problem;
    let wanted = "its row (answered by alice, 9 events) disagrees with the log (answered by alice, 4 events) in seq";
    assert_eq!(problem, wanted);

    let (events, halt) = (world.stream("h1"), world.halts.values().next().unwrap().clone());
    assert_eq!(check_row("h1", None, &events).unwrap().problem, "the log has this halt, but its row is gone");
    let standing = Halt { lifted: None, ..halt };
    let problem = check_row("h1", Some(&AuditedRow::Halt(Box::new(standing))), &events).unwrap().problem;
    assert_eq!(problem, "its row (standing, 4 events) disagrees with the log (lifted by ada, 4 events) in lifted");
}

#[test]
fn events_that_cannot_have_happened_are_found() {
    let events = play("09:00 ada halts h1 scope=all \"why\"\n09:01 ada lifts h1\n09:02 bot lifts h1").stream("h1");
    let facts: Vec<_> = events.into_iter().map(|event| event.fact).collect();
    let fold = |order: &[usize]| {
        let renumbered = order.iter().zip(1..).map(|(n, seq)| Fact { stream_seq: seq, ..facts[*n].clone() });
        let folded = Halt::fold(&renumbered.collect::<Vec<_>>());
        folded.map(|halt| halt.map(|halt| halt.seq)).map_err(|broken| broken.0)
    };
    let broken = |text: &str| Err(text.to_owned());
    assert_eq!(fold(&[0, 1, 2, 3, 4]), Ok(Some(5)));
    assert_eq!(fold(&[4]), Ok(None));
    assert_eq!(fold(&[]), broken("there are no events"));
    assert_eq!(fold(&[4, 0]), broken("begins with halt.refused instead of halt.raised"));
    assert_eq!(fold(&[2]), broken("begins with halt.lifted instead of halt.raised"));
    assert_eq!(fold(&[0, 0]), broken("it was raised twice"));
    assert_eq!(fold(&[0, 2, 2]), broken("it was lifted twice"));
}
