//! The figures of all rounds, the targets of docs/benchmarks.md, and the table.

use std::{
    collections::BTreeMap,
    fmt::{Display, Write as _},
    path::Path,
    process::Command,
};

use anyhow::Result;
use serde_json::{Value, json};

use crate::{load::Found, run::CLIENTS};

#[cfg(test)]
mod tests;

const RAW_SQLITE: &str = "raw SQLite commits at 1, per s";
const RAW_POSTGRES: &str = "raw PostgreSQL commits at 64, per s";
const BARE: &str = "bare HTTP requests at 64, per s";
/// What SQLite must reach at 64 clients.
const LOWER: &str = "the lower of 1.2 × raw SQLite commits and 0.09 × bare HTTP, per s";
const PENDING: &str = "pending gates, count";

/// The figures of one round by name, and its failures.
#[derive(Debug, Default)]
pub(crate) struct Round {
    figures: BTreeMap<String, f64>,
    failures: BTreeMap<String, String>,
}

impl Round {
    pub(crate) fn put(&mut self, name: &str, figure: Result<f64>) {
        match figure {
            Ok(figure) => {
                self.figures.insert(name.to_owned(), figure);
            }
            Err(error) => self.note(name, Err(error)),
        }
    }

    /// Records a failure, if it is one.
    pub(crate) fn note(&mut self, name: &str, outcome: Result<()>) {
        if let Err(error) = outcome {
            eprintln!("{name}: failed: {error:#}");
            self.failures.insert(name.to_owned(), format!("{error:#}"));
        }
    }

    pub(crate) fn put_rate(&mut self, name: &str, clients: &str, found: Result<Found>) {
        let name = format!("{name} at {clients}");
        match found {
            Ok(found) => {
                self.put(&format!("{name}, per s"), Ok(found.per_second));
                self.put_times(&name, Ok(found));
            }
            Err(error) => self.note(&name, Err(error)),
        }
    }

    pub(crate) fn put_times(&mut self, name: &str, found: Result<Found>) {
        match found {
            Ok(found) => {
                self.put(&format!("{name}, p50 µs"), Ok(found.p50_us));
                self.put(&format!("{name}, p99 µs"), Ok(found.p99_us));
            }
            Err(error) => self.note(name, Err(error)),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Report {
    quick: bool,
    machine: String,
    rounds: Vec<Round>,
}

/// A target's kind of comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Must {
    Reach(f64),
    StayWithin(f64),
    /// Shown for comparison; nothing is promised.
    Nothing,
}

impl Must {
    fn verdict(self, figure: f64) -> &'static str {
        let met = match self {
            Self::Reach(least) => figure >= least,
            Self::StayWithin(most) => figure <= most,
            Self::Nothing => return "",
        };
        if met { "pass" } else { "gap" }
    }
}

impl Display for Must {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Reach(least) => write!(f, "≥ {least}"),
            Self::StayWithin(most) => write!(f, "≤ {most}"),
            Self::Nothing => Ok(()),
        }
    }
}

/// A line of the table: a figure, perhaps divided by another.
struct Line {
    what: String,
    figure: String,
    beside: Option<String>,
    must: Must,
}

impl Report {
    pub(crate) fn new(quick: bool, folder: &Path) -> Self {
        Self { quick, machine: machine(folder), rounds: Vec::new() }
    }

    pub(crate) fn add(&mut self, mut round: Round) {
        let limits =
            [(RAW_SQLITE, 1.2), (BARE, 0.09)].map(|(name, share)| round.figures.get(name).map(|figure| figure * share));
        if let [Some(commits), Some(requests)] = limits {
            round.put(LOWER, Ok(f64::min(commits, requests)));
        }
        self.rounds.push(round);
    }

    pub(crate) fn has_failures(&self) -> bool {
        self.rounds.iter().any(|round| !round.failures.is_empty())
    }

    pub(crate) fn table(&self) -> String {
        let mut table = format!(
            "\n{}; {}\n\n| what | figure | beside it | ratio | must | |\n|---|--:|--:|--:|---|---|\n",
            self.machine,
            match (self.quick, self.rounds.len()) {
                (true, _) => "quick: do not believe the figures".to_owned(),
                (false, rounds) => format!("medians of {rounds} rounds"),
            }
        );
        for line in self.lines() {
            if let Some(row) = self.row(&line) {
                table.push_str(&row);
            }
        }
        for (name, why) in self.failures() {
            // A bar or line end would break the table.
            let why = why.replace('|', "/").replace('\n', " ");
            let _ = writeln!(table, "| {name} | failed: {why} | | | | failed |");
        }
        table
    }

