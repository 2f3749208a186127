//! The smallest store there can be. It also checks, after every command, what must hold after each.

use std::collections::BTreeMap;

use crate::{
    Action, Actor, Command, Commit, Deadline, Delivery, Digest, Event, Gate, GateId, Head, Judgement, Loaded, Name,
    Outcome, Principal, Refusal, Role, Row, RunId, SessionId, Subject, Timer, TimerChange, Timestamp, TokenId, audit,
    chain, gate::State, judge, run::Run, token::Token,
};

#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    pub gates: BTreeMap<GateId, Gate>,
    pub artifacts: BTreeMap<Digest, Vec<u8>>,
    pub runs: BTreeMap<RunId, Run>,
    pub sessions: BTreeMap<SessionId, Timestamp>,
    pub principals: BTreeMap<Name, Role>,
    pub tokens: BTreeMap<TokenId, Token>,
    pub timers: BTreeMap<Subject, Timestamp>,
    pub log: Vec<Event>,
    pub outbox: Vec<Delivery>,
    pub wakes: Vec<RunId>,
}

impl World {
    pub(crate) fn execute(&mut self, by: Actor, action: Action, now: Timestamp) -> Result<Outcome, Refusal> {
        let id = format!("command-{}", self.log.len()).parse().unwrap();
        let command = Command { id, by, idempotency: None, action };
        let loaded = self.load(&command);
        let gate = loaded.gate.clone();
        match judge(&command, loaded, now) {
            Judgement::Done(commit) => {
                let outcome = commit.outcome.clone();
                self.write(commit);
                Ok(outcome)
            }
            Judgement::Refused(refusal, record) => {
                let recorded = matches!((&command.by, &command.action), (Actor::Principal(_), Action::Decide(_)));
                check_record(gate.filter(|_| recorded).as_ref(), &record, &command.by.name());
                self.write(record);
                Err(refusal)
            }
        }
    }

    pub(crate) fn stream(&self, id: &GateId) -> Vec<Event> {
        self.log.iter().filter(|event| *event.fact.stream == *id.as_str()).cloned().collect()
    }

    pub(crate) fn head(&self) -> Head {
        self.log.last().map_or(Head::START, |event| Head { position: event.position, hash: event.hash })
    }

    fn load(&self, command: &Command) -> Loaded {
        let needs = command.needs();
        let gate = needs.gate.and_then(|id| self.gates.get(id)).cloned();
        let summary = gate.as_ref().filter(|_| needs.summary).and_then(|gate| self.summary(gate));
        let twin = needs.twin.and_then(|(name, key)| {
            let is_twin = |gate: &&Gate| {
                gate.requested_by == *name && gate.dedupe_key.as_deref() == Some(key) && gate.decision().is_none()
            };
            self.gates.values().find(is_twin).cloned()
        });
        let principal =
            needs.principal.and_then(|name| self.principals.get(name).map(|role| Principal::new(name.clone(), *role)));
        Loaded {
            gate,
            summary,
            twin,
            run: needs.run.and_then(|id| self.runs.get(id)).cloned(),
            principal,
            token: needs.token.and_then(|id| self.tokens.get(id)).cloned(),
        }
    }

    fn summary(&self, gate: &Gate) -> Option<String> {
        let bytes = self.artifacts.get(&gate.content.summary)?;
        Some(String::from_utf8(bytes.clone()).unwrap())
    }

    fn write(&mut self, commit: Commit) {
        let mut head = self.head();
        self.log.extend(commit.events.into_iter().map(|fact| chain::append(&mut head, fact)));
        self.outbox.extend(commit.outbox);
        self.wakes.extend(commit.wakes);
        for change in commit.timers {
            match change {
                TimerChange::Set(Timer { subject, due }) => self.timers.insert(subject, due),
                TimerChange::Clear(subject) => self.timers.remove(&subject),
            };
        }
        let mut touched = Vec::new();
        for row in commit.rows {
            match row {
                Row::Gate(gate) => {
                    touched.push(gate.id.clone());
                    self.gates.insert(gate.id.clone(), *gate);
                }
                Row::Artifact(artifact) => {
                    self.artifacts.insert(artifact.digest, artifact.content);
                }
                Row::Run(run) => {
                    self.sessions.entry(run.session_id.clone()).or_insert(run.started_at);
                    assert_eq!(self.runs.insert(run.id.clone(), run), None, "a run starts once");
                }
                Row::Session(session, at) => {
                    self.sessions.entry(session).or_insert(at);
                }
                Row::Token(token, _) => {
                    self.principals.insert(token.principal.name.clone(), token.principal.role);
                    self.tokens.insert(token.id.clone(), token);
                }
                Row::Revoked(token) => {
                    self.tokens.insert(token.id.clone(), token);
                }
            }
        }
        for id in touched {
            self.check_gate(&id);
        }
    }

    /// What must hold for every gate, at every step.
    fn check_gate(&self, id: &GateId) {
        let gate = &self.gates[id];
        let events = self.stream(id);
        let seqs: Vec<_> = events.iter().map(|event| event.fact.stream_seq).collect();
        assert_eq!(seqs, (1..=gate.seq).collect::<Vec<_>>(), "a stream's numbers are dense");
        assert_eq!(audit::check_row(id.as_str(), Some(&Record::Gate(Box::new(gate.clone()))), &events), None);

        let written = serde_json::to_string(gate).unwrap();
        assert_eq!(serde_json::from_str::<Gate>(&written).unwrap(), *gate, "a row reads back as it was written");
        let summary = self.summary(gate).expect("the summary's text is stored with its gate");
        assert_eq!(gate.digest, gate.content.digest(&summary), "the digest is that of the content");

        let due = match (&gate.state, gate.deadline) {
            (State::Pending { .. }, Deadline::At(due)) => Some(due),
            (State::Pending { .. }, Deadline::Never) | (State::Closed(_), _) => None,
        };
        assert_eq!(self.timers.get(&Subject::Gate(id.clone())).copied(), due, "a gate's timer is due at its deadline");
    }
}

/// A refused decision leaves one event and nothing else; any other refusal leaves nothing at all.
fn check_record(gate: Option<&Gate>, record: &Commit, by: &Name) {
    assert!(record.events.iter().all(|fact| fact.actor == *by), "a refused attempt names who made it");
    let kinds: Vec<_> = record.events.iter().map(|fact| fact.kind.as_ref()).collect();
    match gate {
        None => assert_eq!((kinds, record.rows.len()), (vec![], 0)),
        Some(gate) => {
            let row = Gate { seq: gate.seq + 1, ..gate.clone() };
            assert_eq!((kinds, &record.rows), (vec!["gate.refused"], &vec![Row::Gate(Box::new(row))]));
        }
    }
    let rest = (&record.timers[..], &record.outbox[..], &record.wakes[..], &record.outcome);
    assert_eq!(rest, (&[][..], &[][..], &[][..], &Outcome::Nothing));
}
