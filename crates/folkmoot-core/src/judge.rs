//! One entrance to all the rules.

use std::borrow::Cow;

use serde::Serialize;

mod deliveries;
mod halts;
mod questions;
mod runs;
mod webhooks;

pub use runs::must_not_be_stopped_at;

use crate::{
    Action, Actor, Artifact, Command, Commit, Deadline, Digest, Fact, Gate, GateId, Judgement, Loaded, Name, Outcome,
    Presence, Principal, Refusal, Role, Row, SessionId, Subject, Timer, TimerChange, Timestamp, Wake, delivery,
    erase::{self, ContentStatus, Erased, RetiredContent},
    event::EventKind,
    gate::{self, GateEvent, GateState, Opening, Verdict},
    presence::PresenceClaim,
    principal, quota,
    run::{self, RunKind, RunLimits, RunStart},
    token::{self, Token, TokenKind},
};

/// Judges `command` on the rows that it [needs](Command::needs). Reads no clock and no disk.
pub fn judge(command: &Command, mut loaded: Loaded, now: Timestamp) -> Judgement {
    let barred = loaded.kept.iter().filter(|kept| kept.barred).map(|kept| kept.digest).collect();
    let known = std::mem::take(&mut loaded.principals);
    let shown = loaded.credential.as_ref().map(|token| PresenceClaim::new(token.kind, command.claims));
    let case = Case { command, now, barred, known, shown };
    match case.judge(loaded) {
        Ok(mut commit) => {
            commit.outbox = delivery::tellings(&commit, &command.subscriptions);
            Judgement::Done(commit)
        }
        Err(RefusedWith { refusal, record }) => Judgement::Refused(refusal, *record),
    }
}

/// A refusal, and what is recorded about it.
struct RefusedWith {
    refusal: Refusal,
    record: Box<Commit>,
}

impl From<Refusal> for RefusedWith {
    fn from(refusal: Refusal) -> Self {
        RefusedWith { refusal, record: Box::default() }
    }
}

struct Case<'a> {
    command: &'a Command,
    now: Timestamp,
    /// What was erased for good, of what the command needs to know.
    barred: Vec<Digest>,
    /// The principals that the command names.
    known: Vec<Principal>,
    /// What the token that was shown, and how, says of a person; nothing where no token is behind
    /// the command.
    shown: Option<PresenceClaim>,
}

