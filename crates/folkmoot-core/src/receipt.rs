//! A receipt: one gate with everything that was shown, everything that happened, and the decision,
//! for people who have neither the server nor its database. The server signs it. Everything else
//! can be recomputed from what is in it.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::{
    Digest, Event, Gate, GateId, GateStatus, Name, Phase, Timestamp,
    audit::AuditProblem,
    chain,
    checkpoint::{Checkpoint, StatementKind},
    erase,
    gate::{ArtifactRef, Choice, Content, Decision, GateEvent, GateState, OnTimeout, Risk, Vote},
};

/// What the server states about a gate. The gate's events and a checkpoint are sent beside it, in
/// the form that the wire has for them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// When the receipt was made.
    pub at: Timestamp,
    /// `None` while the gate is pending.
    pub decision: Option<Decision>,
    /// The text that the reviewer wrote instead, for an adjustment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited: Option<ContentText>,
    pub gate: GateId,
    pub requested_by: Name,
    /// Each revision of its content, the last one last.
    pub shown: Vec<ReceiptContent>,
    pub status: GateStatus,
    #[serde(rename = "type")]
    pub kind: StatementKind,
    /// The votes so far, while it is pending.
    pub votes: Vec<Vote>,
}

/// One revision of a gate's content, as a reviewer saw it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptContent {
    /// The choices that a reviewer had.
    pub allowed: Vec<Choice>,
    /// What the reviewer could look at.
    pub artifacts: Vec<ReceiptArtifact>,
    /// The digest of this content, which a decision names.
    pub digest: Digest,
    pub kind: crate::gate::GateKind,
    pub on_timeout: OnTimeout,
    /// The phase of the run in which the gate was opened.
    pub phase: Phase,
    /// The number of approvals needed.
    pub quorum: u32,
    /// Who may decide; empty means any reviewer.
    pub reviewers: Vec<Name>,
    /// Counts the revisions, from 1.
    pub revision: u32,
    pub risk: Risk,
    /// What is to be decided.
    pub summary: ContentText,
    /// One line.
    pub title: String,
}

/// An artifact and its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptArtifact {
    /// Chosen by the requester.
    pub name: String,
    pub media_type: String,
    /// The length of its content.
    pub bytes: u64,
    #[serde(flatten)]
    pub content: ContentText,
}

/// Stored content, with its digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentText {
    pub digest: Digest,
    /// Null if the content was erased, or is not text.
    pub text: Option<String>,
    /// The bytes in hexadecimal digits, if they are not text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hex: Option<String>,
}

impl ContentText {
    /// The content that is stored under a digest.
    fn new(digest: Digest, contents: &BTreeMap<Digest, Vec<u8>>) -> Self {
        let bytes = contents.get(&digest);
        let text = bytes.and_then(|bytes| String::from_utf8(bytes.clone()).ok());
        let hex = bytes.filter(|_| text.is_none());
        Self { digest, hex: hex.map(|bytes| bytes.iter().map(|byte| format!("{byte:02x}")).collect()), text }
    }

    /// The bytes; `None` if they were erased, and `Err` if they are written wrongly.
    fn bytes(&self) -> Result<Option<Vec<u8>>, ()> {
        match (&self.text, &self.hex) {
            (Some(text), None) => Ok(Some(text.as_bytes().to_vec())),
            (None, Some(hex)) if hex.is_ascii() && hex.len() % 2 == 0 => {
                let byte = |n| u8::from_str_radix(&hex[n..n + 2], 16).map_err(drop);
                (0..hex.len()).step_by(2).map(byte).collect::<Result<_, ()>>().map(Some)
            }
            (None, None) => Ok(None),
            (Some(_), Some(_)) | (None, Some(_)) => Err(()),
        }
    }
}

impl ReceiptContent {
    /// Whether nothing of it was erased.
    pub fn is_whole(&self) -> bool {
        let is_there = |text: &ContentText| text.text.is_some() || text.hex.is_some();
        is_there(&self.summary) && self.artifacts.iter().all(|artifact| is_there(&artifact.content))
    }
}

