//! The text of notifications: one line, details, requester, risk, deadline and a link.

use std::time::Duration;

use folkmoot_api::wire;
use folkmoot_core::{Deadline, Fact, Gate, Question, Timestamp, gate, principal::shown_asker, question::QuestionState};
use folkmoot_engine::CourierMessage;
use folkmoot_notify::{Notification, message::NotificationLink};
use serde_json::{Value, json};

#[cfg(test)]
mod tests;

/// The longest text; the link leads to the rest.
const TEXT_CHARS_MAX: usize = 2_000;

/// The notification for an event.
pub(super) fn of(letter: &CourierMessage, public_url: Option<&str>, now: Timestamp) -> Notification {
    let event = &letter.event;
    let data = serde_json::to_value(wire::Event::new(event)).unwrap_or(Value::Null);
    let told = match (&letter.gate, &letter.question) {
        (Some(view), _) => of_gate(&event.fact.kind, &view.gate, view.summary.as_deref(), now),
        (None, Some(view)) => of_question(&event.fact.kind, &view.question, view.text.as_deref(), now),
        (None, None) => of_anything(&event.fact, &data["payload"]),
    };
    let NotificationText { title, text, facts, place } = told;
    let link = place.map(|NotificationTarget { page, command }| match public_url {
        Some(url) => NotificationLink::Page(format!("{}/{page}", url.trim_end_matches('/'))),
        None => NotificationLink::Command(command),
    });
    Notification {
        id: letter.delivery.id.to_string(),
        kind: event.fact.kind.to_string(),
        at: event.fact.at.to_string(),
        data,
        title,
        text: text.chars().take(TEXT_CHARS_MAX).collect(),
        facts: facts.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
        link,
        thread: Some(event.fact.stream.to_string()),
    }
}

/// A test message, which says so.
pub(super) fn test(channel: &str, now: Timestamp) -> Notification {
    Notification {
        // Always new: a receiver that drops repetitions must not drop the second test.
        id: format!("test-{}", now.as_micros()),
        kind: "notify.test".to_owned(),
        at: now.to_string(),
        data: json!({ "channel": channel }),
        title: "Folkmoot reaches you".to_owned(),
        text: format!("This is a test of the channel {channel}. Nothing waits for a decision."),
        facts: Vec::new(),
        link: None,
        thread: None,
    }
}

