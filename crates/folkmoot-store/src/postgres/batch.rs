//! Writes many commands in one transaction, with two round trips, however many there are.
//!
//! The first round trip locks the head of the log and reads every row that any command needs. Then
//! the rules judge the commands one after another in memory, each on the state that the previous
//! ones left. The second round trip writes everything and commits.
//!
//! Every writer takes the head's lock first. So nothing that is read afterwards can change before
//! the commit, no other lock is needed, and no two nodes can deadlock.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use folkmoot_core::{
    Action, Artifact, Command, Commit, Delivery, DeliveryId, Digest, Event, Gate, GateId, Halt, HaltId, Head, Hold,
    Judgement, Loaded, Name, Outcome, Principal, Question, QuestionId, QuotaUsage, Record, Row, Run, RunId, SessionId,
    Subject, TimerChange, Timestamp, TokenId, Wake, Webhook, WebhookId, chain,
    clearance::{Others, Target},
    delivery,
    erase::ContentStatus,
    gate, halt,
    journal::{Entry, EntryKey, Write},
    judge,
    question::{self, NewQuestion},
    quota,
    run::{self, NewRun, RunState},
    token::Token,
};
use futures_util::future::{join_all, try_join_all};
use tokio_postgres::{Client, Statement, types::ToSql};

use super::{Time, failed, statements::PostgresStatements, warnings::Warnings};
use crate::{
    Error, WriteResult, query,
    rows::{self, Columns, RunExtras, Table, Type, Value},
};

/// Begins a transaction and sets everything that it relies on. Settings of the session would not
/// do: behind a pooler that gives each transaction another session, they apply to somebody else.
/// Scans are off because plans are kept: a plan that is made while a table is empty would scan all
/// of it, also when it has grown, and a batch only looks up single rows.
const BEGIN: &str = "BEGIN; SET LOCAL synchronous_commit = on; SET LOCAL lock_timeout = '5s'; \
    SET LOCAL idle_in_transaction_session_timeout = '5s'; \
    SET LOCAL enable_seqscan = off; SET LOCAL plan_cache_mode = force_generic_plan; SET LOCAL jit = off";

/// An upper limit for the number of open questions of a run.
const OPEN_OF_A_RUN: usize = 10_000;

/// The result of a committed batch.
pub(super) struct BatchResult {
    pub(super) answers: Vec<Result<WriteResult, Error>>,
    pub(super) events: Vec<Arc<Event>>,
}

/// Why a batch was not committed.
pub(super) enum BatchFailure {
    /// Nothing was written.
    RolledBack(Error),
    /// The connection was lost during the commit, or a warning withdrew the commit's success.
    Unknown,
}

impl From<Error> for BatchFailure {
    fn from(error: Error) -> Self {
        BatchFailure::RolledBack(error)
    }
}

/// Judges `commands` in order, and writes the results in one transaction.
pub(super) async fn run(
    client: &Client,
    sql: &PostgresStatements,
    warnings: &Warnings,
    time: &Time,
    commands: &[Command],
) -> Result<BatchResult, BatchFailure> {
    let loaded = load(client, sql, commands).await;
    let (mut work, micros) = match loaded {
        Ok(loaded) => loaded,
        Err(error) => {
            // After an error of the connection there is nothing to roll back.
            let _ = client.batch_execute("ROLLBACK").await;
            return Err(error.into());
        }
    };
    let now = time.of_batch(micros);
    let answers: Vec<_> = commands.iter().map(|command| work.written(command, now, commands.len())).collect();
    if work.is_untouched() {
        client.batch_execute("ROLLBACK").await.map_err(failed)?;
    } else {
        warnings.forget();
        work.write(client, sql).await?;
        if warnings.are_doubtful() {
            return Err(BatchFailure::Unknown);
        }
    }
    Ok(BatchResult { answers, events: work.events })
}

/// The rows that a batch has read, and the changes it has made to them.
#[derive(Default)]
struct BatchState {
    head: Option<Head>,
    gates: HashMap<GateId, Gate>,
    pending_duplicates: HashMap<(Name, String), GateId>,
    /// What each agent that opens or asks something in this batch has open by now.
    usage: HashMap<Name, QuotaUsage>,
    questions: HashMap<QuestionId, Question>,
    halts: HashMap<HaltId, Halt>,
    /// The holds of each agent, session and everyone that a command asks about. Loads one more hold
    /// than this batch can release, so any hold that remains is real.
    held: HashMap<Target, HashSet<String>>,
    texts: HashMap<Digest, Vec<u8>>,
    /// The status of contents that commands of this batch need.
    contents: HashMap<Digest, ContentStatus>,
    runs: HashMap<RunId, Run>,
    /// The present extras of each run, except for its node.
    run_extras: HashMap<RunId, RunExtras>,
    /// How long each node that holds or claims one of the runs is considered alive.
    alive_until: HashMap<Name, Timestamp>,
    entries: HashMap<(RunId, EntryKey), Entry>,
    principals: HashMap<Name, Principal>,
    tokens: HashMap<TokenId, Token>,
    webhooks: HashMap<WebhookId, Webhook>,
    deliveries: HashMap<DeliveryId, Delivery>,
    known_keys: HashMap<(Name, String, String), (String, String)>,

