//! Asking.

use serde_json::Value;

use super::{
    Priority, Question, QuestionEvent, QuestionState, QuestionType, TypeDefaults,
    policy::{check_default, check_timeout},
};
use crate::{
    Digest, Name, Principal, QuestionId, Refusal, Role, Run, RunId, Scope, SessionId, Timeout, Timestamp, principal,
    text,
};

/// The most options that a question can offer.
const OPTIONS_MAX: usize = 50;
/// All that an APPROVAL can be answered.
pub(super) const APPROVAL_OPTIONS: [&str; 2] = ["approve", "deny"];

/// What an agent asks. What is `None` comes from the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asking {
    /// Made by the caller, because core has no randomness.
    pub id: QuestionId,
    /// The agent that asks; the asker itself unless it speaks for another.
    pub agent_id: Option<Name>,
    /// The run for which it asks, and which must exist.
    pub run_id: Option<RunId>,
    /// The session it works in; that of its run unless it is said.
    pub session_id: Option<SessionId>,
    /// What sort of question.
    pub question_type: QuestionType,
    /// What is asked.
    pub text: String,
    /// What can be answered; anything where this is empty.
    pub options: Vec<String>,
    /// What its timeout answers.
    pub default: Option<Value>,
    /// How long until its timeout, and between reminders.
    pub timeout: Option<Timeout>,
    /// Widens the halt; never narrows what the type halts.
    pub halts: Option<Scope>,
    /// What is looked at first.
    pub priority: Option<Priority>,
}

/// Judges an asking. `run` is the run that it names.
pub(crate) fn ask(
    asking: &Asking,
    by: &Principal,
    usual: &TypeDefaults,
    run: Option<&Run>,
    now: Timestamp,
) -> Result<QuestionEvent, Refusal> {
    if by.role == Role::Viewer {
        return Err(Refusal::RoleMayNot { role: by.role, verb: "ask" });
    }
    if let Some(run) = run {
        run.must_take(by, asking.session_id.as_ref())?;
    }
    let session_id = run.map(|run| run.start.session_id.clone()).or_else(|| asking.session_id.clone());
    let asking = &Asking { session_id, ..asking.clone() };
    let question_type = asking.question_type;
    let asker = || run.filter(|run| run.start.workflow.is_some()).map_or_else(|| by.name.clone(), Run::agent);
    let agent_id = asking.agent_id.clone().unwrap_or_else(asker);
    principal::check_name("agent_id", &agent_id)?;
    text::check_filled("text", &asking.text, text::SUMMARY_BYTES_MAX)?;
    let options = options(asking)?;
    let timeout = asking.timeout.unwrap_or(usual.timeout);
    check_timeout(timeout)?;
    // A configured default that this question does not offer, or that its type cannot have, is
    // none. Nor is it one where the question halts more than its type does: there silence answers
    // only if that was asked for.
    let widened = asking.halts > question_type.halts();
    let is_usual = |default: &Value| question_type.may_have_default() && !widened && is_offered(&options, default);
    let configured = usual.default.clone().filter(is_usual);
    let default = match &asking.default {
        Some(default) => {
            check_default(question_type, default)?;
            if !is_offered(&options, default) {
                return Err(Refusal::invalid("default", format!("{default} is not one of the options")));
            }
            Some(default.clone())
        }
        None => configured,
    };
    Ok(QuestionEvent::Asked(Box::new(Question {
        id: asking.id.clone(),
        agent_id,
        run_id: run.map(|run| run.start.id.clone()),
        session_id: asking.session_id.clone(),
        question_type,
        text: Digest::of(asking.text.as_bytes()),
        options,
        default,
        halts: halts(asking)?,
        priority: asking.priority.unwrap_or_else(|| question_type.priority()),
        asked_by: by.name.clone(),
        asked_at: now,
        timeout,
        due: timeout.deadline(now),
        reminders: 0,
        seq: 1,
        state: QuestionState::Pending,
    })))
}

/// The wider of what the type halts and what was asked for. Without a session there is none to
/// halt.
fn halts(asking: &Asking) -> Result<Option<Scope>, Refusal> {
    if asking.halts == Some(Scope::Session) && asking.session_id.is_none() {
        return Err(Refusal::invalid("session_id", "is missing: `halts: session` must say which session"));
    }
    Ok(match asking.halts.max(asking.question_type.halts()) {
        Some(Scope::Session) if asking.session_id.is_none() => Some(Scope::Agent),
        wider => wider,
    })
}

fn options(asking: &Asking) -> Result<Vec<String>, Refusal> {
    let options = &asking.options;
    if options.len() > OPTIONS_MAX {
        return Err(Refusal::invalid("options", format!("has {} entries; at most {OPTIONS_MAX}", options.len())));
    }
    for (n, option) in options.iter().enumerate() {
        text::check_filled("options", option, text::TITLE_BYTES_MAX)?;
        if options[..n].contains(option) {
            return Err(Refusal::invalid("options", format!("offers {option:?} twice")));
        }
    }
    if asking.question_type == QuestionType::Approval {
        if options.iter().any(|option| !APPROVAL_OPTIONS.contains(&option.as_str())) {
            return Err(Refusal::invalid("options", "must be left out: an APPROVAL takes only `approve` or `deny`"));
        }
        return Ok(APPROVAL_OPTIONS.map(str::to_owned).to_vec());
    }
    Ok(options.clone())
}

/// Whether a question with these options can be answered so.
pub(super) fn is_offered(options: &[String], answer: &Value) -> bool {
    options.is_empty() || answer.as_str().is_some_and(|answer| options.iter().any(|option| option == answer))
}
