//! Answers as models write them, and what is made of them.

use folkmoot_llm::structured::SchemaValidator;

use super::*;
use crate::debate::state::Candidate;

/// Reads an answer as a turn does: by the schema, as its type, then by the check.
fn check<P: Part>(part: P, answer: &str, expected: &str) {
    let read = || {
        let value = SchemaValidator::new(&part.schema())?.read(answer).map_err(|why| format!("unparsed: {why}"))?;
        let answer = serde_json::from_value(value).map_err(|error| format!("unparsed: {error}"))?;
        part.check(&answer).map_err(|why| format!("refused: {why}"))?;
        Ok(P::render(&answer))
    };
    assert_eq!(read().unwrap_or_else(|why: String| why), expected, "{answer}");
}

#[test]
fn answers_are_named_by_their_numbers() {
    let point = |number: &str| {
        format!(r#"{{"points": [{{"answer": {number}, "point": "slow ", "evidence": ""}}], "confidence": 1}}"#)
    };
    check(CritiquePart { answers: 2 }, &point("2"), "Answer 2: slow (unchecked)");
    check(CritiquePart { answers: 2 }, &point("2.0"), "Answer 2: slow (unchecked)");
    let too_many = "unparsed: /points/0/answer: value is greater than the maximum of 2";
    check(CritiquePart { answers: 2 }, &point("3"), too_many);
    check(CritiquePart { answers: 2 }, &point("0"), "unparsed: /points/0/answer: value is less than the minimum of 1");
}

#[test]
fn nobody_counts_twice() {
    let scores = |second: &str| {
        format!(
            r#"{{"scores": [{{"answer": 1, "score": 0.8, "reason": "good"}},
                {{"answer": {second}, "score": 1, "reason": "best"}}], "confidence": 0.9}}"#
        )
    };
    check(ReviewPart { answers: 2 }, &scores("2"), "Answer 1: 0.8, good\nAnswer 2: 1, best");
    check(ReviewPart { answers: 2 }, &scores("1"), "refused: it scores answer 1 twice");
    check(ReviewPart { answers: 2 }, &scores("1.0"), "refused: it scores answer 1 twice");
    let ballot = |ranking: &str| {
        format!(r#"{{"ranking": {ranking}, "confidence": 1, "evidence": "result 1", "objection": ""}}"#)
    };
    check(BallotPart { answers: 2 }, &ballot(r#"["2", "1"]"#), "2 before 1, because of result 1.");
    check(BallotPart { answers: 2 }, &ballot(r#"["2", "2"]"#), "refused: its ballot names answer 2 twice");
}

#[test]
fn an_earlier_answer_changes_only_for_evidence() {
    let earlier = Candidate {
        author: "ada".parse().unwrap(),
        text: "Yes.".to_owned(),
        position: "Yes.".to_owned(),
        code: None,
        tests: Vec::new(),
        confidence: None,
        turn: "turn".to_owned(),
    };
    let evidence = ["point 1".to_owned()];
    let revise = || ProposalPart {
        part: TurnPart::Revise,
        is_code: false,
        change_rule: Some(ChangeRule { earlier: &earlier, evidence: &evidence }),
    };
    let answer = |position: &str, evidence: &str| {
        format!(r#"{{"summary": "Because.", "position": "{position}", "confidence": 1, "evidence": "{evidence}"}}"#)
    };
    check(revise(), &answer("Yes.", ""), "Yes.\n\nBecause.");
    check(revise(), &answer("No.", "point 1"), "No.\n\nBecause.");
    let why = "refused: it changes its answer and names no evidence that it was shown; the earlier answer stands";
    check(revise(), &answer("No.", "point 2"), why);
}

#[test]
fn a_finding_needs_no_test() {
    let finding = |test: &str| {
        format!(r#"{{"findings": [{{"title": "Empty list", "severity": "high", "description": "It fails."{test}}}]}}"#)
    };
    for test in ["", r#", "test": null"#, r#", "test": {"name": "t", "code": "c", "why": "so"}, "fix": "Check.""#] {
        check(AttackPart, &finding(test), "high: Empty list It fails.");
    }
}
