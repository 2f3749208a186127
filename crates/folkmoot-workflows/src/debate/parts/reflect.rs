//! Says why an answer failed its tests.

use folkmoot_debate::TurnPart;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{LINE_MAX, Part};

pub(in super::super) struct ReflectPart;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct ReflectAnswer {
    #[schemars(length(min = 1, max = LINE_MAX))]
    pub root_cause: String,
    #[schemars(length(min = 1, max = LINE_MAX))]
    pub what_went_wrong: String,
    #[schemars(length(min = 1, max = LINE_MAX))]
    pub what_to_change: String,
    #[schemars(range(min = 0, max = 1))]
    confidence: f64,
}

impl Part for ReflectPart {
    type Answer = ReflectAnswer;

    fn part(&self) -> TurnPart {
        TurnPart::Reflect
    }

    fn confidence(answer: &ReflectAnswer) -> Option<f64> {
        Some(answer.confidence)
    }

    fn render(answer: &ReflectAnswer) -> String {
        let ReflectAnswer { root_cause, what_went_wrong, what_to_change, .. } = answer;
        format!("{} {} Change: {}", root_cause.trim(), what_went_wrong.trim(), what_to_change.trim())
    }
}
