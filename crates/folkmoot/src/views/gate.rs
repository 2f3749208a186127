//! A gate as text.

use folkmoot_api::{
    client,
    core::{
        GateStatus, Presence, Timestamp,
        gate::{Choice, Next, Risk},
        principal::shown_asker,
    },
    wire::{Artifact, Gate, Vote},
};
use serde_json::Value;

use crate::{
    connection::find,
    context::CliContext,
    terminal::{
        printable::{one_line, printable},
        span,
        style::{self, paint},
        table::{self, TableRow},
        wrap::{self, behind_bar},
    },
    views,
};

/// The longest artifact that is shown whole among several.
const LINES_MAX: usize = 40;

/// How many lines of each artifact are shown before somebody decides. Nobody approves at a terminal
/// what was not shown, where much is at stake.
pub(crate) fn lines_max(risk: Risk) -> usize {
    match risk {
        Risk::Low | Risk::Medium => LINES_MAX,
        Risk::High | Risk::Critical => usize::MAX,
    }
}

/// The request with everything needed to decide.
pub(crate) fn request(gate: &Gate, now: Timestamp, lines_max: usize) -> String {
    let mut parts = vec![headline(gate, now)];
    parts.extend(summary(gate).map(|summary| behind_bar(summary.lines())));
    parts.extend(gate.artifacts.iter().map(|artifact| self::artifact(artifact, lines_max)));
    parts.join("\n\n")
}

/// Everything about a gate.
pub(crate) fn whole(gate: &Gate, now: Timestamp) -> String {
    let decided = gate.decision.as_ref().map(|decided| match decided.presence {
        Some(presence) => format!("{}\n{}", decision(gate), paint(style::FAINT, shown_by(presence))),
        None => decision(gate),
    });
    [Some(headline(gate, now)), Some(facts(gate, now)), summary(gate).map(|text| behind_bar(text.lines()))]
        .into_iter()
        .chain(gate.artifacts.iter().map(|artifact| Some(self::artifact(artifact, LINES_MAX))))
        .chain([decided])
        .flatten()
        .collect::<Vec<_>>()
        .join("\n\n")
}

fn headline(gate: &Gate, now: Timestamp) -> String {
    let risk = paint(style::of_risk(gate.risk), format!("{} risk", gate.risk));
    let asked = format!("asked by {} {}", asker(gate), span::ago(gate.requested_at, now));
    let state = match gate.status {
        GateStatus::Pending => left(gate, now),
        status => paint(style::of_status(status), words(status.word())),
    };
    let title = wrap::fitting(&paint(style::STRONG, one_line(&gate.title)));
    format!("{title}\n{risk} · {asked} · {state}")
}

fn left(gate: &Gate, now: Timestamp) -> String {
    let left = span::left(gate.deadline, now);
    if gate.deadline.moment().is_none_or(|deadline| deadline <= now) { left } else { format!("{left} left") }
}

fn asker(gate: &Gate) -> String {
    let behalf = gate.on_behalf_of.as_ref().map(|agent| format!(" for {agent}")).unwrap_or_default();
    format!("{}{behalf}", shown_asker(&gate.requested_by, gate.initiator.as_ref()))
}

fn facts(gate: &Gate, now: Timestamp) -> String {
    let names = |names: Vec<&str>| names.join(", ");
    let by = match gate.reviewers.as_slice() {
        [] => "any reviewer".to_owned(),
        reviewers => names(reviewers.iter().map(|name| name.as_str()).collect()),
    };
    let deadline = gate
        .deadline
        .moment()
        .map(|deadline| format!("{} ({}), then {}", span::day_and_time(deadline), left(gate, now), gate.on_timeout));
    let pending = gate.status == GateStatus::Pending;
    let votes = gate.votes.iter().map(vote).collect::<Vec<_>>().join("; ");
    let rows = [
        ("gate", Some(gate.id.to_string())),
        ("run", gate.run_id.as_ref().map(ToString::to_string)),
        ("session", gate.session_id.as_ref().map(ToString::to_string)),
        ("phase", Some(format!("{} ({})", gate.phase, gate.kind))),
        ("why", Some(one_line(&gate.why))),
        ("allows", Some(names(gate.allowed.iter().map(|choice| choice.word()).collect()))),
        ("decided by", Some(if gate.quorum > 1 { format!("{} of {by}", gate.quorum) } else { by })),
        ("votes", Some(votes).filter(|votes| !votes.is_empty())),
        ("until", deadline.filter(|_| pending)),
        ("content", Some(format!("revision {}, {}", gate.revision, gate.digest))),
    ];
    table::facts(rows)
}

fn vote(vote: &Vote) -> String {
    let reason = if vote.reason.is_empty() { String::new() } else { format!(": {}", one_line(&vote.reason)) };
    format!("{} {}{reason}", vote.reviewer, vote.choice)
}

/// The summary without a repeated title.
fn summary(gate: &Gate) -> Option<String> {
    match &gate.summary {
        Some(summary) => {
            let rest = summary.trim().strip_prefix(gate.title.trim()).filter(|rest| rest.starts_with(['\r', '\n']));
            let text = if summary.trim() == gate.title.trim() { "" } else { rest.unwrap_or(summary) };
            Some(printable(text.trim_matches(['\r', '\n', ' ']))).filter(|text| !text.is_empty())
        }
        None => Some(paint(style::FAINT, "The summary was erased.")),
    }
}

