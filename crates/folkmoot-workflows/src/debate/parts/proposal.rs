//! Writes an answer to the topic: a proposal, and everything that improves one.

use folkmoot_debate::{TurnPart, consensus::same_answer};
use schemars::{JsonSchema, Schema};
use serde::Deserialize;

use super::{super::state::Candidate, LINE_MAX, LIST_MAX, Part, TEXT_MAX, test::TestAnswer};
use crate::schema::remove_property;

pub(in super::super) struct ProposalPart<'a> {
    pub part: TurnPart,
    /// Whether code is asked for, or a position in words.
    pub is_code: bool,
    /// The rule for changing an earlier answer; `None` if the answer can change freely.
    pub change_rule: Option<ChangeRule<'a>>,
}

/// An earlier answer can only change for a reason.
pub(in super::super) struct ChangeRule<'a> {
    pub earlier: &'a Candidate,
    /// The labels of the evidence that can be named as the reason.
    pub evidence: &'a [String],
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct ProposalAnswer {
    #[schemars(length(min = 1, max = TEXT_MAX))]
    summary: String,
    #[schemars(required, length(min = 1, max = LINE_MAX))]
    pub position: Option<String>,
    #[schemars(required, length(min = 1, max = TEXT_MAX))]
    pub code: Option<String>,
    #[serde(default)]
    #[schemars(length(min = 0, max = LIST_MAX))]
    pub tests: Vec<TestAnswer>,
    #[schemars(range(min = 0, max = 1))]
    confidence: f64,
    #[schemars(required, length(max = LINE_MAX))]
    evidence: Option<String>,
}

impl Part for ProposalPart<'_> {
    type Answer = ProposalAnswer;

    fn part(&self) -> TurnPart {
        self.part
    }

    fn narrow(&self, schema: &mut Schema) {
        let absent: &[&str] = if self.is_code { &["position"] } else { &["code", "tests"] };
        let evidence = self.change_rule.is_none().then_some("evidence");
        absent.iter().copied().chain(evidence).for_each(|name| remove_property(schema, name));
    }

    fn check(&self, answer: &ProposalAnswer) -> Result<(), String> {
        let Some(ChangeRule { earlier, evidence }) = &self.change_rule else { return Ok(()) };
        let is_same = match &earlier.code {
            Some(code) => answer.code.as_ref().is_some_and(|new| new.trim() == code.trim()),
            None => answer.position.as_ref().is_some_and(|new| same_answer(new, &earlier.position)),
        };
        let named = answer.evidence.as_deref().unwrap_or_default().trim();
        match is_same || evidence.iter().any(|label| label == named) {
            true => Ok(()),
            false => {
                Err("it changes its answer and names no evidence that it was shown; the earlier answer stands"
                    .to_owned())
            }
        }
    }

    fn confidence(answer: &ProposalAnswer) -> Option<f64> {
        Some(answer.confidence)
    }

    /// The position comes first: it is what is compared with other answers.
    fn render(answer: &ProposalAnswer) -> String {
        let position = answer.position.as_deref().unwrap_or_default().trim();
        let code = answer.code.as_deref().unwrap_or_default().trim();
        let code = if code.is_empty() { String::new() } else { format!("```\n{code}\n```") };
        let parts = [position, answer.summary.trim(), &code];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }
}
