//! A plan's progress as server-sent events: what the log has of it, in the frames of the planner
//! API, from its beginning or from where somebody left. The last frame is always a terminal one.

use std::{collections::VecDeque, convert::Infallible};

use axum::response::sse;
use folkmoot_api::wire::{Fault, PlanAnswer};
use folkmoot_core::{
    Event, RunId, SessionId,
    gate::{DecisionWord, GateEvent},
    plan::{ApprovalType, PlanEvent, PlanStatus},
    run::RunState,
};
use folkmoot_engine::Error;
use futures_util::{Stream, stream};
use serde::Serialize;
use serde_json::{Value, json};

use super::{PlanGate, PlanSnapshot, asked, compat, happened, of_run, planned};
use crate::{app::App, auth::Authenticated};

/// How many events are read at once.
const EVENTS: u32 = 200;

/// Everything after `position`, until the plan is over.
pub(crate) fn follow(
    app: App,
    who: Authenticated,
    id: RunId,
    session: SessionId,
    position: u64,
) -> impl Stream<Item = Result<sse::Event, Infallible>> {
    let follower = PlanFollower { app, who, id, session, position, ready: VecDeque::new(), ended: false };
    stream::unfold(follower, |mut follower| async move {
        let frame = follower.next().await?;
        Some((Ok(frame), follower))
    })
}

struct PlanFollower {
    app: App,
    who: Authenticated,
    id: RunId,
    session: SessionId,
    position: u64,
    ready: VecDeque<sse::Event>,
    ended: bool,
}

impl PlanFollower {
    async fn next(&mut self) -> Option<sse::Event> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Some(frame);
            }
            if self.ended {
                return None;
            }
            if let Err(error) = self.read().await {
                tracing::warn!("the progress of plan {} ends early: {error}", self.id);
                // Whoever comes back with the last id misses nothing.
                let told =
                    json!({ "error": "database_unavailable", "message": "the log cannot be read just now; come back" });
                self.ended = true;
                self.push(None, ("error", told));
            }
        }
    }

    /// Reads what there is; waits for more where there is nothing.
    async fn read(&mut self) -> Result<(), Error> {
        let engine = self.app.engine.clone();
        let principal = self.who.principal.clone();
        // Before the look: what comes after it is then waited for.
        let end = engine.position().await?;
        let events = engine.events_of_run(&principal, &self.id, self.position, EVENTS).await?;
        for event in &events {
            self.position = event.position;
            self.tell(event).await?;
            if self.ended {
                return Ok(());
            }
        }
        if !events.is_empty() {
            return Ok(());
        }
        let plan = planned(&engine, &principal, &self.id).await?;
        if plan.run.ending().is_some() || matches!(plan.run.state, RunState::Stopped { .. }) {
            // Whoever comes back after the end is told it again.
            self.end(plan);
            return Ok(());
        }
        let from = end.max(self.position);
        tokio::select! {
            reached = happened(&engine, &principal, &self.session, from) => drop(reached?),
            () = self.app.closing.cancelled() => self.ended = true,
        }
        Ok(())
    }

    async fn tell(&mut self, event: &Event) -> Result<(), Error> {
        let kind: &str = &event.fact.kind;
        if let Some(told) = PlanEvent::read(kind, &event.fact.payload) {
            self.push(Some(event.position), told_frame(&told));
        } else if kind.starts_with("gate.") {
            self.tell_of_gate(event).await?;
        } else if kind == "run.parked" && event.fact.payload.contains(r#""held""#) {
            let plan = planned(&self.app.engine, &self.who.principal, &self.id).await?;
            if !plan.halted_by.is_empty() {
                let ids: Vec<&str> = plan.halted_by.iter().map(|hold| hold.id.as_str()).collect();
                self.push(Some(event.position), ("halted", json!({ "halted_by": ids, "message": plan.message() })));
            }
        } else if matches!(kind, "run.ended" | "run.stopped") {
            let run = self.app.engine.run(&self.who.principal, &self.id).await?;
            let plan = of_run(&self.app.engine, &self.who.principal, run).await?;
            // A run that was stopped and has gone on since is not over.
            if kind == "run.ended" || plan.status == PlanStatus::Error {
                self.end(plan);
            }
        }
        Ok(())
    }

    async fn tell_of_gate(&mut self, event: &Event) -> Result<(), Error> {
        let told = match GateEvent::read(&event.fact) {
            Ok(told @ (GateEvent::Opened(_) | GateEvent::Decided { .. })) => told,
            _ => return Ok(()),
        };
        let Ok(id) = event.fact.stream.parse() else { return Ok(()) };
        let gate = self.app.engine.gate(&self.who.principal, &id).await?.gate;
        let run = self.app.engine.run(&self.who.principal, &self.id).await?;
        let Some(asked) = asked(&self.app.engine, &run, gate).await? else { return Ok(()) };
        match told {
            GateEvent::Decided { decision, .. } => {
                if let Some(frame) = decided_frame(&asked, decision.decision, &self.session) {
                    self.push(Some(event.position), frame);
                }
            }
            _ => self.push(Some(event.position), ("awaiting_approval", value(&compat::awaiting(asked, &self.session)))),
        }
        Ok(())
    }

    fn end(&mut self, plan: PlanSnapshot) {
        self.ended = true;
        let approval_id = plan.asked.as_ref().map(|asked| asked.request.approval_id(&self.session));
        let position = Some(self.position);
        match compat::answer(plan) {
            Ok(PlanAnswer::Complete(complete)) => {
                // Without an id: whoever leaves between the two is told both again.
                let told = json!({
                    "final_plan": complete.final_plan, "memory_entities": complete.memory_entities,
                    "iterations_completed": complete.iterations_completed, "total_iterations": complete.total_iterations,
                });
                self.push(None, ("final_plan", told));
                self.push(position, ("complete", value(&complete)));
            }
            Ok(answer) => self.push(position, ("cancelled", value(&answer))),
            Err(Fault { code, message }) => {
                let mut told = json!({ "status": "error", "error": code, "code": code, "message": message });
                if let Some(id) = approval_id {
                    told["approval_id"] = json!(id);
                }
                self.push(position, ("error", told));
            }
        }
    }

    fn push(&mut self, position: Option<u64>, (name, told): (&'static str, Value)) {
        let frame = self.frame(name, position, told);
        self.ready.push_back(frame);
    }

    /// Every frame says its type and its session, and each of those that can be come back to has
    /// the log's position.
    fn frame(&self, name: &'static str, position: Option<u64>, mut told: Value) -> sse::Event {
        told["type"] = json!(name);
        told["session_id"] = json!(self.session);
        let frame = sse::Event::default().event(name).data(told.to_string());
        match position {
            Some(position) => frame.id(position.to_string()),
            None => frame,
        }
    }
}

