//! A question as text.

use folkmoot_api::{
    core::{Scope, Timestamp, principal::shown_asker, question::QuestionStatus},
    wire::Question,
};
use serde_json::Value;

use crate::{
    connection::find,
    terminal::{
        printable::{one_line, printable},
        span,
        style::{self, paint},
        table::{self, TableRow},
        wrap::behind_bar,
    },
};

/// The question with everything needed to answer.
pub(crate) fn request(question: &Question, now: Timestamp) -> String {
    let rows = [("options", options(question)), ("default", default(question, now))];
    [headline(question, now), text(question), table::facts(rows)]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join("\n")
}

/// Everything about a question.
pub(crate) fn whole(question: &Question, now: Timestamp) -> String {
    let reminds =
        question.remind_at.map(|at| format!("{}, {} times so far", span::day_and_time(at), question.reminders));
    let pending = question.status == QuestionStatus::Pending;
    let until = question.deadline.moment().filter(|_| pending).map(span::day_and_time);
    let rows = [
        ("question", Some(question.id.to_string())),
        ("run", question.run_id.as_ref().map(ToString::to_string)),
        ("session", question.session_id.as_ref().map(ToString::to_string)),
        ("options", options(question)),
        ("default", default(question, now)),
        ("until", until),
        ("reminds", reminds),
        ("answer", question.answer.as_ref().map(|answer| one_line(&bare(answer)))),
    ];
    let closed = question.closed.as_ref().map(|_| format!("\n\n{}", story(question))).unwrap_or_default();
    format!("{}\n{}\n{}{closed}", headline(question, now), text(question), table::facts(rows))
}

fn headline(question: &Question, now: Timestamp) -> String {
    let kind = paint(style::of_priority(question.priority), question.question_type);
    let asked = format!("asked by {} {}", asker(question), span::ago(question.asked_at, now));
    let halts = halts(question).map(|halts| format!(" · halts {halts}")).unwrap_or_default();
    let state = match question.status {
        QuestionStatus::Pending => left(question, now),
        status => paint(style::of_question(status), status),
    };
    format!("{kind} · {asked}{halts} · {state}")
}

fn text(question: &Question) -> String {
    match &question.text {
        Some(text) => behind_bar(printable(text.trim()).lines()),
        None => format!("  {}", paint(style::FAINT, "The text was erased.")),
    }
}

fn options(question: &Question) -> Option<String> {
    let options: Vec<_> = question.options.iter().map(|option| one_line(option)).collect();
    (!options.is_empty()).then(|| options.join(", "))
}

fn default(question: &Question, now: Timestamp) -> Option<String> {
    let default = one_line(&bare(question.default.as_ref()?));
    match (question.status, question.deadline.moment()) {
        (QuestionStatus::Pending, Some(at)) if at > now => {
            Some(format!("{default}, in {}", span::left(question.deadline, now)))
        }
        _ => Some(default),
    }
}

/// Whom it halts while it is pending.
fn halts(question: &Question) -> Option<String> {
    Some(match (question.halts?, &question.session_id) {
        (Scope::All, _) => "everyone".to_owned(),
        (Scope::Session, Some(session)) => format!("session {session}"),
        (Scope::Session | Scope::Agent, _) => format!("agent {}", question.agent_id),
    })
}

fn left(question: &Question, now: Timestamp) -> String {
    let left = span::left(question.deadline, now);
    if question.deadline.moment().is_none_or(|deadline| deadline <= now) { left } else { format!("{left} left") }
}

/// The principal that asked, and the agent it asked for.
pub(crate) fn asker(question: &Question) -> String {
    let (asked_by, agent) = (&question.asked_by, &question.agent_id);
    if asked_by == agent {
        return agent.to_string();
    }
    format!("{} as {agent}", shown_asker(asked_by, question.initiator.as_ref()))
}

/// How it was closed, by whom and why, in one line.
pub(crate) fn story(question: &Question) -> String {
    let Some(closed) = &question.closed else {
        return paint(style::of_question(QuestionStatus::Pending), "still waiting");
    };
    let word = paint(style::of_question(closed.status), closed.status);
    let after = span::short(closed.at.since(question.asked_at));
    let who = match (closed.status, &closed.answer) {
        (QuestionStatus::Expired, Some(default)) => {
            format!("{word} after {after}; its default answers: {}", one_line(&bare(default)))
        }
        (QuestionStatus::Expired, None) => format!("{word} after {after} without an answer"),
        _ => format!("{word} by {} after {after}", closed.by),
    };
    let why = one_line(&closed.reason);
    if why.is_empty() || closed.status == QuestionStatus::Expired { who } else { format!("{who}: {why}") }
}

/// An answer for a script: a text bare, anything else as JSON.
pub(crate) fn bare(answer: &Value) -> String {
    answer.as_str().map_or_else(|| answer.to_string(), str::to_owned)
}

/// A row of a list. A pipe gets the whole id, a person the end of it.
pub(crate) fn row(question: &Question, now: Timestamp, terminal: bool) -> TableRow {
    let id = if terminal { find::short(&question.id) } else { question.id.as_str() };
    let (status, kind) = (question.status.word(), question.question_type.word());
    let text = one_line(question.text.as_deref().unwrap_or("(erased)"));
    let (time, text, painted) = match &question.closed {
        None => (left(question, now), text, (kind, style::of_priority(question.priority))),
        Some(closed) => {
            let answer = closed.answer.as_ref().map(|answer| format!("{} ← ", one_line(&bare(answer))));
            let time = format!("{} by {}", span::ago(closed.at, now), closed.by);
            (time, format!("{}{text}", answer.unwrap_or_default()), (status, style::of_question(question.status)))
        }
    };
    let halts = halts(question).unwrap_or_else(|| "nobody".to_owned());
    let cells = [id.to_owned(), status.to_owned(), kind.to_owned(), asker(question), halts, time, text];
    TableRow { cells: cells.into(), painted: Some(painted) }
}

pub(crate) const COLUMNS: [&str; 7] = ["QUESTION", "STATUS", "TYPE", "AGENT", "HALTS", "TIME", "TEXT"];
