//! Checking the log against itself, and every row against the log.

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::{Deserialize, Serialize};

use crate::{
    CorruptLog, Digest, Event, Gate, Halt, Head, Question, Run, Timestamp, TokenId, Webhook, WebhookId, chain,
    journal::Entry,
    receipt,
    record::{self, RecordNote},
    token::Token,
    webhook::LoggedWebhook,
};

/// An inconsistency that verification found in the log or in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditProblem {
    /// The event's position, the row's stream, or `head`.
    pub at: String,
    /// What is wrong.
    pub problem: String,
}

impl AuditProblem {
    pub fn new(at: impl ToString, problem: impl Into<String>) -> Self {
        Self { at: at.to_string(), problem: problem.into() }
    }
}

/// Walks the log from its first event, and detects every change, gap and reordering.
#[derive(Debug)]
pub struct LogWalk {
    /// Position and hash of the last event that was seen.
    pub head: Head,
}

impl LogWalk {
    /// Begins before the first event.
    pub fn new() -> Self {
        Self { head: Head::START }
    }

    /// Checks the next event. After a problem it goes on from what the event claims, so that each
    /// problem is reported once.
    pub fn step(&mut self, event: &Event) -> Vec<AuditProblem> {
        let mut problems = Vec::new();
        let expected = self.head.position + 1;
        if event.position != expected {
            let problem = format!("event {expected} is missing: the log goes on with {}", event.position);
            problems.push(AuditProblem::new(expected, problem));
        } else if event.prev_hash != self.head.hash {
            problems.push(AuditProblem::new(event.position, "does not carry the hash of the event before it"));
        }
        if chain::hash(event.position, &event.fact, event.prev_hash) != event.hash {
            problems.push(AuditProblem::new(event.position, "its content does not give its hash: it was changed"));
        }
        self.head = Head { position: event.position, hash: event.hash };
        problems
    }

    /// Checks that the log ends where its head row says.
    pub fn end(&self, head: Head) -> Option<AuditProblem> {
        let ends = self.head.position;
        if ends != head.position {
            let problem = format!("the log ends at {ends}, but its head says {}", head.position);
            return Some(AuditProblem::new("head", problem));
        }
        let problem = format!("the log ends at {ends}, but its head names another hash for that event");
        (self.head.hash != head.hash).then(|| AuditProblem::new("head", problem))
    }
}

impl Default for LogWalk {
    fn default() -> Self {
        Self::new()
    }
}

/// Compares the rows of tokens with the log. The hashes of their secrets are not compared, because
/// the log does not have them.
pub fn check_tokens(rows: &[Token], logged: &BTreeMap<TokenId, Token>) -> Vec<AuditProblem> {
    check_whole("token", rows, |row| &row.id, logged)
}

/// Compares the rows of webhooks with the log.
pub fn check_webhooks(rows: &[Webhook], logged: &BTreeMap<WebhookId, LoggedWebhook>) -> Vec<AuditProblem> {
    let rows: Vec<LoggedWebhook> = rows.iter().map(Webhook::logged).collect();
    check_whole("webhook", &rows, |row| &row.id, logged)
}

/// For nouns whose every event has the whole row: the row must be that of the last event.
fn check_whole<Id: Ord + fmt::Display, T: PartialEq>(
    noun: &str,
    rows: &[T],
    id: impl Fn(&T) -> &Id,
    logged: &BTreeMap<Id, T>,
) -> Vec<AuditProblem> {
    let forged = rows.iter().filter(|row| logged.get(id(row)) != Some(row)).map(|row| {
        AuditProblem::new(format!("{noun}:{}", id(row)), "its row disagrees with the log, or the log does not know it")
    });
    let known: BTreeSet<&Id> = rows.iter().map(&id).collect();
    let gone = logged.keys().filter(|id| !known.contains(id));
    let gone = gone
        .map(|id| AuditProblem::new(format!("{noun}:{id}"), format!("the log has this {noun}, but its row is gone")));
    forged.chain(gone).collect()
}

