//! The smallest store there can be. It also checks, after every command, what must hold after each.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Debug,
};

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    Action, Actor, Command, Commit, Deadline, Delivery, Digest, Event, Fact, Gate, GateId, Halt, HaltId, Head, Hold,
    HoldId, Judgement, Loaded, Name, Outcome, Principal, Question, QuestionId, Quota, QuotaUsage, Record, Refusal,
    Role, Row, RunId, SessionId, Subject, Timer, TimerChange, Timestamp, TokenId, Wake, Webhook, WebhookId,
    audit::{self, AuditedRow},
    chain,
    clearance::{Holds, Others, Target},
    delivery::{self, Subscription},
    erase,
    gate::{self, GateEvent, GateState},
    halt::{self, HaltEvent},
    journal::{Entry, EntryKey},
    judge,
    question::{self, QuestionEvent, QuestionState},
    quota,
    run::{self, Run, RunEvent, RunState},
    token::{self, Token},
    webhook,
};

use super::{CAST, principal};

#[derive(Clone, Debug, Default)]
pub(crate) struct World {
    pub gates: BTreeMap<GateId, Gate>,
    pub questions: BTreeMap<QuestionId, Question>,
    pub halts: BTreeMap<HaltId, Halt>,
    /// Kept up from the rows that change, as a node does.
    pub holds: Holds,
    pub artifacts: BTreeMap<Digest, Vec<u8>>,
    pub runs: BTreeMap<RunId, Run>,
    pub journals: BTreeMap<RunId, BTreeMap<EntryKey, Entry>>,
    /// The records of runs, by collection and id.
    pub kept: BTreeMap<RunId, BTreeMap<(String, String), Record>>,
    /// How often something has changed for each run.
    pub wakes: BTreeMap<RunId, u64>,
    /// Until when each node lives.
    pub nodes: BTreeMap<Name, Timestamp>,
    pub sessions: BTreeMap<SessionId, Timestamp>,
    pub principals: BTreeMap<Name, Role>,
    pub tokens: BTreeMap<TokenId, Token>,
    pub webhooks: BTreeMap<WebhookId, Webhook>,
    pub timers: BTreeMap<Subject, Timestamp>,
    pub log: Vec<Event>,
    pub outbox: Vec<Delivery>,
    pub subscriptions: Vec<Subscription>,
    pub quota: Quota,
}

