//! What is written when a run starts, is worked on, waits, and ends.

use super::{Case, RefusedWith};
use crate::{
    Actor, Artifact, Commit, Deadline, Fact, Gate, Loaded, Name, Outcome, Presence, Principal, Question, Refusal, Role,
    Row, Run, RunId, Subject, Timer, TimerChange, Wake,
    clearance::{Holds, Others},
    debate::{
        self,
        record::{Correction, LESSON_CORRECTED, RecordNote, StoredRow},
    },
    gate::{self, GateEvent},
    journal::{self, Fence, RecordOutcome, Recording, Write},
    principal,
    question::{self, QuestionEvent},
    run::{self, Claiming, Conclusion, Parking, RunEvent, RunStart, RunState, Starting, Stopping},
    token::TokenKind,
};

impl Case<'_> {
    pub(super) fn start_run(&self, starting: &Starting, loaded: &Loaded) -> Result<Commit, RefusedWith> {
        let by = self.principal("start a run")?;
        if let Some(existing) = &loaded.run {
            run::start_again(starting, by, existing, self.now)?;
            return Ok(Commit { outcome: Outcome::ExistingRun(Box::new(existing.clone())), ..Commit::default() });
        }
        principal::must_be_no_person("id", &run::as_agent(&starting.id), &by.name, &self.known)?;
        let start = run::start(starting, by, self.now)?;
        if starting.workflow.is_some() {
            self.command.quota.allows_run(&self.command.by, loaded.usage)?;
        }
        Ok(self.starts(start, starting.input.as_deref()))
    }

    /// All that a new run writes.
    pub(super) fn starts(&self, start: RunStart, input: Option<&str>) -> Commit {
        let event = RunEvent::Started(Box::new(start.clone()));
        let run = Run::new(start);
        let mut rows: Vec<Row> = input.map(artifact).into_iter().collect();
        rows.push(Row::Run(Box::new(run.clone())));
        let events = vec![self.of_run(&run, &event)];
        Commit { rows, events, outcome: Outcome::Run(Box::new(run)), ..Commit::default() }
    }

    pub(super) fn claim(&self, claiming: &Claiming, mut loaded: Loaded) -> Result<Commit, RefusedWith> {
        self.must_be_system("claim a run")?;
        let run = found(loaded.run.take(), &claiming.run)?;
        if loaded.parent_over && run.ending().is_none() {
            // What a run starts ends with it, wherever it was when that happened: it is not
            // claimed, but cancelled.
            return Ok(Commit { outcome: Outcome::Run(Box::new(run)), ..Commit::default() });
        }
        let event = run::claim(&run, claiming, loaded.wakes, loaded.alive_until, self.now)?;
        let timers = parked_timer(&run);
        let mut commit = Commit { timers, ..self.moves_run(run, &event) };
        if let Outcome::Run(run) = std::mem::take(&mut commit.outcome) {
            commit.outcome = Outcome::Claimed(run, loaded.wakes);
        }
        Ok(commit)
    }

    pub(super) fn record(&self, recording: &Recording, loaded: Loaded) -> Result<Commit, RefusedWith> {
        let mut run = found(loaded.run, &recording.run)?;
        let by = self.writer(&run, recording.fence, "record a step")?;
        // In another's run it says what happened in a person's name.
        if let (Fence::Owner, Some(shown)) = (recording.fence, self.shown)
            && shown.kind() == TokenKind::Personal
            && run.start.initiator != by.name
        {
            shown.must_be(Presence::Terminal)?;
        }
        if let (Fence::Owner, Some(name)) = (recording.fence, &recording.entry.agent_id) {
            principal::must_be_no_person("agent_id", name, &by.name, &self.known)?;
        }
        let known = loaded.entry.as_ref();
        let entry = match (journal::record(&run, known, recording, &by, self.now)?, known) {
            (RecordOutcome::New(entry), _) => entry,
            (RecordOutcome::Known, known) => {
                let known = known.cloned().expect("what is known was loaded");
                return Ok(Commit { outcome: Outcome::Stands(Box::new(known)), ..Commit::default() });
            }
        };
        if recording.waits_for_gates() {
            let gates = &loaded.gates_of_run;
            // A step that was begun before may be the one that waits at the gate: a script that is
            // started again begins it again.
            if known.is_none() {
                must_have_no_pending_gate(&run, gates)?;
            }
            // What was begun before it was stopped can be told to be done, and is not begun again.
            if known.is_none() || matches!(recording.write, Write::Begin) {
                must_not_be_stopped_at(&run, gates)?;
            }
        }
        let event = RunEvent::Recorded { initiator: run.start.initiator.clone(), entry: Box::new(entry.clone()) };
        run.apply(&event, known).expect("an event that the rules just allowed applies");
        let mut commit = Commit { events: vec![self.of_run(&run, &event)], ..Commit::default() };
        commit.merge(self.written(&mut run, &recording.write, &by)?);
        commit.rows.push(Row::Entry(run.start.id.clone(), Box::new(entry.clone())));
        commit.rows.push(Row::Run(Box::new(run)));
        commit.outcome = Outcome::Entry(Box::new(entry));
        Ok(commit)
    }

    /// As whom something is written for a run: as its workflow, or as somebody who may know of it.
    fn writer(&self, run: &Run, fence: Fence, verb: &'static str) -> Result<Principal, Refusal> {
        match fence {
            // The epoch is what counts; this keeps out whoever only guessed it.
            Fence::Epoch(_) => match &self.command.by {
                Actor::Principal(by) if by.name != run.speaker().name => {
                    Err(Refusal::NotYours { run: run.start.id.clone() })
                }
                Actor::Principal(_) | Actor::System => Ok(run.speaker()),
            },
            Fence::Owner => {
                let by = self.principal(verb)?;
                run.must_be_theirs(by, verb)?;
                Ok(by.clone())
            }
        }
    }

    /// What else a record writes, in the same transaction: so that a run that crashes after it
    /// finds it again.
    fn written(&self, run: &mut Run, write: &Write, by: &Principal) -> Result<Commit, RefusedWith> {
        let rows = |rows| Ok(Commit { rows, ..Commit::default() });
        match write {
            Write::Begin | Write::Failing(..) | Write::Failed(_) | Write::Sleep(_) => Ok(Commit::default()),
            Write::Done(result) => rows(vec![artifact(result)]),
            Write::Open { opening, policy, contents, alone } => {
                if opening.dedupe_key.is_some() {
                    let problem = "is for what no journal remembers; leave it out: its step is opened once";
                    return Err(Refusal::invalid("dedupe_key", problem).into());
                }
                let mut event = gate::open(opening, by, policy, Some(run), self.now)?;
                let decided = match (&mut event, alone) {
                    (GateEvent::Opened(gate), Some(reason)) => Some(gate::auto_approve(gate, reason, self.now)),
                    _ => None,
                };
                let loaded = Loaded { run: Some(run.clone()), ..Loaded::default() };
                let mut commit = self.open(opening, event, contents, loaded)?;
                if let (Some(event), Outcome::Gate(gate)) = (decided, std::mem::take(&mut commit.outcome)) {
                    commit.merge(self.commit_gate_event(*gate, &event));
                }
                Ok(commit)
            }
            Write::Ask { asking, usual } => self.ask_as(by, asking, usual, Some(run)),
            Write::Start(starting) => {
                let start = run::start_child(starting, run, self.now)?;
                Ok(self.starts(start, starting.input.as_deref()))
            }
            Write::Emit { kind, payload, records } => {
                let (kept, texts) = debate::record::stored(&run.start.id, run.seq + 1, records, self.now);
                let notes: Vec<RecordNote> = kept.iter().map(StoredRow::note).collect();
                let payload = debate::record::told(payload, &notes)?;
                let event = RunEvent::Emitted { kind: kind.clone(), payload, at: self.now };
                run.apply(&event, None).expect("a run that is worked on can tell");
                // Its payload is the workflow's own, and says nothing of whose it is.
                let on_behalf_of = Some(run.start.initiator.clone());
                let events = vec![Fact { on_behalf_of, ..self.of_run(run, &event) }];
                let rows = texts.into_iter().map(Row::Artifact).chain(kept.into_iter().map(Row::Debate));
                let rows = rows.chain([artifact("null")]).collect();
                Ok(Commit { rows, events, ..Commit::default() })
            }
        }
    }

    pub(super) fn correct_lesson(&self, correction: &Correction, loaded: Loaded) -> Result<Commit, RefusedWith> {
        let run = found(loaded.run, &correction.lesson.run_id)?;
        let (lesson, payload) = correction.correct(&run, self.principal("correct a lesson")?)?;
        let texts = self.store_contents_unless_erased(std::iter::once(correction.text.as_bytes().to_vec()))?;
        let on_behalf_of = Some(run.start.initiator.clone());
        let event = RunEvent::Emitted { kind: LESSON_CORRECTED.to_owned(), payload, at: self.now };
        let mut commit = self.moves_run(run, &event);
        commit.events.iter_mut().for_each(|fact| fact.on_behalf_of.clone_from(&on_behalf_of));
        commit.rows.extend(texts);
        commit.rows.push(Row::Debate(StoredRow::Lesson(Box::new(lesson))));
        Ok(commit)
    }

    pub(super) fn park(&self, parking: &Parking, loaded: Loaded) -> Result<Commit, RefusedWith> {
        let run = found(loaded.run, &parking.run)?;
        self.writer(&run, Fence::Epoch(parking.epoch), "park a run")?;
        // A child that has looked at its wake-ups does not know that one of them was its parent's
        // end: parked now, it would wait for what nobody is left to bring about.
        let moves_on = loaded.free || loaded.parent_over;
        let Some(event) = run::park(&run, parking, loaded.wakes, moves_on, self.now)? else {
            return Ok(Commit { outcome: Outcome::Awake(loaded.wakes), ..Commit::default() });
        };
        let timers = match parking.due {
            Deadline::At(due) => vec![TimerChange::Set(Timer { subject: subject(&run), due })],
            Deadline::Never => Vec::new(),
        };
        Ok(Commit { timers, ..self.moves_run(run, &event) })
    }

    pub(super) fn wake(&self, id: &RunId, run: Option<Run>) -> Commit {
        let wakes = run.iter().filter(|run| run.ending().is_none()).map(|_| Wake::Run(id.clone())).collect();
        Commit { timers: vec![TimerChange::Clear(Subject::Run(id.clone()))], wakes, ..Commit::default() }
    }

    pub(super) fn stop(&self, stopping: &Stopping, loaded: Loaded) -> Result<Commit, RefusedWith> {
        let run = found(loaded.run, &stopping.run)?;
        self.writer(&run, Fence::Epoch(stopping.epoch), "stop a run")?;
        let event = run::stop(&run, stopping, self.now)?;
        Ok(self.moves_run(run, &event))
    }

    pub(super) fn end_run(
        &self,
        id: &RunId,
        fence: Fence,
        conclusion: &Conclusion,
        mut loaded: Loaded,
    ) -> Result<Commit, RefusedWith> {
        let run = found(loaded.run.take(), id)?;
        let by = self.writer(&run, fence, "end a run")?;
        if fence == Fence::Owner && run::ended_so(&run, conclusion, &by.name) {
            return Ok(Commit { outcome: Outcome::Run(Box::new(run)), ..Commit::default() });
        }
        journal::must_be_writer(&run, fence, &by)?;
        if fence == Fence::Owner {
            run::must_have_ended_its_steps(&run, conclusion)?;
            if matches!(conclusion, Conclusion::Completed { .. }) {
                must_have_no_pending_gate(&run, &loaded.gates_of_run)?;
                // What is to come back changed may be worked on, and is not done before people have
                // approved it.
                must_not_be_stopped(&run, &loaded.gates_of_run, |gate| gate.stopped_at().is_some())?;
            }
        }
        let event = run::end(&run, conclusion, self.command.by.name(), self.now)?;
        let mut commit = self.ends(run, &event, &Ender::of(&self.command.by, Some(fence)), loaded);
        if let Conclusion::Completed { output } = conclusion {
            commit.rows.push(artifact(output));
        }
        Ok(commit)
    }

    pub(super) fn cancel_run(&self, id: &RunId, reason: &str, mut loaded: Loaded) -> Result<Commit, RefusedWith> {
        let run = found(loaded.run.take(), id)?;
        match &self.command.by {
            Actor::Principal(by) => run.must_be_theirs(by, "cancel a run")?,
            Actor::System => {}
        }
        let event = run::cancel(&run, reason, self.command.by.name(), self.now)?;
        Ok(self.ends(run, &event, &Ender::of(&self.command.by, None), loaded))
    }

    pub(super) fn resume_run(&self, id: &RunId, loaded: Loaded) -> Result<Commit, RefusedWith> {
        let by = self.principal("resume a run")?;
        let run = found(loaded.run, id)?;
        match run::resume(&run, by, self.now)? {
            Some(event) => Ok(Commit { timers: parked_timer(&run), ..self.moves_run(run, &event) }),
            None => Ok(Commit { outcome: Outcome::Run(Box::new(run)), ..Commit::default() }),
        }
    }

    /// A run's end, and with it the end of what is still open of it, as far as whoever ends the run
    /// may close that.
    fn ends(&self, run: Run, event: &RunEvent, ender: &Ender, loaded: Loaded) -> Commit {
        let id = run.start.id.clone();
        let mut commit = self.moves_run(run, event);
        let Outcome::Run(run) = commit.outcome.clone() else { unreachable!("a run that moves is told") };
        let reason = format!("its run {id} is over: {}", run.status());
        let by = self.command.by.name();
        // The time of a gate or question may be over although its timer has not come round yet:
        // then that closes it.
        let waits = |gate: &Gate| gate.decision().is_none();
        for gate in loaded.gates_of_run.into_iter().filter(|gate| waits(gate) && ender.closes_gate(&run, gate)) {
            let event = gate::expire(&gate, self.now)
                .filter(|lapse| matches!(lapse, GateEvent::Decided { .. }))
                .unwrap_or_else(|| gate::withdraw(&gate, &reason, by.clone(), self.now));
            commit.merge(self.commit_gate_event(gate, &event));
        }
        let closes = |(question, _): &(Question, Others)| ender.closes_question(&run, question);
        let (mut closing, staying): (Vec<_>, Vec<_>) = loaded.open_questions.into_iter().partition(closes);
        while let Some((question, others)) = closing.pop() {
            // A denial that nobody can hear any more must not hold its agent for ever.
            let event = question::release(&question, &reason, by.clone(), self.now)
                .or_else(|| question::time_out(&question, self.now))
                .filter(|event| matches!(event, QuestionEvent::Closed { .. } | QuestionEvent::Fetched { .. }))
                .unwrap_or_else(|| question::withdraw(&question, &reason, by.clone(), self.now));
            let others = beside(others, &question, closing.iter().chain(&staying));
            commit.merge(self.moves(question, &event, others));
        }
        commit.wakes.extend(run.start.parent.clone().map(Wake::Run));
        commit.wakes.push(Wake::Children(id));
        commit.timers.push(TimerChange::Clear(subject(&run)));
        commit.outcome = Outcome::Run(run);
        commit
    }

    /// Everything that follows from one event on a run.
    fn moves_run(&self, mut run: Run, event: &RunEvent) -> Commit {
        run.apply(event, None).expect("an event that the rules just allowed applies");
        let events = vec![self.of_run(&run, event)];
        let rows = vec![Row::Run(Box::new(run.clone()))];
        Commit { rows, events, outcome: Outcome::Run(Box::new(run)), ..Commit::default() }
    }

    /// An event of the run's stream, of which it is now the last.
    fn of_run(&self, run: &Run, event: &RunEvent) -> Fact {
        let stream = run::stream(&run.start.id);
        self.fact(&stream, run.seq, event.kind(), event.payload(), Some(&run.start.session_id))
    }
}

