//! Says yes or no to the only answer that stands for election.

use folkmoot_debate::TurnPart;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{LINE_MAX, Part, grounds};

pub(in super::super) struct EndorsePart;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct EndorseAnswer {
    pub endorse: bool,
    #[schemars(range(min = 0, max = 1))]
    confidence: f64,
    #[schemars(length(max = LINE_MAX))]
    pub evidence: String,
    #[schemars(length(max = LINE_MAX))]
    pub objection: String,
}

impl Part for EndorsePart {
    type Answer = EndorseAnswer;

    fn part(&self) -> TurnPart {
        TurnPart::Endorse
    }

    fn confidence(answer: &EndorseAnswer) -> Option<f64> {
        Some(answer.confidence)
    }

    fn render(answer: &EndorseAnswer) -> String {
        let endorses = if answer.endorse { "Yes" } else { "No" };
        format!("{endorses}, {}", grounds(&answer.evidence, &answer.objection))
    }
}
