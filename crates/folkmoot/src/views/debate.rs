//! A debate as text.

use anstyle::Style;
use folkmoot_api::{
    core::{
        Name, Timestamp,
        run::{Outage, Parked},
    },
    debate::{DebateEvent, DebateProgress, DecidedBy, TurnPart, TurnState, record::DebateStatus},
    wire::{self, Artifact, Debate, DebateCost, DebateResults, DebateVerdict, Event, Fault, Gate, UndecidedAnswer},
};
use serde_json::Value;

use crate::{
    exit::Exit,
    terminal::{
        printable::{one_line, printable},
        style::{self, paint},
        wrap::{behind_bar, fitting},
    },
    views,
};

/// The progress, in a line that is redrawn.
pub(crate) fn status(progress: &DebateProgress) -> String {
    let Some(phase) = progress.phase else { return paint(style::FAINT, "beginning …") };
    let waits = match progress.speaking.as_slice() {
        [] => String::new(),
        speaking => format!(" · {} to speak", speaking.iter().map(Name::as_str).collect::<Vec<_>>().join(", ")),
    };
    let turns = counted(progress.turns.answered, "answer");
    let cost = cost(&DebateCost { tokens: progress.tokens, usd: progress.usd_micros as f64 / 1e6 });
    paint(style::FAINT, format!("round {} · {phase} · {turns} · {cost}{waits}", progress.round))
}

/// The cost so far.
pub(crate) fn cost(cost: &DebateCost) -> String {
    match cost.usd {
        usd if usd > 0.0 => format!("{} tokens, ${usd:.4}", cost.tokens),
        _ => format!("{} tokens", cost.tokens),
    }
}

/// One event of a debate in a line, with the agent's text if `payload` has it; `None` if it is not
/// worth a line.
pub(crate) fn line(told: &DebateEvent, payload: &Value) -> Option<String> {
    let said = |text: &Value| one_line(text.as_str().unwrap_or_default());
    let indented = |text: String| Some(format!("  {text}"));
    match told {
        DebateEvent::Started { agents, topology, planning, providers, phases, .. } => Some(format!(
            "{} {}",
            paint(style::STRONG, counted(agents.len(), "agent")),
            paint(
                style::FAINT,
                format!("{topology} · {planning} · {} phases · {}", phases.len(), one_line(&providers.join(", ")))
            )
        )),
        DebateEvent::RoundStarted { .. } | DebateEvent::Completed { .. } => None,
        DebateEvent::PhaseStarted { phase, round, leader, .. } => {
            let led = paint(style::FAINT, format!("round {round}, {leader} leads"));
            Some(format!("{} {led}", paint(style::STRONG, phase)))
        }
        DebateEvent::PhaseCompleted { note, answered, asked, .. } => {
            indented(paint(style::FAINT, format!("{answered} of {asked} answered; {}", one_line(note))))
        }
        DebateEvent::RoundCompleted { round, consensus, decided } => {
            let agreed = consensus.map_or_else(String::new, |share| format!(", agreement {share}"));
            let decided = if *decided { "" } else { ", nothing decided" };
            Some(paint(style::FAINT, format!("round {round} is over{agreed}{decided}")))
        }
        // The next event says the result.
        DebateEvent::Turn { part, state: TurnState::Answered, .. } if part == TurnPart::Reflect.word() => None,
        DebateEvent::Turn { agent, part, state, why, tool_calls, .. } => {
            let begins = said(&payload["begins"]);
            let tools =
                if *tool_calls == 0 { String::new() } else { format!(" ({})", counted(*tool_calls, "tool call")) };
            let said = match state {
                // Structured answers are shown by the events that follow.
                TurnState::Answered if begins.starts_with('{') => String::new(),
                TurnState::Answered => begins,
                TurnState::Unparsed | TurnState::Failed | TurnState::Refused => {
                    paint(style::BAD, format!("{state}: {}", one_line(why)))
                }
            };
            indented(format!("{} {}{tools}  {said}", paint(style::COMMAND, agent), paint(style::FAINT, part)))
        }
        DebateEvent::Tested { author, passed, of, failed, .. } => {
            let style = if passed == of { style::GOOD } else { style::BAD };
            let failed = match failed.as_slice() {
                [] => String::new(),
                failed => format!("  fails {}", one_line(&failed.join(", "))),
            };
            indented(format!("{} {author}{failed}", paint(style, format!("tests {passed}/{of}"))))
        }
        DebateEvent::Reflected { agent, .. } => {
            let thought = ["root_cause", "what_to_change"].map(|name| said(&payload["reflection"][name]));
            let thought = if thought[0].is_empty() { String::new() } else { thought.join(" → ") };
            indented(format!("{} {}  {thought}", paint(style::COMMAND, agent), paint(style::FAINT, "reflects")))
        }
        DebateEvent::Version { version, author, test_pass_rate } => {
            let tests = test_pass_rate.map_or_else(String::new, |rate| format!(", passes {rate} of its tests"));
            indented(paint(style::FAINT, format!("version {version} of the code, by {author}{tests}")))
        }
        DebateEvent::Vote { voter, ranking, confidence, refused, .. } => {
            let said = match refused {
                None => format!("votes {} ({confidence})", self::ranking(ranking)),
                Some(why) => paint(style::WARN, format!("vote does not count: {}", one_line(why))),
            };
            indented(format!("{} {said}", paint(style::COMMAND, voter)))
        }
        DebateEvent::LessonsShown { lessons } if lessons.is_empty() => None,
        DebateEvent::LessonsShown { lessons } => {
            indented(paint(style::FAINT, format!("shows {} of earlier debates", counted(lessons.len(), "lesson"))))
        }
        DebateEvent::ConfigChanged { field, value, reason } => {
            indented(paint(style::WARN, format!("{field} is now {}: {}", one_line(value), one_line(reason))))
        }
        DebateEvent::Rebalanced { agent, reason } => {
            indented(paint(style::WARN, format!("goes on without {agent}: {}", one_line(reason))))
        }
        DebateEvent::Hook { hook, passed, of, failed } => {
            let style = if passed == of { style::GOOD } else { style::BAD };
            let failed =
                if failed.is_empty() { String::new() } else { format!("  fails {}", one_line(&failed.join(", "))) };
            indented(format!("{}{failed}", paint(style, format!("{} {passed}/{of}", one_line(hook)))))
        }
        DebateEvent::Error { message, .. } => indented(paint(style::BAD, one_line(message))),
    }
}

