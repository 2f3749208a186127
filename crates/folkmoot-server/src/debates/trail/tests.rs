#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use folkmoot_core::{Name, Timestamp};
use folkmoot_debate::agent::{AgentRole, DebatePhase, Share};

use super::*;

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn found(told: DebateEvent) -> Option<(&'static str, Option<String>, Value)> {
    of_told(told).map(|(kind, agent, data)| (kind.word(), agent.map(|agent| agent.to_string()), data))
}

fn turn(state: TurnState) -> DebateEvent {
    DebateEvent::Turn {
        turn: "t".to_owned(),
        phase: DebatePhase::Critique,
        round: 1,
        agent: name("critic-1"),
        role: AgentRole::Critic,
        part: "critique".to_owned(),
        state,
        why: "no JSON".to_owned(),
        provider: "rehearsal".to_owned(),
        model: "rehearsal".to_owned(),
        tool_calls: 0,
        response_time_ms: 1,
        tokens: 1,
        usd_micros: 0,
    }
}

#[test]
fn a_contribution_that_does_not_count_is_an_error_and_one_that_does_is_its_answer() {
    assert_eq!(found(turn(TurnState::Answered)), None);
    for state in [TurnState::Unparsed, TurnState::Failed, TurnState::Refused] {
        let (kind, agent, data) = found(turn(state)).unwrap();
        assert_eq!((kind, agent.as_deref()), ("error_occurred", Some("critic-1")));
        assert_eq!((&data["state"], &data["why"]), (&json!(state), &json!("no JSON")));
        assert!(data.get("event").is_none());
    }
}

#[test]
fn shares_are_written_with_a_point() {
    let share = Share::hundredths(83).unwrap();
    let vote =
        DebateEvent::Vote { voter: name("a"), round: 1, ranking: vec![name("b")], confidence: share, refused: None };
    let (kind, agent, data) = found(vote).unwrap();
    assert_eq!((kind, agent.as_deref(), &data["confidence"]), ("vote_cast", Some("a"), &json!(0.83)));
    let round = DebateEvent::RoundCompleted { round: 1, consensus: Some(share), decided: true };
    assert_eq!(found(round).unwrap().2["consensus"], json!(0.83));
}

#[test]
fn a_step_that_called_nothing_leaves_nothing() {
    let at = Timestamp::from_micros(1);
    let entry: Entry = serde_json::from_value(json!({
        "key": "voices", "kind": "step", "ordinal": 0, "input": null, "state": "done", "attempts": 1,
        "result": folkmoot_core::Digest::of(b"x"), "bytes": 1, "began_at": at, "at": at,
    }))
    .unwrap();
    for result in ["[]", "null", "{\"tool\":1}", "{\"request\":{}}", "not JSON"] {
        assert!(of_step(1, &entry, Some(result.to_owned())).is_empty(), "{result}");
    }
    assert!(of_step(1, &entry, None).is_empty(), "what was erased is gone");
    let called = json!({ "tool": "git_log", "arguments": {}, "result": { "Ok": [] }, "elapsed_ms": 3 });
    let [left] = of_step(7, &entry, Some(called.to_string())).try_into().unwrap();
    assert_eq!((left.kind, left.position, left.step.as_deref()), (Provenance::ToolCalled, 7, Some("voices")));
}