    events: Vec<Arc<Event>>,
    new_gates: Vec<GateId>,
    new_questions: BTreeSet<QuestionId>,
    new_halts: BTreeSet<HaltId>,
    /// By digest, because one statement cannot write the same row twice.
    new_artifacts: BTreeMap<Digest, (Artifact, Timestamp)>,
    /// The contents that this batch erases.
    erased: BTreeMap<Digest, ErasureMark>,
    new_sessions: Vec<(SessionId, Timestamp)>,
    new_runs: BTreeSet<RunId>,
    new_entries: BTreeSet<(RunId, EntryKey)>,
    /// By key, because one statement cannot write the same row twice.
    new_records: BTreeMap<(RunId, String, String), Record>,
    nodes: BTreeMap<Name, Timestamp>,
    gone_nodes: Vec<Name>,
    new_tokens: Vec<(Token, [u8; 32])>,
    revoked: Vec<Token>,
    timers: BTreeMap<Subject, TimerChange>,
    new_webhooks: BTreeSet<WebhookId>,
    new_deliveries: BTreeSet<DeliveryId>,
    /// One entry for each wake-up of a run that this batch has read or started, or that a command
    /// names.
    woken: Vec<RunId>,
    /// The wake-ups of other runs that wait for the same. This batch has not read them, so the
    /// database selects them.
    woken_others: WokenOthers,
    new_keys: Vec<Vec<Value<'static>>>,
    /// Set if a command gets the recorded outcome of an earlier transaction. It is unknown whether
    /// that transaction has reached the standby. So this one is committed too, which waits for
    /// both.
    replayed: bool,
}

impl BatchState {
    fn written(&mut self, command: &Command, now: Timestamp, together: usize) -> Result<WriteResult, Error> {
        let outcome = self.judge(command, now)?;
        Ok(WriteResult { outcome, position: self.head.expect("the head was read first").position, together })
    }

    fn judge(&mut self, command: &Command, now: Timestamp) -> Result<Outcome, Error> {
        let key = command.idempotency.as_ref().map(|known| (command.by.name(), known.route.clone(), known.key.clone()));
        if let Some((fingerprint, outcome)) = key.as_ref().and_then(|key| self.known_keys.get(key)) {
            command.must_be_authentic(command.token.as_ref().and_then(|id| self.tokens.get(id)))?;
            self.replayed = true;
            return rows::replay(command, fingerprint, outcome);
        }
        match judge(command, self.loaded(command), now) {
            Judgement::Done(commit) => {
                if let (Some(key), Some(record)) = (key, rows::idempotency(command, &commit.outcome, now)) {
                    if let [_, _, _, Value::Text(fingerprint), Value::Text(outcome), _] = record.as_slice() {
                        self.known_keys.insert(key, (fingerprint.to_string(), outcome.to_string()));
                    }
                    self.new_keys.push(record);
                }
                let outcome = commit.outcome.clone();
                self.absorb(commit, now);
                Ok(outcome)
            }
            Judgement::Refused(refusal, record) => {
                self.absorb(record, now);
                Err(refusal.into())
            }
        }
    }

    fn loaded(&self, command: &Command) -> Loaded {
        let needs = command.needs();
        Loaded {
            credential: needs.credential.and_then(|id| self.tokens.get(id)).cloned(),
            principals: needs.principals.iter().flat_map(|name| self.named(name)).cloned().collect(),
            contents: needs.contents.iter().filter_map(|digest| self.contents.get(digest)).copied().collect(),
            usage: needs.usage.and_then(|name| self.usage.get(name)).copied().unwrap_or_default(),
            gate: self.loaded_gate(&needs.gate),
            question: self.loaded_question(needs.question),
            halt: self.loaded_halt(needs.halt),
            run: self.loaded_run(&needs.run),
            token: needs.token.and_then(|id| self.tokens.get(id)).cloned(),
            webhook: self.webhook(needs.webhook.id, needs.webhook.name).cloned(),
            delivery: delivery::Loaded {
                delivery: needs.delivery.id.and_then(|id| self.deliveries.get(id)).cloned(),
                waiting: self.waiting(&needs.delivery.waiting),
            },
        }
    }

    fn loaded_gate(&self, needs: &gate::Needs<'_>) -> gate::Loaded {
        let gate = needs.id.and_then(|id| self.gates.get(id)).cloned();
        let text = gate.as_ref().filter(|_| needs.summary).and_then(|gate| self.texts.get(&gate.content.summary));
        let pending_duplicate = needs
            .pending_duplicate
            .and_then(|(name, key)| self.pending_duplicates.get(&(name.clone(), key.to_owned())));
        gate::Loaded {
            summary: text.and_then(|bytes| String::from_utf8(bytes.clone()).ok()),
            pending_duplicate: pending_duplicate.and_then(|id| self.gates.get(id)).cloned(),
            gate,
        }
    }

    fn loaded_question(&self, id: Option<&QuestionId>) -> question::Loaded {
        let question = id.and_then(|id| self.questions.get(id)).cloned();
        let others = question.as_ref().map(|question| {
            let others = |id: &str| id != question.id.as_str();
            self.others(others, Some(&question.agent_id), question.session_id.as_ref())
        });
        question::Loaded { question, others: others.unwrap_or_default() }
    }

    fn loaded_halt(&self, id: Option<&HaltId>) -> halt::Loaded {
        let halt = id.and_then(|id| self.halts.get(id)).cloned();
        let others = halt
            .as_ref()
            .map(|halt| self.others(|id| id != halt.id.as_str(), halt.agent_id.as_ref(), halt.session_id.as_ref()));
        halt::Loaded { halt, others: others.unwrap_or_default() }
    }

    fn loaded_run(&self, needs: &run::Needs<'_>) -> run::Loaded {
        let run = needs.id.and_then(|id| self.runs.get(id)).cloned();
        let extras = needs.id.and_then(|id| self.run_extras.get(id)).copied().unwrap_or_default();
        let parent = run.as_ref().and_then(|run| self.runs.get(run.start.parent.as_ref()?));
        let node = run.as_ref().and_then(|run| node_of(&run.state));
        let gates = run.as_ref().filter(|_| needs.gates).map(|run| self.gates_of(&run.start.id));
        let open_questions =
            run.as_ref().filter(|_| needs.open_questions).map(|run| self.open_questions_of(&run.start.id));
        let entry = needs.id.zip(needs.entry).map(|(run, key)| (run.clone(), key.clone()));
        let is_free =
            |session: &SessionId, agent: &Name| self.others(|_| true, Some(agent), Some(session)) == Others::default();
        run::Loaded {
            wakes: extras.wakes,
            alive_until: node.and_then(|node| self.alive_until.get(node)).copied(),
            parent_over: extras.parent_over || parent.is_some_and(|parent| parent.ending().is_some()),
            gates: gates.unwrap_or_default(),
            open_questions: open_questions.unwrap_or_default(),
            entry: entry.and_then(|place| self.entries.get(&place)).cloned(),
            any_agent_free: needs
                .held
                .is_some_and(|(agents, session)| agents.iter().any(|agent| is_free(session, agent))),
            run,
        }
    }