impl Commit {
    /// Takes all that another writes, but not what it tells its caller.
    pub(super) fn merge(&mut self, other: Commit) {
        self.rows.extend(other.rows);
        self.events.extend(other.events);
        self.timers.extend(other.timers);
        self.wakes.extend(other.wakes);
    }
}

/// Who ends a run, and so what of it ends with it.
enum Ender {
    /// Somebody who decides: all that is open.
    Decider,
    /// Its workflow, or Folkmoot for it: what the workflow has opened.
    Workflow,
    /// An agent: what it may withdraw itself.
    Agent(Name),
}

impl Ender {
    fn of(by: &Actor, fence: Option<Fence>) -> Self {
        match (by, fence) {
            (_, Some(Fence::Epoch(_))) | (Actor::System, _) => Ender::Workflow,
            (Actor::Principal(by), _) if by.role.decides() => Ender::Decider,
            (Actor::Principal(by), _) => Ender::Agent(by.name.clone()),
        }
    }

    /// What people and other agents opened outlives a run that none of them ends.
    fn closes_gate(&self, run: &Run, gate: &Gate) -> bool {
        self.may_withdraw(run, &gate.requested_by)
    }

    /// What halts stays until somebody who decides closes it; so does a denial that its asker has
    /// not heard.
    fn closes_question(&self, run: &Run, question: &Question) -> bool {
        match self {
            Ender::Decider => true,
            Ender::Workflow if run.start.workflow.is_some() && question.asked_by == run.speaker().name => true,
            Ender::Workflow | Ender::Agent(_) => question.halts.is_none() && self.may_withdraw(run, &question.asked_by),
        }
    }

