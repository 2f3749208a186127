//! A run as text.

use anyhow::Result;
use folkmoot_api::{
    core::{
        RunId, Timestamp,
        journal::{EntryKind, EntryStatus},
    },
    wire::{Gate, JournalEntry, Outage, Question, Run, WaitingAt},
};

use crate::{
    clock,
    connection::find,
    context::CliContext,
    terminal::{
        printable::{one_line, printable},
        span,
        style::{self, paint},
        table::{self, TableRow},
        wrap::{behind_bar, shortened},
    },
};

/// How much of a result a table shows.
const BRIEF_CHARS: usize = 200;

/// A run with its gates, questions, steps and children.
#[derive(Debug)]
pub(crate) struct RunDetails {
    pub(crate) run: Run,
    pub(crate) journal: Vec<JournalEntry>,
    /// The run's gates; if there are very many, the newest.
    pub(crate) gates: Vec<Gate>,
    pub(crate) questions: Vec<Question>,
}

/// The widest key in a table on a terminal.
const KEY_COLUMNS: usize = 40;

/// Everything about a run except its steps. `folkmoot` is how to call this program.
pub(crate) fn whole(whole: &RunDetails, now: Timestamp, folkmoot: &str) -> String {
    let run = &whole.run;
    let mut parts = vec![headline(run, now), facts(run)];
    if let Some(stopped) = &run.stopped {
        let why = format!("{} {}", paint(style::BAD, "Stopped:"), printable(&stopped.message));
        let resume = paint(style::COMMAND, format!("{folkmoot} resume {}", find::short_run(&run.id)));
        parts.push(format!("{why} ({})\nWhen you have looked at it: {resume}", one_line(&stopped.code)));
    }
    if let Some(waiting_at) = run.waiting_at.as_ref().and_then(Option::as_ref) {
        parts.push(waits(whole, waiting_at, now, folkmoot));
    }
    parts.extend(outages(&run.outages, &run.id, now, folkmoot));
    parts.extend(ending(run));
    parts.join("\n\n")
}

fn headline(run: &Run, now: Timestamp) -> String {
    let (status, style) = status(run);
    let by = if run.halted_by.is_empty() { String::new() } else { format!(" by {}", run.halted_by.join(", ")) };
    let status = format!("{}{by}", paint(style, status));
    let started = format!("started by {} {}", run.initiator, span::ago(run.started_at, now));
    let took = run.ended_at.map(|at| format!(" · took {}", span::short(at.since(run.started_at)))).unwrap_or_default();
    format!("{}\n{status} · {started}{took}", paint(style::STRONG, title(run)))
}

/// Its status in a word. A halted run does not look busy.
fn status(run: &Run) -> (&'static str, anstyle::Style) {
    match run.halted_by.is_empty() {
        true => (run.status.word(), style::of_run(run.status)),
        false => ("halted", style::WARN),
    }
}

fn title(run: &Run) -> String {
    let title = one_line(&run.title);
    if title.is_empty() { run.id.to_string() } else { title }
}

fn facts(run: &Run) -> String {
    let executed = match &run.workflow {
        Some(workflow) => workflow.to_string(),
        None => format!("{} ({})", run.initiator, run.kind),
    };
    let input = run.input.as_ref().and_then(Option::as_ref);
    let work = run.workflow.as_ref().map(|_| {
        let active = span::short(std::time::Duration::from_millis(run.active_ms));
        format!(", {active} of work")
    });
    table::facts([
        ("run", Some(run.id.to_string())),
        ("session", Some(run.session_id.to_string())),
        ("by", Some(executed)),
        ("part of", run.parent.as_ref().map(ToString::to_string)),
        ("on", run.node.as_ref().map(ToString::to_string)),
        ("input", input.map(|input| one_line(&shortened(input.get(), 200)))),
        ("steps", Some(format!("{}{}", run.steps, work.unwrap_or_default()))),
    ])
}