    fn webhook(&self, id: Option<&WebhookId>, name: Option<&Name>) -> Option<&Webhook> {
        let named = |webhook: &&Webhook| Some(&webhook.name) == name && webhook.removed_at.is_none();
        id.and_then(|id| self.webhooks.get(id)).or_else(|| self.webhooks.values().find(named))
    }

    /// The next deliveries for each of these channels, at most the given number of each.
    fn waiting(&self, channels: &[(&str, u32)]) -> Vec<Delivery> {
        if channels.is_empty() {
            return Vec::new();
        }
        let mut free: HashMap<&str, u32> = channels.iter().copied().collect();
        let waits = |delivery: &&Delivery| free.contains_key(delivery.channel.as_str()) && delivery.due().is_some();
        let mut waiting: Vec<&Delivery> = self.deliveries.values().filter(waits).collect();
        waiting.sort_by_key(|delivery| (delivery.due(), &delivery.id));
        waiting.retain(|delivery| match free.get_mut(delivery.channel.as_str()) {
            Some(places) if *places > 0 => {
                *places -= 1;
                true
            }
            Some(_) | None => false,
        });
        waiting.into_iter().cloned().collect()
    }

    /// The gates of a run that were loaded.
    fn gates_of(&self, run: &RunId) -> Vec<Gate> {
        let gates = self.gates.values().filter(|gate| gate.run_id.as_ref() == Some(run));
        let mut gates: Vec<Gate> = gates.cloned().collect();
        gates.sort_by(|a, b| (a.requested_at, &a.id).cmp(&(b.requested_at, &b.id)));
        gates
    }

    /// The principals of this name, ignoring case.
    fn named(&self, name: &Name) -> impl Iterator<Item = &Principal> {
        self.principals.values().filter(move |known| known.name.as_str().eq_ignore_ascii_case(name.as_str()))
    }

    /// The questions of a run that are pending or hold somebody, each with whether anything else
    /// holds the same agent, session or everyone.
    fn open_questions_of(&self, run: &RunId) -> Vec<(Question, Others)> {
        let open = |question: &&Question| question.closure().is_none() || question.hold().is_some();
        let own = |question: &&Question| question.run_id.as_ref() == Some(run) && open(question);
        let mut questions: Vec<&Question> = self.questions.values().filter(own).collect();
        questions.sort_by(|a, b| (a.asked_at, &a.id).cmp(&(b.asked_at, &b.id)));
        let ids: HashSet<&str> = questions.iter().map(|question| question.id.as_str()).collect();
        let with_others = |question: &&Question| {
            let (agent, session) = (Some(&question.agent_id), question.session_id.as_ref());
            ((*question).clone(), self.others(|id| !ids.contains(id), agent, session))
        };
        questions.iter().map(with_others).collect()
    }

    /// Whether the agent, the session or everyone is held by anything that `counts`.
    fn others(&self, counts: impl Fn(&str) -> bool, agent: Option<&Name>, session: Option<&SessionId>) -> Others {
        let held = |target: &Target| self.held.get(target).is_some_and(|ids| ids.iter().any(|other| counts(other)));
        Others {
            agent: agent.is_some_and(|agent| held(&Target::Agent(agent.clone()))),
            session: session.is_some_and(|session| held(&Target::Session(session.clone()))),
            system: held(&Target::System),
        }
    }

    /// Replaces a hold by what the same question or halt holds now.
    fn hold(&mut self, before: Option<Hold>, after: Option<Hold>) {
        for (target, hold) in before.iter().flat_map(|hold| hold.targets().map(move |target| (target, hold))) {
            self.held.entry(target).or_default().remove(hold.id.as_str());
        }
        for (target, hold) in after.iter().flat_map(|hold| hold.targets().map(move |target| (target, hold))) {
            self.held.entry(target).or_default().insert(hold.id.as_str().to_owned());
        }
    }

