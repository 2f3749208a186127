#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use super::*;
use crate::agent::{AgentRole, Share};

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn turn(agent: &str, state: TurnState) -> DebateEvent {
    DebateEvent::Turn {
        turn: "t".to_owned(),
        phase: DebatePhase::Proposal,
        round: 1,
        agent: name(agent),
        role: AgentRole::Proposer,
        part: "proposal".to_owned(),
        state,
        why: String::new(),
        provider: "rehearsal".to_owned(),
        model: "rehearsal".to_owned(),
        tool_calls: 0,
        response_time_ms: 1,
        tokens: 10,
        usd_micros: 3,
    }
}

fn vote(refused: Option<&str>) -> DebateEvent {
    DebateEvent::Vote {
        voter: name("a"),
        round: 1,
        ranking: vec![name("b")],
        confidence: Share::ONE,
        refused: refused.map(str::to_owned),
    }
}

#[test]
fn whoever_has_spoken_is_not_waited_for_and_what_does_not_count_is_not_counted() {
    let mut progress = DebateProgress::default();
    let speakers = vec![vec![name("a"), name("b")], vec![name("c")]];
    let phase = DebatePhase::Proposal;
    for told in [
        DebateEvent::RoundStarted { round: 1 },
        DebateEvent::PhaseStarted { phase, round: 1, leader: name("b"), speakers, left_out: Vec::new() },
        turn("a", TurnState::Answered),
        turn("b", TurnState::Unparsed),
        vote(None),
        vote(Some("for themselves")),
    ] {
        progress.apply(&told);
    }
    let expected = DebateProgress {
        round: 1,
        phase: Some(phase),
        leader: Some(name("b")),
        speaking: vec![name("c")],
        turns: Turns { answered: 1, unparsed: 1, ..Turns::default() },
        votes: 1,
        tokens: 20,
        usd_micros: 6,
    };
    assert_eq!(progress, expected);
    let note = String::new();
    progress.apply(&DebateEvent::PhaseCompleted {
        phase,
        round: 1,
        answered: 1,
        asked: 3,
        messages: 0,
        note,
        overall: None,
    });
    progress.apply(&DebateEvent::RoundStarted { round: 2 });
    assert_eq!(progress, DebateProgress { round: 2, votes: 0, speaking: Vec::new(), ..expected });
}