/// What it waits for, each with the commands to use.
fn waits(whole: &RunDetails, at: &WaitingAt, now: Timestamp, folkmoot: &str) -> String {
    let mut lines = vec![paint(style::STRONG, "Waits for")];
    let mut item = |what: String, ways: &[String]| {
        lines.push(format!("  {what}"));
        lines.extend(ways.iter().map(|way| format!("    {}", paint(style::COMMAND, format!("{folkmoot} {way}")))));
    };
    for id in &at.gates {
        let gate = whole.gates.iter().find(|gate| gate.id == *id);
        let (short, title) = (find::short(id), gate.map(|gate| one_line(&gate.title)).unwrap_or_default());
        item(format!("gate {short}: {title}"), &[format!("approve {short}"), format!("reject {short} --reason \"…\"")]);
    }
    for id in &at.questions {
        let question = whole.questions.iter().find(|question| question.id == *id);
        let text = question.and_then(|question| question.text.as_deref()).map(one_line).unwrap_or_default();
        let short = find::short(id);
        let answers = [format!("answer {short} \"…\""), format!("deny {short} --reason \"…\"")];
        item(format!("question {short}: {text}"), &answers);
    }
    for id in &at.runs {
        item(format!("run {id}"), &[format!("show {}", find::short_run(id))]);
    }
    if let Some(until) = at.until {
        let left = if until > now { format!("in {}", span::short(until.since(now))) } else { "now".to_owned() };
        item(format!("{} ({left})", span::day_and_time(until)), &[]);
    }
    for agent in &at.held {
        item(format!("agent {agent}, which is halted"), &[format!("clear {agent} --session {}", whole.run.session_id)]);
    }
    lines.join("\n")
}

/// The providers that it waits for, as a fact.
pub(crate) fn outage_lines(outages: &[Outage]) -> Option<String> {
    let lines: Vec<String> = outages.iter().map(|outage| one_line(&outage.line(clock::now()))).collect();
    (!lines.is_empty()).then(|| lines.join("; "))
}

/// The providers that a run waits for, and how to retry now.
pub(crate) fn outages(outages: &[Outage], run: &RunId, now: Timestamp, folkmoot: &str) -> Option<String> {
    let waits = outages.iter().map(|outage| paint(style::WARN, one_line(&outage.line(now))));
    let resume = paint(style::COMMAND, format!("{folkmoot} resume {}", find::short_run(run)));
    let hint = format!("It continues by itself when they are back. {resume} tries now.");
    (!outages.is_empty()).then(|| waits.chain([hint]).collect::<Vec<_>>().join("\n"))
}

/// How it ended, by whom and why, with its output.
fn ending(run: &Run) -> Option<String> {
    let ending = run.ending.as_ref()?;
    let word = paint(style::of_run(run.status), ending.outcome);
    let told =
        [Some(one_line(&ending.reason)), Some(one_line(&ending.code)).filter(|code| *code != ending.outcome.word())];
    let told: Vec<_> = told.into_iter().flatten().filter(|text| !text.is_empty()).collect();
    let why = if told.is_empty() { String::new() } else { format!(": {}", told.join(", ")) };
    let output = ending.output.as_ref().and_then(Option::as_ref).map(|output| output.get());
    let output = output.filter(|output| *output != "null").map(|output| {
        let lines: Vec<_> = printable(output).lines().map(str::to_owned).collect();
        format!("\n{}", behind_bar(lines))
    });
    Some(format!("{word} by {}{why}{}", ending.by, output.unwrap_or_default()))
}

/// How a run ended, in one line.
pub(crate) fn report(ctx: &CliContext, run: &Run) -> Result<()> {
    if ctx.screen.json {
        return ctx.screen.json(run);
    }
    let word = paint(style::of_run(run.status), run.status);
    let id = if run.title.is_empty() { String::new() } else { format!(" {}", paint(style::FAINT, &run.id)) };
    Ok(ctx.screen.say(format!("{word} {}{id}", title(run)))?)
}

