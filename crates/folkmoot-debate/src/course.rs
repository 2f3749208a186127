//! The course of a debate: which phases it has, in which order, and when it ends.

use folkmoot_core::{Refusal, vocabulary};
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::agent::{DebatePhase, Share};

#[cfg(test)]
mod tests;

/// The most rounds that can be asked for. More rounds convince nobody.
pub const ROUNDS_MAX: u32 = 10;

vocabulary! {
    /// Whether a debate has a phase.
    pub enum Switch {
        /// The debate has the phase.
        On = "on",
        /// The debate does not have the phase.
        Off = "off",
        /// The estimate of the task decides.
        Auto = "auto",
    }
}

/// Which phases a debate has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Phases(BTreeMap<DebatePhase, Switch>);

impl Phases {
    /// Switches these phases on and all others off.
    pub fn only(phases: &[DebatePhase]) -> Self {
        let switch = |phase| if phases.contains(&phase) { Switch::On } else { Switch::Off };
        Self(DebatePhase::ALL.iter().map(|phase| (*phase, switch(*phase))).collect())
    }

    /// Switches all phases on, except that dehallucination runs only if the estimate says that the
    /// task needs clarification.
    pub fn all() -> Self {
        Self::only(DebatePhase::ALL).with(DebatePhase::Dehallucination, Switch::Auto)
    }

    /// Sets the switch of one phase.
    #[must_use]
    pub fn with(mut self, phase: DebatePhase, switch: Switch) -> Self {
        self.0.insert(phase, switch);
        self
    }

    /// Phases without a switch are off.
    pub fn switch(&self, phase: DebatePhase) -> Switch {
        self.0.get(&phase).copied().unwrap_or(Switch::Off)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Course {
    /// In order.
    pub phases: Vec<DebatePhase>,
    pub max_rounds: u32,
    /// This much agreement ends the debate.
    pub min_consensus: Share,
    /// Whether agreement ends the debate before the last round.
    pub early_exit: bool,
}

impl Course {
    /// Builds a course from switches. `auto` says whether phases with [`Switch::Auto`] are in.
    /// Refuses a course in which no phase produces answers.
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

    /// The phases of a round, counted from 1. The phases before proposal run in the first round
    /// only: what was clarified and tested once need not be done again.
    pub fn round(&self, round: u32) -> impl Iterator<Item = DebatePhase> {
        let before = |phase: DebatePhase| phase < DebatePhase::Proposal;
        self.phases.iter().copied().filter(move |phase| round == 1 || !before(*phase))
    }

    /// Whether another round follows this one.
    pub fn goes_on(&self, round: u32, decided: bool, consensus: Option<Share>) -> bool {
        let agreed = decided && consensus.is_some_and(|consensus| consensus >= self.min_consensus);
        // Without convergence nobody votes, so nobody can agree, and another round would not change
        // that.
        let votes = self.phases.contains(&DebatePhase::Convergence);
        round < self.max_rounds && votes && !(self.early_exit && agreed)
    }
}
