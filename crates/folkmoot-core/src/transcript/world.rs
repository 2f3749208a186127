//! The smallest store there can be. It also checks, after every command, what must hold after each.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
};

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    Action, Actor, Command, Commit, Deadline, Delivery, Digest, Event, Fact, Gate, GateId, Halt, HaltId, Head, Hold,
    HoldId, Judgement, Loaded, Name, Outcome, Principal, Question, QuestionId, Refusal, Role, Row, RunId, SessionId,
    Subject, Timer, TimerChange, Timestamp, TokenId,
    audit::{self, Record},
    chain,
    clearance::{Holds, Others, Target},
    gate::{self, GateEvent},
    halt::HaltEvent,
    judge,
    question::{self, QuestionEvent},
    run::Run,
    token::Token,
};

#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    pub gates: BTreeMap<GateId, Gate>,
    pub questions: BTreeMap<QuestionId, Question>,
    pub halts: BTreeMap<HaltId, Halt>,
    /// Kept up from the rows that change, as a node does.
    pub holds: Holds,
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
        let subject = subject(&command, &loaded);
        self.check_new(&command.action);
        match judge(&command, loaded, now) {
            Judgement::Done(commit) => {
                let outcome = commit.outcome.clone();
                self.write(commit);
                Ok(outcome)
            }
            Judgement::Refused(refusal, record) => {
                check_record(&command, subject, &refusal, &record);
                self.write(record);
                Err(refusal)
            }
        }
    }

    pub(crate) fn stream(&self, id: &str) -> Vec<Event> {
        self.log.iter().filter(|event| *event.fact.stream == *id).cloned().collect()
    }

    /// Everything that holds anybody, by looking at every row; oldest first.
    pub(crate) fn all_holds(&self) -> Vec<Hold> {
        let questions = self.questions.values().filter_map(Question::hold);
        let mut holds: Vec<_> = questions.chain(self.halts.values().filter_map(Halt::hold)).collect();
        holds.sort_by_key(|hold| (hold.since, hold.id.clone()));
        holds
    }

    /// What covers an agent, oldest first; by looking at every row, and as a node that only follows the changes says.
    pub(crate) fn covering(&self, agent: &Name, session: Option<&SessionId>) -> Vec<Hold> {
        let covers = |hold: &Hold| hold.covers(agent, session);
        let covering: Vec<_> = self.all_holds().into_iter().filter(covers).collect();
        let (name, id) = (agent.as_str(), session.map(SessionId::as_str));
        let followed: Vec<_> = self.holds.covering(name, id).iter().map(|hold| hold.as_ref().clone()).collect();
        assert_eq!(followed, covering, "who follows the changes knows what covers {agent}");
        assert_eq!(self.holds.can_proceed(name, id), covering.is_empty(), "cleared exactly when nothing covers");
        covering
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
        let question = needs.question.and_then(|id| self.questions.get(id)).cloned();
        let halt = needs.halt.and_then(|id| self.halts.get(id)).cloned();
        let others = match (&question, &halt) {
            (Some(question), _) => self.others(&question.id, Some(&question.agent_id), question.session_id.as_ref()),
            (None, Some(halt)) => self.others(&halt.id, halt.agent_id.as_ref(), halt.session_id.as_ref()),
            (None, None) => Others::default(),
        };
        Loaded {
            question,
            halt,
            others,
            gate,
            summary,
            twin,
            run: needs.run.and_then(|id| self.runs.get(id)).cloned(),
            principal,
            token: needs.token.and_then(|id| self.tokens.get(id)).cloned(),
        }
    }

    /// Whether any hold but `id`'s own has the same agent, session and everyone as its targets.
    fn others(&self, id: &impl ToString, agent: Option<&Name>, session: Option<&SessionId>) -> Others {
        let id = id.to_string();
        let others = self.all_holds().into_iter().filter(|hold| hold.id.as_str() != id);
        let targets: BTreeSet<_> = others.flat_map(|hold| hold.targets().collect::<Vec<_>>()).collect();
        Others {
            agent: agent.is_some_and(|agent| targets.contains(&Target::Agent(agent.clone()))),
            session: session.is_some_and(|session| targets.contains(&Target::Session(session.clone()))),
            system: targets.contains(&Target::System),
        }
    }

    /// Ids are made by the server and never repeat, not even for what was refused.
    fn check_new(&self, action: &Action) {
        let id = match action {
            Action::Ask { asking, .. } => asking.id.as_str(),
            Action::Raise(raising) => raising.id.as_str(),
            _ => return,
        };
        assert!(self.stream(id).is_empty(), "{id} was used before");
    }

    fn summary(&self, gate: &Gate) -> Option<String> {
        let bytes = self.artifacts.get(&gate.content.summary)?;
        Some(String::from_utf8(bytes.clone()).unwrap())
    }

    fn write(&mut self, commit: Commit) {
        commit.events.iter().for_each(check_payload);
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
                    touched.push(Record::Gate(gate.clone()));
                    self.gates.insert(gate.id.clone(), *gate);
                }
                Row::Question(question) => {
                    touched.push(Record::Question(question.clone()));
                    self.holds.replace(&HoldId::Question(question.id.clone()), question.hold());
                    self.questions.insert(question.id.clone(), *question);
                }
                Row::Halt(halt) => {
                    touched.push(Record::Halt(halt.clone()));
                    self.holds.replace(&HoldId::Halt(halt.id.clone()), halt.hold());
                    self.halts.insert(halt.id.clone(), *halt);
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
        for row in touched {
            self.check_row(&row);
        }
    }

    /// What must hold for every row, at every step.
    fn check_row(&self, row: &Record) {
        let (id, seq) = match row {
            Record::Gate(gate) => (gate.id.as_str(), gate.seq),
            Record::Question(question) => (question.id.as_str(), question.seq),
            Record::Halt(halt) => (halt.id.as_str(), halt.seq),
        };
        let events = self.stream(id);
        let seqs: Vec<_> = events.iter().map(|event| event.fact.stream_seq).collect();
        assert_eq!(seqs, (1..=seq).collect::<Vec<_>>(), "a stream's numbers are dense");
        assert_eq!(audit::check_row(id, Some(row), &events), None);
        for digest in row.contents() {
            assert_eq!(audit::check_content(digest, self.artifacts.get(&digest).map(Vec::as_slice)), None);
        }
        let (subject, due) = match row {
            Record::Gate(gate) => {
                check_reads_back(gate.as_ref());
                let summary = self.summary(gate).expect("the summary's text is stored with its gate");
                assert_eq!(gate.digest, gate.content.digest(&summary), "the digest is that of the content");
                let is_open = matches!(gate.state, gate::State::Pending { .. });
                (Subject::Gate(gate.id.clone()), is_open.then_some(gate.deadline))
            }
            Record::Question(question) => {
                check_reads_back(question.as_ref());
                assert!(self.artifacts.contains_key(&question.text), "the text is stored with its question");
                let is_open = matches!(question.state, question::State::Pending);
                (Subject::Question(question.id.clone()), is_open.then_some(question.due))
            }
            Record::Halt(halt) => return check_reads_back(halt.as_ref()),
        };
        let due = due.and_then(Deadline::moment);
        assert_eq!(self.timers.get(&subject).copied(), due, "a timer is due when its row says");
    }
}

