//! A timeline: one bar per step on a common axis.
//!
//! ```text
//!               0            1 min        2 min        3 min
//! draft         ███                                                   12 s
//! publish          ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░              2 min 40 s  approved
//! ship                                               ▏                   0 ms
//! ```

use std::{collections::HashSet, time::Duration};

use anstyle::Style;
use folkmoot_api::{
    core::{
        GateStatus, Timestamp,
        journal::{EntryKind, EntryStatus},
        question::QuestionStatus,
    },
    wire::{Gate, JournalEntry, Question},
};
use unicode_width::UnicodeWidthStr;

use crate::{
    terminal::{
        printable::one_line,
        span,
        style::{self, paint},
        wrap::shortened,
    },
    views::run::RunDetails,
};

/// The narrowest useful axis.
const AXIS_MIN: usize = 12;
/// The widest outcome text.
const WORD_MAX: usize = 12;

/// One line of the drawing.
#[derive(Debug)]
struct Bar {
    label: String,
    what: BarKind,
    from: Timestamp,
    /// `None` if it is not over.
    to: Option<Timestamp>,
    /// The outcome.
    word: String,
    style: Style,
}

/// What a bar stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BarKind {
    Work,
    /// Waits for a person.
    Person,
    /// Waits for the clock or another run.
    Else,
}

impl BarKind {
    fn glyph(self) -> char {
        match self {
            BarKind::Work => '█',
            BarKind::Person => '░',
            BarKind::Else => '·',
        }
    }
}

/// Draws the timeline, `columns` wide.
pub(crate) fn draw(whole: &RunDetails, now: Timestamp, columns: usize) -> String {
    let run = &whole.run;
    let end = run.ended_at.unwrap_or(now).max(run.started_at);
    let bars = bars(whole, end);
    let title = if run.title.is_empty() { run.id.to_string() } else { one_line(&run.title) };
    let took = span::short(end.since(run.started_at));
    let so_far = if run.ended_at.is_none() { " so far" } else { "" };
    let status = paint(style::of_run(run.status), run.status);
    let head = format!("{} · {status} · {took}{so_far}", paint(style::STRONG, title));
    if bars.is_empty() {
        return format!("{head}\nIt has no steps yet.");
    }
    let drawing = Drawing::new(&bars, run.started_at, end, columns);
    let lines = bars.iter().map(|bar| drawing.line(bar));
    let legend = legend(&bars);
    [head, String::new(), drawing.axis()]
        .into_iter()
        .chain(lines)
        .chain([String::new(), legend])
        .collect::<Vec<_>>()
        .join("\n")
}

/// Everything that took time, in the order of its beginning. Gates and questions of outside agents
/// are in no journal.
fn bars(whole: &RunDetails, end: Timestamp) -> Vec<Bar> {
    let is_over = whole.run.ended_at.is_some();
    let known: HashSet<&str> = whole
        .journal
        .iter()
        .flat_map(|entry| {
            [entry.gate_id.as_ref().map(|id| id.as_str()), entry.question_id.as_ref().map(|id| id.as_str())]
        })
        .flatten()
        .collect();
    let gates = whole.gates.iter().filter(|gate| !known.contains(gate.id.as_str())).map(of_gate);
    let questions = whole.questions.iter().filter(|question| !known.contains(question.id.as_str())).map(of_question);
    let steps = whole.journal.iter().filter_map(of_step);
    let mut bars: Vec<Bar> = steps.chain(gates).chain(questions).collect();
    for bar in &mut bars {
        // A cancelled run leaves unfinished steps behind.
        bar.to = bar.to.or(is_over.then_some(end));
    }
    bars.sort_by_key(|bar| bar.from);
    bars
}

fn of_step(entry: &JournalEntry) -> Option<Bar> {
    let what = match entry.kind {
        EntryKind::Step | EntryKind::Once => BarKind::Work,
        EntryKind::Gate | EntryKind::Question => BarKind::Person,
        EntryKind::Sleep | EntryKind::Run => BarKind::Else,
        // These take no time.
        EntryKind::Event | EntryKind::Now | EntryKind::Random => return None,
    };
    let word = match (&entry.outcome, entry.state) {
        (Some(outcome), _) => outcome.replace('_', " "),
        (None, EntryStatus::Failed) => "failed".to_owned(),
        (None, EntryStatus::Failing) => "tries again".to_owned(),
        (None, _) if entry.attempts > 1 => format!("{} attempts", entry.attempts),
        (None, _) => String::new(),
    };
    let to = entry.duration_ms.map(|millis| entry.began_at.plus(Duration::from_millis(millis)));
    let style = if what == BarKind::Work { style::of_progress(entry.state) } else { Style::new() };
    Some(Bar { label: one_line(entry.key.as_str()), what, from: entry.began_at, to, word, style })
}

fn of_gate(gate: &Gate) -> Bar {
    let (from, to) = (gate.requested_at, gate.decision.as_ref().map(|decision| decision.decided_at));
    let word = if gate.status == GateStatus::Pending { String::new() } else { gate.status.word().replace('_', " ") };
    Bar { label: one_line(&gate.title), what: BarKind::Person, from, to, word, style: Style::new() }
}

fn of_question(question: &Question) -> Bar {
    let (from, to) = (question.asked_at, question.closed.as_ref().map(|closed| closed.at));
    let word = if question.status == QuestionStatus::Pending { "" } else { question.status.word() };
    let label = one_line(question.text.as_deref().unwrap_or("(erased)"));
    Bar { label, what: BarKind::Person, from, to, word: word.to_owned(), style: Style::new() }
}

