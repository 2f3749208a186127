//! Scores the answers of others.

use folkmoot_debate::TurnPart;
use schemars::{JsonSchema, Schema};
use serde::Deserialize;

use super::{LINE_MAX, LIST_MAX, Part, lines, repeated, whole};
use crate::schema::set;

pub(in super::super) struct ReviewPart {
    /// How many answers the agent is shown.
    pub answers: usize,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct ReviewAnswer {
    #[schemars(length(min = 1, max = LIST_MAX))]
    pub scores: Vec<ReviewScore>,
    #[schemars(range(min = 0, max = 1))]
    confidence: f64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct ReviewScore {
    /// The number of the answer, from 1.
    #[serde(deserialize_with = "whole")]
    #[schemars(range(min = 1))]
    pub answer: usize,
    #[schemars(range(min = 0, max = 1))]
    pub score: f64,
    #[schemars(length(max = LINE_MAX))]
    pub reason: String,
}

impl Part for ReviewPart {
    type Answer = ReviewAnswer;

    fn part(&self) -> TurnPart {
        TurnPart::Review
    }

    fn narrow(&self, schema: &mut Schema) {
        set(schema, "/properties/scores/items/properties/answer", "maximum", self.answers);
    }

    /// An answer's quality is the mean of its scores, so a reviewer gives it one score.
    fn check(&self, answer: &ReviewAnswer) -> Result<(), String> {
        let scored: Vec<usize> = answer.scores.iter().map(|score| score.answer).collect();
        repeated(&scored).map_or(Ok(()), |number| Err(format!("it scores answer {number} twice")))
    }

    fn confidence(answer: &ReviewAnswer) -> Option<f64> {
        Some(answer.confidence)
    }

    fn render(answer: &ReviewAnswer) -> String {
        lines(&answer.scores, "No scores.", |ReviewScore { answer, score, reason }| {
            format!("Answer {answer}: {score}, {}", reason.trim())
        })
    }
}
