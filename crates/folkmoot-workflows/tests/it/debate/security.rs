//! Whoever speaks in a debate may lie, cheat and waste. What they do is recorded as what it was, and changes nothing for others.

use folkmoot_core::debate::{NoDecision, TurnState};
use folkmoot_llm::FailureKind;
use folkmoot_workflows::debate::Preset;
use serde_json::json;

use super::{
    CODE, debating,
    stage::{Says, Stage, outside},
};

const WORDS: &str = "Should we write tests first?";

#[test]
fn explore() {
    let full = debating(Preset::Full, WORDS, 5);
    let played =
        Stage::new(&full).says(|cue| (cue.agent == "critic-1").then_some(Says::Fails(FailureKind::Refused))).play();
    println!("{:?}", played.report.outcome);
    println!("{:#?}", played.notes());
    println!("{:?} {}", played.left_out(), played.report.appends);
    let _ = (CODE, outside(""), json!(1), NoDecision::NoVotes, TurnState::Failed);
}