fn value(told: &impl Serialize) -> Value {
    serde_json::to_value(told).unwrap_or_default()
}

fn told_frame(told: &PlanEvent) -> (&'static str, Value) {
    let payload = value(told);
    match told {
        PlanEvent::Started { pace, .. } => {
            let mut payload = payload;
            payload["total_iterations"] = json!(pace.max_iterations);
            ("planning_started", payload)
        }
        PlanEvent::Iterates { .. } => ("iteration_started", payload),
        PlanEvent::Iterated { iteration, total_iterations, .. } => {
            let mut payload = payload;
            payload["percent"] = json!(u64::from(*iteration) * 100 / u64::from(*total_iterations).max(1));
            ("iteration_progress", payload)
        }
        PlanEvent::Concludes { .. } => ("synthesis_started", payload),
    }
}

fn decided_frame(asked: &PlanGate, word: DecisionWord, session: &SessionId) -> Option<(&'static str, Value)> {
    let request = &asked.request;
    let approval = |decision: &str| {
        json!({
            "approval_id": request.approval_id(session), "approval_status": decision, "iteration": request.number,
            "total_iterations": request.pace.max_iterations,
        })
    };
    match (request.approval_type, word) {
        (ApprovalType::Proposal, DecisionWord::Approved | DecisionWord::Override) => {
            let mut told = approval(DecisionWord::Approved.word());
            told.as_object_mut()?.remove("iteration");
            Some(("proposal_approved", told))
        }
        (ApprovalType::Checkpoint, DecisionWord::Approved | DecisionWord::Override | DecisionWord::AdjustStrategy) => {
            let said = if word == DecisionWord::AdjustStrategy { word } else { DecisionWord::Approved };
            Some(("checkpoint_approved", approval(said.word())))
        }
        (ApprovalType::Checkpoint, DecisionWord::Paused) => {
            let mut told = value(&compat::paused(asked, session.clone()));
            told["proceed_to_synthesis"] = json!(true);
            Some(("paused", told))
        }
        (ApprovalType::Checkpoint, DecisionWord::Rejected | DecisionWord::Cancelled | DecisionWord::TimedOut) => {
            Some(("checkpoint_rejected", approval(word.word())))
        }
        // What follows says it: another proposal, or the end.
        (ApprovalType::Proposal | ApprovalType::Checkpoint, _) => None,
    }
}
