//! What is still open of a run when it ends: it ends with the run, as far as whoever ends the run
//! may close it.

use super::{Loaded, Run, RunEvent};
use crate::{
    Actor, Commit, Gate, Name, Outcome, Question, Role, TimerChange, Wake,
    clearance::{Holds, Others},
    gate::{self, GateEvent},
    journal::Fence,
    judge::Case,
    question::{self, QuestionEvent},
};

/// Everything that follows from a run's end.
pub(super) fn commit_end(case: &Case<'_>, run: Run, event: &RunEvent, ender: &Ender, loaded: Loaded) -> Commit {
    let id = run.start.id.clone();
    let mut commit = run.commit_event(case, event);
    let Outcome::Run(run) = commit.outcome.clone() else { unreachable!("an event of a run returns the run") };
    let reason = format!("its run {id} is over: {}", run.status());
    let by = case.command.by.name();
    // The time of a gate or question may be over although its timer has not fired yet: then that
    // closes it.
    let waits = |gate: &Gate| gate.decision().is_none();
    for gate in loaded.gates.into_iter().filter(|gate| waits(gate) && ender.closes_gate(&run, gate)) {
        let event = gate::expire(&gate, case.now)
            .filter(|expired| matches!(expired, GateEvent::Decided { .. }))
            .unwrap_or_else(|| gate::withdraw(&gate, &reason, by.clone(), case.now));
        commit.merge(gate.commit_event(case, &event));
    }
    let closes = |(question, _): &(Question, Others)| ender.closes_question(&run, question);
    let (mut closing, staying): (Vec<_>, Vec<_>) = loaded.open_questions.into_iter().partition(closes);
    while let Some((question, others)) = closing.pop() {
        // A denial that nobody can hear any more must not hold its agent for ever.
        let event = question::release(&question, &reason, by.clone(), case.now)
            .or_else(|| question::time_out(&question, case.now))
            .filter(|event| matches!(event, QuestionEvent::Closed { .. } | QuestionEvent::Fetched { .. }))
            .unwrap_or_else(|| question::withdraw(&question, &reason, by.clone(), case.now));
        let others = with_open(others, &question, closing.iter().chain(&staying));
        commit.merge(question.commit_event(case, &event, others));
    }
    commit.wakes.extend(run.start.parent.clone().map(Wake::Run));
    commit.wakes.push(Wake::Children(id));
    commit.timers.push(TimerChange::Clear(run.subject()));
    commit.outcome = Outcome::Run(run);
    commit
}

/// Who ends a run, and so what of it ends with it.
pub(super) enum Ender {
    /// Somebody who decides: all that is open.
    Decider,
    /// Its workflow, or Folkmoot for it: what the workflow has opened.
    Workflow,
    /// An agent: what it may withdraw itself.
    Agent(Name),
}

impl Ender {
    pub(super) fn of(by: &Actor, fence: Option<Fence>) -> Self {
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
fn with_open<'a>(others: Others, question: &Question, open: impl Iterator<Item = &'a (Question, Others)>) -> Others {
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