    fn absorb(&mut self, commit: Commit, now: Timestamp) {
        for row in commit.rows {
            match row {
                Row::Gate(gate) => self.put_gate(*gate),
                Row::Question(question) => {
                    let before = self.questions.get(&question.id).and_then(Question::hold);
                    self.hold(before, question.hold());
                    let open = |question: &Question| u64::from(question.closure().is_none());
                    let before = self.questions.get(&question.id).map_or(0, open);
                    if let Some(usage) = self.usage.get_mut(&question.asked_by) {
                        usage.questions = (usage.questions + open(&question)).saturating_sub(before);
                    }
                    self.new_questions.insert(question.id.clone());
                    self.questions.insert(question.id.clone(), *question);
                }
                Row::Halt(halt) => {
                    let before = self.halts.get(&halt.id).and_then(Halt::hold);
                    self.hold(before, halt.hold());
                    let stands = |halt: &Halt| u64::from(halt.lifted.is_none());
                    let before = self.halts.get(&halt.id).map_or(0, stands);
                    if let Some(usage) = self.usage.get_mut(&halt.raised_by) {
                        usage.halts = (usage.halts + stands(&halt)).saturating_sub(before);
                    }
                    self.new_halts.insert(halt.id.clone());
                    self.halts.insert(halt.id.clone(), *halt);
                }
                Row::Artifact(artifact) => {
                    self.sent(artifact.digest, now);
                    self.texts.insert(artifact.digest, artifact.content.clone());
                    self.new_artifacts.insert(artifact.digest, (artifact, now));
                }
                Row::Erased { digest, erasures, barred } => {
                    self.texts.remove(&digest);
                    if let Some(content) = self.contents.get_mut(&digest) {
                        *content = ContentStatus { present: false, erasures, barred, ..*content };
                    }
                    self.erased.insert(digest, ErasureMark { erasures, barred, sent_again: false });
                }
                Row::Run(run) => {
                    if run.seq == 1 {
                        self.new_sessions.push((run.start.session_id.clone(), now));
                    }
                    let before = self.runs.get(&run.start.id).is_some_and(Run::is_under_way);
                    if let Some(usage) = self.usage.get_mut(&run.start.initiator) {
                        usage.runs = (usage.runs + u64::from(run.is_under_way())).saturating_sub(u64::from(before));
                    }
                    self.new_runs.insert(run.start.id.clone());
                    self.runs.insert(run.start.id.clone(), *run);
                }
                Row::Entry(run, entry) => {
                    let place = (run, entry.key.clone());
                    self.new_entries.insert(place.clone());
                    self.entries.insert(place, *entry);
                }
                Row::Record(row) => {
                    let key = (row.run_id.clone(), row.collection.clone(), row.id.clone());
                    self.new_records.insert(key, *row);
                }
                // `alone` is ignored: other nodes can reach this database at any time.
                Row::Node { node, until, alone: _ } => {
                    self.gone_nodes.retain(|gone| *gone != node);
                    self.alive_until.insert(node.clone(), until);
                    self.nodes.insert(node, until);
                }
                Row::NodeGone(node) => {
                    self.alive_until.remove(&node);
                    self.nodes.remove(&node);
                    self.gone_nodes.push(node);
                }
                Row::Session(id, at) => self.new_sessions.push((id, at)),
                Row::Token(token, hash) => {
                    self.principals.insert(token.principal.name.clone(), token.principal.clone());
                    self.tokens.insert(token.id.clone(), token.clone());
                    self.new_tokens.push((token, hash));
                }
                Row::Revoked(token) => {
                    self.tokens.insert(token.id.clone(), token.clone());
                    self.revoked.push(token);
                }
                Row::Webhook(webhook) => {
                    self.new_webhooks.insert(webhook.id.clone());
                    self.webhooks.insert(webhook.id.clone(), *webhook);
                }
                Row::Delivery(delivery) => {
                    self.new_deliveries.insert(delivery.id.clone());
                    self.deliveries.insert(delivery.id.clone(), *delivery);
                }
            }
        }
        let head = self.head.as_mut().expect("the head was read first");
        let before = self.events.len();
        self.events.extend(commit.events.into_iter().map(|fact| Arc::new(chain::append(head, fact))));
        for change in commit.timers {
            self.timers.insert(change.subject().clone(), change);
        }
        for telling in &commit.outbox {
            let delivery = Delivery::new(telling, &self.events[before + telling.event]);
            self.new_deliveries.insert(delivery.id.clone());
            self.deliveries.insert(delivery.id.clone(), delivery);
        }
        for wake in commit.wakes {
            self.wake(wake);
        }
    }

    /// Records that content was sent, so that a later command of this batch can erase it.
    fn sent(&mut self, digest: Digest, now: Timestamp) {
        let new = ContentStatus { digest, present: false, erasures: 0, barred: false, used_at: now };
        let content = self.contents.entry(digest).or_insert(new);
        (content.present, content.used_at) = (true, now);
        if let Some(gone) = self.erased.get_mut(&digest) {
            gone.sent_again = true;
        }
    }

    /// Counts a wake-up. For runs that this batch has read, its own state says what they wait for;
    /// the database learns that only at the end. For all other runs the database knows it.
    fn wake(&mut self, wake: Wake) {
        let woken = |run: &&Run| match &wake {
            Wake::Run(id) => run.start.id == *id,
            Wake::Children(id) => run.start.parent.as_ref() == Some(id),
            Wake::Held(target) => waits_for(run, target),
        };
        let known: Vec<RunId> = self.runs.values().filter(woken).map(|run| run.start.id.clone()).collect();
        for run in &known {
            self.run_extras.entry(run.clone()).or_default().wakes += 1;
        }
        match wake {
            Wake::Run(id) if known.is_empty() => self.woken.push(id),
            Wake::Run(_) => {}
            Wake::Children(id) => self.woken_others.parents.push(id.to_string()),
            Wake::Held(Target::Agent(agent)) => self.woken_others.agents.push(agent.to_string()),
            Wake::Held(Target::Session(session)) => self.woken_others.sessions.push(session.to_string()),
            Wake::Held(Target::System) => self.woken_others.everyone += 1,
        }
        self.woken.extend(known);
    }

    fn put_gate(&mut self, gate: Gate) {
        if let Some(key) = &gate.dedupe_key {
            let pending_duplicate = (gate.requested_by.clone(), key.clone());
            match gate.decision() {
                None => drop(self.pending_duplicates.insert(pending_duplicate, gate.id.clone())),
                Some(_) if self.pending_duplicates.get(&pending_duplicate) == Some(&gate.id) => {
                    drop(self.pending_duplicates.remove(&pending_duplicate))
                }
                Some(_) => {}
            }
        }
        let pending = |gate: &Gate| if gate.decision().is_none() { (1, quota::bytes_of(gate)) } else { (0, 0) };
        let (before, before_bytes) = self.gates.get(&gate.id).map_or((0, 0), pending);
        let (after, after_bytes) = pending(&gate);
        if let Some(usage) = self.usage.get_mut(&gate.requested_by) {
            usage.gates = (usage.gates + after).saturating_sub(before);
            usage.bytes = (usage.bytes + after_bytes).saturating_sub(before_bytes);
        }
        if !self.new_gates.contains(&gate.id) {
            self.new_gates.push(gate.id.clone());
        }
        self.gates.insert(gate.id.clone(), gate);
    }

    fn is_untouched(&self) -> bool {
        // Everything that is written has an event, except for timers that only wake a run or are no
        // longer needed, heartbeats of nodes, and deliveries that are being sent.
        let quiet = self.nodes.is_empty() && self.gone_nodes.is_empty() && self.woken.is_empty();
        let quiet = quiet && self.new_deliveries.is_empty() && !self.replayed;
        let empty = self.events.is_empty() && self.timers.is_empty() && self.new_keys.is_empty();
        quiet && empty && self.new_artifacts.is_empty()
    }