    fn may_withdraw(&self, run: &Run, opened_by: &Name) -> bool {
        let by_workflow = *opened_by == run.speaker().name;
        match self {
            Ender::Decider => true,
            Ender::Workflow => by_workflow || run.start.role == Role::Agent && *opened_by == run.start.initiator,
            Ender::Agent(by) => by_workflow || opened_by == by,
        }
    }
}

/// What holds the same as a question, when some others of its run are still open.
fn beside<'a>(others: Others, question: &Question, open: impl Iterator<Item = &'a (Question, Others)>) -> Others {
    let mut holds = Holds::default();
    for hold in open.filter_map(|(question, _)| question.hold()) {
        holds.replace(&hold.id.clone(), Some(hold));
    }
    let session = question.session_id.as_ref();
    Others {
        agent: others.agent || holds.holds_agent(question.agent_id.as_str()),
        session: others.session || holds.sessions().any(|(id, _)| Some(id) == session),
        system: others.system || holds.system().next().is_some(),
    }
}

/// The end of the timer that a parked run has.
fn parked_timer(run: &Run) -> Vec<TimerChange> {
    match &run.state {
        RunState::Parked(parked) if parked.due != Deadline::Never => vec![TimerChange::Clear(subject(run))],
        _ => Vec::new(),
    }
}