#[derive(Debug)]
struct Drawing {
    start: Timestamp,
    end: Timestamp,
    label: usize,
    axis: usize,
    took: usize,
}

impl Drawing {
    fn new(bars: &[Bar], start: Timestamp, end: Timestamp, columns: usize) -> Self {
        let widest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or_default();
        // Another clock may have put a step before the run's start; show it anyway.
        let start = bars.iter().map(|bar| bar.from).min().map_or(start, |first| first.min(start));
        let label = widest(&mut bars.iter().map(|bar| bar.label.width())).min((columns * 3 / 10).max(8));
        let took = widest(&mut bars.iter().map(|bar| took(bar, end).width()));
        let word = widest(&mut bars.iter().map(|bar| bar.word.width())).min(WORD_MAX);
        let gaps = if word == 0 { 4 } else { 6 };
        let axis = columns.saturating_sub(label + took + word + gaps).max(AXIS_MIN);
        Self { start, end, label, axis, took }
    }

    fn line(&self, bar: &Bar) -> String {
        let label = shortened(&bar.label, self.label);
        let padding = " ".repeat(self.label - label.width());
        let (from, to) = (self.column(bar.from), self.column(bar.to.unwrap_or(self.end)));
        let drawn = match (bar.to, to.saturating_sub(from)) {
            (None, width) => {
                let width = width.max(1).min(self.axis - from.min(self.axis - 1));
                format!("{}▶", bar.what.glyph().to_string().repeat(width - 1))
            }
            // Too short for a full column, but still visible.
            (Some(_), 0) => "▏".to_owned(),
            (Some(_), width) => bar.what.glyph().to_string().repeat(width),
        };
        let from = from.min(self.axis - 1);
        let after = " ".repeat(self.axis - from - drawn.width().min(self.axis - from));
        let style = if bar.what == BarKind::Person && bar.to.is_none() { style::WARN } else { bar.style };
        let took = took(bar, self.end);
        let took = format!("{}{took}", " ".repeat(self.took - took.width().min(self.took)));
        let word = shortened(&bar.word, WORD_MAX);
        format!("{label}{padding}  {}{}{after}  {took}  {word}", " ".repeat(from), paint(style, drawn))
            .trim_end()
            .to_owned()
    }

    /// The column of a point in time.
    fn column(&self, moment: Timestamp) -> usize {
        let total = self.end.since(self.start).as_micros().max(1);
        let offset = moment.since(self.start).as_micros().min(total);
        let column = (offset * self.axis as u128 + total / 2) / total;
        usize::try_from(column).unwrap_or(self.axis)
    }

    /// The axis with round times as labels.
    fn axis(&self) -> String {
        let total = self.end.since(self.start);
        let tick = tick(total, (self.axis / 10).max(1));
        let mut line = String::new();
        let mut at = Duration::ZERO;
        while at <= total {
            let column = self.column(self.start.plus(at));
            let label = if at.is_zero() { "0".to_owned() } else { span::short(at) };
            let begins = column.max(line.width() + usize::from(!line.is_empty()));
            if begins == column && column + label.width() <= self.axis {
                line.push_str(&" ".repeat(column - line.width()));
                line.push_str(&label);
            }
            at += tick;
        }
        paint(style::FAINT, format!("{}  {line}", " ".repeat(self.label)))
    }
}

/// How long it took, or has taken so far.
fn took(bar: &Bar, end: Timestamp) -> String {
    span::short(bar.to.unwrap_or(end).since(bar.from))
}

/// The roundest interval of which at most `most` fit into `total`.
fn tick(total: Duration, most: usize) -> Duration {
    const SECOND: u64 = 1_000_000;
    const ROUND: [u64; 31] = [
        1_000,
        2_000,
        5_000,
        10_000,
        20_000,
        50_000,
        100_000,
        200_000,
        500_000,
        SECOND,
        2 * SECOND,
        5 * SECOND,
        10 * SECOND,
        15 * SECOND,
        30 * SECOND,
        60 * SECOND,
        120 * SECOND,
        300 * SECOND,
        600 * SECOND,
        900 * SECOND,
        1_800 * SECOND,
        3_600 * SECOND,
        7_200 * SECOND,
        10_800 * SECOND,
        21_600 * SECOND,
        43_200 * SECOND,
        86_400 * SECOND,
        172_800 * SECOND,
        604_800 * SECOND,
        1_209_600 * SECOND,
        2_592_000 * SECOND,
    ];
    let fits = |micros: &&u64| total.as_micros() <= u128::from(**micros) * most as u128;
    let largest = ROUND[ROUND.len() - 1];
    let micros = ROUND.iter().find(fits).copied().unwrap_or_else(|| {
        // Longer than the largest unit: use multiples of it.
        let count = total.as_micros() / (u128::from(largest) * most as u128) + 1;
        largest.saturating_mul(u64::try_from(count).unwrap_or(u64::MAX))
    });
    Duration::from_micros(micros)
}

/// Explains the glyphs in use.
fn legend(bars: &[Bar]) -> String {
    let shows = |what: BarKind| bars.iter().any(|bar| bar.what == what);
    let entries = [
        (shows(BarKind::Work), "█ work"),
        (shows(BarKind::Person), "░ waits for a person"),
        (shows(BarKind::Else), "· sleeps, or waits for a run"),
        (bars.iter().any(|bar| bar.to.is_none()), "▶ goes on"),
    ];
    let told: Vec<_> = entries.into_iter().filter(|(is_there, _)| *is_there).map(|(_, told)| told).collect();
    paint(style::FAINT, told.join("   "))
}

#[cfg(test)]
mod tests;