/// A count with its noun, in the singular or plural.
pub(crate) fn counted(count: impl std::fmt::Display, noun: &str) -> String {
    let count = count.to_string();
    if count == "1" { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

/// The request at a gate. Artifacts are only named unless `whole` is set.
pub(crate) fn asked(gate: &Gate, now: Timestamp, whole: bool) -> String {
    let brief = Gate { artifacts: Vec::new(), ..gate.clone() };
    let mut parts = vec![views::gate::request(&brief, now, usize::MAX)];
    let artifacts = gate.artifacts.iter().filter(|artifact| artifact.bytes > 0);
    if whole {
        parts.extend(artifacts.map(artifact));
    } else {
        let named: Vec<String> = artifacts.map(|artifact| one_line(&artifact.name)).collect();
        parts.extend((!named.is_empty()).then(|| paint(style::FAINT, format!("  with {}", named.join(", ")))));
    }
    parts.join("\n\n")
}

fn artifact(artifact: &Artifact) -> String {
    let name = format!("  {}", paint(style::STRONG, one_line(&artifact.name)));
    let Some(content) = &artifact.content else {
        return format!("{name}\n  {}", paint(style::FAINT, "Its content was erased."));
    };
    format!("{name}\n{}", behind_bar(views::gate::content_lines(artifact, content)))
}

/// The decision at a gate.
pub(crate) fn gate_line(event: &Event) -> Option<String> {
    if event.kind != "gate.decided" {
        return None;
    }
    let payload: Value = serde_json::from_str(event.payload.get()).ok()?;
    let text = |name: &str| payload["decision"][name].as_str().map(one_line).unwrap_or_default();
    let style = text("decision").parse().map_or(style::STRONG, style::of_status);
    let reason = [text("reason"), text("feedback")].into_iter().filter(|text| !text.is_empty());
    let reason = reason.collect::<Vec<_>>().join(": ");
    let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    Some(format!("{} by {}{reason}", paint(style, text("decision").replace('_', " ")), text("reviewer")))
}

/// The providers that it waits for.
pub(crate) fn outage_line(event: &Event) -> Option<String> {
    if event.kind != "run.parked" {
        return None;
    }
    let parked: Parked = serde_json::from_str(event.payload.get()).ok()?;
    let waits = parked.outages.into_iter().map(|Outage { provider, reason, retry_at }| {
        wire::Outage { provider, reason, next_try_at: retry_at }.line(event.at)
    });
    let waits: Vec<String> = waits.map(|line| one_line(&line)).collect();
    (!waits.is_empty()).then(|| format!("  {}", paint(style::WARN, waits.join("; "))))
}

/// Names, the best first.
pub(crate) fn ranking(names: &[Name]) -> String {
    names.iter().map(Name::as_str).collect::<Vec<_>>().join(" > ")
}

/// The same for names in JSON.
pub(crate) fn names(names: &[Value]) -> String {
    names.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" > ")
}

/// The result.
pub(crate) fn ended(debate: &Debate, results: Option<&DebateResults>) -> String {
    if let Some(results) = results {
        return whole(results);
    }
    match &debate.fault {
        Some(fault) => {
            let style = if debate.status == DebateStatus::Failed { style::BAD } else { style::WARN };
            let said = format!("{} {}", paint(style, debate.status), why(debate.status, fault));
            format!("{}\n{}", fitting(&said), paint(style::FAINT, cost(&debate.cost)))
        }
        None => paint(of_status(debate.status), debate.status),
    }
}

/// Why it has no result, without repeating its status.
fn why(status: DebateStatus, fault: &Fault) -> String {
    let message = one_line(&fault.message);
    let message = message.strip_prefix("timed_out by timeout: ").unwrap_or(&message).trim_end_matches([':', ' ']);
    match one_line(&fault.code) {
        code if code == status.word() => message.to_owned(),
        code => format!("{message} ({code})"),
    }
}

/// The branch of its commits, if it has a repository.
pub(crate) fn committed(debate: &Debate) -> Option<String> {
    let branch = debate.metadata.as_ref()?.get("branch")?;
    let (repository, session) = (branch["repository"].as_str()?, branch["session"].as_str()?);
    Some(one_line(&format!("committed to debate/{session} in {repository}")))
}

fn whole(results: &DebateResults) -> String {
    let verdict = &results.verdict;
    let mut parts = vec![decision(verdict)];
    let answer = results.answer.trim();
    if !answer.is_empty() {
        let text = printable(answer);
        parts.push(behind_bar(text.lines()));
    }
    // The answer often contains its code already.
    if let Some(code) = results.code.as_deref().map(str::trim).filter(|code| !answer.contains(*code)) {
        parts.push(behind_bar(printable(code).lines()));
    }
    parts.extend(results.undecided.iter().map(undecided));
    if !verdict.dissent.is_empty() {
        let dissent = verdict.dissent.iter().map(|dissent| {
            let prefers = dissent.prefers.as_ref().map_or_else(String::new, |name| format!(" (would take {name}'s)"));
            let objection = one_line(&dissent.objection);
            fitting(&format!("  {}{prefers}: {objection}", paint(style::COMMAND, &dissent.agent)))
        });
        let lines: Vec<String> = std::iter::once(paint(style::STRONG, "Against it:")).chain(dissent).collect();
        parts.push(lines.join("\n"));
    }
    let turns = verdict.turns;
    let lost = turns.unparsed + turns.failed + turns.refused;
    let lost = if lost == 0 { String::new() } else { format!(", {lost} that do not count") };
    let effective = verdict.effective_votes.map_or_else(String::new, |votes| format!(" · {votes:.2} effective votes"));
    let total = format!(
        "{} · {}{lost}{effective} · {} · {}",
        counted(verdict.rounds, "round"),
        counted(turns.answered, "answer"),
        cost(&results.cost),
        one_line(&results.providers.join(", "))
    );
    parts.push(fitting(&paint(style::FAINT, total)));
    parts.join("\n\n")
}

/// An answer of a debate without a decision.
fn undecided(answer: &UndecidedAnswer) -> String {
    let tests = answer.tests.map(|tests| format!("{} of {} tests pass", tests.passed, tests.of));
    let quality = answer.quality.map(|quality| format!("scored {quality:.2}"));
    let facts: String = [tests, quality].into_iter().flatten().map(|fact| format!(" · {fact}")).collect();
    let heading = format!("{} {}", paint(style::WARN, "undecided"), paint(style::COMMAND, &answer.author));
    let text = printable(answer.answer.trim());
    let mut parts = vec![format!("{heading}{}", paint(style::FAINT, facts)), behind_bar(text.lines())];
    let code = answer.code.as_deref().map(str::trim).filter(|code| !answer.answer.contains(*code));
    parts.extend(code.map(|code| behind_bar(printable(code).lines())));
    parts.join("\n")
}

/// The decision, and what it is based on.
pub(crate) fn decision(verdict: &DebateVerdict) -> String {
    let Some(winner) = &verdict.winner else {
        let why = verdict.no_decision.map_or_else(String::new, |why| format!(" ({})", why.word().replace('_', " ")));
        let reason = if verdict.reason.is_empty() { String::new() } else { format!(": {}", one_line(&verdict.reason)) };
        return format!("{}{why}{reason}", paint(style::WARN, "No decision"));
    };
    let by = match verdict.decided_by {
        Some(DecidedBy::Tests) => "by executed tests".to_owned(),
        Some(DecidedBy::Agreement) => "the first answers agree".to_owned(),
        Some(DecidedBy::Vote) | None => {
            let label = one_line(&verdict.label.replace('_', " "));
            let method = verdict.voting_method.map(|method| format!("{method} voting"));
            let said = [Some(label.clone()), method.filter(|method| *method != label)];
            said.into_iter().flatten().filter(|said| !said.is_empty()).collect::<Vec<_>>().join(", ")
        }
    };
    let share = |name: &str, share: Option<f64>| share.map(|share| format!("{name} {share:.2}"));
    let tests = verdict.tests.map(|tests| format!("{} of {} tests pass", tests.passed, tests.of));
    let facts = [share("agreement", verdict.consensus), share("confidence", verdict.confidence), tests];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    let facts = if facts.is_empty() { String::new() } else { format!("\n{}", paint(style::FAINT, facts.join(" · "))) };
    format!("{} {by}{facts}", paint(style::GOOD, format!("{winner}'s answer wins:")))
}

/// The colour of a status.
pub(crate) fn of_status(status: DebateStatus) -> Style {
    match status {
        DebateStatus::Pending | DebateStatus::Running => style::STRONG,
        DebateStatus::Paused => style::WARN,
        DebateStatus::Completed => style::GOOD,
        DebateStatus::Failed => style::BAD,
        DebateStatus::Cancelled => style::FAINT,
    }
}

pub(crate) fn exit(debate: &Debate, results: Option<&DebateResults>) -> Exit {
    match (debate.status, results, &debate.fault) {
        (DebateStatus::Completed, Some(results), _) if results.verdict.winner.is_none() => Exit::NoDecision,
        (DebateStatus::Completed, ..) => Exit::Done,
        (DebateStatus::Cancelled, ..) => Exit::NotApproved,
        (_, _, Some(fault)) if fault.code == "gate_rejected" => Exit::NotApproved,
        (_, _, Some(fault)) if fault.code == "gate_timed_out" => Exit::TimedOut,
        (_, _, Some(_)) => Exit::Problems,
        (DebateStatus::Pending | DebateStatus::Running | DebateStatus::Paused | DebateStatus::Failed, _, None) => {
            Exit::Waiting
        }
    }
}

#[cfg(test)]
mod tests {
    use folkmoot_api::{debate::record::DebateStatus, wire::Fault};

    use super::why;

    #[test]
    fn why_it_has_no_result_is_said_once() {
        let fault = |code: &str, message: &str| Fault { code: code.to_owned(), message: message.to_owned() };
        let cancelled = |message: &str| why(DebateStatus::Cancelled, &fault("cancelled", message));
        assert_eq!(cancelled("you cancelled it: "), "you cancelled it");
        assert_eq!(cancelled("you cancelled it: not needed"), "you cancelled it: not needed");
        let silence = fault("gate_timed_out", "timed_out by timeout: nobody decided before the deadline");
        assert_eq!(why(DebateStatus::Failed, &silence), "nobody decided before the deadline (gate_timed_out)");
    }
}
