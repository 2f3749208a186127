//! How far a debate is: the fold of what it told.

use super::{Told, TurnState, Turns};
use crate::{Name, agent::DebatePhase};

#[cfg(test)]
mod tests;

/// How far a debate is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The round that was begun last; 0 before the first.
    pub round: u32,
    /// The phase that was begun last.
    pub phase: Option<DebatePhase>,
    /// Who leads it.
    pub leader: Option<Name>,
    /// Those of the phase who have not spoken in it yet, in their order; nobody once it is over.
    pub speaking: Vec<Name>,
    /// How many turns there were.
    pub turns: Turns,
    /// Votes of this round that count.
    pub votes: u32,
    /// What models took, in tokens.
    pub tokens: u64,
    /// What they cost, in millionths of a dollar.
    pub usd_micros: u64,
}

impl Progress {
    /// What is known after this was told too.
    pub fn apply(&mut self, told: &Told) {
        match told {
            Told::RoundStarted { round } => {
                self.round = *round;
                self.votes = 0;
            }
            Told::PhaseStarted { phase, round, leader, speakers, .. } => {
                self.round = *round;
                self.phase = Some(*phase);
                self.leader = Some(leader.clone());
                self.speaking = speakers.iter().flatten().cloned().collect();
            }
            Told::PhaseCompleted { .. } => self.speaking.clear(),
            Told::Turn { agent, state, tokens, usd_micros, .. } => {
                self.speaking.retain(|name| name != agent);
                let count = match state {
                    TurnState::Answered => &mut self.turns.answered,
                    TurnState::Unparsed => &mut self.turns.unparsed,
                    TurnState::Failed => &mut self.turns.failed,
                    TurnState::Refused => &mut self.turns.refused,
                };
                *count = count.saturating_add(1);
                self.tokens = self.tokens.saturating_add(*tokens);
                self.usd_micros = self.usd_micros.saturating_add(*usd_micros);
            }
            Told::Vote { refused: None, .. } => self.votes = self.votes.saturating_add(1),
            Told::Vote { refused: Some(_), .. }
            | Told::Started { .. }
            | Told::ConfigChanged { .. }
            | Told::LessonsShown { .. }
            | Told::RoundCompleted { .. }
            | Told::Tested { .. }
            | Told::Reflected { .. }
            | Told::Version { .. }
            | Told::Rebalanced { .. }
            | Told::Hook { .. }
            | Told::Error { .. }
            | Told::Completed { .. } => {}
        }
    }
}
