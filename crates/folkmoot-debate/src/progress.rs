//! How far a debate has come, derived from its events.

use super::{DebateEvent, TurnState, Turns};
use crate::agent::DebatePhase;
use folkmoot_core::Name;

#[cfg(test)]
mod tests;

/// How far a debate has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DebateProgress {
    /// The round that began last; 0 before the first.
    pub round: u32,
    /// The phase that began last.
    pub phase: Option<DebatePhase>,
    /// The leader of that phase.
    pub leader: Option<Name>,
    /// The speakers of the phase who have not spoken in it yet, in their order; empty once it is
    /// over.
    pub speaking: Vec<Name>,
    pub turns: Turns,
    /// How many votes of this round count.
    pub votes: u32,
    pub tokens: u64,
    /// The cost of models, in millionths of a dollar.
    pub usd_micros: u64,
}

impl DebateProgress {
    /// Updates the progress with the next event.
    pub fn apply(&mut self, told: &DebateEvent) {
        match told {
            DebateEvent::RoundStarted { round } => {
                self.round = *round;
                self.votes = 0;
            }
            DebateEvent::PhaseStarted { phase, round, leader, speakers, .. } => {
                self.round = *round;
                self.phase = Some(*phase);
                self.leader = Some(leader.clone());
                self.speaking = speakers.iter().flatten().cloned().collect();
            }
            DebateEvent::PhaseCompleted { .. } => self.speaking.clear(),
            DebateEvent::Turn { agent, state, tokens, usd_micros, .. } => {
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
            DebateEvent::Vote { refused: None, .. } => self.votes = self.votes.saturating_add(1),
            DebateEvent::Vote { refused: Some(_), .. }
            | DebateEvent::Started { .. }
            | DebateEvent::ConfigChanged { .. }
            | DebateEvent::LessonsShown { .. }
            | DebateEvent::RoundCompleted { .. }
            | DebateEvent::Tested { .. }
            | DebateEvent::Reflected { .. }
            | DebateEvent::Version { .. }
            | DebateEvent::Rebalanced { .. }
            | DebateEvent::Hook { .. }
            | DebateEvent::Error { .. }
            | DebateEvent::Completed { .. } => {}
        }
    }
}
