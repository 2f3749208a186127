//! Asks what is unclear before anybody answers.

use folkmoot_core::vocabulary;
use folkmoot_debate::TurnPart;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{LINE_MAX, Part, lines, whole};

pub(in super::super) struct ClarifyPart;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct ClarifyQuestions {
    #[schemars(length(min = 0, max = 5))]
    pub questions: Vec<ClarifyQuestion>,
    #[schemars(range(min = 0, max = 1))]
    confidence: f64,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct ClarifyQuestion {
    #[schemars(length(min = 1, max = LINE_MAX))]
    question: String,
    #[schemars(with = "String", extend("enum" = QuestionTopic::WORDS))]
    category: QuestionTopic,
    /// 1 is asked first.
    #[serde(deserialize_with = "whole")]
    #[schemars(range(min = 1, max = 5))]
    pub priority: u8,
}

impl ClarifyQuestion {
    pub fn text(&self) -> String {
        format!("({}) {}", self.category, self.question.trim())
    }
}

vocabulary! {
    /// What a question is about.
    pub enum QuestionTopic {
        Requirements = "requirements",
        Constraints = "constraints",
        EdgeCases = "edge_cases",
        Performance = "performance",
        Integration = "integration",
    }
}

impl Part for ClarifyPart {
    type Answer = ClarifyQuestions;

    fn part(&self) -> TurnPart {
        TurnPart::Clarify
    }

    fn confidence(answer: &ClarifyQuestions) -> Option<f64> {
        Some(answer.confidence)
    }

    fn render(answer: &ClarifyQuestions) -> String {
        lines(&answer.questions, "Nothing is unclear.", ClarifyQuestion::text)
    }
}
