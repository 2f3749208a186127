//! Plans as both APIs see them: the run, its progress, and the gate at which it waits.

pub(crate) mod compat;
pub(crate) mod frames;

use std::{sync::Arc, time::Duration};

use folkmoot_api::wire::{self, Fault};
use folkmoot_core::{
    Gate, GateId, GateStatus, Hold, Principal, Refusal, Role, Run, RunId, SessionId,
    gate::{GateKind, GatePreferences, OnTimeout},
    run::{NewRun, RunKind, RunLimits, RunOutcome, RunState},
    text,
};
use folkmoot_debate::plan::{self, PlanActivity, PlanEvent, PlanGateRequest, PlanProgress, PlanStatus, code};
use folkmoot_engine::{Caller, Engine, Error, GateQuery};
use folkmoot_workflows::plan::{Plan, PlanSource, Planning, REQUEST, SOURCES_BYTES_MAX};
use tokio::time::Instant;

use crate::{app::App, debates::config_from_request, notify, routes::events::LOG_LOST};

/// The default number of iterations.
const ITERATIONS: u32 = 6;
const INTERVAL: u32 = 3;
/// How many parts of earlier plans a plan can build on.
const ENTITIES_MAX: usize = 32;
/// Events per read.
const EVENTS: u32 = 500;
/// Gates per read.
const GATES: u32 = 200;

/// The current state of a plan.
#[derive(Debug)]
pub(crate) struct PlanSnapshot {
    pub(crate) run: Run,
    pub(crate) planning: Planning,
    pub(crate) progress: PlanProgress,
    pub(crate) status: PlanStatus,
    /// The plan's own gate at which it waits, or at which its session expired.
    pub(crate) asked: Option<PlanGate>,
    /// Another gate at which it waits, such as the one about its budget.
    pub(crate) held_at: Option<GateId>,
    pub(crate) halted_by: Vec<Arc<Hold>>,
    /// Why it stopped or failed.
    pub(crate) fault: Option<Fault>,
    pub(crate) result: Option<Plan>,
}

/// A plan's gate and its request.
#[derive(Debug)]
pub(crate) struct PlanGate {
    pub(crate) gate: Gate,
    pub(crate) request: PlanGateRequest,
    pub(crate) text: String,
}

/// Starts a plan, or returns the one that the same request started.
pub(crate) async fn start(app: &App, caller: Caller, wanted: wire::StartPlan) -> Result<Run, Error> {
    let budget = wanted.budget.map(|wire::PlanBudget { tokens, usd }| {
        let spending = folkmoot_workflows::llm::settings::BudgetSettings { tokens, usd };
        spending.budget().map_err(|problem| Refusal::invalid("budget", problem))
    });
    let planning = Planning {
        goal: wanted.goal,
        max_iterations: wanted.max_iterations.unwrap_or(ITERATIONS),
        checkpoint_interval: wanted.checkpoint_interval.unwrap_or(INTERVAL),
        sources: sources(app, &caller.principal, &wanted.entities).await?,
        expires_after: wanted.expires_after_ms,
        on_expiry: wanted.on_expiry,
        provider: wanted.provider,
        max_tokens: wanted.max_tokens,
        budget: budget.transpose()?,
        reviewers: wanted.reviewers,
        notification_channels: wanted.notification_channels,
        gates_off: gates_are_off(app, &caller.principal),
    };
    must_be_possible(app, &caller.principal, &planning).await?;
    // A plan has its session's id, so that a session has one plan even if several start at once.
    let id = match &wanted.session_id {
        Some(session) => {
            session.as_str().parse().map_err(|_| Refusal::invalid("session_id", "is too long for a run"))?
        }
        None => app.engine.new_run_id(),
    };
    let session_id =
        wanted.session_id.unwrap_or_else(|| id.as_str().parse().expect("what names a run can name a session"));
    let input = serde_json::to_value(&planning).map_err(|error| Refusal::invalid("goal", error.to_string()))?;
    let new_run = NewRun {
        id,
        workflow: Some(plan::WORKFLOW.parse().expect("a test starts one")),
        title: planning.title(),
        session_id: Some(session_id),
        input: Some(text::json("goal", &input)?),
        limits: RunLimits::default(),
    };
    app.engine.start_run(caller, new_run).await
}

/// Whether a plan of this principal approves its own gates. If a verb serves itself, its
/// environment is the caller's own, so an agent cannot turn its gates off.
fn gates_are_off(app: &App, by: &Principal) -> bool {
    !app.asks_about_plans && (!app.is_temporary || by.role.decides())
}

