//! Debates, as every door sees them: what is asked for, the row and the run, how far it is, and the
//! gate at which it waits.

pub(crate) mod config_from_request;
pub(crate) mod frames;
pub(crate) mod progress_cache;
pub(crate) mod replayed;
pub(crate) mod tidy;
pub(crate) mod trail;

use folkmoot_api::wire::{self, DebateCost, Decimal, Fault};
use folkmoot_core::{
    Event, Gate, GateId, GateStatus, Principal, QuestionId, Refusal, Run, RunId,
    gate::GateMode,
    question::QuestionStatus,
    run::{RunKind, RunOutcome, RunState},
};
use folkmoot_debate::{
    DebateEvent, DebateProgress, DebateVerdict,
    record::{DebateView, TurnView, VersionView},
};
use folkmoot_engine::{Engine, Error, GateQuery, QuestionQuery};
use folkmoot_workflows::{
    debate::{DebateConfig, DebateOutcome, UndecidedAnswer, decimals, records},
    llm::budget::Spent,
};
use serde_json::Value;

use crate::app::App;

/// How many of a run's events are read at once.
const EVENTS: u32 = 500;
/// How many gates of a debate are looked at.
const GATES: u32 = 200;

/// A debate as it is.
#[derive(Debug)]
pub(crate) struct DebateSnapshot {
    pub(crate) run: Run,
    pub(crate) view: DebateView,
    pub(crate) progress: DebateProgress,
    /// The gate of its own that has held it longest.
    pub(crate) waiting_at: Option<GateId>,
    /// What it has asked people, and waits for.
    pub(crate) questions: Vec<QuestionId>,
    /// What keeps it from working.
    pub(crate) halted_by: Vec<String>,
    pub(crate) fault: Option<Fault>,
}

/// A debate, if `principal` may know of it.
pub(crate) async fn held(app: &App, principal: &Principal, id: &RunId) -> Result<DebateSnapshot, Error> {
    let view = records::debate(&app.engine, principal, id).await?;
    let mut held = of_view(app, principal, view).await?;
    if held.run.ending().is_some() && held.view.completed_at.is_none() {
        // It ended between the two looks.
        held.view = records::debate(&app.engine, principal, id).await?;
    }
    Ok(held)
}

/// The debate of a row.
pub(crate) async fn of_view(app: &App, principal: &Principal, view: DebateView) -> Result<DebateSnapshot, Error> {
    let run = app.engine.run(principal, &view.id).await?;
    let progress = app.seen.progress(&app.engine, principal, &view.id).await?;
    let (waiting_at, questions) = match run.ending() {
        Some(_) => (None, Vec::new()),
        None => (
            pending(&app.engine, principal, &run).await?.pop().map(|gate| gate.id),
            questions(&app.engine, &run).await?,
        ),
    };
    let fault = fault(&run);
    let halted_by = app.engine.halted_by(&run).iter().map(|hold| hold.id.as_str().to_owned()).collect();
    Ok(DebateSnapshot { run, view, progress, waiting_at, questions, halted_by, fault })
}

/// What a debate has asked people and waits for. That it asks is no secret to whoever may know of
/// the debate.
async fn questions(engine: &Engine, run: &Run) -> Result<Vec<QuestionId>, Error> {
    let (status, id) = (Some(QuestionStatus::Pending), run.start.id.clone());
    let query = QuestionQuery { run: Some(id), status, limit: GATES, ..QuestionQuery::default() };
    let found = engine.questions(&config_from_request::everything(), query).await?.items;
    let its_own = found.into_iter().filter(|view| view.question.asked_by == run.speaker().name);
    Ok(its_own.map(|view| view.question.id).collect())
}

/// A run that is a debate, if `principal` may know of it.
pub(crate) async fn run(engine: &Engine, principal: &Principal, id: &RunId) -> Result<Run, Error> {
    let run = engine.run(principal, id).await?;
    if run.start.kind != RunKind::Debate {
        return Err(Refusal::UnknownRun { run: id.clone() }.into());
    }
    Ok(run)
}