    async fn write(&self, client: &Client, sql: &PostgresStatements) -> Result<(), BatchFailure> {
        let set = |change: &TimerChange| matches!(change, TimerChange::Set(_));
        let (set, cleared): (Vec<_>, Vec<_>) = self.timers.values().partition(|change| set(change));
        let cleared: Vec<Cow<'_, str>> = cleared.iter().map(|change| change.subject().key()).collect();
        let set = set.iter().filter_map(|change| change.timer()).map(rows::timer).collect();
        let woken: Vec<&str> = self.woken.iter().map(RunId::as_str).collect();
        let known: Vec<&str> = self.runs.keys().map(RunId::as_str).collect();
        let WokenOthers { parents, agents, sessions, everyone } = &self.woken_others;
        let written: Vec<String> = agents.iter().map(rows::json_text).collect();
        let gone_nodes: Vec<&str> = self.gone_nodes.iter().map(Name::as_str).collect();
        let revoked_ids: Vec<&str> = self.revoked.iter().map(|token| token.id.as_str()).collect();
        let revoked_at: Vec<Option<i64>> =
            self.revoked.iter().map(|token| token.revoked_at.map(Timestamp::as_micros)).collect();
        let erased: Vec<String> = self.erased.keys().map(Digest::to_string).collect();
        let erasures: Vec<i64> = self.erased.values().map(|gone| rows::int(gone.erasures)).collect();
        let barred: Vec<i64> = self.erased.values().map(|gone| gone.barred.into()).collect();
        let sent_again: Vec<bool> = self.erased.values().map(|gone| gone.sent_again).collect();
        let head = self.head.expect("the head was read first");
        let (position, hash) = (rows::int(head.position), head.hash.to_string());

        let filled = [
            Columnar::new(&rows::GATES, self.new_gates.iter().map(|id| rows::gate(&self.gates[id])).collect()),
            Columnar::new(&rows::EVENTS, self.events.iter().map(|event| rows::event(event)).collect()),
            Columnar::new(
                &rows::ARTIFACTS,
                self.new_artifacts.values().map(|(artifact, at)| rows::artifact(artifact, *at)).collect(),
            ),
            Columnar::new(&rows::SESSIONS, self.new_sessions.iter().map(|(id, at)| rows::session(id, *at)).collect()),
            Columnar::new(&rows::RUNS, self.new_runs.iter().map(|id| rows::run(&self.runs[id])).collect()),
            Columnar::new(
                &rows::JOURNAL,
                self.new_entries.iter().map(|place| rows::entry(&place.0, &self.entries[place])).collect(),
            ),
            Columnar::new(&rows::NODES, self.nodes.iter().map(|(node, until)| rows::node(node, *until)).collect()),
            Columnar::new(
                &rows::QUESTIONS,
                self.new_questions.iter().map(|id| rows::question(&self.questions[id])).collect(),
            ),
            Columnar::new(&rows::HALTS, self.new_halts.iter().map(|id| rows::halt(&self.halts[id])).collect()),
            Columnar::new(&rows::TIMERS, set),
            Columnar::new(
                &rows::OUTBOX,
                self.new_deliveries.iter().map(|id| rows::delivery(&self.deliveries[id])).collect(),
            ),
            Columnar::new(
                &rows::WEBHOOKS,
                self.new_webhooks.iter().map(|id| rows::webhook(&self.webhooks[id])).collect(),
            ),
            Columnar::new(
                &rows::PRINCIPALS,
                self.new_tokens.iter().map(|(t, _)| rows::principal(&t.principal)).collect(),
            ),
            Columnar::new(&rows::TOKENS, self.new_tokens.iter().map(|(t, hash)| rows::token(t, hash)).collect()),
            Columnar::new(&rows::IDEMPOTENCY, self.new_keys.clone()),
            Columnar::new(&rows::records::TABLE, self.new_records.values().map(rows::records::record).collect()),
        ];
        let arguments: Vec<_> = filled.iter().map(Columnar::arguments).collect();
        let mut writes = Vec::new();
        for (table, arguments) in filled.iter().zip(&arguments) {
            if table.rows > 0 {
                writes.push(client.execute(sql.insert(table.name), arguments));
            }
        }
        let mut updates: Vec<(&Statement, Vec<&(dyn ToSql + Sync)>)> =
            vec![(&sql.move_head, vec![&position, &hash as &(dyn ToSql + Sync)])];
        if !cleared.is_empty() {
            updates.push((&sql.clear_timers, vec![&cleared]));
        }
        if !woken.is_empty() {
            updates.push((&sql.wake, vec![&woken]));
        }
        if !parents.is_empty() {
            updates.push((&sql.wake_children, vec![parents, &known]));
        }
        if *everyone > 0 || !agents.is_empty() || !sessions.is_empty() {
            updates.push((&sql.wake_held, vec![agents, sessions, everyone, &known, &written]));
        }
        if !gone_nodes.is_empty() {
            updates.push((&sql.forget_nodes, vec![&gone_nodes]));
        }
        if !revoked_ids.is_empty() {
            updates.push((&sql.revoke, vec![&revoked_ids, &revoked_at]));
        }
        if !self.erased.is_empty() {
            updates.push((&sql.erase, vec![&erased, &erasures, &barred, &sent_again]));
        }
        let updates = updates.iter().map(|(statement, arguments)| client.execute(*statement, arguments));
        // All statements are sent before the first answer arrives. Every answer is checked: after a
        // failed statement, COMMIT rolls back and does not report it.
        let (inserted, updated, committed) =
            tokio::join!(biased; join_all(writes), join_all(updates), client.batch_execute("COMMIT"));
        for result in inserted.into_iter().chain(updated).chain([committed.map(|()| 0)]) {
            result.map_err(|error| match (error.code().is_some(), failed(error)) {
                // The COMMIT was sent together with the rest. If any answer is missing or did not
                // come from the database, the commit may have happened.
                (false, _) | (true, Error::Unavailable(_)) => BatchFailure::Unknown,
                (true, error) => BatchFailure::RolledBack(error),
            })?;
        }
        Ok(())
    }
}