/// Refuses a plan that was started as a plain workflow with values that the plan API would refuse.
pub(crate) async fn must_be_startable(app: &App, by: &Principal, planning: &Planning) -> Result<(), Error> {
    if planning.gates_off && !gates_are_off(app, by) {
        return Err(Refusal::invalid("input", "has gates_off, which only the server decides; leave it out").into());
    }
    if !planning.sources.is_empty() && by.role == Role::Agent {
        return Err(Refusal::invalid("input", "has sources; name `entities` at POST /v1/plans instead").into());
    }
    must_be_possible(app, by, planning).await
}

async fn must_be_possible(app: &App, by: &Principal, planning: &Planning) -> Result<(), Error> {
    planning.check()?;
    notify::must_be_channels(app, "notification_channels", &planning.notification_channels).await?;
    config_from_request::must_have_gates(app, by, &gates_of(planning)).await?;
    if let Some(provider) = &planning.provider {
        app.voices.voice(provider).map_err(|failure| Refusal::invalid("provider", failure.message))?;
    }
    Ok(())
}

/// The gate settings of a plan.
pub(crate) fn gates_of(planning: &Planning) -> GatePreferences {
    GatePreferences {
        timeout: planning.expires_after,
        // Plans handle expiry themselves; silence never approves.
        on_timeout: Some(OnTimeout::Fail),
        reviewers: planning.reviewers.clone(),
        notification_channels: planning.notification_channels.clone(),
    }
}

/// The parts that a plan builds on. A missing one is refused.
async fn sources(app: &App, principal: &Principal, names: &[String]) -> Result<Vec<PlanSource>, Error> {
    if names.len() > ENTITIES_MAX {
        let problem = format!("names {} of them, and {ENTITIES_MAX} is the most", names.len());
        return Err(Refusal::invalid("entities", problem).into());
    }
    let mut sources: Vec<PlanSource> = Vec::new();
    let mut bytes = 0;
    for name in names {
        if sources.iter().any(|source| source.name == *name) {
            return Err(Refusal::invalid("entities", "names one twice").into());
        }
        let unknown = || Refusal::UnknownEntity { entity: name.chars().take(200).collect() };
        let (plan, entity) = name.rsplit_once('/').ok_or_else(unknown)?;
        let id: RunId = plan.parse().map_err(|_| unknown())?;
        let planned = match planned(&app.engine, principal, &id).await {
            Err(Error::Refused(Refusal::UnknownRun { .. })) => return Err(unknown().into()),
            planned => planned?,
        };
        let found = planned.result.and_then(|result| result.entities.into_iter().find(|found| found.name == entity));
        let text = found.ok_or_else(unknown)?.text;
        bytes += text.len();
        if bytes > SOURCES_BYTES_MAX {
            let problem = format!("have more than {SOURCES_BYTES_MAX} bytes together; name fewer");
            return Err(Refusal::invalid("entities", problem).into());
        }
        sources.push(PlanSource { name: name.clone(), text });
    }
    Ok(sources)
}

/// A plan, if `principal` may see it.
pub(crate) async fn planned(engine: &Engine, principal: &Principal, id: &RunId) -> Result<PlanSnapshot, Error> {
    let run = engine.run(principal, id).await?;
    // A run in another's session could have that plan's id.
    if run.start.kind != RunKind::Plan || run.start.session_id.as_str() != id.as_str() {
        return Err(Refusal::UnknownRun { run: id.clone() }.into());
    }
    of_run(engine, principal, run).await
}

