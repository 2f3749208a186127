use crate::{
    Action, Actor, Outcome,
    question::{self, AtTimeout, NewQuestion, QuestionPolicy, QuestionType, TypeDefaults},
    transcript::{World, check, play, principal, time},
};

#[test]
fn each_type_halts_as_far_as_its_table_says() {
    check(
        "
        09:00 bot asks q1 BLOCKING session=s1      → pending, halts agent
        09:00 bot asks q2 CLARIFYING session=s1    → pending
        09:00 bot asks q3 CONFIRMING session=s1    → pending
        09:00 bot asks q4 PREFERENCE session=s1    → pending
        09:00 bot asks q5 ALERT session=s1         → pending
        09:00 bot asks q6 ESCALATION session=s1    → pending, halts agent
        09:00 bot asks q7 DECISION session=s1      → pending
        clear bot session=s1                       → q1, q6
        clear elf session=s1                       → yes
        09:00 bot asks q8 APPROVAL session=s1      → pending, halts session
        clear elf session=s1                       → q8
        clear elf session=s2                       → yes
        09:00 bot asks q9 EMERGENCY session=s1     → pending, halts all
        clear bot session=s1                       → q1, q6, q8, q9
        clear elf session=s1                       → q8, q9
        clear elf session=s2                       → q9
        clear elf                                  → q9
        ",
    );
}

#[test]
fn a_question_can_halt_more_than_its_type_does() {
    check(
        "
        09:00 bot asks q1 CLARIFYING halts=agent                → pending, halts agent
        09:00 bot asks q2 CLARIFYING session=s1 halts=session   → pending, halts session
        09:00 bot asks q3 BLOCKING session=s1 halts=session     → pending, halts session
        09:00 bot asks q4 APPROVAL session=s1 halts=all         → pending, halts all
        clear bot                                               → q1, q2, q3, q4
        clear elf session=s1                                    → q2, q3, q4
        clear elf                                               → q4
        ",
    );
}

#[test]
fn a_question_never_halts_less_than_its_type_does() {
    check(
        "
        09:00 bot asks q1 APPROVAL session=s1 halts=agent       → pending, halts session
        09:00 bot asks q2 EMERGENCY session=s1 halts=agent      → pending, halts all
        09:00 bot asks q3 EMERGENCY session=s1 halts=session    → pending, halts all
        ",
    );
}

#[test]
fn to_halt_a_session_there_must_be_one() {
    check(
        "
        09:00 bot asks q0 CLARIFYING halts=session     → refused: invalid session_id
        09:00 bot asks q0 EMERGENCY halts=session      → refused: invalid session_id
        09:00 bot asks q1 APPROVAL                     → pending, halts agent
        09:00 bot asks q2 EMERGENCY                    → pending, halts all
        clear bot                                      → q1, q2
        sessions                                       → none
        09:00 bot asks q3 ALERT session=s1             → pending
        sessions                                       → s1
        ",
    );
}

#[test]
fn agents_reviewers_and_admins_ask_but_viewers_and_the_clock_do_not() {
    check(
        "
        09:00 bot asks q1 BLOCKING       → pending, halts agent
        09:00 alice asks q2 BLOCKING     → pending, halts agent
        09:00 ada asks q3 BLOCKING       → pending, halts agent
        09:00 mon asks q4 BLOCKING       → pending, halts agent
        09:00 vera asks q0 BLOCKING      → refused: role_may_not ask
        09:00 system asks q0 BLOCKING    → refused: role_may_not ask
        clear alice                      → q2
        clear vera                       → yes
        ",
    );
}

#[test]
fn who_speaks_for_an_agent_halts_that_agent_and_the_log_keeps_both_names() {
    check(
        r#"
        09:00 bot asks q1 BLOCKING agent=a1     → pending, halts agent
        clear a1                                → q1
        clear bot                               → yes
        event 1 of=q1                           → bot for a1: question.asked {"id":"q1","agent_id":"a1","session_id":null,"type":"BLOCKING","text":"sha256:ce1fe864…","options":[],"default":null,"halts":"agent","priority":"high","asked_by":"bot","asked_at":"2026-01-31T09:00:00.000000Z","timeout":900000,"due":"2026-01-31T09:15:00.000000Z","reminders":0,"seq":1,"state":"pending"}
        event 2 of=q1                           → bot: agent.halted {"question_id":"q1","type":"BLOCKING","agent_id":"a1","asked_by":"bot"}
        09:00 bot asks q2 ALERT agent=bot       → pending
        event 1 of=q2                           → bot: question.asked {"id":"q2","agent_id":"bot","session_id":null,"type":"ALERT","text":"sha256:ce1fe864…","options":[],"default":null,"halts":null,"priority":"low","asked_by":"bot","asked_at":"2026-01-31T09:00:00.000000Z","timeout":"never","due":null,"reminders":0,"seq":1,"state":"pending"}
        "#,
    );
}

