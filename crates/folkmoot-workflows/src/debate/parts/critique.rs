//! Says what is wrong with the answers of others.

use folkmoot_debate::TurnPart;
use schemars::{JsonSchema, Schema};
use serde::Deserialize;

use super::{LINE_MAX, LIST_MAX, Part, lines, whole};
use crate::schema::set;

pub(in super::super) struct CritiquePart {
    /// How many answers the agent is shown.
    pub answers: usize,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct CritiqueAnswer {
    #[schemars(length(min = 0, max = LIST_MAX))]
    pub points: Vec<CritiquePoint>,
    #[schemars(range(min = 0, max = 1))]
    confidence: f64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct CritiquePoint {
    /// The number of the answer, from 1.
    #[serde(deserialize_with = "whole")]
    #[schemars(range(min = 1))]
    pub answer: usize,
    #[schemars(length(min = 1, max = LINE_MAX))]
    pub point: String,
    #[schemars(length(max = LINE_MAX))]
    pub evidence: String,
}

impl Part for CritiquePart {
    type Answer = CritiqueAnswer;

    fn part(&self) -> TurnPart {
        TurnPart::Critique
    }

    fn narrow(&self, schema: &mut Schema) {
        set(schema, "/properties/points/items/properties/answer", "maximum", self.answers);
    }

    fn confidence(answer: &CritiqueAnswer) -> Option<f64> {
        Some(answer.confidence)
    }

    fn render(answer: &CritiqueAnswer) -> String {
        lines(&answer.points, "Nothing to say against the answers.", |CritiquePoint { answer, point, evidence }| {
            let evidence = if evidence.trim().is_empty() { "unchecked" } else { evidence.trim() };
            format!("Answer {answer}: {} ({evidence})", point.trim())
        })
    }
}
