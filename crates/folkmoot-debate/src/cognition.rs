//! Compares what a phase achieved with what was expected of it, and adjusts the expectation for the
//! next round.
//!
//! Each measure of a phase scores 0.5 if it is as expected, more if it is better and less if it is
//! worse:
//!
//! | measure | weight | score |
//! |---|---|---|
//! | confidence | 0.3 | 0.5 + seen - expected |
//! | consensus | 0.3 | 0.5 + seen - expected |
//! | insights | 0.2 | 0.5 · seen / expected |
//! | latency | 0.2 | 1 - 0.5 · seen / expected |
//!
//! Each score is limited to between 0 and 1. The phase scores their weighted mean; an unknown
//! measure has no weight. Above 0.7 the phase succeeded, below 0.3 it failed, and if nobody
//! answered it failed with 0. Then the expectation moves three tenths of the way towards what was
//! seen.

use folkmoot_core::vocabulary;
use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};

use crate::agent::{DebatePhase, Share};

#[cfg(test)]
mod tests;

/// At most this many comparisons are kept, the newest.
pub const HISTORY_MAX: usize = 100;

/// What a phase should achieve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expectation {
    /// The mean confidence of those who answer.
    pub confidence: Share,
    /// How far their answers agree.
    pub consensus: Share,
    /// How many points are made that nobody had made before.
    pub insights: u32,
    pub latency_ms: u64,
}

/// What a phase achieved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseObservation {
    pub answers: u32,
    /// The mean confidence of those who stated one.
    pub confidence: Option<Share>,
    /// How far their answers agreed, if that is known.
    pub consensus: Option<Share>,
    /// How many points were made that nobody had made before.
    pub insights: u32,
    pub latency_ms: u64,
}

vocabulary! {
    /// How a phase compares with what was expected of it.
    pub enum PhaseOutcome {
        /// Much better.
        Success = "success",
        /// About as expected.
        AsExpected = "as_expected",
        /// Much worse.
        Failure = "failure",
    }
}

/// A phase, compared with what was expected of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparison {
    pub round: u32,
    pub phase: DebatePhase,
    pub expected: Expectation,
    pub observed: PhaseObservation,
    /// From 0 to 1; 0.5 is what was expected.
    pub score: Share,
    /// Follows from the score.
    pub outcome: PhaseOutcome,
    /// What the same phase is expected to achieve in the next round.
    pub next: Expectation,
    /// Whether the next round should be planned in another style.
    pub replan: bool,
}

/// What each phase is expected to achieve. Each comparison moves the expectation for later rounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PhaseExpectations {
    expected: BTreeMap<DebatePhase, Expectation>,
    history: VecDeque<Comparison>,
}

impl Default for PhaseExpectations {
    fn default() -> Self {
        let expected = DebatePhase::ALL.iter().filter_map(|phase| Some((*phase, Expectation::first(*phase)?)));
        Self { expected: expected.collect(), history: VecDeque::new() }
    }
}

impl Expectation {
    /// What a phase should achieve before anything is known; `None` for phases that do not work
    /// towards agreement.
    pub const fn first(phase: DebatePhase) -> Option<Self> {
        let (confidence, consensus, insights) = match phase {
            DebatePhase::Proposal => (70, 50, 5),
            DebatePhase::Critique => (75, 60, 7),
            DebatePhase::Review => (70, 65, 4),
            DebatePhase::Optimization => (75, 70, 3),
            DebatePhase::Convergence => (80, 75, 2),
            DebatePhase::Dehallucination | DebatePhase::SelfEvolvement | DebatePhase::Adversarial => return None,
        };
        let (confidence, consensus) = (Share::of(confidence), Share::of(consensus));
        Some(Self { confidence, consensus, insights, latency_ms: 30_000 })
    }