#[test]
fn no_agent_has_a_name_that_the_log_uses_itself() {
    check(
        "
        09:00 bot asks q0 BLOCKING agent=auto        → refused: invalid agent_id
        09:00 bot asks q0 BLOCKING agent=system      → refused: invalid agent_id
        09:00 bot asks q0 BLOCKING agent=timer       → refused: invalid agent_id
        09:00 bot asks q0 BLOCKING agent=TimeOut     → refused: invalid agent_id
        09:00 bot asks q0 BLOCKING agent=ai:judge    → refused: invalid agent_id
        09:00 bot asks q1 BLOCKING agent=timers      → pending, halts agent
        ",
    );
}

#[test]
fn an_approval_offers_approve_and_deny_whatever_it_says() {
    check(
        r#"
        09:00 bot asks q0 APPROVAL options=yes,no             → refused: invalid options
        09:00 bot asks q0 APPROVAL options=approve,later      → refused: invalid options
        09:00 bot asks q0 APPROVAL options=Approve            → refused: invalid options
        09:00 bot asks q1 APPROVAL options=approve            → pending, halts agent
        09:01 alice answers "deny"                            → denied "deny" by alice
        09:00 bot asks q2 APPROVAL options=deny,approve       → pending, halts agent
        09:01 alice answers "approve"                         → answered "approve" by alice
        "#,
    );
}

#[test]
fn a_default_must_be_offered() {
    check(
        r#"
        09:00 bot asks q0 BLOCKING options=a,b default=c        → refused: invalid default
        09:00 bot asks q0 BLOCKING options=1,2 json=1           → refused: invalid default
        09:00 bot asks q1 BLOCKING options=a,b default=b        → pending, halts agent
        09:00 bot asks q2 CLARIFYING json=[1,2.5]               → pending
        09:00 bot asks q3 CLARIFYING json=false                 → pending
        09:05 system lapses q3                                  → expired false by timeout
        "#,
    );
}

#[test]
fn silence_never_answers_an_approval_or_an_emergency() {
    check(
        "
        09:00 bot asks q0 APPROVAL default=approve       → refused: default_not_allowed
        09:00 bot asks q0 APPROVAL default=deny          → refused: default_not_allowed
        09:00 bot asks q0 EMERGENCY default=go           → refused: default_not_allowed
        09:00 bot asks q0 APPROVAL json=null             → refused: default_not_allowed
        usual APPROVAL default=approve                   → refused: default_not_allowed
        usual EMERGENCY default=go                       → refused: default_not_allowed
        ",
    );
}

/// A caller that resolves the configuration wrongly must not turn silence into consent.
#[test]
fn silence_never_answers_an_approval_whatever_the_caller_says_is_usual() {
    for question_type in [QuestionType::Approval, QuestionType::Emergency] {
        let new_question = NewQuestion {
            id: "q1".parse().unwrap(),
            agent_id: None,
            run_id: None,
            session_id: None,
            question_type,
            text: "May I?".to_owned(),
            options: Vec::new(),
            default: None,
            timeout: None,
            halts: None,
            priority: None,
        };
        let defaults =
            TypeDefaults { default: Some("approve".into()), ..QuestionPolicy::default().defaults(question_type) };
        let ask = Action::Question(question::Action::Ask { new_question: Box::new(new_question), defaults });
        let outcome = World::default().execute(Actor::Principal(principal("bot")), ask, time("09:00"));
        let Ok(Outcome::Question(question)) = outcome else { panic!("{outcome:?}") };
        assert_eq!((question.default.clone(), question.at_timeout()), (None, AtTimeout::Remind));
    }
}

#[test]
fn each_type_has_a_priority_unless_the_asker_says_another() {
    let world = play(
        "
        09:00 bot asks q1 BLOCKING
        09:00 bot asks q2 CLARIFYING
        09:00 bot asks q3 CONFIRMING
        09:00 bot asks q4 PREFERENCE
        09:00 bot asks q5 ALERT
        09:00 bot asks q6 ESCALATION
        09:00 bot asks q7 APPROVAL
        09:00 bot asks q8 DECISION
        09:00 bot asks q9 EMERGENCY
        09:00 bot asks qa ALERT priority=critical
        ",
    );
    let priorities: Vec<_> = world.questions.values().map(|question| question.priority.word()).collect();
    let wanted = ["high", "medium", "medium", "low", "low", "high", "high", "medium", "critical", "critical"];
    assert_eq!(priorities, wanted);
    assert_eq!(QuestionType::WORDS.len(), 9);
}

#[test]
fn answers_in_bulk_leave_out_what_a_person_must_look_at() {
    let all = QuestionType::WORDS.iter().map(|word| word.parse::<QuestionType>().unwrap());
    let left_out: Vec<_> = all.filter(|one| !one.is_answered_in_bulk()).map(QuestionType::word).collect();
    assert_eq!(left_out, ["ESCALATION", "APPROVAL", "DECISION", "EMERGENCY"]);
}
