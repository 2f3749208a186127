//! Ranks the answers that stand for election.

use folkmoot_debate::TurnPart;
use schemars::{JsonSchema, Schema};
use serde::Deserialize;

use super::{LINE_MAX, Part, grounds, repeated};
use crate::schema::set;

pub(in super::super) struct BallotPart {
    /// How many answers the voter is shown.
    pub answers: usize,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct BallotAnswer {
    /// The numbers of the answers, as text, the best first.
    #[schemars(length(min = 1))]
    pub ranking: Vec<String>,
    #[schemars(range(min = 0, max = 1))]
    confidence: f64,
    #[schemars(length(max = LINE_MAX))]
    pub evidence: String,
    #[schemars(length(max = LINE_MAX))]
    pub objection: String,
}

impl Part for BallotPart {
    type Answer = BallotAnswer;

    fn part(&self) -> TurnPart {
        TurnPart::Ballot
    }

    fn narrow(&self, schema: &mut Schema) {
        let numbers: Vec<String> = (1..=self.answers).map(|number| number.to_string()).collect();
        set(schema, "/properties/ranking", "maxItems", self.answers);
        set(schema, "/properties/ranking/items", "enum", numbers);
    }

    fn check(&self, answer: &BallotAnswer) -> Result<(), String> {
        repeated(&answer.ranking).map_or(Ok(()), |number| Err(format!("its ballot names answer {number} twice")))
    }

    fn confidence(answer: &BallotAnswer) -> Option<f64> {
        Some(answer.confidence)
    }

    fn render(answer: &BallotAnswer) -> String {
        format!("{}, {}", answer.ranking.join(" before "), grounds(&answer.evidence, &answer.objection))
    }
}