/// Everything that a debate told, in order.
pub(crate) async fn told(
    engine: &Engine,
    principal: &Principal,
    id: &RunId,
    mut each: impl FnMut(&Event, DebateEvent),
) -> Result<(), Error> {
    let mut after = 0;
    loop {
        let events = engine.events_of_run(principal, id, after, EVENTS).await?;
        for event in &events {
            if let Some(told) = DebateEvent::read(&event.fact.kind, &event.fact.payload) {
                each(event, told);
            }
        }
        match events.last() {
            Some(last) if events.len() == EVENTS as usize => after = last.position,
            _ => return Ok(()),
        }
    }
}

/// Why it has no result and will have none, as it is.
fn fault(run: &Run) -> Option<Fault> {
    let fault = |code: &str, message: String| Some(Fault { code: code.to_owned(), message });
    match &run.state {
        RunState::Ended(ending) => match ending.outcome {
            RunOutcome::Completed => None,
            RunOutcome::Cancelled => fault("cancelled", format!("{} cancelled it: {}", ending.by, ending.reason)),
            RunOutcome::Failed => fault(&ending.code, ending.reason.clone()),
        },
        RunState::Stopped { code, message } => fault(code, message.clone()),
        RunState::Pending | RunState::Outside | RunState::Running { .. } | RunState::Parked(_) => None,
    }
}

/// The gates of a debate's own, the newest first. Whoever started it can open others in its run,
/// which say what they like.
pub(crate) async fn gates(
    engine: &Engine,
    principal: &Principal,
    run: &Run,
    status: Option<GateStatus>,
) -> Result<Vec<folkmoot_store::GateView>, Error> {
    let (id, requester) = (Some(run.start.id.clone()), Some(run.speaker().name));
    let query = GateQuery { run: id, requester, status, limit: GATES, ..GateQuery::default() };
    let mut found = engine.gates(principal, query).await?.items;
    found.sort_by(|one, other| {
        other.gate.requested_at.cmp(&one.gate.requested_at).then(other.gate.id.cmp(&one.gate.id))
    });
    Ok(found)
}

/// Those of them that hold it, the newest first.
pub(crate) async fn pending(engine: &Engine, principal: &Principal, run: &Run) -> Result<Vec<Gate>, Error> {
    let found = gates(engine, principal, run, Some(GateStatus::Pending)).await?;
    Ok(found.into_iter().map(|view| view.gate).filter(|gate| gate.mode == GateMode::Gate).collect())
}

pub(crate) fn is_its_own(run: &Run, gate: &Gate) -> bool {
    gate.run_id.as_ref() == Some(&run.start.id) && gate.requested_by == run.speaker().name
}

/// What a debate was given.
pub(crate) async fn debating(engine: &Engine, run: &Run) -> Result<Option<DebateConfig>, Error> {
    Ok(engine.input(run).await?.and_then(|input| serde_json::from_str(&input).ok()))
}

/// What a debate gave.
pub(crate) async fn debated(engine: &Engine, run: &Run) -> Result<Option<DebateOutcome>, Error> {
    let Some(output) = engine.output(run).await? else { return Ok(None) };
    serde_json::from_str(&output).map(Some).map_err(|error| Error::Unreadable(format!("a debate's output: {error}")))
}

impl DebateSnapshot {
    fn cost(&self) -> DebateCost {
        cost(Spent { tokens: self.progress.tokens, usd_micros: self.progress.usd_micros })
    }

    /// How far it is.
    pub(crate) fn progress(self) -> wire::DebateProgress {
        wire::DebateProgress {
            cost: self.cost(),
            id: self.view.id,
            session_id: self.view.session_id,
            status: self.view.status,
            phase: self.progress.phase,
            round: self.progress.round,
            leader: self.progress.leader,
            speaking: self.progress.speaking,
            turns: self.progress.turns.into(),
            votes: self.progress.votes,
            waiting_at: self.waiting_at,
            questions: self.questions,
            outages: wire::Outage::all_of(&self.run),
            halted_by: self.halted_by,
            fault: self.fault,
        }
    }