pub(crate) async fn of_run(engine: &Engine, principal: &Principal, run: Run) -> Result<PlanSnapshot, Error> {
    let erased = || Error::from(Refusal::invalid("plan", "was given nothing, or what it was given has been erased"));
    let input = engine.input(&run).await?.ok_or_else(erased)?;
    let planning = serde_json::from_str(&input).map_err(|error| {
        // Somebody started the workflow directly, with another input.
        Error::from(Refusal::invalid("plan", format!("has an invalid input: {error}")))
    })?;
    let progress = progress(engine, principal, &run.start.id).await?;
    let halted_by = engine.halted_by(&run);
    let mut planned = PlanSnapshot {
        planning,
        progress,
        status: PlanStatus::InProgress,
        asked: None,
        held_at: None,
        halted_by,
        fault: None,
        result: None,
        run,
    };
    match &planned.run.state {
        RunState::Ended(ending) => match ending.outcome {
            RunOutcome::Completed => {
                planned.status = PlanStatus::Complete;
                planned.result = result(engine, &planned.run).await?;
            }
            RunOutcome::Cancelled => {
                planned.status = PlanStatus::Cancelled;
                planned.fault = Some(fault("cancelled", format!("{} cancelled it: {}", ending.by, ending.reason)));
            }
            RunOutcome::Failed => {
                let rejected = [code::REJECTED_PROPOSAL, code::REJECTED_CHECKPOINT].contains(&ending.code.as_str());
                planned.status = if rejected { PlanStatus::Cancelled } else { PlanStatus::Error };
                planned.fault = Some(fault(&ending.code, ending.reason.clone()));
                if ending.code == code::EXPIRED {
                    let newest = gates(engine, principal, &planned.run, None).await?.into_iter().next();
                    planned.asked = match newest {
                        Some(gate) => asked(engine, &planned.run, gate).await?,
                        None => None,
                    };
                }
            }
        },
        RunState::Stopped { code, message } => {
            planned.status = PlanStatus::Error;
            planned.fault = Some(fault(code, message.clone()));
        }
        RunState::Pending | RunState::Outside | RunState::Running { .. } | RunState::Parked(_) => {
            for gate in gates(engine, principal, &planned.run, Some(GateStatus::Pending)).await? {
                let id = gate.id.clone();
                match asked(engine, &planned.run, gate).await? {
                    // The timer may not have fired yet, but nobody can decide any more.
                    Some(asked) if asked.gate.deadline.has_passed(engine.now()) => {
                        planned.status = PlanStatus::Error;
                        planned.fault = Some(fault(code::EXPIRED, compat::EXPIRED));
                        planned.asked = Some(asked);
                    }
                    Some(asked) => {
                        planned.status = PlanStatus::AwaitingApproval;
                        planned.asked = Some(asked);
                    }
                    None => planned.held_at = Some(id),
                }
            }
        }
    }
    Ok(planned)
}

fn fault(code: &str, message: impl Into<String>) -> Fault {
    Fault { code: code.to_owned(), message: message.into() }
}

/// The result of a complete plan.
async fn result(engine: &Engine, run: &Run) -> Result<Option<Plan>, Error> {
    let Some(output) = engine.output(run).await? else { return Ok(None) };
    serde_json::from_str(&output).map(Some).map_err(|error| Error::Unreadable(format!("a plan's output: {error}")))
}

async fn progress(engine: &Engine, principal: &Principal, run: &RunId) -> Result<PlanProgress, Error> {
    let (mut progress, mut after) = (PlanProgress::default(), 0);
    loop {
        let events = engine.events_of_run(principal, run, after, EVENTS).await?;
        for event in &events {
            if let Some(told) = PlanEvent::read(&event.fact.kind, &event.fact.payload) {
                progress.apply(&told);
            }
        }
        match events.last() {
            Some(last) if events.len() == EVENTS as usize => after = last.position,
            _ => return Ok(progress),
        }
    }
}

/// The plan's own gates, the newest first. Its starter can open others in the same run, with any
/// content.
pub(crate) async fn gates(
    engine: &Engine,
    principal: &Principal,
    run: &Run,
    status: Option<GateStatus>,
) -> Result<Vec<Gate>, Error> {
    let (id, requester) = (Some(run.start.id.clone()), Some(run.speaker().name));
    let query = GateQuery { run: id, requester, status, limit: GATES, ..GateQuery::default() };
    Ok(engine.gates(principal, query).await?.items.into_iter().map(|view| view.gate).collect())
}

fn is_its_own(run: &Run, gate: &Gate) -> bool {
    gate.requested_by == run.speaker().name
}

/// The request of a plan's gate; `None` if it is another kind, or not the plan's own.
pub(crate) async fn asked(engine: &Engine, run: &Run, gate: Gate) -> Result<Option<PlanGate>, Error> {
    if !is_its_own(run, &gate) || !matches!(gate.content.kind, GateKind::Proposal | GateKind::Checkpoint) {
        return Ok(None);
    }
    let Some(request) = gate.content.artifacts.iter().position(|artifact| artifact.name == REQUEST) else {
        return Ok(None);
    };
    let digests: Vec<_> = gate.content.artifacts.iter().map(|artifact| artifact.digest).collect();
    let contents = engine.contents(digests).await?;
    let read = |bytes: &Option<Vec<u8>>| bytes.as_deref().map(String::from_utf8_lossy).map(|text| text.into_owned());
    let Some(request) = contents.get(request).and_then(read).and_then(|json| serde_json::from_str(&json).ok()) else {
        return Ok(None);
    };
    let text = contents.first().and_then(read).unwrap_or_else(|| "(erased)".to_owned());
    Ok(Some(PlanGate { gate, request, text }))
}