/// A row that can be rebuilt from the events of its stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuditedRow {
    Gate(Box<Gate>),
    Question(Box<Question>),
    Halt(Box<Halt>),
    /// The run, its journal in the order of its keys, and the notes of its records in the order of
    /// collection and id.
    Run(Box<Run>, Vec<Entry>, Vec<RecordNote>),
}

impl AuditedRow {
    /// Builds the row from the events of a stream; `None` if the stream has only a refused attempt.
    pub(crate) fn fold(noun: &str, events: &[Event]) -> Result<Option<AuditedRow>, CorruptLog> {
        let facts = events.iter().map(|event| &event.fact);
        match noun {
            "question" => Ok(Some(AuditedRow::Question(Box::new(Question::fold(facts)?)))),
            "halt" => Ok(Halt::fold(facts)?.map(|halt| AuditedRow::Halt(Box::new(halt)))),
            "run" => {
                let (run, journal) = Run::fold(facts)?;
                let notes = record::notes(events.iter().map(|event| &event.fact))?;
                Ok(Some(AuditedRow::Run(Box::new(run), journal.into_values().collect(), notes)))
            }
            _ => Ok(Some(AuditedRow::Gate(Box::new(Gate::fold(facts)?)))),
        }
    }

    /// The digests of all content that the row refers to.
    pub fn contents(&self) -> Vec<Digest> {
        match self {
            AuditedRow::Gate(gate) => {
                let artifacts = gate.content.artifacts.iter().map(|artifact| artifact.digest);
                let edited = gate.decision().and_then(|decision| decision.edited);
                std::iter::once(gate.content.summary).chain(artifacts).chain(edited).collect()
            }
            AuditedRow::Question(question) => vec![question.text],
            AuditedRow::Halt(_) => Vec::new(),
            AuditedRow::Run(run, journal, notes) => {
                let output = run.ending().and_then(|ending| ending.output);
                let results = journal.iter().filter_map(Entry::result);
                let kept = notes.iter().flat_map(|note| note.contents.iter().copied());
                run.start.input.into_iter().chain(output).chain(results).chain(kept).collect()
            }
        }
    }

    /// Like [`AuditedRow::contents`], and also what a gate showed before it was amended, and what a
    /// record had before it was replaced.
    pub fn all_contents(&self, events: &[Event]) -> BTreeSet<Digest> {
        let mut digests: BTreeSet<Digest> = self.contents().into_iter().collect();
        match self {
            AuditedRow::Gate(gate) if gate.revision > 1 => digests.extend(receipt::digests(events)),
            AuditedRow::Run(..) => digests.extend(record::contents(events)),
            AuditedRow::Gate(_) | AuditedRow::Question(_) | AuditedRow::Halt(_) => {}
        }
        digests
    }

    /// Without the notes of records that expire and that the row does not have any more.
    fn without_forgotten(mut self, row: Option<&AuditedRow>) -> Self {
        if let (AuditedRow::Run(.., notes), Some(AuditedRow::Run(.., kept))) = (&mut self, row) {
            let kept: BTreeSet<_> = kept.iter().map(|note| (&note.collection, &note.id)).collect();
            notes.retain(|note| !note.fleeting || kept.contains(&(&note.collection, &note.id)));
        }
        self
    }

    /// When it was closed or ended; nothing more is done with its content after that.
    pub fn over_since(&self) -> Option<Timestamp> {
        match self {
            AuditedRow::Gate(gate) => gate.decision().map(|decision| decision.decided_at),
            AuditedRow::Question(question) => question.closure().map(|closure| closure.at),
            AuditedRow::Halt(halt) => halt.lifted.as_ref().map(|lifting| lifting.at),
            AuditedRow::Run(run, ..) => run.ending().map(|ending| ending.at),
        }
    }