/// How content is erased: the number of erasures by admins, whether it is barred, and whether it
/// was sent again later in the same batch.
struct ErasureMark {
    erasures: u64,
    barred: bool,
    sent_again: bool,
}

/// Whether a run waits for a clearance that a hold on `target` prevents.
fn waits_for(run: &Run, target: &Target) -> bool {
    let RunState::Parked(parked) = &run.state else { return false };
    !parked.held.is_empty()
        && match target {
            Target::Agent(agent) => parked.held.contains(agent),
            Target::Session(session) => run.start.session_id == *session,
            Target::System => true,
        }
}

/// The runs that a batch wakes without having read them, as arguments of its statements.
#[derive(Default)]
struct WokenOthers {
    /// Wake the children of these runs.
    parents: Vec<String>,
    /// Wake the runs that wait for clearance of these agents.
    agents: Vec<String>,
    /// Wake the runs in these sessions that wait for clearance.
    sessions: Vec<String>,
    /// How often to wake all runs that wait for clearance.
    everyone: i64,
}

fn node_of(state: &RunState) -> Option<&Name> {
    match state {
        RunState::Running { node, .. } => Some(node),
        RunState::Pending | RunState::Outside | RunState::Parked(_) | RunState::Stopped { .. } | RunState::Ended(_) => {
            None
        }
    }
}

/// Agents and sessions that commands hold or ask about and that are in none of the rows that are
/// read. Their other holds must be loaded too, because another command of the same batch may
/// release them.
#[derive(Default)]
struct TouchedNames<'a> {
    agents: Vec<&'a str>,
    sessions: Vec<&'a str>,
    /// The sessions of these runs count too.
    runs: Vec<&'a str>,
    /// Whether a command parks a run, so that the holds are needed in any case.
    parks: bool,
}

impl<'a> TouchedNames<'a> {
    fn by(&mut self, command: &'a Command, name: &'a Name) {
        match &command.action {
            Action::Run(run::Action::Park(request)) if !request.held.is_empty() => {
                self.parks = true;
                self.agents.extend(request.held.iter().map(Name::as_str));
                self.sessions.push(request.session_id.as_str());
            }
            Action::Question(question::Action::Ask { new_question, .. }) => {
                self.asks(new_question, new_question.run_id.as_ref(), name)
            }
            Action::Run(run::Action::Record(journal_write)) => match &journal_write.write {
                Write::Ask { new_question, .. } => self.asks(new_question, Some(&journal_write.run), name),
                // A child run is in its parent's session unless it names one.
                Write::Start(new_run) => self.starts(new_run, Some(&journal_write.run)),
                _ => {}
            },
            Action::Run(run::Action::Start(new_run)) => self.starts(new_run, None),
            Action::Halt(halt::Action::Raise(new_halt)) => {
                self.agents.extend(new_halt.agent_id.as_ref().map(Name::as_str));
                self.sessions.extend(new_halt.session_id.as_ref().map(SessionId::as_str));
            }
            _ => {}
        }
    }

    /// The asking agent is the named one; otherwise the run or the principal that asks.
    fn asks(&mut self, new_question: &'a NewQuestion, run: Option<&'a RunId>, by: &'a Name) {
        match &new_question.agent_id {
            Some(agent) => self.agents.push(agent.as_str()),
            None => self.agents.extend(run.map(RunId::as_str).into_iter().chain([by.as_str()])),
        }
        self.sessions.extend(new_question.session_id.as_ref().map(SessionId::as_str));
        self.runs.extend(run.map(RunId::as_str));
    }

    fn starts(&mut self, new_run: &'a NewRun, parent: Option<&'a RunId>) {
        self.sessions.push(new_run.session_id.as_ref().map_or(new_run.id.as_str(), SessionId::as_str));
        self.runs.extend(parent.map(RunId::as_str));
    }
}