    /// `None` if it was not measured, or failed in some round.
    fn row(&self, line: &Line) -> Option<String> {
        let figure = self.median_of(&line.figure)?;
        let (beside, judged) = match &line.beside {
            None => (String::new(), figure),
            Some(beside) => (number(self.median_of(beside)?), self.median_ratio(&line.figure, beside)?),
        };
        Some(format!(
            "| {} | {} | {beside} | {} | {} | {} |\n",
            line.what,
            number(figure),
            match &line.beside {
                None => String::new(),
                Some(_) => format!("{judged:.3}"),
            },
            line.must,
            line.must.verdict(judged)
        ))
    }

    fn lines(&self) -> Vec<Line> {
        lines(self.median_of(PENDING).is_some_and(|count| count >= 1e6))
    }

    fn median_of(&self, name: &str) -> Option<f64> {
        self.median_by(|round| round.figures.get(name).copied())
    }

    fn median_ratio(&self, name: &str, beside: &str) -> Option<f64> {
        self.median_by(|round| Some(round.figures.get(name)? / round.figures.get(beside)?))
    }

    fn median_by(&self, figure: impl Fn(&Round) -> Option<f64>) -> Option<f64> {
        let figures: Option<Vec<f64>> = self.rounds.iter().map(figure).collect();
        median(&figures?)
    }

    fn failures(&self) -> BTreeMap<&str, &str> {
        self.rounds.iter().flat_map(|round| &round.failures).map(|(name, why)| (name.as_str(), why.as_str())).collect()
    }

    pub(crate) fn json(&self) -> Result<String> {
        let lines: Vec<Value> = self
            .lines()
            .iter()
            .filter_map(|line| {
                let figure = self.median_of(&line.figure)?;
                let ratio = match &line.beside {
                    None => None,
                    Some(beside) => Some(self.median_ratio(&line.figure, beside)?),
                };
                Some(json!({
                    "what": line.what,
                    "figure": figure,
                    "beside": line.beside,
                    "ratio": ratio,
                    "must": line.must.to_string(),
                    "verdict": line.must.verdict(ratio.unwrap_or(figure)),
                }))
            })
            .collect();
        let rounds: Vec<Value> =
            self.rounds.iter().map(|round| json!({ "figures": round.figures, "failures": round.failures })).collect();
        let report = json!({
            "quick": self.quick,
            "machine": self.machine,
            "targets": lines,
            "rounds": rounds,
        });
        Ok(serde_json::to_string_pretty(&report)? + "\n")
    }
}