impl World {
    pub(crate) fn execute(&mut self, by: Actor, action: impl Into<Action>, now: Timestamp) -> Result<Outcome, Refusal> {
        let id = format!("command-{}", self.log.len()).parse().unwrap();
        let subscriptions = self.subscriptions.clone().into();
        let command = Command {
            id,
            by,
            token: None,
            claims: None,
            idempotency: None,
            action: action.into(),
            quota: self.quota,
            subscriptions,
        };
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

    /// What covers an agent, oldest first; by looking at every row, and as a node that only follows
    /// the changes says.
    pub(crate) fn covering(&self, agent: &Name, session: Option<&SessionId>) -> Vec<Hold> {
        let covers = |hold: &Hold| hold.covers(agent, session);
        let covering: Vec<_> = self.all_holds().into_iter().filter(covers).collect();
        let (name, id) = (agent.as_str(), session.map(SessionId::as_str));
        let followed: Vec<_> = self.holds.covering(name, id).iter().map(|hold| hold.as_ref().clone()).collect();
        assert_eq!(followed, covering, "who follows the changes knows what covers {agent}");
        assert_eq!(self.holds.can_proceed(name, id), covering.is_empty(), "cleared exactly when nothing covers");
        covering
    }

    /// What an agent has open, by looking at every row.
    fn usage(&self, name: &Name) -> QuotaUsage {
        let gates = self.gates.values().filter(|gate| gate.requested_by == *name && gate.decision().is_none());
        let open = |question: &&Question| question.asked_by == *name && question.closure().is_none();
        QuotaUsage {
            gates: gates.clone().count() as u64,
            bytes: gates.map(quota::bytes_of).sum(),
            questions: self.questions.values().filter(open).count() as u64,
            runs: self.runs.values().filter(|run| run.start.initiator == *name && run.is_under_way()).count() as u64,
            halts: self.halts.values().filter(|halt| halt.raised_by == *name && halt.lifted.is_none()).count() as u64,
        }
    }

    pub(crate) fn head(&self) -> Head {
        self.log.last().map_or(Head::START, |event| Head { position: event.position, hash: event.hash })
    }

    fn load(&self, command: &Command) -> Loaded {
        let needs = command.needs();
        let gate = needs.gate.id.and_then(|id| self.gates.get(id)).cloned();
        let summary = gate.as_ref().filter(|_| needs.gate.summary).and_then(|gate| self.summary(gate));
        let pending_duplicate = needs.gate.pending_duplicate.and_then(|(name, key)| {
            let is_pending_duplicate = |gate: &&Gate| {
                gate.requested_by == *name && gate.dedupe_key.as_deref() == Some(key) && gate.decision().is_none()
            };
            self.gates.values().find(is_pending_duplicate).cloned()
        });
        // Everybody of the cast has a token, but for whoever mints one.
        let mints = matches!(command.action, Action::Token(token::Action::Mint(_)));
        let minted = |name: &Name| self.principals.get(name).map(|role| Principal::new(name.clone(), *role));
        let of_cast = |name: &Name| CAST.contains(&name.as_str()).then(|| principal(name.as_str()));
        let known = |name: &Name| minted(name).or_else(|| of_cast(name).filter(|_| !mints));
        Loaded {
            credential: needs.credential.and_then(|id| self.tokens.get(id)).cloned(),
            principals: needs.principals.iter().filter_map(known).collect(),
            contents: Vec::new(),
            usage: needs.usage.map(|name| self.usage(name)).unwrap_or_default(),
            gate: gate::Loaded { gate, summary, pending_duplicate },
            question: needs.question.map(|id| self.load_question(id)).unwrap_or_default(),
            halt: needs.halt.map(|id| self.load_halt(id)).unwrap_or_default(),
            run: self.load_run(&needs.run),
            token: needs.token.and_then(|id| self.tokens.get(id)).cloned(),
            webhook: self.webhook(&needs.webhook),
            delivery: delivery::Loaded {
                delivery: self.outbox.iter().find(|known| needs.delivery.id == Some(&known.id)).cloned(),
                waiting: self.waiting(&needs.delivery),
            },
        }
    }

    fn load_question(&self, id: &QuestionId) -> question::Loaded {
        let question = self.questions.get(id).cloned();
        let others = |q: &Question| self.others(&[q.id.as_str()], Some(&q.agent_id), q.session_id.as_ref());
        question::Loaded { others: question.as_ref().map(others).unwrap_or_default(), question }
    }

    fn load_halt(&self, id: &HaltId) -> halt::Loaded {
        let halt = self.halts.get(id).cloned();
        let others = |h: &Halt| self.others(&[h.id.as_str()], h.agent_id.as_ref(), h.session_id.as_ref());
        halt::Loaded { others: halt.as_ref().map(others).unwrap_or_default(), halt }
    }

    fn webhook(&self, needs: &webhook::Needs) -> Option<Webhook> {
        let named = |webhook: &&Webhook| needs.name == Some(&webhook.name) && webhook.removed_at.is_none();
        let by_id = needs.id.and_then(|id| self.webhooks.get(id));
        by_id.or_else(|| self.webhooks.values().find(named)).cloned()
    }

    fn waiting(&self, needs: &delivery::Needs) -> Vec<Delivery> {
        let of_channel = |(channel, limit): &(&str, u32)| {
            let waits = |known: &&Delivery| known.channel == *channel && known.due().is_some();
            let mut waiting: Vec<_> = self.outbox.iter().filter(waits).cloned().collect();
            waiting.sort_by_key(Delivery::due);
            waiting.truncate(*limit as usize);
            waiting
        };
        needs.waiting.iter().flat_map(of_channel).collect()
    }

    /// All that a command needs to know of its run.
    fn load_run(&self, needs: &run::Needs) -> run::Loaded {
        let is_over = |id: &RunId| self.runs[id].ending().is_some();
        let held_by = |run: &Run| match &run.state {
            RunState::Running { node, .. } => self.nodes.get(node).copied(),
            _ => None,
        };
        let is_free =
            |(agents, session): (&[Name], _)| agents.iter().any(|agent| self.covering(agent, Some(session)).is_empty());
        let run = needs.id.and_then(|id| self.runs.get(id)).cloned();
        let gates = needs.id.filter(|_| needs.gates).map(|id| self.gates_of(id).cloned().collect());
        let open_questions = needs.id.filter(|_| needs.open_questions).map(|id| self.open_questions(id));
        run::Loaded {
            wakes: needs.id.and_then(|id| self.wakes.get(id)).copied().unwrap_or_default(),
            alive_until: run.as_ref().and_then(held_by),
            parent_over: run.as_ref().and_then(|run| run.start.parent.as_ref()).is_some_and(is_over),
            gates: gates.unwrap_or_default(),
            open_questions: open_questions.unwrap_or_default(),
            entry: needs.id.zip(needs.entry).and_then(|(id, key)| self.journals.get(id)?.get(key)).cloned(),
            any_agent_free: needs.held.is_some_and(is_free),
            run,
        }
    }

    fn gates_of(&self, run: &RunId) -> impl Iterator<Item = &Gate> {
        self.gates.values().filter(move |gate| gate.run_id.as_ref() == Some(run))
    }

    /// A run's questions that wait or hold, each with what else holds the same; the others of these
    /// are not counted.
    fn open_questions(&self, run: &RunId) -> Vec<(Question, Others)> {
        let open = |question: &&Question| question.closure().is_none() || question.hold().is_some();
        let is_open = |question: &&Question| question.run_id.as_ref() == Some(run) && open(question);
        let open: Vec<_> = self.questions.values().filter(is_open).collect();
        let ids: Vec<_> = open.iter().map(|question| question.id.as_str()).collect();
        let others = |q: &Question| self.others(&ids, Some(&q.agent_id), q.session_id.as_ref());
        open.iter().map(|question| ((*question).clone(), others(question))).collect()
    }

    /// Whether any hold but those of `own` has the same agent, session and everyone as its targets.
    fn others(&self, own: &[&str], agent: Option<&Name>, session: Option<&SessionId>) -> Others {
        let others = self.all_holds().into_iter().filter(|hold| !own.contains(&hold.id.as_str()));
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
            Action::Question(question::Action::Ask { new_question, .. }) => new_question.id.as_str(),
            Action::Halt(halt::Action::Raise(new_halt)) => new_halt.id.as_str(),
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
        let (mut head, before) = (self.head(), self.log.len());
        self.log.extend(commit.events.into_iter().map(|fact| chain::append(&mut head, fact)));
        let told = commit.outbox.iter().map(|telling| Delivery::new(telling, &self.log[before + telling.event]));
        self.outbox.extend(told);
        for change in commit.timers {
            match change {
                TimerChange::Set(Timer { subject, due }) => self.timers.insert(subject, due),
                TimerChange::Clear(subject) => self.timers.remove(&subject),
            };
        }
        let mut touched = Vec::new();
        let mut runs = BTreeSet::new();
        for row in commit.rows {
            match row {
                Row::Gate(gate) => {
                    touched.push(AuditedRow::Gate(gate.clone()));
                    self.gates.insert(gate.id.clone(), *gate);
                }
                Row::Question(question) => {
                    touched.push(AuditedRow::Question(question.clone()));
                    self.holds.replace(&HoldId::Question(question.id.clone()), question.hold());
                    self.questions.insert(question.id.clone(), *question);
                }
                Row::Halt(halt) => {
                    touched.push(AuditedRow::Halt(halt.clone()));
                    self.holds.replace(&HoldId::Halt(halt.id.clone()), halt.hold());
                    self.halts.insert(halt.id.clone(), *halt);
                }
                Row::Artifact(artifact) => {
                    self.artifacts.insert(artifact.digest, artifact.content);
                }
                Row::Erased { digest, .. } => {
                    self.artifacts.remove(&digest);
                }
                Row::Run(run) => {
                    let id = run.start.id.clone();
                    runs.insert(id.clone());
                    self.sessions.entry(run.start.session_id.clone()).or_insert(run.start.started_at);
                    self.put_run(id, *run);
                }
                Row::Entry(run, entry) => {
                    runs.insert(run.clone());
                    self.journals.entry(run).or_default().insert(entry.key.clone(), *entry);
                }
                Row::Record(row) => {
                    runs.insert(row.run_id.clone());
                    let key = (row.collection.clone(), row.id.clone());
                    self.kept.entry(row.run_id.clone()).or_default().insert(key, *row);
                }
                Row::Node { node, until, alone } => {
                    if alone {
                        self.nodes.clear();
                    }
                    self.nodes.insert(node, until);
                }
                Row::NodeGone(node) => {
                    self.nodes.remove(&node);
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
                Row::Webhook(webhook) => {
                    self.webhooks.insert(webhook.id.clone(), *webhook);
                }
                Row::Delivery(delivery) => {
                    let known = self.outbox.iter_mut().find(|known| known.id == delivery.id);
                    *known.expect("what changes was there") = *delivery;
                }
            }
        }
        commit.wakes.iter().for_each(|wake| self.wake(wake));
        touched.extend(runs.iter().map(|id| self.run_record(id)));
        for row in touched {
            self.check_row(&row);
        }
    }

    /// All that is kept of a run.
    pub(crate) fn run_record(&self, id: &RunId) -> AuditedRow {
        let journal = self.journals.get(id).into_iter().flat_map(BTreeMap::values).cloned().collect();
        let notes = self.kept.get(id).into_iter().flat_map(BTreeMap::values).map(Record::note).collect();
        AuditedRow::Run(Box::new(self.runs[id].clone()), journal, notes)
    }

    /// Only what halts, and what others than its workflow and its agent opened, stays open when a
    /// run is over.
    fn check_what_outlives(&self, run: &Run) {
        let ending = run.ending().expect("it is over");
        let by_decider = self.principal_is(&ending.by, Role::decides);
        let workflow = run.start.workflow.as_ref().map(|_| run.speaker().name);
        assert!(
            self.gates_of(&run.start.id).filter(|gate| gate.decision().is_none()).all(|gate| !by_decider
                && gate.requested_by != ending.by
                && Some(&gate.requested_by) != workflow.as_ref()),
            "a gate of a run ends with it, unless somebody else opened it"
        );
        for (question, _) in self.open_questions(&run.start.id) {
            let own = question.asked_by == ending.by || Some(&question.asked_by) == workflow.as_ref();
            assert!(!by_decider && (question.halts.is_some() || !own), "{} ends with its run", question.id);
        }
    }

    fn principal_is(&self, name: &Name, test: impl Fn(Role) -> bool) -> bool {
        CAST.contains(&name.as_str()) && test(principal(name.as_str()).role)
    }

    fn put_run(&mut self, id: RunId, run: Run) {
        let starts = run.seq == 1;
        match self.runs.insert(id, run.clone()) {
            None => assert!(starts, "a run begins with its start"),
            Some(before) => {
                assert!(!starts, "a run starts once");
                let counted = Run { seq: run.seq, ..before.clone() };
                assert!(before.ending().is_none() || counted == run, "a run that is over only counts its events");
                assert_eq!(before.start, run.start, "what a run started with never changes");
                assert!(before.epoch <= run.epoch, "claims only go up");
            }
        }
    }

    fn wake(&mut self, wake: &Wake) {
        let concerns = |run: &Run| match (wake, &run.state) {
            (Wake::Run(id), _) => run.start.id == *id,
            (Wake::Children(id), _) => run.start.parent.as_ref() == Some(id),
            (Wake::Held(target), RunState::Parked(parked)) if !parked.held.is_empty() => match target {
                Target::Agent(agent) => parked.held.contains(agent),
                Target::Session(session) => run.start.session_id == *session,
                Target::System => true,
            },
            (Wake::Held(_), _) => false,
        };
        for run in self.runs.values().filter(|run| concerns(run)) {
            *self.wakes.entry(run.start.id.clone()).or_default() += 1;
        }
    }

    /// What must hold for every row, at every step.
    fn check_row(&self, row: &AuditedRow) {
        let (id, seq) = match row {
            AuditedRow::Gate(gate) => (gate.id.to_string(), gate.seq),
            AuditedRow::Question(question) => (question.id.to_string(), question.seq),
            AuditedRow::Halt(halt) => (halt.id.to_string(), halt.seq),
            AuditedRow::Run(run, ..) => (run::stream(&run.start.id), run.seq),
        };
        let events = self.stream(&id);
        let seqs: Vec<_> = events.iter().map(|event| event.fact.stream_seq).collect();
        assert_eq!(seqs, (1..=seq).collect::<Vec<_>>(), "a stream's numbers are dense");
        assert_eq!(audit::check_row(&id, Some(row), &events), None);
        for digest in row.contents() {
            let kept = self.artifacts.get(&digest).map(Vec::as_slice);
            assert_eq!(erase::Erasures::default().check(digest, kept), None);
        }
        let (subject, due) = match row {
            AuditedRow::Gate(gate) => {
                check_reads_back(gate.as_ref());
                let summary = self.summary(gate).expect("the summary's text is stored with its gate");
                assert_eq!(gate.digest, gate.content.digest(&summary), "the digest is that of the content");
                let is_open = matches!(gate.state, GateState::Pending { .. });
                (Subject::Gate(gate.id.clone()), is_open.then_some(gate.due()))
            }
            AuditedRow::Question(question) => {
                check_reads_back(question.as_ref());
                assert!(self.artifacts.contains_key(&question.text), "the text is stored with its question");
                let is_open = matches!(question.state, QuestionState::Pending);
                (Subject::Question(question.id.clone()), is_open.then_some(question.due))
            }
            AuditedRow::Halt(halt) => return check_reads_back(halt.as_ref()),
            AuditedRow::Run(run, journal, _) => {
                check_reads_back(run.as_ref());
                journal.iter().for_each(check_reads_back);
                let kept = row.contents().iter().all(|digest| self.artifacts.contains_key(digest));
                assert!(kept, "input, results and output are stored with their run");
                let is_over = run.ending().is_some();
                if is_over {
                    self.check_what_outlives(run);
                }
                let due = match &run.state {
                    RunState::Parked(parked) => Some(parked.due),
                    _ => None,
                };
                (Subject::Run(run.start.id.clone()), due)
            }
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
fn subject(command: &Command, loaded: &Loaded) -> Option<AuditedRow> {
    let gate = loaded.gate.gate.clone().filter(|_| matches!(command.action, Action::Gate(gate::Action::Decide(_))));
    let question = loaded
        .question
        .question
        .clone()
        .filter(|_| matches!(command.action, Action::Question(question::Action::Close(_))));
    gate.map(|gate| AuditedRow::Gate(Box::new(gate)))
        .or_else(|| question.map(|question| AuditedRow::Question(Box::new(question))))
        .or_else(|| loaded.halt.halt.clone().map(|halt| AuditedRow::Halt(Box::new(halt))))
}

/// A refused attempt to decide, to close a question, or to raise or lift a halt leaves one event
/// and nothing else; any other refusal leaves nothing at all.
fn check_record(command: &Command, subject: Option<AuditedRow>, refusal: &Refusal, record: &Commit) {
    let by_somebody = matches!(command.by, Actor::Principal(_));
    let named = record.events.iter().all(|fact| fact.actor == command.by.name());
    assert!(named, "a refused attempt names who made it");
    let kinds: Vec<_> = record.events.iter().map(|fact| fact.kind.as_ref()).collect();
    let (kind, row) = match subject.filter(|_| by_somebody) {
        Some(AuditedRow::Gate(gate)) => {
            (Some("gate.refused"), Some(Row::Gate(Box::new(Gate { seq: gate.seq + 1, ..*gate }))))
        }
        Some(AuditedRow::Question(question)) => {
            let row = Question { seq: question.seq + 1, ..*question };
            (Some("question.refused"), Some(Row::Question(Box::new(row))))
        }
        Some(AuditedRow::Halt(halt)) => {
            (Some("halt.refused"), Some(Row::Halt(Box::new(Halt { seq: halt.seq + 1, ..*halt }))))
        }
        Some(AuditedRow::Run(..)) | None => {
            let raises = matches!(
                (&command.action, refusal),
                (Action::Halt(halt::Action::Raise(_)), Refusal::RoleMayNot { .. })
            );
            ((raises && by_somebody).then_some("halt.refused"), None)
        }
    };
    assert_eq!((kinds, &record.rows), (Vec::from_iter(kind), &Vec::from_iter(row)));
    let rest = (&record.timers[..], &record.outbox[..], &record.wakes[..], &record.outcome);
    assert_eq!(rest, (&[][..], &[][..], &[][..], &Outcome::Nothing));
}

/// Every event of a gate, question, halt or run reads back, and writes the same bytes again.
fn check_payload(fact: &Fact) {
    if fact.stream.starts_with("run:") {
        let again = RunEvent::read(fact).map(|event| (event.kind(), event.payload()));
        return assert_eq!(
            again,
            Ok((fact.kind.clone(), fact.payload.clone())),
            "an event reads back as it was written"
        );
    }
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