/// Each content that a gate showed according to its events, with its digest.
pub fn contents_shown(events: &[Event]) -> Vec<(Content, Digest)> {
    let shown = events.iter().filter_map(|event| match GateEvent::read(&event.fact).ok()? {
        GateEvent::Opened(gate) => Some((gate.content, gate.digest)),
        GateEvent::Amended { content, digest, .. } => Some((*content, digest)),
        GateEvent::Vote { .. }
        | GateEvent::Extended { .. }
        | GateEvent::Reminded { .. }
        | GateEvent::Escalated { .. }
        | GateEvent::Decided { .. }
        | GateEvent::Refused { .. } => None,
    });
    shown.collect()
}

/// The digests of everything that a gate has ever shown, and of an edited text.
pub fn digests(events: &[Event]) -> BTreeSet<Digest> {
    let shown = contents_shown(events).into_iter().flat_map(|(content, _)| {
        let artifacts = content.artifacts.into_iter().map(|artifact| artifact.digest);
        artifacts.chain([content.summary]).collect::<Vec<_>>()
    });
    let edited = events.iter().filter_map(|event| match GateEvent::read(&event.fact).ok()? {
        GateEvent::Decided { decision, .. } => decision.edited,
        _ => None,
    });
    shown.chain(edited).collect()
}

impl Receipt {
    /// The receipt of the gate that has these events, with those contents that are still stored.
    pub fn new(
        events: &[Event],
        contents: &BTreeMap<Digest, Vec<u8>>,
        at: Timestamp,
    ) -> Result<Self, crate::CorruptLog> {
        let gate = Gate::fold(events.iter().map(|event| &event.fact))?;
        let shown = contents_shown(events);
        let shown = (1..).zip(shown).map(|(revision, (content, digest))| shown_as(content, digest, revision, contents));
        let votes = match &gate.state {
            GateState::Pending { votes } => votes.clone(),
            GateState::Closed(_) => Vec::new(),
        };
        let edited = gate.decision().and_then(|decision| decision.edited);
        Ok(Self {
            at,
            edited: edited.map(|digest| ContentText::new(digest, contents)),
            status: gate.status(),
            shown: shown.collect(),
            kind: StatementKind::Receipt,
            votes,
            decision: gate.decision().cloned(),
            requested_by: gate.requested_by,
            gate: gate.id,
        })
    }

    /// The content that was decided on, or that is shown now.
    pub fn standing(&self) -> Option<&ReceiptContent> {
        match &self.decision {
            Some(decision) => self.shown.iter().find(|shown| shown.revision == decision.revision),
            None => self.shown.last(),
        }
    }

    /// All contents in it, including those that were erased.
    fn texts(&self) -> impl Iterator<Item = &ContentText> {
        let shown = self.shown.iter().flat_map(|shown| {
            let artifacts = shown.artifacts.iter().map(|artifact| &artifact.content);
            std::iter::once(&shown.summary).chain(artifacts)
        });
        shown.chain(&self.edited)
    }

    /// Recomputes everything that can be recomputed: hashes, digests, and the decision from the
    /// events. `events` are those of the gate, and those that erased some of its content.
    pub fn check(&self, events: &[Event], checkpoint: &Checkpoint) -> Vec<AuditProblem> {
        let mut problems = check_events(events, checkpoint);
        if self.kind != StatementKind::Receipt {
            problems.push(AuditProblem::new("type", "this is no receipt but something else that the server signed"));
        }
        let (own, others): (Vec<Event>, Vec<Event>) =
            events.iter().cloned().partition(|event| *event.fact.stream == *self.gate.as_str());
        let mut erased = erase::Erasures::default();
        others.iter().for_each(|event| erased.learn(event));
        let mut contents = BTreeMap::new();
        for text in self.texts() {
            match text.bytes() {
                Ok(bytes) => {
                    problems.extend(erased.check(text.digest, bytes.as_deref()));
                    contents.extend(bytes.map(|bytes| (text.digest, bytes)));
                }
                Err(()) => problems.push(AuditProblem::new(text.digest, "its bytes are not written as they should be")),
            }
        }
        match Receipt::new(&own, &contents, self.at) {
            Err(broken) => {
                problems.push(AuditProblem::new(&self.gate, format!("its events do not make a gate: {broken}")))
            }
            Ok(told) => problems.extend(self.differences(&told)),
        }
        problems.extend(self.shown.iter().filter_map(check_digest));
        if let (Some(decision), None) = (&self.decision, self.standing().filter(|shown| self.was_decided_on(shown))) {
            let problem = format!("was made on {}, which is the digest of nothing that is shown here", decision.digest);
            problems.push(AuditProblem::new("decision", problem));
        }
        problems
    }

