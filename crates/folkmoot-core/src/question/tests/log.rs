//! What the log says of halting and resuming.

use crate::{
    Deadline, Fact, Question, Timestamp,
    halt::Notice,
    question::{Closure, QuestionEvent, QuestionStatus, RefusedAttempt},
    transcript::{check, play},
};

#[test]
fn every_hold_is_said_but_only_the_last_release() {
    check(
        r#"
        09:00 bot asks q1 BLOCKING                    → pending, halts agent
        09:01 bot asks q2 BLOCKING                    → pending, halts agent
        09:02 alice answers q1 "one"                  → answered "one" by alice
        09:03 alice answers q2 "two"                  → answered "two" by alice
        log of=q1                                     → asked, agent.halted, answered
        log of=q2                                     → asked, agent.halted, answered, agent.resumed
        event 2 of=q2                                 → bot: agent.halted {"question_id":"q2","type":"BLOCKING","agent_id":"bot","asked_by":"bot"}
        event 3 of=q2                                 → alice: question.answered {"asked_by":"bot","agent_id":"bot","status":"answered","answer":"two","by":"alice","at":"2026-01-31T09:03:00.000000Z","reason":""}
        event 4 of=q2                                 → alice: agent.resumed {"question_id":"q2","type":"BLOCKING","agent_id":"bot","asked_by":"bot","answer":"two","can_proceed":true}
        "#,
    );
}

#[test]
fn an_emergency_halts_and_resumes_all_three_levels() {
    check(
        r#"
        09:00 bot asks q1 EMERGENCY session=s1     → pending, halts all
        09:01 alice answers "contained"            → answered "contained" by alice
        log of=q1                                  → asked, agent.halted, session.halted, system.halted, answered, agent.resumed, session.resumed, system.resumed
        event 4 of=q1                              → bot: system.halted {"question_id":"q1","type":"EMERGENCY","agent_id":"bot","session_id":"s1","asked_by":"bot"}
        event 8 of=q1                              → alice: system.resumed {"question_id":"q1","type":"EMERGENCY","agent_id":"bot","session_id":"s1","asked_by":"bot","can_proceed":true}
        "#,
    );
}

#[test]
fn who_is_resumed_is_told_whether_something_else_still_covers_it() {
    check(
        r#"
        09:00 bot asks q1 BLOCKING session=s1                  → pending, halts agent
        09:01 elf asks q2 APPROVAL session=s1                  → pending, halts session
        09:02 alice answers q1 "go on"                         → answered "go on" by alice
        clear bot session=s1                                   → q2
        clear bot                                              → yes
        event 4 of=q1                                          → alice: agent.resumed {"question_id":"q1","type":"BLOCKING","agent_id":"bot","asked_by":"bot","answer":"go on","can_proceed":false}
        09:03 ada halts h1 scope=all "budget"                  → stands
        09:04 alice answers q2 "approve"                       → answered "approve" by alice
        event 5 of=q2                                          → alice: agent.resumed {"question_id":"q2","type":"APPROVAL","agent_id":"elf","session_id":"s1","asked_by":"elf","answer":"approve","can_proceed":false}
        event 6 of=q2                                          → alice: session.resumed {"question_id":"q2","type":"APPROVAL","agent_id":"elf","session_id":"s1","asked_by":"elf","can_proceed":false}
        09:05 ada lifts h1                                     → lifted by ada
        event 4 of=h1                                          → ada: system.resumed {"halt_id":"h1","asked_by":"ada","can_proceed":true}
        "#,
    );
}

#[test]
fn a_refused_attempt_names_who_asked_and_changes_nothing() {
    check(
        r#"
        09:00 bot asks q1 APPROVAL agent=a1     → pending, halts agent
        09:01 elf answers "approve"             → refused: role_may_not answer
        event 3 of=q1                           → elf: question.refused {"asked_by":"bot","attempted":"answer","code":"role_may_not","refusal":"the role agent may not answer; use a token of somebody who may"}
        clear a1                                → q1
        "#,
    );
}

