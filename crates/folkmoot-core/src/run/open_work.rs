//! Closing the gates and questions that are still open in a run when it ends, as far as the one who
//! ends the run may close them.

use super::{Loaded, Run, RunEvent, is_own_agent};
use crate::{
    Actor, Commit, Gate, Name, Outcome, Question, Role, Scope, TimerChange, Wake,
    clearance::{Holds, Others},
    gate::{self, GateEvent},
    journal::Fence,
    judge::Case,
    question::{self, QuestionEvent},
};

/// Returns everything to write when a run ends.
pub(super) fn commit_end(case: &Case<'_>, run: Run, event: &RunEvent, ender: &Ender, loaded: Loaded) -> Commit {
    let id = run.start.id.clone();
    let mut commit = run.commit_event(case, event);
    let Outcome::Run(run) = commit.outcome.clone() else { unreachable!("an event of a run returns the run") };
    let reason = format!("its run {id} is over: {}", run.status());
    let by = case.command.by.name();
    // If the deadline of a gate or question has passed but its timer has not fired yet, it is
    // closed by its timeout instead of being withdrawn.
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
        // A denial that nobody can fetch any more must not hold its agent for ever.
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

/// Who ends a run. This decides which open gates and questions are closed with it.
pub(super) enum Ender {
    /// A reviewer or admin closes all of them.
    Decider,
    /// The workflow, or Folkmoot in its place, closes what the workflow opened, and what the agent
    /// opened that started the run.
    Workflow,
    /// An agent closes what it may withdraw itself, and what the workflow opened.
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

    /// Gates that people and other agents opened stay open, unless a reviewer or admin ends the
    /// run.
    fn closes_gate(&self, run: &Run, gate: &Gate) -> bool {
        self.may_withdraw(run, &gate.requested_by)
    }

    /// A halting question, and a denial of one that was not fetched, stays until a reviewer or
    /// admin closes it. The exceptions are those that the workflow itself asked: all of them when
    /// the workflow ends, and those that halt only an agent of this run when an agent ends it.
    fn closes_question(&self, run: &Run, question: &Question) -> bool {
        let by_workflow = run.start.workflow.is_some() && question.asked_by == run.speaker().name;
        match self {
            Ender::Decider => true,
            Ender::Workflow if by_workflow => true,
            // That agent works nowhere else. If such questions stayed, one agent could gather any
            // number of them by starting and cancelling runs.
            Ender::Agent(_) if by_workflow && question.halts == Some(Scope::Agent) => {
                is_own_agent(&question.agent_id, &run.start.id)
            }
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

/// Whether other holds are on the same targets as a question: `others`, or a question of the same
/// run that is still open.
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
