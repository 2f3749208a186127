//! The configured defaults of questions.

use std::{collections::BTreeMap, time::Duration};

use serde_json::Value;

use super::QuestionType;
use crate::{Refusal, Timeout, text};

/// The defaults of each type of question.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuestionPolicy(BTreeMap<QuestionType, TypeDefaults>);

/// The defaults of one type of question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeDefaults {
    /// The time until its timeout, and between reminders.
    pub timeout: Timeout,
    /// The answer that counts if nobody answers before the timeout.
    pub default: Option<Value>,
}

impl QuestionPolicy {
    /// The configured defaults of this type, or else the built-in ones.
    pub fn defaults(&self, question_type: QuestionType) -> TypeDefaults {
        self.0.get(&question_type).cloned().unwrap_or_else(|| built_in(question_type))
    }

    /// Configures one type.
    pub fn set(&mut self, question_type: QuestionType, defaults: TypeDefaults) -> Result<(), Refusal> {
        check_timeout(defaults.timeout)?;
        if let Some(default) = &defaults.default {
            check_default(question_type, default)?;
        }
        self.0.insert(question_type, defaults);
        Ok(())
    }
}

fn built_in(question_type: QuestionType) -> TypeDefaults {
    let minutes = |n: u64| Timeout::After(Duration::from_secs(n * 60));
    let defaults = |timeout| TypeDefaults { timeout, default: None };
    match question_type {
        QuestionType::Blocking => defaults(minutes(15)),
        QuestionType::Clarifying | QuestionType::Preference => defaults(minutes(5)),
        QuestionType::Confirming => TypeDefaults { timeout: minutes(10), default: Some("proceed".into()) },
        QuestionType::Alert => defaults(Timeout::Never),
        QuestionType::Decision | QuestionType::Emergency => defaults(minutes(30)),
        QuestionType::Escalation | QuestionType::Approval => defaults(minutes(60)),
    }
}

pub(super) fn check_timeout(timeout: Timeout) -> Result<(), Refusal> {
    if timeout.is_exact() {
        return Ok(());
    }
    Err(Refusal::invalid("timeout_ms", "must be a whole number of milliseconds above zero, or \"never\""))
}

pub(super) fn check_default(question_type: QuestionType, default: &Value) -> Result<(), Refusal> {
    if !question_type.may_have_default() {
        return Err(Refusal::DefaultNotAllowed { question_type });
    }
    text::check_json("default", default)
}