fn artifact(artifact: &Artifact, lines_max: usize) -> String {
    let about = format!("{}, {}", artifact.media_type, bytes(artifact.bytes));
    let name =
        format!("  {}  {}", paint(style::STRONG, one_line(&artifact.name)), paint(style::FAINT, one_line(&about)));
    let Some(content) = &artifact.content else {
        return format!("{name}\n  {}", paint(style::FAINT, "Its content was erased."));
    };
    let lines = content_lines(artifact, content);
    let (shown, rest) = lines.split_at(lines.len().min(lines_max));
    let body = behind_bar(shown);
    let more = match rest.len() {
        0 => String::new(),
        more => {
            let way = format!("`gate show --artifact {}` shows all", one_line(&artifact.name));
            format!("\n  {}", paint(style::FAINT, format!("… {more} more lines; {way}")))
        }
    };
    format!("{name}\n{body}{more}")
}

/// An artifact's content, safe to print, with diffs in colour.
pub(crate) fn content_lines(artifact: &Artifact, content: &str) -> Vec<String> {
    let is_diff = artifact.media_type == "text/x-diff";
    let line = |line: &str| if is_diff { paint(style::of_diff_line(line), line) } else { line.to_owned() };
    let outline = match serde_json::from_str::<Value>(content) {
        Ok(json) if artifact.media_type == "application/json" => Some(views::outline::of(&json)),
        _ => None,
    };
    printable(outline.as_deref().unwrap_or(content)).trim_end().lines().map(line).collect()
}

fn bytes(count: u64) -> String {
    match count {
        0..1_000 => format!("{count} bytes"),
        1_000..1_000_000 => format!("{}.{} kB", count / 1_000, count / 100 % 10),
        _ => format!("{}.{} MB", count / 1_000_000, count / 100_000 % 10),
    }
}

/// The presence of a decision in words.
fn shown_by(presence: Presence) -> &'static str {
    match presence {
        Presence::Token => "It was decided with a token that somebody had made; a script may have used it.",
        Presence::Terminal => "It was answered at a terminal.",
        Presence::Page => "It was answered on a page.",
        Presence::Passphrase => "It was decided with a token that takes a passphrase.",
        Presence::Passkey => "It was decided with a passkey.",
    }
}

/// The decision with its author and reason, in one or two lines.
pub(crate) fn decision(gate: &Gate) -> String {
    let Some(decision) = &gate.decision else {
        let approvals = gate.tallies.iter().find(|tally| tally.choice == Choice::Approve && tally.needed > 1);
        let state = match approvals {
            Some(tally) => format!("still waiting: {} of {} approvals", tally.counted, tally.needed),
            None => "still waiting".to_owned(),
        };
        return paint(style::of_status(GateStatus::Pending), state);
    };
    let word = paint(style::of_status(gate.status), words(decision.decision.word()));
    let after = span::short(decision.decided_at.since(gate.requested_at));
    let who = match gate.status {
        GateStatus::TimedOut => format!("{word} after {after}"),
        _ => format!("{word} by {} after {after}", decision.reviewer),
    };
    let said = [Some(&decision.reason), decision.feedback.as_ref(), decision.edited.as_ref()];
    let said = said.into_iter().flatten().filter(|text| !text.is_empty()).map(|text| one_line(text));
    let follows = (gate.status == GateStatus::TimedOut).then_some(gate.outcome).flatten().map(|next| match next {
        Next::Proceed => "the gate lets its run pass".to_owned(),
        Next::Stop => "its run stops".to_owned(),
        Next::Retry => "its run asks again".to_owned(),
    });
    std::iter::once(who).chain(said).chain(follows).collect::<Vec<_>>().join(": ")
}

/// A row of a list. A pipe gets the whole id, a person the end of it.
pub(crate) fn row(gate: &Gate, now: Timestamp, terminal: bool) -> TableRow {
    let id = if terminal { find::short(&gate.id) } else { gate.id.as_str() };
    let (time, painted) = match &gate.decision {
        None => (left(gate, now), (gate.risk.word(), style::of_risk(gate.risk))),
        Some(decision) => {
            let ago = span::ago(decision.decided_at, now);
            (format!("{ago} by {}", decision.reviewer), (gate.status.word(), style::of_status(gate.status)))
        }
    };
    let (risk, status) = (gate.risk.word(), gate.status.word());
    let cells = [id.to_owned(), status.to_owned(), risk.to_owned(), asker(gate), time, one_line(&gate.title)];
    TableRow { cells: cells.into(), painted: Some(painted) }
}

pub(crate) const COLUMNS: [&str; 6] = ["GATE", "STATUS", "RISK", "ASKED BY", "TIME", "TITLE"];

fn words(word: &str) -> String {
    word.replace('_', " ")
}

/// Says that somebody must decide, and how.
pub(crate) fn waits(ctx: &CliContext, gate: &Gate) -> String {
    format!("Waits for a decision: {}\n{}", one_line(&gate.title), ways(ctx, gate))
}

/// Shown to an agent instead of the commands that decide.
pub(crate) const A_PERSON_DECIDES: &str = "Somebody who may decide must do so, with a token of theirs.";

/// The commands that decide, if a person reads this.
pub(crate) fn ways(ctx: &CliContext, gate: &Gate) -> String {
    if !ctx.screen.notes_are_read {
        return format!("  {A_PERSON_DECIDES}");
    }
    let folkmoot = ctx.command();
    let short = find::short(&gate.id);
    let verbs = gate.allowed.iter().map(|choice| match choice {
        Choice::Approve => format!("approve {short}"),
        Choice::Reject => format!("reject {short} --reason \"…\""),
        Choice::Adjust => format!("adjust {short} --feedback \"…\""),
        Choice::Pause => format!("pause {short}"),
    });
    verbs
        .map(|verb| format!("  {}", paint(style::COMMAND, format!("{folkmoot} {verb}"))))
        .collect::<Vec<_>>()
        .join("\n")
}

pub(crate) fn is_decided(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(client::Error::Problem(problem)) if problem.code == "gate_decided")
}