    /// The names of the fields in which two rows of one stream differ.
    fn differs_from(&self, other: &AuditedRow) -> String {
        let (fields, others) = (self.fields(), other.fields());
        let names: BTreeSet<&String> = fields.keys().chain(others.keys()).collect();
        let differing = names.into_iter().filter(|name| fields.get(*name) != others.get(*name));
        differing.map(String::as_str).collect::<Vec<_>>().join(", ")
    }

    /// Each field by name; for a run also each journal entry by its key, and the note of each
    /// record.
    fn fields(&self) -> BTreeMap<String, serde_json::Value> {
        let json = match self {
            AuditedRow::Gate(gate) => serde_json::to_value(gate),
            AuditedRow::Question(question) => serde_json::to_value(question),
            AuditedRow::Halt(halt) => serde_json::to_value(halt),
            AuditedRow::Run(run, ..) => serde_json::to_value(run),
        };
        let fields = json.expect("structs of texts and integers are JSON");
        let fields = fields.as_object().cloned().unwrap_or_default().into_iter();
        let (journal, notes): (&[Entry], &[RecordNote]) = match self {
            AuditedRow::Run(_, journal, notes) => (journal, notes),
            AuditedRow::Gate(_) | AuditedRow::Question(_) | AuditedRow::Halt(_) => (&[], &[]),
        };
        let lines = journal.iter().map(|entry| {
            let line = serde_json::to_value(entry).expect("structs of texts and integers are JSON");
            (format!("step {}", entry.key), line)
        });
        let notes = notes.iter().map(|note| {
            let row = serde_json::to_value(note).expect("structs of texts are JSON");
            (format!("{} {}", note.collection, note.id), row)
        });
        fields.chain(lines).chain(notes).collect()
    }

    fn noun(&self) -> &'static str {
        match self {
            AuditedRow::Gate(_) => "gate",
            AuditedRow::Question(_) => "question",
            AuditedRow::Halt(_) => "halt",
            AuditedRow::Run(..) => "run",
        }
    }
}

/// Compares a row with what its events give.
pub fn check_row(stream: &str, row: Option<&AuditedRow>, events: &[Event]) -> Option<AuditProblem> {
    let first = events.first().and_then(|first| first.fact.kind.split('.').next());
    let noun = row.map(AuditedRow::noun).or(first).unwrap_or("gate");
    let folded = AuditedRow::fold(noun, events).map(|folded| folded.map(|folded| folded.without_forgotten(row)));
    let problem = match (row, folded) {
        (_, Err(broken)) => format!("its events do not make a {noun}: {broken}"),
        (None, Ok(Some(_))) => format!("the log has this {noun}, but its row is gone"),
        (Some(row), Ok(None)) => format!("its row ({row}) is of something that never came to be"),
        (Some(row), Ok(Some(folded))) if *row != folded => {
            format!("its row ({row}) disagrees with the log ({folded}) in {}", row.differs_from(&folded))
        }
        (Some(_), Ok(Some(_))) | (None, Ok(None)) => return None,
    };
    Some(AuditProblem::new(stream, problem))
}

impl fmt::Display for AuditedRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AuditedRow::Gate(gate) => {
                let by = gate.decision().map(|decision| format!(" by {}", decision.reviewer)).unwrap_or_default();
                write!(f, "{}{by}, revision {}, {} events", gate.status(), gate.revision, gate.seq)
            }
            AuditedRow::Question(question) => {
                let by = question.closure().map(|closure| format!(" by {}", closure.by)).unwrap_or_default();
                write!(f, "{}{by}, {} events", question.status(), question.seq)
            }
            AuditedRow::Halt(halt) => {
                let lifted = halt.lifted.as_ref().map_or("standing".to_owned(), |by| format!("lifted by {}", by.by));
                write!(f, "{lifted}, {} events", halt.seq)
            }
            AuditedRow::Run(run, journal, _) => {
                write!(f, "{}, claim {}, {} steps, {} events", run.status(), run.epoch, journal.len(), run.seq)
            }
        }
    }
}
