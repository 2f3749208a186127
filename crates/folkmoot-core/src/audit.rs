//! Checking the log against itself, and every row against the log.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Digest, Event, Gate, Head, TokenId, chain, token::Token};

/// Something that the log, or a row, should not say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// The event's position, the row's stream, or `head`.
    pub at: String,
    /// What is wrong.
    pub problem: String,
}

impl Problem {
    /// Something wrong at one place.
    pub fn new(at: impl ToString, problem: impl Into<String>) -> Self {
        Self { at: at.to_string(), problem: problem.into() }
    }
}

/// Walks the log from its first event and notices every change, gap and reordering.
#[derive(Debug)]
pub struct Walk {
    /// The last event that was seen.
    pub head: Head,
}

impl Walk {
    /// Before the first event.
    pub fn new() -> Self {
        Self { head: Head::START }
    }

    /// Checks the next event. After a problem it goes on from what the event claims, so that each is told once.
    pub fn step(&mut self, event: &Event) -> Vec<Problem> {
        let mut problems = Vec::new();
        let expected = self.head.position + 1;
        if event.position != expected {
            let problem = format!("event {expected} is missing: the log goes on with {}", event.position);
            problems.push(Problem::new(expected, problem));
        } else if event.prev_hash != self.head.hash {
            problems.push(Problem::new(event.position, "does not carry the hash of the event before it"));
        }
        if chain::hash(event.position, &event.fact, event.prev_hash) != event.hash {
            problems.push(Problem::new(event.position, "its content does not give its hash: it was changed"));
        }
        self.head = Head { position: event.position, hash: event.hash };
        problems
    }

    /// Checks that the log ends where its head row says.
    pub fn end(&self, head: Head) -> Option<Problem> {
        let ends = self.head.position;
        if ends != head.position {
            let problem = format!("the log ends at {ends}, but its head says {}", head.position);
            return Some(Problem::new("head", problem));
        }
        let problem = format!("the log ends at {ends}, but its head names another hash for that event");
        (self.head.hash != head.hash).then(|| Problem::new("head", problem))
    }
}

impl Default for Walk {
    fn default() -> Self {
        Self::new()
    }
}

/// Compares content with the digest under which it is kept; erased content is none.
pub fn check_content(digest: Digest, content: Option<&[u8]>) -> Option<Problem> {
    let other = content.map(Digest::of).filter(|other| *other != digest)?;
    Some(Problem::new(digest, format!("this content was changed: what is kept has the digest {other}")))
}

/// Compares the tokens' rows with what the log says of them. Rows are expected without their hashes.
pub fn check_tokens(rows: &[Token], logged: &BTreeMap<TokenId, Token>) -> Vec<Problem> {
    let disagrees = |row: &&Token| logged.get(&row.id) != Some(row);
    let forged = rows.iter().filter(disagrees).map(|row| {
        Problem::new(format!("token:{}", row.id), "its row disagrees with the log, or the log does not know it")
    });
    let known = |id: &TokenId| rows.iter().any(|row| row.id == *id);
    let gone = logged.keys().filter(|id| !known(id));
    forged
        .chain(gone.map(|id| Problem::new(format!("token:{id}"), "the log has this token, but its row is gone")))
        .collect()
}

/// Compares a gate's row with what its events make of it.
pub fn check_row(stream: &str, row: Option<&Gate>, events: &[Event]) -> Option<Problem> {
    let folded = Gate::fold(events.iter().map(|event| &event.fact));
    match (row, folded) {
        (_, Err(broken)) => Some(Problem::new(stream, format!("its events do not make a gate: {broken}"))),
        (None, Ok(_)) => Some(Problem::new(stream, "the log has this gate, but its row is gone")),
        (Some(row), Ok(folded)) if *row != folded => {
            let problem = format!("its row ({}) disagrees with the log ({})", describe(row), describe(&folded));
            Some(Problem::new(stream, problem))
        }
        (Some(_), Ok(_)) => None,
    }
}

fn describe(gate: &Gate) -> String {
    let by = gate.decision().map(|decision| format!(" by {}", decision.reviewer)).unwrap_or_default();
    format!("{}{by}, revision {}, {} events", gate.status(), gate.revision, gate.seq)
}
