//! Looks for what breaks an answer.

use folkmoot_debate::{
    TurnPart,
    findings::{self, Finding, Severity},
};
use folkmoot_tools::testing::TestCase;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use super::{
    LINE_MAX, LIST_MAX, Part, lines,
    test::{TestAnswer, test_cases},
};

pub(in super::super) struct AttackPart;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in super::super) struct AttackAnswer {
    #[schemars(length(min = 0, max = LIST_MAX))]
    findings: Vec<AttackFinding>,
    #[serde(default)]
    #[schemars(with = "f64", range(min = 0, max = 1))]
    confidence: Option<f64>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct AttackFinding {
    #[schemars(length(min = 1, max = LINE_MAX))]
    title: String,
    #[schemars(with = "String", extend("enum" = Severity::WORDS))]
    severity: Severity,
    #[schemars(length(min = 1, max = LINE_MAX))]
    description: String,
    #[serde(default)]
    #[schemars(length(max = LINE_MAX))]
    category: String,
    /// Not used here, but people can read it in the journal.
    #[serde(default, rename = "fix")]
    #[schemars(length(max = LINE_MAX))]
    _fix: String,
    #[serde(default)]
    #[schemars(schema_with = "test_or_null")]
    test: Option<TestAnswer>,
}

/// By default, schemars would write the types "object" and "null" side by side, which OpenAI
/// rejects.
fn test_or_null(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [generator.subschema_for::<TestAnswer>(), { "type": "null" }] })
}

impl AttackAnswer {
    /// What was found, each with the test that shows it.
    pub fn findings(&self) -> Vec<(Finding, Option<TestCase>)> {
        let finding = |found: &AttackFinding| {
            let test = test_cases(&found.test).pop();
            let finding = Finding {
                category: found.category.clone(),
                severity: found.severity,
                title: found.title.clone(),
                detail: found.description.clone(),
                test: test.as_ref().map(|test| findings::test_digest(&test.code)),
            };
            (finding, test)
        };
        self.findings.iter().map(finding).collect()
    }
}

impl Part for AttackPart {
    type Answer = AttackAnswer;

    fn part(&self) -> TurnPart {
        TurnPart::Attack
    }

    fn confidence(answer: &AttackAnswer) -> Option<f64> {
        answer.confidence
    }

    fn render(answer: &AttackAnswer) -> String {
        lines(&answer.findings, "Nothing new was found.", |AttackFinding { severity, title, description, .. }| {
            format!("{severity}: {} {}", title.trim(), description.trim())
        })
    }
}
