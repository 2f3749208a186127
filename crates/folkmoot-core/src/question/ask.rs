//! Asking a question.

use std::borrow::Cow;

use serde_json::Value;

use super::{
    Priority, Question, QuestionEvent, QuestionState, QuestionType, TypeDefaults,
    policy::{check_default, check_timeout},
    timer::timer,
};
use crate::{
    Commit, Digest, Loaded, Name, Outcome, Principal, QuestionId, Refusal, Role, Row, Run, RunId, Scope, SessionId,
    Timeout, Timestamp,
    clearance::Others,
    judge::{Case, RefusedWith},
    principal, text,
};

/// The maximum number of options of a question.
const OPTIONS_MAX: usize = 50;
/// The only answers to an APPROVAL.
pub(super) const APPROVAL_OPTIONS: [&str; 2] = ["approve", "deny"];

/// A request to ask a question. `None` means the default: that of the policy, or the one that is
/// named below.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewQuestion {
    /// Made by the caller, because core has no randomness.
    pub id: QuestionId,
    /// The agent that asks. Defaults to the run's own agent if Folkmoot executes the run, and to
    /// the caller otherwise.
    pub agent_id: Option<Name>,
    /// The run for which it asks. It must exist.
    pub run_id: Option<RunId>,
    /// The session that the agent works in. Defaults to that of its run.
    pub session_id: Option<SessionId>,
    pub question_type: QuestionType,
    /// What is asked.
    pub text: String,
    /// The possible answers. If this is empty, any answer is possible.
    pub options: Vec<String>,
    /// The answer that counts if nobody answers before the timeout.
    pub default: Option<Value>,
    /// The time until its timeout, and between reminders.
    pub timeout: Option<Timeout>,
    /// Can widen what the type halts, but never narrow it.
    pub halts: Option<Scope>,
    pub priority: Option<Priority>,
}

/// Judges a new question and returns what to write.
pub(super) fn judge(
    case: &Case<'_>,
    new_question: &NewQuestion,
    defaults: &TypeDefaults,
    loaded: &Loaded,
) -> Result<Commit, RefusedWith> {
    let by = case.principal("ask")?;
    if let (Some(id), None) = (&new_question.run_id, &loaded.run.run) {
        return Err(Refusal::UnknownRun { run: id.clone() }.into());
    }
    case.command.quota.allows_question(&case.command.by, loaded.usage)?;
    if let Some(name) = &new_question.agent_id {
        principal::must_not_be_a_person("agent_id", name, &by.name, &case.principals)?;
    }
    ask_as(case, by, new_question, defaults, loaded.run.run.as_ref())
}

/// Returns everything to write for a new question, if `by` may ask it.
pub(crate) fn ask_as(
    case: &Case<'_>,
    by: &Principal,
    new_question: &NewQuestion,
    defaults: &TypeDefaults,
    run: Option<&Run>,
) -> Result<Commit, RefusedWith> {
    let event = ask(new_question, by, defaults, run, case.now)?;
    let QuestionEvent::Asked(question) = &event else { unreachable!("a new question is asked") };
    let shown = case.store_contents_unless_erased(std::iter::once(new_question.text.as_bytes().to_vec()))?;
    let mut question = question.as_ref().clone();
    let mut events = vec![question.fact(case, &event)];
    events.extend(question.commit_notices(case, None, Others::default()));
    let mut rows: Vec<Row> = question.session_id.iter().map(|id| Row::Session(id.clone(), case.now)).collect();
    rows.extend(shown);
    rows.push(Row::Question(Box::new(question.clone())));
    let timers = timer(&question).into_iter().collect();
    Ok(Commit { rows, events, timers, outcome: Outcome::Question(Box::new(question)), ..Commit::default() })
}

/// The digest of what a question will show.
pub(crate) fn shown_contents(new_question: &NewQuestion) -> Cow<'static, [Digest]> {
    vec![Digest::of(new_question.text.as_bytes())].into()
}