/// Waits until the plan waits at another gate than `after`, is over, or waits for a provider if
/// that is wanted. Returns its state then, or after `patience`.
pub(crate) async fn settled(
    app: &App,
    principal: &Principal,
    id: &RunId,
    after: Option<&GateId>,
    patience: Duration,
    or_outage: bool,
) -> Result<PlanSnapshot, Error> {
    let until = Instant::now() + patience;
    let mut position = app.engine.position().await?;
    loop {
        let planned = planned(&app.engine, principal, id).await?;
        let moved = match (planned.status, &planned.asked) {
            (PlanStatus::InProgress, _) if or_outage && !planned.run.outages().is_empty() => true,
            (PlanStatus::InProgress, _) => planned.held_at.as_ref().is_some_and(|gate| Some(gate) != after),
            (PlanStatus::AwaitingApproval, Some(asked)) => Some(&asked.gate.id) != after,
            (PlanStatus::AwaitingApproval, None)
            | (PlanStatus::Complete | PlanStatus::Cancelled | PlanStatus::Error, _) => true,
        };
        if moved {
            return Ok(planned);
        }
        let happened = happened(&app.engine, principal, planned.session(), position);
        tokio::select! {
            reached = happened => position = reached?,
            () = tokio::time::sleep_until(until) => return Ok(planned),
            () = app.closing.cancelled() => return Ok(planned),
        }
    }
}

/// Waits for an event in this session after `position`, and returns how far the log was read.
pub(crate) async fn happened(
    engine: &Engine,
    principal: &Principal,
    session: &SessionId,
    mut position: u64,
) -> Result<u64, Error> {
    let mut epoch = engine.log_epoch();
    loop {
        let (reached, events) = tokio::select! {
            // The position belongs to a log that no longer exists.
            Ok(()) = epoch.changed() => return Err(Error::Unavailable(LOG_LOST.to_owned())),
            followed = engine.follow(principal, position) => followed?,
        };
        if events.iter().any(|event| event.fact.session.as_ref() == Some(session)) {
            return Ok(reached);
        }
        position = reached;
    }
}

impl PlanSnapshot {
    pub(crate) fn session(&self) -> &SessionId {
        &self.run.start.session_id
    }

    /// Its state in a line.
    pub(crate) fn message(&self) -> String {
        let total = self.planning.max_iterations;
        match (self.status, &self.asked, &self.fault, &self.held_at) {
            (_, _, Some(fault), _) => fault.message.clone(),
            (PlanStatus::InProgress, ..) if !self.halted_by.is_empty() => {
                let ids: Vec<&str> = self.halted_by.iter().map(|hold| hold.id.as_str()).collect();
                format!("Halted by {}", ids.join(", "))
            }
            (PlanStatus::Complete, ..) => "The plan is complete.".to_owned(),
            (_, Some(asked), ..) => format!("Waits for a decision: {}", asked.gate.content.title),
            (.., Some(gate)) => format!("Waits for a decision on gate {gate}"),
            _ if !self.run.outages().is_empty() => {
                let outages = self.run.outages().iter();
                let waits =
                    outages.map(|outage| format!("Waiting for provider {}: {}", outage.provider, outage.reason));
                waits.collect::<Vec<_>>().join("; ")
            }
            _ => match self.progress.doing {
                PlanActivity::Proposes => "Writing the proposal...".to_owned(),
                PlanActivity::Iterates => {
                    format!("Iteration {} of {total} planning...", self.progress.current_iteration)
                }
                PlanActivity::Concludes => "Writing the final plan...".to_owned(),
            },
        }
    }

    pub(crate) fn on_the_wire(self, whole: bool) -> wire::Plan {
        let message = self.message();
        let start = &self.run.start;
        let asked = self.asked.filter(|_| self.status == PlanStatus::AwaitingApproval);
        wire::Plan {
            id: start.id.clone(),
            session_id: start.session_id.clone(),
            status: self.status,
            total_iterations: self.planning.max_iterations,
            checkpoint_interval: self.planning.checkpoint_interval,
            current_iteration: self.progress.current_iteration,
            message,
            approval_id: asked.as_ref().map(|asked| asked.request.approval_id(&start.session_id)),
            waiting_at: asked.map(|asked| asked.gate.id).or(self.held_at),
            outages: wire::Outage::all_of(&self.run),
            halted_by: self.halted_by.iter().map(|hold| hold.id.as_str().to_owned()).collect(),
            initiator: start.initiator.clone(),
            started_at: start.started_at,
            ended_at: self.run.ending().map(|ending| ending.at),
            fault: self.fault,
            goal: self.planning.goal,
            result: self.result.filter(|_| whole).map(|plan| wire::PlanResult {
                final_plan: plan.final_plan,
                entities: plan.entities.into_iter().map(wire::PlanEntity::from).collect(),
                iterations_completed: plan.iterations_completed,
                paused: plan.paused,
                insights: plan.tally.insights as u64,
                frameworks_evolved: plan.tally.frameworks_evolved as u64,
                data_points_collected: plan.tally.data_points_collected as u64,
                provider: plan.provider,
                tokens: plan.spent.tokens,
            }),
        }
    }
}
