//! A plan in the format of the planner API (`/api/plan`).

use folkmoot_api::wire::{
    ApprovalRequest, AwaitingCheckpoint, AwaitingProposal, Fault, PlanAnswer, PlanCancelled, PlanComplete,
    PlanInProgress, PlanPaused,
};
use folkmoot_core::SessionId;
use folkmoot_debate::plan::{ApprovalType, PlanStatus, code};

use super::{PlanGate, PlanSnapshot, fault};

/// The message for an expired session.
pub(crate) const EXPIRED: &str = "Your session has expired. Please start planning again.";
const CANCELLED: &str = "Planning cancelled. Please try again with a different approach.";
const NEXT_ACTION: &str = "POST to /api/approve with ApprovalResponse";

/// The plan's state, or why there is none.
pub(crate) fn answer(planned: PlanSnapshot) -> Result<PlanAnswer, Fault> {
    let message = planned.message();
    let session_id = planned.session().clone();
    let total_iterations = planned.planning.max_iterations;
    match (planned.status, planned.asked, planned.result) {
        (PlanStatus::AwaitingApproval, Some(asked), _) => Ok(awaiting(asked, &session_id)),
        (PlanStatus::Complete, _, Some(plan)) => Ok(PlanAnswer::Complete(PlanComplete {
            status: PlanStatus::Complete.word().to_owned(),
            session_id,
            iterations_completed: plan.iterations_completed,
            total_iterations,
            final_plan: plan.final_plan,
            plan_saved_to_memory: true,
            memory_entities: plan.entities.into_iter().map(|entity| entity.name).collect(),
            timestamp: planned.run.ending().map_or(planned.run.start.started_at, |ending| ending.at),
        })),
        (PlanStatus::Complete, _, None) => Err(fault("erased", "what came of this plan has been erased")),
        (PlanStatus::Cancelled, ..) => {
            let Fault { code, message } = planned.fault.unwrap_or_else(|| fault("cancelled", message));
            Ok(cancelled(&code, &message, session_id))
        }
        (PlanStatus::Error, ..) => Err(planned.fault.unwrap_or_else(|| fault("failed", message))),
        (PlanStatus::InProgress | PlanStatus::AwaitingApproval, ..) => Ok(PlanAnswer::InProgress(PlanInProgress {
            status: PlanStatus::InProgress.word().to_owned(),
            session_id,
            current_iteration: planned.progress.current_iteration,
            total_iterations,
            message,
        })),
    }
}

pub(crate) fn cancelled(reason: &str, message: &str, session_id: SessionId) -> PlanAnswer {
    let message = match reason {
        code::REJECTED_PROPOSAL | code::REJECTED_CHECKPOINT => CANCELLED,
        _ => message,
    };
    PlanAnswer::Cancelled(PlanCancelled {
        status: PlanStatus::Cancelled.word().to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        session_id,
    })
}

pub(crate) fn paused(asked: &PlanGate, session_id: SessionId) -> PlanPaused {
    let iteration = asked.request.number;
    let shown = if iteration == 1 { "iteration 1".to_owned() } else { format!("iterations 1-{iteration}") };
    PlanPaused {
        status: "paused".to_owned(),
        reason: "user_requested_pause".to_owned(),
        iteration,
        total_iterations: asked.request.pace.max_iterations,
        message: format!("Planning paused. Proceeding to final synthesis with {shown}."),
        session_id,
        next_action: "Plan will be synthesized and saved".to_owned(),
    }
}

pub(crate) fn awaiting(asked: PlanGate, session: &SessionId) -> PlanAnswer {
    let PlanGate { gate, request, text } = asked;
    let status = PlanStatus::AwaitingApproval.word().to_owned();
    let approval_id = request.approval_id(session);
    let approval_type = request.approval_type;
    let mut approval_request = ApprovalRequest {
        status: status.clone(),
        approval_type,
        approval_id: approval_id.clone(),
        proposal: None,
        goal: None,
        estimated_iterations: None,
        checkpoint_interval: None,
        checkpoint_summary: None,
        iteration: None,
        total_iterations: None,
        insights: None,
        timestamp: gate.requested_at,
        session_id: session.clone(),
    };
    let (session_id, timestamp, next_action) = (session.clone(), gate.requested_at, NEXT_ACTION.to_owned());
    match approval_type {
        ApprovalType::Proposal => {
            approval_request.proposal = Some(text.clone());
            approval_request.goal = Some(request.goal.clone());
            approval_request.estimated_iterations = Some(request.pace.max_iterations);
            approval_request.checkpoint_interval = Some(request.pace.checkpoint_interval);
            PlanAnswer::Proposal(AwaitingProposal {
                status,
                approval_type,
                approval_id,
                proposal: text,
                goal: request.goal,
                estimated_iterations: request.pace.max_iterations,
                checkpoint_interval: request.pace.checkpoint_interval,
                session_id,
                timestamp,
                next_action,
                approval_request,
            })
        }
        ApprovalType::Checkpoint => {
            approval_request.checkpoint_summary = Some(text.clone());
            approval_request.iteration = Some(request.number);
            approval_request.total_iterations = Some(request.pace.max_iterations);
            approval_request.insights = Some(request.insights.clone());
            PlanAnswer::Checkpoint(AwaitingCheckpoint {
                status,
                approval_type,
                approval_id,
                iteration: request.number,
                total_iterations: request.pace.max_iterations,
                checkpoint_summary: text,
                insights: request.insights,
                frameworks_evolved: request.frameworks_evolved as u64,
                data_points_collected: request.data_points_collected as u64,
                session_id,
                timestamp,
                next_action,
                approval_request,
            })
        }
    }
}
