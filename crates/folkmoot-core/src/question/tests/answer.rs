use crate::transcript::{check, play, principal};

#[test]
fn people_who_decide_answer_and_nobody_else_does() {
    check(
        r#"
        09:00 bot asks q1 BLOCKING           → pending, halts agent
        09:01 elf answers "go on"            → refused: role_may_not answer
        09:01 mon answers "go on"            → refused: role_may_not answer
        09:01 vera answers "go on"           → refused: role_may_not answer
        09:01 system answers "go on"         → refused: role_may_not answer
        clear bot                            → q1
        09:02 alice answers "go on"          → answered "go on" by alice
        clear bot                            → yes
        09:00 bot asks q2 BLOCKING           → pending, halts agent
        09:02 ada answers "go on"            → answered "go on" by ada
        log of=q1                            → asked, agent.halted, refused, refused, refused, answered, agent.resumed
        "#,
    );
}

#[test]
fn nobody_answers_what_they_asked_themselves() {
    check(
        r#"
        09:00 bot asks q1 BLOCKING              → pending, halts agent
        09:01 bot answers q1 "go on"            → refused: role_may_not answer
        09:01 bot denies q1                     → refused: role_may_not deny
        09:00 alice asks q2 BLOCKING            → pending, halts agent
        09:01 alice answers q2 "go on"          → refused: own_question
        09:01 alice denies q2                   → refused: own_question
        09:00 ada asks q3 BLOCKING agent=a1     → pending, halts agent
        09:01 ada answers q3 "go on"            → refused: own_question
        09:02 bob answers q2 "go on"            → answered "go on" by bob
        09:02 max answers q3 "go on"            → answered "go on" by max
        "#,
    );
}

#[test]
fn nobody_asks_in_a_persons_name() {
    check(
        r#"
        09:00 bot asks q1 APPROVAL agent=alice     → refused: names_person
        09:00 bot asks q1 EMERGENCY agent=ada      → refused: names_person
        09:00 bob asks q1 BLOCKING agent=vera      → refused: names_person
        09:00 bob asks q2 BLOCKING agent=bob       → pending, halts agent
        09:00 bot asks q3 BLOCKING agent=later     → pending, halts agent
        09:01 ada mints id=t1 name=later role=reviewer → token of later, reviewer
        09:02 elf answers q3 "yes"                 → refused: role_may_not answer
        "#,
    );
}

#[test]
fn only_what_is_offered_can_be_answered() {
    check(
        r#"
        09:00 bot asks q1 BLOCKING options=red,blue     → pending, halts agent
        09:01 alice answers "green"                     → refused: option_not_offered
        09:01 alice answers "Red"                       → refused: option_not_offered
        09:01 alice answers json=[]                     → refused: option_not_offered
        09:01 alice answers json=0                      → refused: option_not_offered
        clear bot                                       → q1
        09:02 alice answers "red"                       → answered "red" by alice
        09:00 bot asks q2 APPROVAL                      → pending, halts agent
        09:01 alice answers "yes"                       → refused: option_not_offered
        09:01 alice answers json=true                   → refused: option_not_offered
        09:01 alice answers "approved"                  → refused: option_not_offered
        09:02 alice answers "approve"                   → answered "approve" by alice
        "#,
    );
}

#[test]
fn any_json_but_null_answers_where_nothing_is_offered() {
    check(
        r#"
        09:00 bot asks q1 BLOCKING                   → pending, halts agent
        09:01 alice answers json=null                → refused: invalid answer
        09:01 alice answers json=[7,null,false]      → answered [7,null,false] by alice
        09:00 bot asks q2 BLOCKING                   → pending, halts agent
        09:01 alice answers json=0.1                 → answered 0.1 by alice
        closure q2                                   → {"status":"answered","answer":0.1,"by":"alice","at":"2026-01-31T09:01:00.000000Z","reason":""}
        "#,
    );
}

#[test]
fn a_question_is_closed_once_and_the_later_one_is_told_who_was_first() {
    check(
        r#"
        09:00 bot asks q1 BLOCKING                    → pending, halts agent
        09:01 alice answers "go on" reason=checked    → answered "go on" by alice
        09:02 bob answers "stop"                      → refused: question_closed answered by alice
        09:02 bob denies                              → refused: question_closed answered by alice
        09:02 alice skips                             → refused: question_closed answered by alice
        09:02 ada cancels-question                    → refused: question_closed answered by alice
        09:02 bot answers "stop"                      → refused: role_may_not answer
        closure                                       → {"status":"answered","answer":"go on","by":"alice","at":"2026-01-31T09:01:00.000000Z","reason":"checked"}
        09:03 bot fetches                             → unchanged: answered "go on" by alice
        "#,
    );
}

/// TRAPS D3, 13.
#[test]
fn an_unknown_question_is_refused_and_leaves_nothing() {
    check(
        r#"
        09:00 alice answers q9 "go on"          → refused: unknown_question
        09:00 alice denies q9                   → refused: unknown_question
        09:00 alice skips q9                    → refused: unknown_question
        09:00 alice cancels-question q9         → refused: unknown_question
        09:00 bot fetches q9                    → refused: unknown_question
        09:00 system lapses q9                  → unchanged: nothing
        log of=q9                               → none
        "#,
    );
}

#[test]
fn an_answer_to_deny_is_a_denial_only_where_it_was_asked_for_approval() {
    check(
        r#"
        09:00 bot asks q1 DECISION options=approve,deny halts=agent     → pending, halts agent
        09:01 alice answers "deny"                                      → answered "deny" by alice
        clear bot                                                       → yes
        "#,
    );
}

#[test]
fn an_agent_sees_the_questions_that_are_its_own() {
    let world = play(
        "
        09:00 bot asks q1 ALERT
        09:00 elf asks q2 ALERT
        09:00 mon asks q3 ALERT agent=bot
        09:00 bot asks q4 ALERT agent=elf
        ",
    );
    let seen = |who| {
        let by = principal(who);
        let seen = world.questions.values().filter(|question| question.may_be_seen_by(&by));
        seen.map(|question| question.id.as_str()).collect::<Vec<_>>()
    };
    assert_eq!(seen("bot"), ["q1", "q3", "q4"]);
    assert_eq!(seen("elf"), ["q2", "q4"]);
    assert_eq!(seen("mon"), ["q3"]);
    assert_eq!(seen("vera"), ["q1", "q2", "q3", "q4"]);
    assert_eq!(seen("alice"), ["q1", "q2", "q3", "q4"]);
}