fn check_reads_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(row: &T) {
    let written = serde_json::to_string(row).unwrap();
    assert_eq!(serde_json::from_str::<T>(&written).unwrap(), *row, "a row reads back as it was written");
}

/// The row that a command is about, where there is one.
fn subject(command: &Command, loaded: &Loaded) -> Option<Record> {
    let gate = loaded.gate.clone().filter(|_| matches!(command.action, Action::Decide(_)));
    let question = loaded.question.clone().filter(|_| matches!(command.action, Action::Close(_)));
    gate.map(|gate| Record::Gate(Box::new(gate)))
        .or_else(|| question.map(|question| Record::Question(Box::new(question))))
        .or_else(|| loaded.halt.clone().map(|halt| Record::Halt(Box::new(halt))))
}

/// A refused attempt to decide, to close a question, or to raise or lift a halt leaves one event and nothing else; any
/// other refusal leaves nothing at all.
fn check_record(command: &Command, subject: Option<Record>, refusal: &Refusal, record: &Commit) {
    let by_somebody = matches!(command.by, Actor::Principal(_));
    let named = record.events.iter().all(|fact| fact.actor == command.by.name());
    assert!(named, "a refused attempt names who made it");
    let kinds: Vec<_> = record.events.iter().map(|fact| fact.kind.as_ref()).collect();
    let (kind, row) = match subject.filter(|_| by_somebody) {
        Some(Record::Gate(gate)) => {
            (Some("gate.refused"), Some(Row::Gate(Box::new(Gate { seq: gate.seq + 1, ..*gate }))))
        }
        Some(Record::Question(question)) => {
            let row = Question { seq: question.seq + 1, ..*question };
            (Some("question.refused"), Some(Row::Question(Box::new(row))))
        }
        Some(Record::Halt(halt)) => {
            (Some("halt.refused"), Some(Row::Halt(Box::new(Halt { seq: halt.seq + 1, ..*halt }))))
        }
        None => {
            let raises = matches!((&command.action, refusal), (Action::Raise(_), Refusal::RoleMayNot { .. }));
            ((raises && by_somebody).then_some("halt.refused"), None)
        }
    };
    assert_eq!((kinds, &record.rows), (Vec::from_iter(kind), &Vec::from_iter(row)));
    let rest = (&record.timers[..], &record.outbox[..], &record.wakes[..], &record.outcome);
    assert_eq!(rest, (&[][..], &[][..], &[][..], &Outcome::Nothing));
}

/// Every event of a gate, question or halt reads back, and writes the same bytes again.
fn check_payload(fact: &Fact) {
    let again = match fact.kind.split('.').next() {
        Some("gate") => GateEvent::read(fact).map(|event| (event.kind(), event.payload())),
        Some("halt") => HaltEvent::read(fact).map(|event| (event.kind(), event.payload())),
        Some("question" | "agent" | "session" | "system") => {
            QuestionEvent::read(fact).map(|event| (event.kind(), event.payload()))
        }
        _ => return,
    };
    assert_eq!(again, Ok((fact.kind.as_ref(), fact.payload.clone())), "an event reads back as it was written");
}
