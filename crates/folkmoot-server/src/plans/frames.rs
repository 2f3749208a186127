//! A plan's progress as server-sent events in the planner API's format, from the beginning or a
//! position. The last frame always ends the stream.

use axum::response::sse;
use folkmoot_api::wire::{Fault, PlanAnswer};
use folkmoot_core::{
    Event, SessionId,
    gate::{DecisionWord, GateEvent},
};
use folkmoot_debate::plan::{ApprovalType, PlanEvent, PlanStatus};
use folkmoot_engine::Error;
use serde::Serialize;
use serde_json::{Value, json};

use super::{PlanGate, PlanSnapshot, asked, compat, planned};
use crate::{
    debates::is_over,
    run_frames::{RunFollower, RunFrames},
};

/// The frames of a plan.
pub(crate) struct PlanRunFrames;

impl RunFrames for PlanRunFrames {
    async fn tell(run: &mut RunFollower, event: &Event) -> Result<(), Error> {
        let kind: &str = &event.fact.kind;
        if let Some(told) = PlanEvent::read(kind, &event.fact.payload) {
            run.push(Some(event.position), told_frame(&told));
        } else if kind.starts_with("gate.") {
            run.tell_of_gate(event).await?;
        } else if kind == "run.parked" && event.fact.payload.contains(r#""held""#) {
            let plan = planned(&run.app.engine, &run.who.principal, &run.id).await?;
            if !plan.halted_by.is_empty() {
                let ids: Vec<&str> = plan.halted_by.iter().map(|hold| hold.id.as_str()).collect();
                run.push(Some(event.position), ("halted", json!({ "halted_by": ids, "message": plan.message() })));
            }
        } else if matches!(kind, "run.ended" | "run.stopped") {
            let plan = planned(&run.app.engine, &run.who.principal, &run.id).await?;
            // A run that was stopped and has gone on since is not over.
            if kind == "run.ended" || plan.status == PlanStatus::Error {
                run.end(plan);
            }
        }
        Ok(())
    }

    async fn end(run: &mut RunFollower) -> Result<(), Error> {
        let plan = planned(&run.app.engine, &run.who.principal, &run.id).await?;
        // Somebody may have resumed it since.
        if is_over(&plan.run) {
            run.end(plan);
        }
        Ok(())
    }

    fn fail(run: &mut RunFollower, error: &Error) {
        tracing::warn!("the progress of plan {} ends early: {error}", run.id);
        let message = "the log cannot be read just now; come back";
        run.push(None, ("error", json!({ "error": "database_unavailable", "message": message })));
    }
}

impl RunFollower {
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
                // Without an id: a client that disconnects between the two gets both again.
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

    /// Every frame has its type and session; those that one can resume from have the log's
    /// position.
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
        // The next frame says it: another proposal, or the end.
        (ApprovalType::Proposal | ApprovalType::Checkpoint, _) => None,
    }
}