/// Locks the head and reads what the commands need, in one round trip. Also returns the database's
/// time.
async fn load(client: &Client, sql: &PostgresStatements, commands: &[Command]) -> Result<(BatchState, i64), Error> {
    let mut gates = BTreeSet::new();
    let mut amended = BTreeSet::new();
    let (mut duplicate_names, mut duplicate_keys) = (Vec::new(), Vec::new());
    let (mut using, mut gates_most, mut questions_most) = (BTreeSet::new(), 0, 0);
    let (mut runs_most, mut halts_most) = (0, 0);
    let (mut questions, mut halts) = (BTreeSet::new(), BTreeSet::new());
    let (mut runs, mut principals, mut tokens) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let (mut owners, mut routes, mut keys) = (Vec::new(), Vec::new(), Vec::new());
    let (mut ending, mut entry_runs, mut entry_keys) = (BTreeSet::new(), Vec::new(), Vec::new());
    let mut touched = TouchedNames::default();
    let mut contents = BTreeSet::new();
    let (mut claiming, mut at_gates) = (BTreeSet::new(), BTreeSet::new());
    let (mut webhooks, mut webhook_names, mut deliveries) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
    let mut waiting: BTreeMap<&str, i64> = BTreeMap::new();
    let names: Vec<Name> = commands.iter().map(|command| command.by.name()).collect();
    for (command, name) in commands.iter().zip(&names) {
        let needs = command.needs();
        gates.extend(needs.gate.id.map(GateId::as_str));
        amended.extend(needs.gate.id.filter(|_| needs.gate.summary).map(GateId::as_str));
        questions.extend(needs.question.map(QuestionId::as_str));
        halts.extend(needs.halt.map(HaltId::as_str));
        runs.extend(needs.run.id.map(RunId::as_str));
        ending.extend(needs.run.id.filter(|_| needs.run.open_questions).map(RunId::as_str));
        at_gates.extend(needs.run.id.filter(|_| needs.run.gates).map(RunId::as_str));
        if let Some((run, key)) = needs.run.id.zip(needs.run.entry) {
            entry_runs.push(run.as_str());
            entry_keys.push(key.as_str());
        }
        touched.by(command, name);
        if let Action::Run(run::Action::Claim { node, .. }) = &command.action {
            claiming.insert(node.as_str());
        }
        principals.extend(needs.principals);
        tokens.extend(needs.token.iter().chain(&needs.credential).map(|token| token.as_str()));
        webhooks.extend(needs.webhook.id.map(WebhookId::as_str));
        webhook_names.extend(needs.webhook.name.map(Name::as_str));
        deliveries.extend(needs.delivery.id.map(DeliveryId::as_str));
        for (channel, limit) in needs.delivery.waiting {
            *waiting.entry(channel).or_default() += i64::from(limit);
        }
        contents.extend(needs.contents.iter().map(Digest::to_string));
        if let Some(name) = needs.usage {
            using.insert(name.as_str());
            gates_most = gates_most.max(query::counted(command.quota.pending_gates));
            questions_most = questions_most.max(query::counted(command.quota.open_questions));
            runs_most = runs_most.max(query::counted(command.quota.open_runs));
            halts_most = halts_most.max(query::counted(command.quota.standing_halts));
        }
        if let Some((name, key)) = needs.gate.pending_duplicate {
            duplicate_names.push(name.as_str());
            duplicate_keys.push(key);
        }
        if let Some(known) = &command.idempotency {
            owners.push(name.as_str());
            routes.push(known.route.as_str());
            keys.push(known.key.as_str());
        }
    }
    let gates: Vec<&str> = gates.into_iter().collect();
    let amended: Vec<&str> = amended.into_iter().collect();
    let using: Vec<&str> = using.into_iter().collect();
    let (questions, halts): (Vec<&str>, Vec<&str>) = (questions.into_iter().collect(), halts.into_iter().collect());
    let ending: Vec<&str> = ending.into_iter().collect();
    let at_gates: Vec<&str> = at_gates.into_iter().collect();
    // The batch can release at most each of these holds. So if one more is loaded, at least one
    // remains. A run that ends closes all questions that it has asked.
    let asked_by_runs = ending.len().min(1) * OPEN_OF_A_RUN;
    let enough = (questions.len() + halts.len() + 1 + asked_by_runs) as i64;
    let any_held = !questions.is_empty() || !halts.is_empty() || !ending.is_empty() || touched.parks;
    let TouchedNames { agents: touched_agents, sessions: touched_sessions, runs: touched_runs, .. } = touched;
    let (runs, tokens): (Vec<&str>, Vec<&str>) = (runs.into_iter().collect(), tokens.into_iter().collect());
    let principals: Vec<String> = principals.iter().map(|name| name.as_str().to_ascii_lowercase()).collect();

    let claiming: Vec<&str> = claiming.into_iter().collect();
    let (webhooks, webhook_names): (Vec<&str>, Vec<&str>) =
        (webhooks.into_iter().collect(), webhook_names.into_iter().collect());
    let deliveries: Vec<&str> = deliveries.into_iter().collect();
    // Commands for one channel take deliveries one after another, and never one that is settled in
    // the same batch. So this many more are loaded.
    let (channels, most): (Vec<&str>, Vec<i64>) =
        waiting.into_iter().map(|(channel, most)| (channel, most + deliveries.len() as i64)).unzip();
    let any_webhook = !webhooks.is_empty() || !webhook_names.is_empty();
    let contents: Vec<String> = contents.into_iter().collect();

    let reads: [(bool, &Statement, Vec<&(dyn ToSql + Sync)>); 21] = [
        (true, &sql.lock_head, vec![]),
        (true, &sql.clock, vec![]),
        (!gates.is_empty(), &sql.load_gates, vec![&gates]),
        (!duplicate_keys.is_empty(), &sql.load_pending_duplicates, vec![&duplicate_names, &duplicate_keys]),
        (!amended.is_empty(), &sql.load_summaries, vec![&amended]),
        (!questions.is_empty(), &sql.load_questions, vec![&questions]),
        (!halts.is_empty(), &sql.load_halts, vec![&halts]),
        (
            any_held,
            &sql.load_held,
            vec![&questions, &halts, &enough, &ending, &touched_agents, &touched_sessions, &touched_runs],
        ),
        (!runs.is_empty(), &sql.load_runs, vec![&runs]),
        (!claiming.is_empty(), &sql.load_nodes, vec![&claiming]),
        (!at_gates.is_empty(), &sql.load_gates_of_runs, vec![&at_gates]),
        (!ending.is_empty(), &sql.load_open_questions, vec![&ending]),
        (!entry_keys.is_empty(), &sql.load_entries, vec![&entry_runs, &entry_keys]),
        (!principals.is_empty(), &sql.load_principals, vec![&principals]),
        (!tokens.is_empty(), &sql.load_tokens, vec![&tokens]),
        (any_webhook, &sql.load_webhooks, vec![&webhooks, &webhook_names]),
        (!deliveries.is_empty(), &sql.load_deliveries, vec![&deliveries]),
        (!channels.is_empty(), &sql.load_waiting, vec![&channels, &most]),
        (!keys.is_empty(), &sql.load_keys, vec![&owners, &routes, &keys]),
        (!contents.is_empty(), &sql.load_contents, vec![&contents]),
        (!using.is_empty(), &sql.load_usage, vec![&using, &gates_most, &questions_most, &runs_most, &halts_most]),
    ];
    let asked = reads.iter().map(|(needed, statement, arguments)| async move {
        if *needed { client.query(*statement, arguments).await } else { Ok(Vec::new()) }
    });
    let (begun, found) = tokio::join!(biased; client.batch_execute(BEGIN), try_join_all(asked));
    begun.map_err(failed)?;
    let found = found.map_err(failed)?;
    let [
        head,
        clock,
        gates,
        pending_duplicates,
        summaries,
        questions,
        halts,
        held,
        runs,
        nodes,
        gates_of_runs,
        open_questions,
        entries,
        principals,
        tokens,
        webhooks,
        deliveries,
        waiting,
        keys,
        contents,
        usage,
    ] = <[_; 21]>::try_from(found).expect("twenty-one were asked");

    let mut work = BatchState::default();
    let head = head.first().ok_or_else(|| Error::Unreadable("the log has no head".to_owned()))?;
    work.head = Some(Head { position: rows::position(head.int(0)?)?, hash: rows::parse(&head.text(1)?)? });
    for row in gates.iter().chain(&pending_duplicates).chain(&gates_of_runs) {
        let gate = rows::read_gate(row)?;
        if let (Some(key), None) = (&gate.dedupe_key, gate.decision()) {
            work.pending_duplicates.insert((gate.requested_by.clone(), key.clone()), gate.id.clone());
        }
        work.gates.insert(gate.id.clone(), gate);
    }
    for row in &usage {
        let count = |n| Ok::<_, Error>(row.int(n)? as u64);
        let (gates, bytes, questions, runs) = (count(1)?, count(2)?, count(3)?, count(4)?);
        let usage = QuotaUsage { gates, bytes, questions, runs, halts: count(5)? };
        work.usage.insert(rows::parse(&row.text(0)?)?, usage);
    }
    for row in &summaries {
        if let Some(text) = row.maybe_bytes(1)? {
            work.texts.insert(rows::parse(&row.text(0)?)?, text);
        }
    }
    for row in questions.iter().chain(&open_questions) {
        let question = rows::read_question(row)?;
        work.questions.insert(question.id.clone(), question);
    }
    for row in &halts {
        let halt = rows::read_halt(row)?;
        work.halts.insert(halt.id.clone(), halt);
    }
    for row in &held {
        let target = match (row.maybe_text(0)?, row.maybe_text(1)?) {
            (Some(agent), _) => Target::Agent(rows::parse(&agent)?),
            (None, Some(session)) => Target::Session(rows::parse(&session)?),
            (None, None) => Target::System,
        };
        work.held.entry(target).or_default().insert(row.text(2)?);
    }
    for row in &runs {
        let (run, extras) = rows::read_run_with_extras(row)?;
        work.alive_until.extend(node_of(&run.state).cloned().zip(extras.alive_until));
        work.run_extras.insert(run.start.id.clone(), extras);
        work.runs.insert(run.start.id.clone(), run);
    }
    for row in &nodes {
        work.alive_until.insert(rows::parse(&row.text(0)?)?, Timestamp::from_micros(row.int(1)?));
    }
    for row in &entries {
        let entry = rows::read_entry(row)?;
        work.entries.insert((rows::parse(&row.text(0)?)?, entry.key.clone()), entry);
    }
    for row in &principals {
        let principal = rows::read_principal(row)?;
        work.principals.insert(principal.name.clone(), principal);
    }
    for row in &contents {
        let content = rows::read_content_status(row)?;
        work.contents.insert(content.digest, content);
    }
    for row in &tokens {
        let token = rows::read_token(row)?;
        work.tokens.insert(token.id.clone(), token);
    }
    for row in &webhooks {
        let webhook = rows::read_webhook(row)?;
        work.webhooks.insert(webhook.id.clone(), webhook);
    }
    for row in deliveries.iter().chain(&waiting) {
        let delivery = rows::read_delivery(row)?;
        work.deliveries.insert(delivery.id.clone(), delivery);
    }
    for row in &keys {
        let key = (rows::parse(&row.text(0)?)?, row.text(1)?, row.text(2)?);
        work.known_keys.insert(key, (row.text(3)?, row.text(4)?));
    }
    let clock = clock.first().ok_or_else(|| Error::Unreadable("the database has no clock".to_owned()))?;
    Ok((work, clock.int(0)?))
}