impl Case<'_> {
    fn judge(&self, loaded: Loaded) -> Result<Commit, RefusedWith> {
        self.command.must_be_authentic(loaded.credential.as_ref())?;
        if let Some(shown) = self.shown {
            shown.must_allow(&self.command.action)?;
        }
        match &self.command.action {
            Action::Open { opening, policy, contents } => {
                let by = self.principal("open a gate")?;
                let open = |by: &Principal| gate::open(opening, by, policy, loaded.run.as_ref(), self.now);
                let event = open(by)?;
                // As the agent whose run it is: another one may open nothing there, which says
                // nothing about the policy.
                let agent = loaded.run.as_ref().map_or(&by.name, |run| &run.start.initiator);
                self.must_not_loosen(|| open(&Principal::new(agent.clone(), Role::Agent)))?;
                self.must_name_the_right(opening, by)?;
                self.open(opening, event, contents, loaded)
            }
            Action::Amend { amendment, policy, contents } => {
                let by = self.principal("amend a gate")?;
                let gate = self.visible(loaded.gate, &amendment.gate)?;
                let event = gate::amend(&gate, amendment, policy, loaded.summary.as_deref(), by, self.now)?;
                let before = quota::bytes_of(&gate);
                let added = amendment.artifacts.iter().flatten().map(|artifact| artifact.bytes).sum::<u64>();
                self.command.quota.allows_bytes(&self.command.by, loaded.usage.bytes, added.saturating_sub(before))?;
                let texts = amendment.summary.iter().map(|text| text.as_bytes().to_vec());
                let shown = self.store_contents_unless_erased(texts.chain(contents.iter().cloned()))?;
                let mut commit = match event {
                    Some(event) => self.commit_gate_event(gate, &event),
                    None => Commit { outcome: Outcome::Gate(Box::new(gate)), ..Commit::default() },
                };
                commit.rows.extend(shown);
                Ok(commit)
            }
            Action::Decide(verdict) => {
                let by = self.principal("decide")?;
                let gate = self.visible(loaded.gate, &verdict.gate)?;
                let edited =
                    || self.store_contents_unless_erased(verdict.edited.iter().map(|text| text.as_bytes().to_vec()));
                match gate::decide(&gate, verdict, by, self.shown, self.now).and_then(|event| Ok((event, edited()?))) {
                    Ok((event, edited)) => {
                        let mut commit = self.commit_gate_event(gate, &event);
                        commit.rows.extend(edited);
                        Ok(commit)
                    }
                    Err(refusal) => Err(self.refused_on_gate(gate, verdict, refusal)),
                }
            }
            Action::Extend(extension) => {
                let by = self.principal("extend a gate")?;
                let gate = self.visible(loaded.gate, &extension.gate)?;
                let event = gate::extend(&gate, extension, by, self.now)?;
                Ok(self.commit_gate_event(gate, &event))
            }
            Action::Cancel { gate: id, reason } => {
                let by = self.principal("cancel a gate")?;
                let gate = self.visible(loaded.gate, id)?;
                let event = gate::cancel(&gate, reason, by, self.now)?;
                Ok(self.commit_gate_event(gate, &event))
            }
            Action::Expire { gate: id } => Ok(self.expire(id, loaded.gate)),
            Action::Ask { asking, usual } => {
                let by = self.principal("ask")?;
                if let (Some(id), None) = (&asking.run_id, &loaded.run) {
                    return Err(Refusal::UnknownRun { run: id.clone() }.into());
                }
                self.command.quota.allows_question(&self.command.by, loaded.usage)?;
                if let Some(name) = &asking.agent_id {
                    principal::must_be_no_person("agent_id", name, &by.name, &self.known)?;
                }
                self.ask_as(by, asking, usual, loaded.run.as_ref())
            }
            Action::Close(closing) => self.close(closing, loaded),
            Action::Fetch { question, reason } => self.fetch(question, reason, loaded),
            Action::Lapse { question } => Ok(self.lapse(question, loaded)),
            Action::Raise(raising) => self.raise(raising),
            Action::Lift { halt } => self.lift(halt, loaded),
            Action::StartRun(starting) => self.start_run(starting, &loaded),
            Action::Claim(claiming) => self.claim(claiming, loaded),
            Action::Record(recording) => self.record(recording, loaded),
            Action::Park(parking) => self.park(parking, loaded),
            Action::Wake { run } => {
                self.must_be_system("wake a run")?;
                Ok(self.wake(run, loaded.run))
            }
            Action::Stop(stopping) => self.stop(stopping, loaded),
            Action::EndRun { run, fence, conclusion } => self.end_run(run, *fence, conclusion, loaded),
            Action::CancelRun { run, reason } => self.cancel_run(run, reason, loaded),
            Action::ResumeRun { run } => self.resume_run(run, loaded),
            Action::Heartbeat { node, span, alone } => {
                self.must_be_system("be a node")?;
                let node = Row::Node { node: node.clone(), until: self.now.plus(*span), alone: *alone };
                Ok(Commit { rows: vec![node], ..Commit::default() })
            }
            Action::Leave { node } => {
                self.must_be_system("be a node")?;
                Ok(Commit { rows: vec![Row::NodeGone(node.clone())], ..Commit::default() })
            }
            Action::CorrectLesson(correction) => self.correct_lesson(correction, loaded),
            Action::Erase(erasing) => {
                let wanted = erase::erase(erasing, self.principal("erase content")?, &loaded.kept)?;
                Ok(self.erased(&wanted, &erasing.reason))
            }
            Action::Retire { digests, decided_before } => {
                self.must_be_system("retire content")?;
                Ok(self.retired(digests, *decided_before, &loaded.kept))
            }
            Action::Mint(minting) => {
                let token = token::mint(minting, self.known.first(), &self.command.by, self.shown, self.now)?;
                Ok(self.of_token(token.clone(), 1, "token.created", Row::Token(token, minting.hash)))
            }
            Action::Revoke { token: id } => {
                token::must_manage(&self.command.by)?;
                let token = loaded.token.ok_or_else(|| Refusal::UnknownToken { token: id.clone() })?;
                match token::revoke(&token, self.now) {
                    Some(revoked) => Ok(self.of_token(revoked.clone(), 2, "token.revoked", Row::Revoked(revoked))),
                    None => Ok(Commit { outcome: Outcome::Token(token), ..Commit::default() }),
                }
            }
            Action::CreateWebhook(new) => self.create_webhook(new, &loaded),
            Action::ChangeWebhook(change) => self.change_webhook(change, loaded),
            Action::RemoveWebhook { webhook } => self.remove_webhook(webhook, loaded),
            Action::TakeDeliveries { limit, lease, .. } => self.take_deliveries(*lease, *limit, loaded),
            Action::SettleDelivery(settling) => self.settle_delivery(settling, loaded),
            Action::AbandonDeliveries(abandonments) => self.abandon_deliveries(abandonments, &loaded),
            Action::Redeliver { delivery } => self.redeliver(delivery, loaded),
        }
    }

    /// Refuses an opening that names as reviewers those who cannot decide, or speaks for a person.
    fn must_name_the_right(&self, opening: &Opening, by: &Principal) -> Result<(), Refusal> {
        principal::must_decide(opening.reviewers.as_deref().unwrap_or_default(), &self.known)?;
        match &opening.on_behalf_of {
            Some(name) => principal::must_be_no_person("on_behalf_of", name, &by.name, &self.known),
            None => Ok(()),
        }
    }

    fn open(
        &self,
        opening: &Opening,
        event: GateEvent,
        contents: &[Vec<u8>],
        loaded: Loaded,
    ) -> Result<Commit, RefusedWith> {
        let GateEvent::Opened(gate) = &event else { unreachable!("an opening opens") };
        let mut commit = Commit::default();
        if let Some(pending_duplicate) = loaded.pending_duplicate {
            match gate::expire(&pending_duplicate, self.now) {
                None => return self.ask_once(gate, pending_duplicate, commit),
                // The duplicate's timer has not fired yet, but its time is over. That is settled
                // first.
                Some(expired) => commit = self.commit_gate_event(pending_duplicate, &expired),
            }
            if let Outcome::Gate(pending_duplicate) = std::mem::take(&mut commit.outcome)
                && pending_duplicate.decision().is_none()
            {
                return self.ask_once(gate, *pending_duplicate, commit);
            }
        }
        self.command.quota.allows_gate(&self.command.by, loaded.usage, quota::bytes_of(gate))?;
        let texts = std::iter::once(opening.summary.as_bytes().to_vec());
        let shown = self.store_contents_unless_erased(texts.chain(contents.iter().cloned()))?;
        let mut gate = gate.as_ref().clone();
        if let (Some(run_id), None) = (&opening.run_id, &loaded.run) {
            principal::must_be_no_person("run_id", &run::as_agent(run_id), &gate.requested_by, &self.known)?;
            let session_id = gate.session_id.clone().unwrap_or_else(|| run::own_session(run_id));
            gate.session_id = Some(session_id.clone());
            gate.initiator = Some(gate.requested_by.clone());
            commit.merge(self.starts(
                RunStart {
                    id: run_id.clone(),
                    kind: RunKind::External,
                    title: String::new(),
                    workflow: None,
                    session_id,
                    initiator: gate.requested_by.clone(),
                    role: self.principal("open a gate")?.role,
                    parent: None,
                    input: None,
                    limits: RunLimits::default(),
                    started_at: self.now,
                },
                None,
            ));
        } else if let Some(session) = &gate.session_id {
            commit.rows.push(Row::Session(session.clone(), self.now));
        }
        let event = GateEvent::Opened(Box::new(gate.clone()));
        commit.events.push(self.fact(gate.id.as_str(), 1, event.kind(), event.payload(), gate.session_id.as_ref()));
        commit.timers.extend(timer(&gate));
        commit.rows.extend(shown);
        commit.rows.push(Row::Gate(Box::new(gate.clone())));
        commit.outcome = Outcome::Gate(Box::new(gate));
        Ok(commit)
    }

    /// Refuses a personal token that was used without its person for what an agent would be refused
    /// for: a looser policy than the configured one is a person's to choose.
    fn must_not_loosen(&self, as_agent: impl FnOnce() -> Result<GateEvent, Refusal>) -> Result<(), Refusal> {
        match self.shown {
            Some(shown) if shown.kind() == TokenKind::Personal => match as_agent() {
                Err(_) => shown.must_be(Presence::Terminal),
                Ok(_) => Ok(()),
            },
            Some(_) | None => Ok(()),
        }
    }

    /// What a gate or a question is to show, unless it was erased for good: nobody could see it.
    fn store_contents_unless_erased(&self, contents: impl Iterator<Item = Vec<u8>>) -> Result<Vec<Row>, Refusal> {
        let artifacts = contents.map(Artifact::new).map(|artifact| match self.barred.contains(&artifact.digest) {
            true => Err(Refusal::ContentErased { digest: artifact.digest }),
            false => Ok(Row::Artifact(artifact)),
        });
        artifacts.collect()
    }

    fn ask_once(&self, opened: &Gate, pending_duplicate: Gate, commit: Commit) -> Result<Commit, RefusedWith> {
        gate::ask_once(opened, &pending_duplicate)?;
        Ok(Commit { outcome: Outcome::Existing(Box::new(pending_duplicate)), ..commit })
    }

    fn expire(&self, id: &GateId, gate: Option<Gate>) -> Commit {
        let Some(gate) = gate else {
            return Commit { timers: vec![TimerChange::Clear(Subject::Gate(id.clone()))], ..Commit::default() };
        };
        match gate::expire(&gate, self.now) {
            Some(event) => self.commit_gate_event(gate, &event),
            // Decided, or given more time, since the timer was read: the timer follows the row.
            None => {
                let stands = timer(&gate).filter(|_| gate.decision().is_none());
                let timers = vec![stands.unwrap_or_else(|| TimerChange::Clear(Subject::Gate(gate.id.clone())))];
                Commit { timers, outcome: Outcome::Gate(Box::new(gate)), ..Commit::default() }
            }
        }
    }

    /// Everything that follows from one event on a gate that stands.
    fn commit_gate_event(&self, mut gate: Gate, event: &GateEvent) -> Commit {
        let stood = gate.due();
        gate.apply(event).expect("an event that the rules just allowed applies");
        let fact = self.fact(gate.id.as_str(), gate.seq, event.kind(), event.payload(), gate.session_id.as_ref());
        let (timers, wakes) = match &gate.state {
            GateState::Closed(_) => (
                vec![TimerChange::Clear(Subject::Gate(gate.id.clone()))],
                gate.run_id.iter().cloned().map(Wake::Run).collect(),
            ),
            GateState::Pending { .. } if gate.due() == stood => (Vec::new(), Vec::new()),
            GateState::Pending { .. } => {
                (vec![timer(&gate).unwrap_or_else(|| TimerChange::Clear(Subject::Gate(gate.id.clone())))], Vec::new())
            }
        };
        Commit {
            events: vec![fact],
            timers,
            wakes,
            rows: vec![Row::Gate(Box::new(gate.clone()))],
            outcome: Outcome::Gate(Box::new(gate)),
            ..Commit::default()
        }
    }

    fn refused_on_gate(&self, mut gate: Gate, verdict: &Verdict, refusal: Refusal) -> RefusedWith {
        if !self.command.quota.records_refusals {
            return refusal.into();
        }
        let event = GateEvent::Refused {
            requested_by: gate.requested_by.clone(),
            attempted: verdict.choice,
            force: verdict.force,
            code: refusal.code().to_owned(),
            refusal: refusal.to_string(),
            unrecorded: self.command.quota.unrecorded,
        };
        gate.apply(&event).expect("a refusal changes nothing but the count");
        let fact = self.fact(gate.id.as_str(), gate.seq, event.kind(), event.payload(), gate.session_id.as_ref());
        RefusedWith {
            refusal,
            record: Box::new(Commit { events: vec![fact], rows: vec![Row::Gate(Box::new(gate))], ..Commit::default() }),
        }
    }

    fn erased(&self, wanted: &[ContentStatus], reason: &str) -> Commit {
        let mut commit = Commit::default();
        for ContentStatus { digest, erasures, .. } in wanted {
            let (erasures, payload) = (erasures + 1, json(&Erased { digest: *digest, reason: reason.to_owned() }));
            commit.events.push(self.fact(&erase::stream(*digest), erasures, erase::ERASED, payload, None));
            commit.rows.push(Row::Erased { digest: *digest, erasures, barred: true });
        }
        commit.outcome = Outcome::Erased(wanted.iter().map(|kept| kept.digest).collect());
        commit
    }

    /// One event for all of it: the log is to grow by less than what is erased.
    fn retired(&self, digests: &[Digest], decided_before: Timestamp, kept: &[ContentStatus]) -> Commit {
        let is_old = |kept: &&ContentStatus| {
            kept.present && digests.contains(&kept.digest) && kept.is_unused_since(decided_before)
        };
        let old: Vec<&ContentStatus> = kept.iter().filter(is_old).collect();
        let digests: Vec<Digest> = old.iter().map(|kept| kept.digest).collect();
        if digests.is_empty() {
            return Commit { outcome: Outcome::Erased(digests), ..Commit::default() };
        }
        let row =
            |kept: &ContentStatus| Row::Erased { digest: kept.digest, erasures: kept.erasures, barred: kept.barred };
        let payload = json(&RetiredContent { digests: digests.clone(), decided_before });
        let stream = format!("retention:{}", self.command.id);
        Commit {
            rows: old.into_iter().map(row).collect(),
            events: vec![self.fact(&stream, 1, erase::RETIRED, payload, None)],
            outcome: Outcome::Erased(digests),
            ..Commit::default()
        }
    }

    fn of_token(&self, token: Token, seq: u64, kind: &'static str, row: Row) -> Commit {
        let fact = self.fact(&format!("token:{}", token.id), seq, kind, json(&token), None);
        Commit { rows: vec![row], events: vec![fact], outcome: Outcome::Token(token), ..Commit::default() }
    }

    fn fact(
        &self,
        stream: &str,
        stream_seq: u64,
        kind: impl Into<Cow<'static, str>>,
        payload: String,
        session: Option<&SessionId>,
    ) -> Fact {
        let kind = kind.into();
        debug_assert!(!EventKind::is_ours(&kind) || kind.parse::<EventKind>().is_ok(), "{kind} is in no vocabulary");
        Fact {
            stream: stream.into(),
            stream_seq,
            kind,
            version: gate::VERSION,
            actor: self.command.by.name(),
            on_behalf_of: on_behalf_of(&self.command.action),
            session: session.cloned(),
            command_id: self.command.id.clone(),
            at: self.now,
            payload,
            token_id: self.command.token.clone(),
        }
    }

    fn principal(&self, verb: &'static str) -> Result<&Principal, Refusal> {
        match &self.command.by {
            Actor::Principal(principal) => Ok(principal),
            // Only `expire` and the first tokens come from Folkmoot itself.
            Actor::System => Err(Refusal::RoleMayNot { role: Role::Viewer, verb }),
        }
    }

    /// Refuses everybody but Folkmoot itself.
    fn must_be_system(&self, verb: &'static str) -> Result<(), Refusal> {
        match &self.command.by {
            Actor::System => Ok(()),
            Actor::Principal(by) => Err(Refusal::RoleMayNot { role: by.role, verb }),
        }
    }

    /// The gate, if it is there and this principal may know of it.
    fn visible(&self, gate: Option<Gate>, id: &GateId) -> Result<Gate, Refusal> {
        let seen = |gate: &Gate| match &self.command.by {
            Actor::Principal(by) => by.may_see(gate),
            Actor::System => true,
        };
        // An agent that tries to decide on another's gate is refused for what it is, and that is
        // recorded.
        let decides = matches!(self.command.action, Action::Decide(_));
        gate.filter(|gate| decides || seen(gate)).ok_or_else(|| Refusal::UnknownGate { gate: id.clone() })
    }
}