/// A row of a list. A pipe gets the whole id, a person the end of it.
pub(crate) fn row(run: &Run, now: Timestamp, terminal: bool) -> TableRow {
    let id = if terminal { find::short_run(&run.id) } else { run.id.as_str() };
    let by = run.workflow.as_ref().map_or_else(|| run.initiator.to_string(), ToString::to_string);
    let took = run.ended_at.map_or_else(|| now.since(run.started_at), |at| at.since(run.started_at));
    let told = match (&run.stopped, &run.ending) {
        (None, None) if !run.outages.is_empty() => {
            let waits: Vec<String> = run.outages.iter().map(|outage| one_line(&outage.line(now))).collect();
            format!(" ({})", waits.join("; "))
        }
        (Some(stopped), _) => format!(" ({})", one_line(&stopped.message)),
        (None, Some(ending)) if !ending.reason.is_empty() => format!(" ({})", one_line(&ending.reason)),
        (None, _) => String::new(),
    };
    let (status, style) = status(run);
    let cells = [
        id.to_owned(),
        status.to_owned(),
        by,
        run.steps.to_string(),
        span::ago(run.started_at, now),
        span::short(took),
        format!("{}{told}", one_line(&run.title)),
    ];
    TableRow { cells: cells.into(), painted: Some((status, style)) }
}

pub(crate) const COLUMNS: [&str; 7] = ["RUN", "STATUS", "BY", "STEPS", "STARTED", "TOOK", "TITLE"];

/// A row for a step. A pipe gets the whole key.
pub(crate) fn step(entry: &JournalEntry, now: Timestamp, is_over: bool, terminal: bool) -> TableRow {
    let key = one_line(entry.key.as_str());
    let key = if terminal { shortened(&key, KEY_COLUMNS) } else { key };
    let took = match entry.duration_ms {
        Some(millis) => span::short(std::time::Duration::from_millis(millis)),
        // The run is over, and the step's result is unknown.
        None if is_over => String::new(),
        None => format!("{} so far", span::short(now.since(entry.began_at))),
    };
    let state = entry.state.word();
    let cells = [key, entry.kind.to_string(), state.to_owned(), took, told(entry)];
    TableRow { cells: cells.into(), painted: Some((state, style::of_progress(entry.state))) }
}

pub(crate) const STEPS: [&str; 5] = ["STEP", "KIND", "STATE", "TOOK", "RESULT"];

/// The outcome of a step.
fn told(entry: &JournalEntry) -> String {
    let tried = if entry.attempts > 1 { format!(" (attempt {})", entry.attempts) } else { String::new() };
    let text = match (entry.state, &entry.error, &entry.outcome) {
        (_, Some(error), _) if error.code == EntryStatus::Failed.word() => one_line(&error.message),
        (_, Some(error), _) => format!("{}: {}", one_line(&error.code), one_line(&error.message)),
        (_, None, Some(outcome)) => outcome.replace('_', " "),
        (EntryStatus::Done, None, None) if entry.kind != EntryKind::Sleep => brief_result(entry),
        (_, None, None) => String::new(),
    };
    format!("{text}{tried}").trim().to_owned()
}

/// A step's result for a script: a text bare, anything else as JSON.
pub(crate) fn step_result(entry: &JournalEntry) -> Option<String> {
    let result = entry.result.as_deref().map(|result| result.get()).filter(|result| *result != "null")?;
    // JSON that is nested too deeply to parse is shown as it is.
    Some(serde_json::from_str(result).map_or_else(|_| result.to_owned(), |result| super::question::bare(&result)))
}

/// As [`step_result`], on one line and shortened.
fn brief_result(entry: &JournalEntry) -> String {
    let text = step_result(entry).unwrap_or_default();
    let start: String = text.chars().take(BRIEF_CHARS).collect();
    let cut = if start.len() < text.len() { "…" } else { "" };
    format!("{}{cut}", one_line(&start))
}