/// Refuses to go on with a run that somebody else's agent executes while one of its gates waits.
fn must_have_no_pending_gate(run: &Run, gates: &[Gate]) -> Result<(), Refusal> {
    let pending = gates.iter().filter(|gate| gate.decision().is_none());
    match pending.min_by_key(|gate| (gate.requested_at, gate.id.clone())) {
        Some(gate) => Err(Refusal::GatePending { run: run.start.id.clone(), gate: gate.id.clone() }),
        None => Ok(()),
    }
}

/// Refuses to begin a step of a run that the decision on one of these gates has stopped.
pub fn must_not_be_stopped_at(run: &Run, gates: &[Gate]) -> Result<(), Refusal> {
    must_not_be_stopped(run, gates, Gate::stops_its_run)
}

/// Refuses to go on with such a run after the decision on one of its gates has stopped it. It may
/// ask again: what is asked after that decision, and approved by people, lets it go on.
fn must_not_be_stopped(run: &Run, gates: &[Gate], stops: impl Fn(&Gate) -> bool) -> Result<(), Refusal> {
    let decided = |gate: &&Gate| gate.stopped_at();
    let Some(stopping) = gates.iter().filter(|gate| stops(gate)).max_by_key(decided) else { return Ok(()) };
    let approved = gates.iter().filter(|gate| gate.is_approved_by_people()).map(|gate| gate.requested_at).max();
    match (approved, stopping.decision()) {
        (Some(asked), Some(decision)) if asked >= decision.decided_at => Ok(()),
        (_, decision) => Err(Refusal::GateStopped {
            run: run.start.id.clone(),
            gate: stopping.id.clone(),
            decision: decision.expect("a gate that stops its run is decided").decision,
        }),
    }
}

fn subject(run: &Run) -> Subject {
    Subject::Run(run.start.id.clone())
}

fn artifact(text: &str) -> Row {
    Row::Artifact(Artifact::new(text.as_bytes().to_vec()))
}

fn found(run: Option<Run>, id: &RunId) -> Result<Run, Refusal> {
    run.ok_or_else(|| Refusal::UnknownRun { run: id.clone() })
}
