//! Answers the questions about what is unclear.

use folkmoot_debate::TurnPart;
use schemars::{JsonSchema, Schema};
use serde::Deserialize;

use super::{LINE_MAX, LIST_MAX, Part, lines};
use crate::schema::set;

pub(in super::super) struct ClarifyAnswerPart {
    /// How many questions there are. Each gets an answer.
    pub questions: usize,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct ClarifyAnswers {
    pub answers: Vec<ClarifyAnswer>,
    #[schemars(range(min = 0, max = 1))]
    confidence: f64,
    #[schemars(length(min = 0, max = LIST_MAX), inner(length(min = 1, max = LINE_MAX)))]
    pub remaining_ambiguities: Vec<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct ClarifyAnswer {
    #[schemars(length(min = 1, max = LINE_MAX))]
    pub answer: String,
}

impl Part for ClarifyAnswerPart {
    type Answer = ClarifyAnswers;

    fn part(&self) -> TurnPart {
        TurnPart::ClarifyAnswer
    }

    fn narrow(&self, schema: &mut Schema) {
        set(schema, "/properties/answers", "minItems", self.questions);
        set(schema, "/properties/answers", "maxItems", self.questions);
    }

    fn confidence(answer: &ClarifyAnswers) -> Option<f64> {
        Some(answer.confidence)
    }

    fn render(answer: &ClarifyAnswers) -> String {
        lines(&answer.answers, "No answer.", |ClarifyAnswer { answer }| answer.trim().to_owned())
    }
}