impl Principal {
    /// Whether this principal may know of the gate: agents see their own.
    pub fn may_see(&self, gate: &Gate) -> bool {
        let own = gate.requested_by == self.name || gate.initiator.as_ref() == Some(&self.name);
        self.role.sees_everything() || own
    }
}

fn on_behalf_of(action: &Action) -> Option<Name> {
    match action {
        Action::Open { opening, .. } => opening.on_behalf_of.clone(),
        Action::Record(recording) => recording.entry.agent_id.clone(),
        Action::Amend { .. }
        | Action::Ask { .. }
        | Action::Close(_)
        | Action::Fetch { .. }
        | Action::Lapse { .. }
        | Action::Raise(_)
        | Action::Lift { .. }
        | Action::Decide(_)
        | Action::Extend(_)
        | Action::Cancel { .. }
        | Action::Expire { .. }
        | Action::StartRun(_)
        | Action::Claim(_)
        | Action::Park(_)
        | Action::Wake { .. }
        | Action::Stop(_)
        | Action::EndRun { .. }
        | Action::CancelRun { .. }
        | Action::ResumeRun { .. }
        | Action::Heartbeat { .. }
        | Action::Leave { .. }
        | Action::CorrectLesson(_)
        | Action::Erase(_)
        | Action::Retire { .. }
        | Action::Mint(_)
        | Action::Revoke { .. }
        | Action::CreateWebhook(_)
        | Action::ChangeWebhook(_)
        | Action::RemoveWebhook { .. }
        | Action::TakeDeliveries { .. }
        | Action::SettleDelivery(_)
        | Action::AbandonDeliveries(_)
        | Action::Redeliver { .. } => None,
    }
}

fn timer(gate: &Gate) -> Option<TimerChange> {
    match gate.due() {
        Deadline::At(due) => Some(TimerChange::Set(Timer { subject: Subject::Gate(gate.id.clone()), due })),
        Deadline::Never => None,
    }
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("structs of texts and integers are JSON")
}