#[test]
fn every_kind_of_event_reads_back_as_it_was_written() {
    let now = Timestamp::from_micros(1_769_850_000_123_456);
    let (asked_by, agent_id): (crate::Name, crate::Name) = ("bot".parse().unwrap(), "a1".parse().unwrap());
    let closed = |status, answer: Option<serde_json::Value>| QuestionEvent::Closed {
        asked_by: asked_by.clone(),
        agent_id: agent_id.clone(),
        closure: Box::new(Closure {
            status,
            answer,
            by: "alice".parse().unwrap(),
            at: now,
            reason: "because".to_owned(),
            fetched_at: None,
            released_by: None,
            presence: None,
        }),
    };
    let events = [
        QuestionEvent::Asked(Box::new(a_question())),
        QuestionEvent::Reminded { asked_by: asked_by.clone(), agent_id: agent_id.clone(), due: Deadline::At(now) },
        QuestionEvent::Reminded { asked_by: asked_by.clone(), agent_id: agent_id.clone(), due: Deadline::Never },
        closed(QuestionStatus::Answered, Some(serde_json::json!({ "a": [1, 0.1, null, "x"], "by": "mallory" }))),
        closed(QuestionStatus::Denied, Some("deny".into())),
        closed(QuestionStatus::Skipped, None),
        closed(QuestionStatus::Expired, Some(false.into())),
        closed(QuestionStatus::Cancelled, None),
        QuestionEvent::Fetched {
            asked_by: asked_by.clone(),
            agent_id,
            fetched_at: now,
            released_by: None,
            reason: String::new(),
        },
        QuestionEvent::Refused(RefusedAttempt {
            asked_by,
            attempted: "answer".into(),
            code: "own_question".to_owned(),
            refusal: "no".to_owned(),
            unrecorded: 0,
        }),
    ];
    let notices = play("09:00 bot asks q1 EMERGENCY session=s1\n09:01 alice answers \"x\"").log;
    let notices = notices.iter().filter_map(|event| Notice::read(&event.fact).unwrap());
    let notices: Vec<_> = notices.map(|notice| QuestionEvent::Noticed(Box::new(notice))).collect();
    assert_eq!(notices.len(), 6);
    for event in events.iter().chain(&notices) {
        assert_eq!(QuestionEvent::read(&a_fact(event.kind(), event.payload())).as_ref(), Ok(event));
    }
}

#[test]
fn a_closing_under_another_name_is_found() {
    let world = play("09:00 bot asks q1 BLOCKING\n09:01 alice answers \"x\"");
    let mut answered = world.stream("q1")[2].fact.clone();
    answered.kind = "question.skipped".into();
    let broken = QuestionEvent::read(&answered).unwrap_err();
    assert_eq!(broken.to_string(), "question.skipped says that it was answered");
    let unknown = QuestionEvent::read(&a_fact("question.opened", "{}".to_owned())).unwrap_err();
    assert_eq!(unknown.to_string(), "\"question.opened\" is no event of a question");
}

#[test]
fn events_that_cannot_have_happened_are_found() {
    let events = play("09:00 bot asks q1 ALERT\n09:01 alice denies\n09:02 bot fetches").stream("q1");
    let facts: Vec<_> = events.into_iter().map(|event| event.fact).collect();
    let fold = |order: &[usize]| {
        let renumbered = order.iter().zip(1..).map(|(n, stream_seq)| Fact { stream_seq, ..facts[*n].clone() });
        Question::fold(&renumbered.collect::<Vec<_>>()).map(|question| question.seq).map_err(|broken| broken.0)
    };
    let broken = |text: &str| Err(text.to_owned());
    assert_eq!(fold(&[0, 1, 2]), Ok(3));
    assert_eq!(fold(&[]), broken("there are no events"));
    assert_eq!(fold(&[1]), broken("begins with question.denied instead of question.asked"));
    assert_eq!(fold(&[0, 0]), broken("it was asked twice"));
    assert_eq!(fold(&[0, 1, 1]), broken("question.denied on a question that was closed"));
    assert_eq!(fold(&[0, 2]), broken("question.fetched on a question that was open"));
    assert_eq!(fold(&[0, 1, 2, 2]), broken("question.fetched on a question that was closed"));
}

fn a_question() -> Question {
    let world =
        play("09:00 bot asks q1 DECISION agent=a1 session=s1 options=a,b default=a halts=session timeout=never");
    world.questions.into_values().next().unwrap()
}

fn a_fact(kind: &'static str, payload: String) -> Fact {
    let first = play("09:00 bot asks q1 ALERT").log[0].fact.clone();
    Fact { kind: kind.into(), payload, ..first }
}