/// Judges whether the question may be asked like this. `run` is the run that it names.
fn ask(
    new_question: &NewQuestion,
    by: &Principal,
    defaults: &TypeDefaults,
    run: Option<&Run>,
    now: Timestamp,
) -> Result<QuestionEvent, Refusal> {
    if by.role == Role::Viewer {
        return Err(Refusal::RoleMayNot { role: by.role, verb: "ask" });
    }
    if let Some(run) = run {
        run.must_take(by, new_question.session_id.as_ref())?;
    }
    let session_id = run.map(|run| run.start.session_id.clone()).or_else(|| new_question.session_id.clone());
    let new_question = &NewQuestion { session_id, ..new_question.clone() };
    let question_type = new_question.question_type;
    let asker = || run.filter(|run| run.start.workflow.is_some()).map_or_else(|| by.name.clone(), Run::agent);
    let agent_id = new_question.agent_id.clone().unwrap_or_else(asker);
    principal::check_name("agent_id", &agent_id)?;
    text::check_filled("text", &new_question.text, text::SUMMARY_BYTES_MAX)?;
    let options = options(new_question)?;
    let timeout = new_question.timeout.unwrap_or(defaults.timeout);
    check_timeout(timeout)?;
    // The configured default is ignored if the question does not offer it as an option, if the type
    // cannot have a default, or if the question halts more than its type does. In the last case
    // silence counts as an answer only if the asker set a default.
    let widened = new_question.halts > question_type.halts();
    let is_allowed = |default: &Value| question_type.may_have_default() && !widened && is_offered(&options, default);
    let configured = defaults.default.clone().filter(is_allowed);
    let default = match &new_question.default {
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
        id: new_question.id.clone(),
        agent_id,
        run_id: run.map(|run| run.start.id.clone()),
        session_id: new_question.session_id.clone(),
        question_type,
        text: Digest::of(new_question.text.as_bytes()),
        options,
        default,
        halts: halts(new_question)?,
        priority: new_question.priority.unwrap_or_else(|| question_type.priority()),
        asked_by: by.name.clone(),
        initiator: run.map(|run| run.start.initiator.clone()),
        asked_at: now,
        timeout,
        due: timeout.deadline(now),
        reminders: 0,
        seq: 1,
        state: QuestionState::Pending,
    })))
}

/// The wider of what the type halts and what the asker wants. Without a session, a type that halts
/// the session halts only the agent.
fn halts(new_question: &NewQuestion) -> Result<Option<Scope>, Refusal> {
    if new_question.halts == Some(Scope::Session) && new_question.session_id.is_none() {
        return Err(Refusal::invalid("session_id", "is missing: `halts: session` must say which session"));
    }
    Ok(match new_question.halts.max(new_question.question_type.halts()) {
        Some(Scope::Session) if new_question.session_id.is_none() => Some(Scope::Agent),
        wider => wider,
    })
}

fn options(new_question: &NewQuestion) -> Result<Vec<String>, Refusal> {
    let options = &new_question.options;
    if options.len() > OPTIONS_MAX {
        return Err(Refusal::invalid("options", format!("has {} entries; at most {OPTIONS_MAX}", options.len())));
    }
    for (n, option) in options.iter().enumerate() {
        text::check_filled("options", option, text::TITLE_BYTES_MAX)?;
        if options[..n].contains(option) {
            return Err(Refusal::invalid("options", format!("offers {option:?} twice")));
        }
    }
    if new_question.question_type == QuestionType::Approval {
        if options.iter().any(|option| !APPROVAL_OPTIONS.contains(&option.as_str())) {
            return Err(Refusal::invalid("options", "must be left out: an APPROVAL takes only `approve` or `deny`"));
        }
        return Ok(APPROVAL_OPTIONS.map(str::to_owned).to_vec());
    }
    Ok(options.clone())
}

/// Whether a question with these options can have this answer.
pub(super) fn is_offered(options: &[String], answer: &Value) -> bool {
    options.is_empty() || answer.as_str().is_some_and(|answer| options.iter().any(|option| option == answer))
}