    /// As the resource shows it.
    pub(crate) fn on_the_wire(self) -> wire::Debate {
        let cost = self.cost();
        let said = self.view.session;
        let score = said.as_ref().and_then(|session| session.final_consensus_score);
        let (config, outcome_said, metadata) = said
            .as_ref()
            .map_or((None, None, None), |said| (said.config.clone(), said.outcome.clone(), said.metadata.clone()));
        wire::Debate {
            cost,
            topology_type: said.as_ref().map(|session| session.topology.clone()),
            coordination_protocol: said.as_ref().map(|session| session.coordination_protocol.clone()),
            total_rounds: said.as_ref().map_or(0, |session| session.total_rounds),
            final_consensus_score: score.map(|score| Decimal::from(score).0),
            id: self.view.id,
            session_id: self.view.session_id,
            topic: self.view.topic,
            status: self.view.status,
            // An older version kept hundredths.
            config: config.map(decimals::config),
            initiated_by: self.view.initiated_by,
            created_at: self.view.created_at,
            updated_at: self.view.updated_at,
            completed_at: self.view.completed_at,
            outcome: outcome_said.map(outcome),
            metadata,
            phase: self.progress.phase,
            round: self.progress.round,
            waiting_at: self.waiting_at,
            questions: self.questions,
            outages: wire::Outage::all_of(&self.run),
            halted_by: self.halted_by,
            fault: self.fault,
        }
    }
}

/// What was spent, as people read it.
pub(crate) fn cost(spent: Spent) -> DebateCost {
    DebateCost { tokens: spent.tokens, usd: spent.usd_micros as f64 / 1e6 }
}

fn outcome(outcome: Value) -> Value {
    match serde_json::from_value::<DebateVerdict>(outcome.clone()) {
        Ok(verdict) => serde_json::to_value(wire::DebateVerdict::from(verdict)).unwrap_or(outcome),
        Err(_) => outcome,
    }
}

/// A turn as the wire shows it.
pub(crate) fn turn(run: &Run, turn: TurnView) -> wire::DebateTurn {
    wire::DebateTurn {
        id: turn.id,
        session_id: run.start.session_id.clone(),
        round: turn.round,
        phase: turn.phase,
        agent_id: turn.agent_id,
        agent_role: turn.agent_role,
        provider: turn.provider,
        model: turn.model,
        content: turn.content,
        confidence: turn.confidence.map(|share| Decimal::from(share).0),
        tool_calls: turn.tool_calls,
        test_results: turn.test_results,
        reflections: turn.reflections,
        metadata: turn.metadata,
        created_at: turn.at,
        response_time_ms: turn.response_time_ms,
    }
}

/// An answer that nothing was decided about, as the wire shows it.
pub(crate) fn undecided(answer: UndecidedAnswer) -> wire::UndecidedAnswer {
    let UndecidedAnswer { author, answer, code, tests, quality } = answer;
    wire::UndecidedAnswer {
        author,
        answer,
        code,
        tests: tests.map(|(passed, of)| wire::DebateTests { passed, of }),
        quality: quality.map(|share| Decimal::from(share).0),
    }
}

/// A version as the wire shows it.
pub(crate) fn version(run: &Run, version: VersionView) -> wire::CodeVersion {
    wire::CodeVersion {
        id: version.id,
        session_id: run.start.session_id.clone(),
        turn_id: version.turn_id,
        author: version.author,
        language: version.language,
        code: version.code,
        version_number: version.version_number,
        quality_score: version.quality_score.map(|share| Decimal::from(share).0),
        test_pass_rate: version.test_pass_rate.map(|share| Decimal::from(share).0),
        metrics: version.metrics,
        diff_from_previous: version.diff_from_previous,
        created_at: version.at,
    }
}

/// Whether it is over, or stopped until somebody has looked at it: nothing more is told of it then.
pub(crate) fn is_over(run: &Run) -> bool {
    run.ending().is_some() || matches!(run.state, RunState::Stopped { .. })
}
