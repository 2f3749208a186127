use serde_json::Value;

use crate::{
    Actor, Refusal,
    question::{self, Close, Reply},
    text::{ANSWER_BYTES_MAX, JSON_DEPTH_MAX, REASON_BYTES_MAX, SUMMARY_BYTES_MAX, TITLE_BYTES_MAX},
    transcript::{check, play, principal, time},
};

#[test]
fn no_text_that_must_say_something_is_empty() {
    check(
        r#"
        09:00 bot asks q0 BLOCKING ""                    → refused: invalid text
        09:00 bot asks q0 BLOCKING " {nl} "              → refused: invalid text
        09:00 bot asks q0 BLOCKING options=a," "         → refused: invalid options
        09:00 bot asks q0 BLOCKING default=              → refused: invalid default
        09:00 bot asks q0 BLOCKING json=null             → refused: invalid default
        09:00 bot asks q1 BLOCKING                       → pending, halts agent
        09:01 alice answers ""                           → refused: invalid answer
        09:01 alice answers " {nl} "                     → refused: invalid answer
        09:01 alice answers json=null                    → refused: invalid answer
        clear bot                                        → q1
        "#,
    );
}

#[test]
fn no_field_takes_what_postgresql_cannot_store() {
    check(
        r#"
        09:00 bot asks q0 BLOCKING "x{nul}"              → refused: invalid text
        09:00 bot asks q0 BLOCKING options=x{nul}        → refused: invalid options
        09:00 bot asks q0 BLOCKING default=x{nul}        → refused: invalid default
        09:00 bot asks q1 BLOCKING                       → pending, halts agent
        09:01 alice answers "x{nul}"                     → refused: invalid answer
        09:01 alice answers "x" reason=x{nul}            → refused: invalid reason
        09:01 alice denies "x{nul}"                      → refused: invalid reason
        09:01 alice skips "x{nul}"                       → refused: invalid reason
        09:01 alice cancels-question "x{nul}"            → refused: invalid reason
        clear bot                                        → q1
        "#,
    );
}

#[test]
fn no_field_takes_more_than_its_limit() {
    let (text, title, answer, reason) = (SUMMARY_BYTES_MAX, TITLE_BYTES_MAX, ANSWER_BYTES_MAX, REASON_BYTES_MAX);
    for (more, said) in [(1, "refused"), (0, "accepted")] {
        let (text, title, answer, reason) = (text + more, title + more, answer + more, reason + more);
        let outcome =
            |refused: &str, accepted: &str| if said == "refused" { refused.to_owned() } else { accepted.to_owned() };
        let pending = |field| outcome(&format!("refused: invalid {field}"), "pending, halts agent");
        check(&format!(
            r#"
            09:00 bot asks q1 BLOCKING "{{{text}}}"            → {}
            09:00 bot asks q2 BLOCKING options={{{title}}}     → {}
            09:00 bot asks q3 BLOCKING default={{{answer}}}    → {}
            09:00 bot asks q4 BLOCKING                         → pending, halts agent
            09:01 alice skips q4 "{{{reason}}}"                → {}
            "#,
            pending("text"),
            pending("options"),
            pending("default"),
            outcome("refused: invalid reason", "skipped by alice"),
        ));
    }
    assert_eq!(answered("x".repeat(answer).into()), Ok(()));
    assert_eq!(answered("x".repeat(answer + 1).into()), Err("answer"));
    // Anything but a text is measured as it is written: here with two brackets and two quotation
    // marks.
    assert_eq!(answered(vec!["x".repeat(answer - 4)].into()), Ok(()));
    assert_eq!(answered(vec!["x".repeat(answer - 3)].into()), Err("answer"));
}

#[test]
fn options_are_few_and_each_is_offered_once() {
    let options = |n: usize| (0..n).map(|n| n.to_string()).collect::<Vec<_>>().join(",");
    check(&format!(
        "
        09:00 bot asks q0 BLOCKING options=a,b,a               → refused: invalid options
        09:00 bot asks q0 APPROVAL options=approve,approve     → refused: invalid options
        09:00 bot asks q0 BLOCKING options={}                  → refused: invalid options
        09:00 bot asks q1 BLOCKING options={}                  → pending, halts agent
        ",
        options(51),
        options(50)
    ));
}

/// Answers of any shape, to a question that offers nothing.
fn answered(answer: Value) -> Result<(), &'static str> {
    let mut world = play("09:00 bot asks q1 BLOCKING");
    let reply = Reply { question: "q1".parse().unwrap(), close: Close::Answer(answer), reason: String::new() };
    let result = world.execute(Actor::Principal(principal("alice")), question::Action::Close(reply), time("09:01"));
    match result {
        Ok(_) => Ok(()),
        Err(Refusal::Invalid { field, .. }) => Err(field),
        Err(other) => panic!("{other}"),
    }
}

#[test]
fn u0000_is_found_however_deep_it_is() {
    assert_eq!(answered(serde_json::json!({ "a": [{ "b": "x\0" }] })), Err("answer"));
    assert_eq!(answered(serde_json::json!({ "a": [{ "b\0": "x" }] })), Err("answer"));
    assert_eq!(answered(serde_json::json!({ "a": [{ "b": "\\u0000" }] })), Ok(()));
}

/// What JSON readers give up on would make a row that nobody can read any more.
#[test]
fn an_answer_is_not_nested_deeper_than_its_row_can_be_read() {
    let nested = |depth: usize| (1..depth).fold(serde_json::json!([]), |inner, _| Value::Array(vec![inner]));
    assert_eq!(answered(nested(JSON_DEPTH_MAX)), Ok(()));
    assert_eq!(answered(nested(JSON_DEPTH_MAX + 1)), Err("answer"));
    assert_eq!(answered(nested(126)), Err("answer"));
}

#[test]
fn any_number_answers_and_reads_back() {
    for number in [0.1, 1e300, 5e-324, 1.7976931348623157e308, 123456789.12345679, -0.0] {
        assert_eq!(answered(number.into()), Ok(()), "{number}");
    }
    assert_eq!(answered(u64::MAX.into()), Ok(()));
    assert_eq!(answered(i64::MIN.into()), Ok(()));
}
