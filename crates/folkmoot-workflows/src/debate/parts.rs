//! The parts of a debate: what an agent can be asked for in a turn. Each part has a file with the
//! type of its answer, what the schema of that type cannot say, and how people read the answer.

mod attack;
mod ballot;
mod clarify;
mod clarify_answer;
mod critique;
mod endorse;
mod plan;
mod proposal;
mod reflect;
mod review;
mod test;
#[cfg(test)]
mod tests;

use folkmoot_debate::TurnPart;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Deserializer, de::DeserializeOwned, de::Error};
use serde_json::{Number, Value};

pub(super) use self::{
    attack::{AttackAnswer, AttackPart},
    ballot::BallotPart,
    clarify::ClarifyPart,
    clarify_answer::ClarifyAnswerPart,
    critique::CritiquePart,
    endorse::EndorsePart,
    plan::PlanPart,
    proposal::{ChangeRule, ProposalAnswer, ProposalPart},
    reflect::ReflectPart,
    review::ReviewPart,
    test::test_cases,
};
use crate::schema::schema_of;

/// The longest text, such as code.
const TEXT_MAX: usize = 32_000;
/// The longest sentence.
const LINE_MAX: usize = 2_000;
/// The longest list.
const LIST_MAX: usize = 20;

/// Something that an agent is asked for in a turn. The value holds what differs from turn to turn.
pub(super) trait Part: Send + Sync {
    type Answer: DeserializeOwned + JsonSchema + Send + Sync;

    fn part(&self) -> TurnPart;

    /// Narrows the schema to what can be answered in this turn.
    fn narrow(&self, _: &mut Schema) {}

    /// Checks what the schema cannot say. An answer that fails is refused, and recorded as refused.
    fn check(&self, _: &Self::Answer) -> Result<(), String> {
        Ok(())
    }

    /// The agent's confidence, from 0 to 1.
    fn confidence(answer: &Self::Answer) -> Option<f64>;

    /// The answer as people read it.
    fn render(answer: &Self::Answer) -> String;

    /// The schema that is sent to the model.
    fn schema(&self) -> Value {
        let mut schema = schema_of::<Self::Answer>();
        self.narrow(&mut schema);
        schema.into()
    }
}

/// Whether agents can call their tools in a turn.
pub(super) const fn has_tools(part: TurnPart) -> bool {
    use TurnPart::*;
    match part {
        Draft | Refine | Proposal | Optimization | Attack | Critique => true,
        Clarify | ClarifyAnswer | Plan | Reflect | Revise | Review | Defence | Ballot | Endorse => false,
    }
}

/// A line for each item, or `none`.
fn lines<T>(items: &[T], none: &str, line: impl Fn(&T) -> String) -> String {
    if items.is_empty() { none.to_owned() } else { items.iter().map(line).collect::<Vec<_>>().join("\n") }
}

/// The first item that is in the list twice.
fn repeated<T: PartialEq>(items: &[T]) -> Option<&T> {
    items.iter().enumerate().find(|(at, item)| items[..*at].contains(item)).map(|(_, item)| item)
}

/// What a vote is based on, and what speaks against it.
fn grounds(evidence: &str, objection: &str) -> String {
    match objection.trim() {
        "" => format!("because of {}.", evidence.trim()),
        objection => format!("because of {}. Objection: {objection}", evidence.trim()),
    }
}

/// Reads a whole number. JSON Schema accepts 1.0 as one; serde does not.
fn whole<'de, D: Deserializer<'de>, T: TryFrom<u64>>(deserializer: D) -> Result<T, D::Error> {
    let number = Number::deserialize(deserializer)?;
    let is_whole = |float: &f64| float.fract() == 0.0 && (0.0..=1_000.0).contains(float);
    let whole = number.as_u64().or_else(|| number.as_f64().filter(is_whole).map(|float| float as u64));
    let fits = whole.and_then(|whole| T::try_from(whole).ok());
    fits.ok_or_else(|| D::Error::custom(format!("{number} is not a whole number that can be used here")))
}
