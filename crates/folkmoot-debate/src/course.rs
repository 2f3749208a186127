//! The course of a debate: which phases it has, in which order, and when it is over.

use folkmoot_core::{Refusal, vocabulary};
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::agent::{DebatePhase, Share};

#[cfg(test)]
mod tests;

/// More rounds than these convince nobody.
pub const ROUNDS_MAX: u32 = 10;

vocabulary! {
    /// Whether a debate has a phase.
    pub enum Switch {
        /// It has.
        On = "on",
        /// It has not.
        Off = "off",
        /// As the estimate of its task says.
        Auto = "auto",
    }
}

/// Which phases a debate has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Phases(BTreeMap<DebatePhase, Switch>);

impl Phases {
    /// These and no others.
    pub fn only(phases: &[DebatePhase]) -> Self {
        let switch = |phase| if phases.contains(&phase) { Switch::On } else { Switch::Off };
        Self(DebatePhase::ALL.iter().map(|phase| (*phase, switch(*phase))).collect())
    }

    /// All; what is unclear is asked for where the task is not simple.
    pub fn all() -> Self {
        Self::only(DebatePhase::ALL).with(DebatePhase::Dehallucination, Switch::Auto)
    }

    /// With one of them otherwise.
    #[must_use]
    pub fn with(mut self, phase: DebatePhase, switch: Switch) -> Self {
        self.0.insert(phase, switch);
        self
    }

    /// Whether it is in.
    pub fn switch(&self, phase: DebatePhase) -> Switch {
        self.0.get(&phase).copied().unwrap_or(Switch::Off)
    }
}

/// The course that a debate takes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Course {
    /// Its phases, in order.
    pub phases: Vec<DebatePhase>,
    /// How many rounds at most.
    pub max_rounds: u32,
    /// How much agreement ends it.
    pub min_consensus: Share,
    /// Whether agreement ends it before the last round.
    pub early_exit: bool,
}

impl Course {
    /// The course with these phases; `auto` is what the estimate of the task says.
    pub fn new(
        phases: &Phases,
        auto: bool,
        max_rounds: u32,
        min_consensus: Share,
        early_exit: bool,
    ) -> Result<Self, Refusal> {
        if !(1..=ROUNDS_MAX).contains(&max_rounds) {
            return Err(Refusal::invalid("max_rounds", format!("is {max_rounds}; ask for 1 to {ROUNDS_MAX}")));
        }
        let is_in = |phase: &DebatePhase| match phases.switch(*phase) {
            Switch::On => true,
            Switch::Off => false,
            Switch::Auto => auto,
        };
        let phases: Vec<DebatePhase> = DebatePhase::ALL.iter().copied().filter(is_in).collect();
        let makes_answers = [DebatePhase::Proposal, DebatePhase::SelfEvolvement];
        if !phases.iter().any(|phase| makes_answers.contains(phase)) {
            let problem = "leave nobody who answers: switch `proposal` or `self_evolvement` on";
            return Err(Refusal::invalid("phases", problem));
        }
        Ok(Self { phases, max_rounds, min_consensus, early_exit })
    }

    /// The phases of a round, from 1. What comes before a debate comes once: whoever has asked and
    /// tested need not do it again.
    pub fn round(&self, round: u32) -> impl Iterator<Item = DebatePhase> {
        let before = |phase: DebatePhase| phase < DebatePhase::Proposal;
        self.phases.iter().copied().filter(move |phase| round == 1 || !before(*phase))
    }

    /// Whether another round follows this one.
    pub fn goes_on(&self, round: u32, decided: bool, consensus: Option<Share>) -> bool {
        let agreed = decided && consensus.is_some_and(|consensus| consensus >= self.min_consensus);
        // Where nobody votes, nobody can agree, and another round would change nothing about that.
        let votes = self.phases.contains(&DebatePhase::Convergence);
        round < self.max_rounds && votes && !(self.early_exit && agreed)
    }
}