/// Rows as one array per column, so that one statement inserts all of them.
struct Columnar<'a> {
    name: &'static str,
    rows: usize,
    columns: Vec<ColumnValues<'a>>,
}

enum ColumnValues<'a> {
    Text(Vec<Option<std::borrow::Cow<'a, str>>>),
    Int(Vec<Option<i64>>),
    Bytes(Vec<std::borrow::Cow<'a, [u8]>>),
}

impl<'a> Columnar<'a> {
    fn new(table: &Table, rows: Vec<Vec<Value<'a>>>) -> Self {
        let count = rows.len();
        let mut columns: Vec<ColumnValues<'a>> = table
            .columns
            .iter()
            .map(|(_, kind)| match kind {
                Type::Text => ColumnValues::Text(Vec::with_capacity(count)),
                Type::Int => ColumnValues::Int(Vec::with_capacity(count)),
                Type::Bytes => ColumnValues::Bytes(Vec::with_capacity(count)),
            })
            .collect();
        for (column, value) in rows.into_iter().flat_map(|row| row.into_iter().enumerate()) {
            match (&mut columns[column], value) {
                (ColumnValues::Text(texts), Value::Text(text)) => texts.push(Some(text)),
                (ColumnValues::Text(texts), Value::MaybeText(text)) => texts.push(text),
                (ColumnValues::Int(ints), Value::Int(n)) => ints.push(Some(n)),
                (ColumnValues::Int(ints), Value::MaybeInt(n)) => ints.push(n),
                (ColumnValues::Bytes(all), Value::Bytes(bytes)) => all.push(bytes),
                (_, value) => unreachable!("column {column} of {} is not a {value:?}", table.name),
            }
        }
        Self { name: table.name, rows: count, columns }
    }

    fn arguments(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.columns
            .iter()
            .map(|column| match column {
                ColumnValues::Text(texts) => texts as &(dyn ToSql + Sync),
                ColumnValues::Int(ints) => ints,
                ColumnValues::Bytes(bytes) => bytes,
            })
            .collect()
    }
}