    fn was_decided_on(&self, shown: &ReceiptContent) -> bool {
        self.decision.as_ref().is_some_and(|decision| decision.digest == shown.digest)
    }

    /// The fields in which this differs from the receipt that its events give.
    fn differences(&self, told: &Receipt) -> Vec<AuditProblem> {
        let fields = |receipt: &Receipt| match serde_json::to_value(receipt) {
            Ok(serde_json::Value::Object(fields)) => fields,
            _ => serde_json::Map::new(),
        };
        let (stated, told) = (fields(self), fields(told));
        let names: BTreeSet<&String> = stated.keys().chain(told.keys()).collect();
        let differing = names.into_iter().filter(|name| stated.get(*name) != told.get(*name));
        differing.map(|name| AuditProblem::new(name, "is not what the events make of it")).collect()
    }
}

fn shown_as(content: Content, digest: Digest, revision: u32, contents: &BTreeMap<Digest, Vec<u8>>) -> ReceiptContent {
    let artifact = |artifact: ArtifactRef| ReceiptArtifact {
        content: ContentText::new(artifact.digest, contents),
        name: artifact.name,
        media_type: artifact.media_type,
        bytes: artifact.bytes,
    };
    ReceiptContent {
        allowed: content.allowed,
        artifacts: content.artifacts.into_iter().map(artifact).collect(),
        digest,
        kind: content.kind,
        on_timeout: content.on_timeout,
        phase: content.phase,
        quorum: content.quorum,
        reviewers: content.reviewers,
        revision,
        risk: content.risk,
        summary: ContentText::new(content.summary, contents),
        title: content.title,
    }
}

/// Recomputes the digest of what was shown. That is not possible if the summary was erased.
fn check_digest(shown: &ReceiptContent) -> Option<AuditProblem> {
    let artifact = |artifact: &ReceiptArtifact| ArtifactRef {
        name: artifact.name.clone(),
        media_type: artifact.media_type.clone(),
        digest: artifact.content.digest,
        bytes: artifact.bytes,
    };
    let content = Content {
        title: shown.title.clone(),
        summary: shown.summary.digest,
        phase: shown.phase.clone(),
        kind: shown.kind,
        risk: shown.risk,
        artifacts: shown.artifacts.iter().map(artifact).collect(),
        allowed: shown.allowed.clone(),
        on_timeout: shown.on_timeout,
        reviewers: shown.reviewers.clone(),
        quorum: shown.quorum,
    };
    let computed = content.digest(shown.summary.text.as_ref()?);
    let problem = format!("what is shown has the digest {computed}, not {}", shown.digest);
    (computed != shown.digest).then(|| AuditProblem::new(format!("revision {}", shown.revision), problem))
}

/// Checks the hash of each event, their order, and that none is after the checkpoint.
fn check_events(events: &[Event], checkpoint: &Checkpoint) -> Vec<AuditProblem> {
    let mut problems = Vec::new();
    for event in events {
        let at = event.position;
        if chain::hash(at, &event.fact, event.prev_hash) != event.hash {
            problems.push(AuditProblem::new(at, "its content does not give its hash: it was changed"));
        }
        if at > checkpoint.position || (at == checkpoint.position && event.hash != checkpoint.hash) {
            problems.push(AuditProblem::new(at, "is not in the log that the checkpoint saw"));
        }
    }
    for pair in events.windows(2) {
        let at = pair[1].position;
        if at <= pair[0].position || (at == pair[0].position + 1 && pair[1].prev_hash != pair[0].hash) {
            problems.push(AuditProblem::new(at, "does not follow the event before it"));
        }
    }
    problems
}