/// The lines of the table. Some targets are for a million pending gates.
fn lines(million: bool) -> Vec<Line> {
    let line = |what: &str, figure: &str, beside: Option<&str>, must| Line {
        what: what.to_owned(),
        figure: figure.to_owned(),
        beside: beside.map(str::to_owned),
        must,
    };
    let if_a_million = |must| if million { must } else { Must::Nothing };
    let mut lines = vec![
        line("gate check when off, ns", "gate check, off, ns", None, Must::StayWithin(20.0)),
        line("gate check when off, allocations", "gate check, off, allocations", None, Must::StayWithin(0.0)),
        line("bare HTTP requests/s, 64 connections", BARE, None, Must::Nothing),
        line("raw SQLite commits/s", RAW_SQLITE, None, Must::Nothing),
        line("raw PostgreSQL commits/s, 1 client", "raw PostgreSQL commits at 1, per s", None, Must::Nothing),
        line("raw PostgreSQL commits/s, 64 clients", RAW_POSTGRES, None, Must::Nothing),
    ];
    for (backend, raw) in [("SQLite", RAW_SQLITE), ("PostgreSQL", RAW_POSTGRES)] {
        for clients in CLIENTS {
            let figure = format!("{backend} cycles at {clients}, per s");
            let must = match (backend, clients) {
                ("SQLite", 1) => Must::Reach(0.12),
                ("PostgreSQL", 64) => Must::Reach(0.4),
                _ => Must::Nothing,
            };
            if (backend, clients) == ("SQLite", 64) {
                let what = "SQLite cycles/s, 64 clients, to the lower of 1.2 × raw and 0.09 × bare";
                lines.push(line(what, &figure, Some(LOWER), Must::Reach(1.0)));
            }
            let what = format!("{backend} cycles/s, {clients} clients, to raw commits");
            lines.push(line(&what, &figure, Some(raw), must));
        }
        let what = format!("{backend} cycles/s, 64 clients, to bare HTTP");
        let figure = format!("{backend} cycles at 64, per s");
        lines.push(line(&what, &figure, Some(BARE), Must::Nothing));
    }
    for (backend, most) in [("SQLite", Must::StayWithin(5.0)), ("PostgreSQL", Must::Nothing)] {
        for (percentile, must) in [("p50", most), ("p99", Must::Nothing)] {
            lines.push(line(
                &format!("{backend} decision to waiter awake, {percentile} µs, to one raw commit"),
                &format!("{backend} wake, {percentile} µs"),
                Some(&format!("raw {backend} commits at 1, {percentile} µs")),
                must,
            ));
        }
    }
    lines.push(line("open questions in one process", "open questions, count", None, Must::Nothing));
    lines.push(line("can_proceed with them, ns", "can_proceed, ns", None, Must::StayWithin(1_000.0)));
    for (backend, raw) in [("SQLite", RAW_SQLITE), ("PostgreSQL", RAW_POSTGRES)] {
        let questions = |clients| format!("{backend} question cycles at {clients}, per s");
        for clients in [1, 64] {
            let what = format!("{backend} question cycles/s, {clients} clients, to raw commits");
            lines.push(line(&what, &questions(clients), Some(raw), Must::Nothing));
        }
        let what = format!("{backend} question cycles/s, 64 clients, to gate cycles");
        let gates = format!("{backend} gate cycles beside them at 64, per s");
        lines.push(line(&what, &questions(64), Some(&gates), Must::Reach(1.0)));
        let what = format!("{backend} GET /v1/clearance/s, 64 clients, to bare HTTP");
        lines.push(line(&what, &format!("{backend} clearance at 64, per s"), Some(BARE), Must::Nothing));
    }
    for (backend, raw) in [("SQLite", RAW_SQLITE), ("PostgreSQL", RAW_POSTGRES)] {
        for (runs, who) in [(1, "one run"), (64, "64 runs at once")] {
            let what = format!("{backend} steps/s, {who}, to raw commits");
            lines.push(line(&what, &format!("{backend} steps at {runs}, per s"), Some(raw), Must::Nothing));
        }
    }
    lines.extend([
        line("steps in the journal that is replayed", "steps of the journal, count", None, Must::Nothing),
        line("replay of it to the run's end, ms", "replay, ms", None, Must::Nothing),
        line("steps replayed/s, to raw SQLite commits", "steps replayed, per s", Some(RAW_SQLITE), Must::Nothing),
        line("runs parked at gates", "parked runs, count", None, Must::Nothing),
        line("runs started and parked/s, to raw SQLite commits", "runs parked, per s", Some(RAW_SQLITE), Must::Nothing),
        line("memory per parked run, KB", "memory per parked run, KB", None, Must::StayWithin(0.3)),
        line("start with them to ready, ms", "start with parked runs, ms", None, Must::Nothing),
        line("of them decided at once, each woken once", "decided at once, count", None, Must::Nothing),
        line("until all of those have ended, ms", "decided at once, ms", None, Must::Nothing),
    ]);
    let beside = |what: &str, figure: &str, beside: &str| line(what, figure, Some(beside), Must::Nothing);
    lines.extend([
        beside(
            "model call through record, budget and guard, µs, to the bare model",
            "layered model call, µs",
            "bare model call, µs",
        ),
        beside("model call as a step of a run, µs, to a plain step", "model step, µs", "plain step, µs"),
        beside("model call as a step of a run, µs, to one raw commit", "model step, µs", "raw commit, µs"),
        beside(
            "OpenAI provider, a call over loopback, µs, to reqwest on new connections",
            "OpenAI provider call, µs",
            "reqwest call on a new connection, µs",
        ),
        beside(
            "OpenAI provider, a call over loopback, µs, to reqwest on a kept connection",
            "OpenAI provider call, µs",
            "reqwest call on a kept connection, µs",
        ),
    ]);
    lines.extend([
        beside(
            "round of a debate, player answers at once, ms, to one raw commit",
            "a round of it, ms",
            "a raw commit beside it, ms",
        ),
        beside(
            "turns/s, all debates at once, to one debate alone",
            "turns of all at once, per s",
            "turns of it, per s",
        ),
        line("turns of one such debate", "turns of one debate, count", None, Must::Nothing),
        line("debates at once on one node, all ended, no cross-talk", "debates at once, count", None, Must::Nothing),
        line("until all of them ended, s", "debates at once until all ended, s", None, Must::Nothing),
        beside("one of them, ms, to one alone", "a debate among them, ms", "one debate alone, ms"),
        line("memory per debate among them, KB", "memory per debate among them, KB", None, Must::Nothing),
    ]);
    for method in folkmoot_debate::voting::VotingMethod::WORDS {
        let name = |size: usize| format!("{method}, {size} agents, µs");
        lines.push(beside(&format!("{method}: 25 ballots on 25 answers, µs, to 5 on 5"), &name(25), &name(5)));
    }
    lines.push(beside("consensus of 25 agents, µs, to 5", "consensus, 25 agents, µs", "consensus, 5 agents, µs"));
    for topology in folkmoot_debate::Topology::WORDS {
        let set_up = |size: usize| format!("{topology} set up, {size} agents, µs");
        lines.push(beside(&format!("{topology} of 25 agents set up, µs, to 5"), &set_up(25), &set_up(5)));
        let routed = |size: usize| format!("messages routed, {topology}, {size} agents, per s");
        lines.push(beside(&format!("messages routed/s, {topology} of 25 agents, to 5"), &routed(25), &routed(5)));
    }
    for percentile in ["p50", "p99"] {
        lines.push(beside(
            &format!("`true` in the jail, {percentile} ms, to a plain start"),
            &format!("true in the jail, {percentile} ms"),
            &format!("plain start of true, {percentile} ms"),
        ));
    }
    lines.extend([
        beside(
            "jobs in the jail/s, 2 at once, to one at a time",
            "jobs in the jail, 2 at once, per s",
            "jobs in the jail, one at a time, per s",
        ),
        beside(
            "Python hello in the jail, p50 ms, to a plain start",
            "Python hello in the jail, p50 ms",
            "plain Python hello, p50 ms",
        ),
    ]);
    lines.extend([
        line("cold start to ready, ms", "cold start, ms", None, Must::StayWithin(50.0)),
        line("pending gates", PENDING, None, Must::Nothing),
        line("memory per pending gate, KB", "memory per pending gate, KB", None, Must::StayWithin(0.3)),
        line(
            "memory per pending gate after a restart, KB",
            "memory per pending gate after a restart, KB",
            None,
            Must::StayWithin(0.3),
        ),
        line("resident, empty, MB", "resident, empty, MB", None, Must::Nothing),
        line(
            "resident after a restart with them, MB",
            "resident after a restart, MB",
            None,
            if_a_million(Must::StayWithin(300.0)),
        ),
        line("restart with them to ready, ms", "restart to ready, ms", None, if_a_million(Must::StayWithin(5_000.0))),
    ]);
    let alone = |what: &str, must| line(what, what, None, must);
    lines.extend([
        alone("gates opened, per s", Must::Nothing),
        alone("resident while they were opened, MB", if_a_million(Must::StayWithin(300.0))),
        alone("page of 50, inbox, p50 ms", if_a_million(Must::StayWithin(10.0))),
        alone("page of 50, inbox, p99 ms", Must::Nothing),
        alone("page of 50, newest, p50 ms", if_a_million(Must::StayWithin(10.0))),
        alone("page of 50, newest, p99 ms", Must::Nothing),
        alone("gates decided at once, count", Must::Nothing),
        alone("gates decided at once, per s", Must::Nothing),
        alone("one waiter told of all of them after, ms", Must::Nothing),
        alone("subscribers, count", Must::Nothing),
        alone("events that each of them got, count", Must::Nothing),
        alone("memory per subscriber, idle, KB", Must::StayWithin(64.0)),
        alone("memory per subscriber, KB", Must::StayWithin(64.0)),
        alone("events told to subscribers, per s", Must::Nothing),
        alone("last subscriber after the last commit, ms", Must::Nothing),
    ]);
    lines
}

pub(crate) fn median(figures: &[f64]) -> Option<f64> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted.get(middle).copied()
    } else {
        Some((sorted.get(middle.checked_sub(1)?)? + sorted.get(middle)?) / 2.0)
    }
}

/// Three significant digits.
fn number(figure: f64) -> String {
    match figure.abs() {
        0.0 => "0".to_owned(),
        size if size < 1.0 => format!("{figure:.3}"),
        size if size < 10.0 => format!("{figure:.2}"),
        size if size < 100.0 => format!("{figure:.1}"),
        _ => format!("{figure:.0}"),
    }
}

/// The machine in one line: figures of two machines cannot be compared.
fn machine(folder: &Path) -> String {
    let cores = std::thread::available_parallelism().map_or(0, |cores| cores.get());
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or_default().to_owned();
    let disk = Command::new("stat")
        .args(["-f", "-c", "%T"])
        .arg(folder)
        .output()
        .map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned())
        .unwrap_or_default();
    format!("{cores} cores, load {load} at the start, data on {disk}")
}