struct NotificationText {
    title: String,
    text: String,
    facts: Vec<(&'static str, String)>,
    place: Option<NotificationTarget>,
}

struct NotificationTarget {
    page: String,
    command: String,
}

/// Shows the gate's current state, which may be later than the event.
fn of_gate(kind: &str, gate: &Gate, summary: Option<&str>, now: Timestamp) -> NotificationText {
    let (title, risk) = (&gate.content.title, gate.content.risk);
    let waits = |how: &str| format!("{title} {how} ({risk} risk)");
    let title = match (kind, gate.decision()) {
        ("gate.decided", Some(decision)) => format!("{title} is {}{}", status(gate), by(decision)),
        (_, Some(decision)) => format!("{title} is {} already{}", status(gate), by(decision)),
        ("gate.opened", None) => waits("waits for a decision"),
        ("gate.reminded", None) => waits("still waits for a decision"),
        ("gate.escalated", None) => waits("waits for a decision and was escalated"),
        ("gate.amended", None) => waits("was changed and waits for a decision"),
        (_, None) => format!("{title}: {kind}"),
    };
    let asker = shown_asker(&gate.requested_by, gate.initiator.as_ref());
    let asked_by = match &gate.on_behalf_of {
        Some(agent) => format!("{asker} for {agent}"),
        None => asker,
    };
    let mut facts = vec![("Asked by", asked_by), ("Risk", risk.to_string()), ("Phase", gate.content.phase.to_string())];
    match gate.decision() {
        Some(decision) => facts.extend((!decision.reason.is_empty()).then(|| ("Reason", decision.reason.clone()))),
        None => facts.push(("Deadline", deadline(gate.deadline, now))),
    }
    let command = match gate.decision() {
        Some(_) => format!("folkmoot gate show {}", gate.id),
        None => format!("folkmoot approve {}", gate.id),
    };
    let text = summary.unwrap_or_default().to_owned();
    NotificationText {
        title,
        text,
        facts,
        place: Some(NotificationTarget { page: format!("gates/{}", gate.id), command }),
    }
}

fn status(gate: &Gate) -> String {
    gate.status().word().replace('_', " ")
}

/// The timer has no name.
fn by(decision: &gate::Decision) -> String {
    match decision.decision {
        gate::DecisionWord::TimedOut => String::new(),
        _ => format!(" by {}", decision.reviewer),
    }
}

fn of_question(kind: &str, question: &Question, text: Option<&str>, now: Timestamp) -> NotificationText {
    // The principal comes first, because the asker chooses the agent's name.
    let agent = match question.asked_by == question.agent_id {
        true => question.agent_id.to_string(),
        false => {
            format!("{} as {}", shown_asker(&question.asked_by, question.initiator.as_ref()), question.agent_id)
        }
    };
    let title = match (kind, &question.state) {
        (_, QuestionState::Closed(closure)) => {
            format!("The question of {agent} is {} by {}", closure.status, closure.by)
        }
        ("question.asked", _) => format!("{agent} asks ({})", question.question_type),
        ("question.reminded", _) => format!("{agent} still waits for an answer ({})", question.question_type),
        _ => format!("A question of {agent}: {kind}"),
    };
    let mut facts = vec![("Asked by", agent), ("Priority", question.priority.to_string())];
    let is_open = matches!(question.state, QuestionState::Pending);
    if let (Some(scope), true) = (question.halts, is_open) {
        facts.push(("Halts", scope.to_string()));
    }
    if !question.options.is_empty() {
        facts.push(("Options", question.options.join(", ")));
    }
    if is_open {
        facts.push(("Due", deadline(question.due, now)));
    }
    let command = match is_open {
        true => format!("folkmoot answer {}", question.id),
        false => format!("folkmoot question show {}", question.id),
    };
    let place = NotificationTarget { page: format!("questions/{}", question.id), command };
    NotificationText { title, text: text.unwrap_or_default().to_owned(), facts, place: Some(place) }
}

fn of_anything(fact: &Fact, payload: &Value) -> NotificationText {
    let word = |name: &str| payload.get(name).and_then(Value::as_str).map(str::to_owned);
    let facts = [
        ("By", Some(fact.actor.to_string())),
        ("Scope", word("scope")),
        ("Agent", word("agent_id")),
        ("Session", word("session_id")),
    ];
    let facts = facts.into_iter().filter_map(|(name, value)| Some((name, value?))).collect();
    let title = match fact.kind.as_ref() {
        "halt.raised" => "Work was halted".to_owned(),
        "halt.lifted" => "A halt was lifted".to_owned(),
        kind => format!("{kind}: {}", fact.stream),
    };
    NotificationText { title, text: word("reason").or_else(|| word("title")).unwrap_or_default(), facts, place: None }
}

/// The deadline and the time left: `2026-01-31 12:00 UTC (in 29 min)`.
fn deadline(deadline: Deadline, now: Timestamp) -> String {
    let Some(moment) = deadline.moment() else { return "none".to_owned() };
    let text = moment.to_string();
    let time = text.get(..16).unwrap_or(&text).replace('T', " ");
    if moment <= now {
        return format!("{time} UTC (over)");
    }
    format!("{time} UTC (in {})", span(moment.since(now)))
}

fn span(span: Duration) -> String {
    // Rounded up: a gate that was just opened has its full time.
    let minutes = span.as_secs().div_ceil(60);
    match (minutes / (24 * 60), minutes / 60 % 24, minutes % 60) {
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, 0) => format!("{hours} h"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, 0, _) => format!("{days} d"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}
