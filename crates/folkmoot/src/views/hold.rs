//! What halts agents, as text.

use folkmoot_api::{
    core::{Scope, Timestamp},
    wire::{BlockedBy, HaltStatus},
};

use crate::{
    clock,
    connection::find,
    context::CliContext,
    terminal::{printable::one_line, span, style, table::TableRow},
};

/// Questions and halts, one per line, in the given order.
pub(crate) fn print(ctx: &CliContext, holds: &[&BlockedBy]) -> anyhow::Result<()> {
    let now = clock::now();
    let rows = holds.iter().map(|hold| row(hold, now, ctx.screen.terminal)).collect();
    Ok(ctx.screen.table(&["HELD BY", "TYPE", "SCOPE", "SINCE", "WHY"], rows)?)
}

fn row(hold: &BlockedBy, now: Timestamp, terminal: bool) -> TableRow {
    let id = if terminal { find::short(&hold.id) } else { &hold.id };
    let kind = hold.question_type.map_or("halt", |kind| kind.word());
    let why = match (&hold.reason, hold.denied) {
        (Some(reason), _) => one_line(reason),
        (None, true) => "denied; the asker has not acknowledged it yet".to_owned(),
        (None, false) => "waits for an answer".to_owned(),
    };
    let cells = [id.to_owned(), kind.to_owned(), scope(hold), span::ago(hold.since, now), why];
    TableRow { cells: cells.into(), painted: Some((kind, style::WARN)) }
}

fn scope(hold: &BlockedBy) -> String {
    match (hold.scope, &hold.session_id, &hold.agent_id) {
        (Scope::All, _, _) => "all".to_owned(),
        (Scope::Session, Some(session), _) => format!("session {session}"),
        (Scope::Session | Scope::Agent, _, Some(agent)) => format!("agent {agent}"),
        (scope, _, None) => scope.to_string(),
    }
}

/// Who is halted, in a few words.
pub(crate) fn halted(status: &HaltStatus) -> String {
    let everyone = status.system_halted.then(|| "everyone".to_owned());
    let sessions = status.halted_sessions.iter().map(|session| format!("session {session}"));
    let agents = status.halted_agents.iter().map(|agent| format!("agent {agent}"));
    let all: Vec<_> = everyone.into_iter().chain(sessions).chain(agents).collect();
    match all.len() {
        0 => "nobody".to_owned(),
        1..=6 => all.join(", "),
        more => format!("{}, and {} more", all[..5].join(", "), more - 5),
    }
}