    fn towards(self, observed: &PhaseObservation) -> Self {
        // Without answers there is nothing to learn.
        if observed.answers == 0 {
            return self;
        }
        let share = |old: Share, seen: Option<Share>| {
            let seen = seen.unwrap_or(old);
            let moved = moved(old.as_hundredths().into(), seen.as_hundredths().into());
            Share::part(moved, 100).unwrap_or(old)
        };
        Self {
            confidence: share(self.confidence, observed.confidence),
            consensus: share(self.consensus, observed.consensus),
            insights: u32::try_from(moved(self.insights.into(), observed.insights.into())).unwrap_or(u32::MAX),
            latency_ms: moved(self.latency_ms, observed.latency_ms),
        }
    }
}

/// Goes three tenths of the way from `old` to `seen`, to the nearest whole number.
fn moved(old: u64, seen: u64) -> u64 {
    let tenths = u128::from(old) * 7 + u128::from(seen) * 3;
    u64::try_from((tenths + 5) / 10).unwrap_or(u64::MAX)
}

impl PhaseExpectations {
    /// What is expected of the next `phase`; `None` if nothing is.
    pub fn expects(&self, phase: DebatePhase) -> Option<Expectation> {
        self.expected.get(&phase).copied()
    }

    /// Compares a phase with what was expected of it, and moves the expectation towards what was
    /// seen. `None` if nothing was expected.
    pub fn compare(&mut self, round: u32, phase: DebatePhase, observed: PhaseObservation) -> Option<Comparison> {
        let expected = self.expects(phase)?;
        let (score, outcome) = judge(&expected, &observed);
        let next = expected.towards(&observed);
        let replan = outcome == PhaseOutcome::Failure;
        let comparison = Comparison { round, phase, expected, observed, score, outcome, next, replan };
        self.expected.insert(phase, next);
        self.history.push_back(comparison);
        while self.history.len() > HISTORY_MAX {
            self.history.pop_front();
        }
        Some(comparison)
    }

    /// Whether a phase of this round failed.
    pub fn missed(&self, round: u32) -> bool {
        self.history.iter().any(|comparison| comparison.round == round && comparison.replan)
    }

    /// The comparisons that are kept, the oldest first.
    pub fn history(&self) -> impl ExactSizeIterator<Item = &Comparison> {
        self.history.iter()
    }
}

fn judge(expected: &Expectation, observed: &PhaseObservation) -> (Share, PhaseOutcome) {
    if observed.answers == 0 {
        return (Share::ZERO, PhaseOutcome::Failure);
    }
    let insights = against(observed.insights.into(), expected.insights.into());
    let latency = 100 - against(observed.latency_ms, expected.latency_ms);
    let parts = [
        (3, observed.confidence.map(|seen| difference(seen, expected.confidence))),
        (3, observed.consensus.map(|seen| difference(seen, expected.consensus))),
        (2, Some(insights)),
        (2, Some(latency)),
    ];
    let known = parts.iter().filter_map(|(weight, score)| Some((weight, (*score)?)));
    let (weights, sum) = known.fold((0, 0), |(weights, sum), (weight, score)| (weights + weight, sum + weight * score));
    let outcome = match sum {
        sum if sum > 70 * weights => PhaseOutcome::Success,
        sum if sum < 30 * weights => PhaseOutcome::Failure,
        _ => PhaseOutcome::AsExpected,
    };
    (Share::part(sum, weights * 100).unwrap_or(Share::ZERO), outcome)
}

fn difference(seen: Share, expected: Share) -> u64 {
    (50 + u64::from(seen.as_hundredths())).saturating_sub(expected.as_hundredths().into()).min(100)
}

/// 50 if `seen` equals `expected`, up to 100 if it is twice as much or more.
fn against(seen: u64, expected: u64) -> u64 {
    match (u128::from(seen) * 50).checked_div(u128::from(expected)) {
        Some(score) => u64::try_from(score.min(100)).unwrap_or(100),
        None if seen == 0 => 50,
        None => 100,
    }
}
