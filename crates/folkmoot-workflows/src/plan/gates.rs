//! The two gates of a plan, and what their decisions mean for it.

use folkmoot_core::{
    gate::{Choice, Decision, DecisionWord, GateKind, Next, OnTimeout},
    text,
};
use folkmoot_debate::plan::{self, ApprovalType, OnExpiry, PlanGateRequest, code};
use folkmoot_engine::{Ctx, Failure, GateOutcome, GateSpec, key};

use super::{PlanState, writer::PlanWriter};

/// What people decided on a proposal, if the plan goes on.
pub(super) enum AtProposal {
    Approve,
    /// The feedback, and a text to use instead, if people wrote one.
    Adjust {
        feedback: String,
        text: Option<String>,
    },
}

/// What people decided at a checkpoint.
pub(super) enum AtCheckpoint {
    GoOn,
    /// Go on, with this change of strategy.
    Adjust(String),
    Pause,
    /// Leave out what was shown, for this reason.
    Reject(String),
    /// Nobody decided in time, so what was shown is left out.
    Lapse,
}

/// The reason of a gate that approves itself.
const ALONE: &str = "approval gates are switched off (APPROVAL_GATES)";
const PART: &str = "\n\n… (the rest is in the artifact)";

impl PlanWriter {
    pub(super) async fn ask_about_proposal(
        &self,
        ctx: &Ctx,
        number: u32,
        proposal: &str,
    ) -> Result<AtProposal, Failure> {
        let request = self.request(ApprovalType::Proposal, number);
        let title = format!("Plan: {}", self.planning.title());
        let GateOutcome { decision, edited } =
            self.gate(ctx, key!("proposal", number), &request, title, proposal).await?;
        match decision.decision {
            DecisionWord::Approved | DecisionWord::Override => Ok(AtProposal::Approve),
            DecisionWord::AdjustRequested => {
                let feedback = said(&decision).unwrap_or_else(|| "It was replaced by another text.".to_owned());
                Ok(AtProposal::Adjust { feedback, text: edited.filter(|text| !text.trim().is_empty()) })
            }
            DecisionWord::TimedOut if decision.outcome == Next::Proceed => Ok(AtProposal::Approve),
            DecisionWord::TimedOut => Err(expired()),
            DecisionWord::Rejected | DecisionWord::Cancelled | DecisionWord::Paused | DecisionWord::AdjustStrategy => {
                Err(Failure::new(code::REJECTED_PROPOSAL, told(&decision)))
            }
        }
    }

    pub(super) async fn checkpoint(&self, ctx: &Ctx, number: u32, work: &PlanState) -> Result<AtCheckpoint, Failure> {
        let (total, tally) = (self.planning.max_iterations, work.tally());
        let insights = work.shown.iter().filter_map(|shown| shown.gave.as_ref().ok());
        let request = PlanGateRequest {
            insights: insights.flat_map(|iteration| iteration.insights.clone()).collect(),
            frameworks_evolved: tally.frameworks_evolved,
            data_points_collected: tally.data_points_collected,
            ..self.request(ApprovalType::Checkpoint, number)
        };
        let title = format!("Iteration {number} of {total}: {}", self.planning.title());
        let summary = plan::summary(&work.shown, tally, total);
        let GateOutcome { decision, edited } =
            self.gate(ctx, key!("checkpoint", number), &request, title, &summary).await?;
        match decision.decision {
            DecisionWord::Approved | DecisionWord::Override => Ok(AtCheckpoint::GoOn),
            DecisionWord::Paused => Ok(AtCheckpoint::Pause),
            DecisionWord::AdjustStrategy => {
                let change: Vec<String> = said(&decision).into_iter().chain(edited).collect();
                Ok(AtCheckpoint::Adjust(change.join("\n\n")))
            }
            DecisionWord::TimedOut if decision.outcome == Next::Proceed => Ok(AtCheckpoint::GoOn),
            DecisionWord::TimedOut if self.planning.on_expiry == Some(OnExpiry::Reject) => Ok(AtCheckpoint::Lapse),
            DecisionWord::TimedOut => Err(expired()),
            DecisionWord::Rejected | DecisionWord::Cancelled | DecisionWord::AdjustRequested => {
                Ok(AtCheckpoint::Reject(told(&decision)))
            }
        }
    }

    fn request(&self, approval_type: ApprovalType, number: u32) -> PlanGateRequest {
        PlanGateRequest {
            approval_type,
            goal: self.planning.goal.clone(),
            pace: self.planning.pace(),
            number,
            insights: Vec::new(),
            frameworks_evolved: 0,
            data_points_collected: 0,
        }
    }

    async fn gate(
        &self,
        ctx: &Ctx,
        key: String,
        request: &PlanGateRequest,
        title: String,
        shown: &str,
    ) -> Result<GateOutcome, Failure> {
        let (kind, name) = match request.approval_type {
            ApprovalType::Proposal => (GateKind::Proposal, "proposal.md"),
            ApprovalType::Checkpoint => (GateKind::Checkpoint, "checkpoint.md"),
        };
        let mut choices = vec![Choice::Approve, Choice::Reject, Choice::Adjust];
        choices.extend((kind == GateKind::Checkpoint).then_some(Choice::Pause));
        let on_timeout = match self.planning.on_expiry {
            Some(OnExpiry::Reject) => OnTimeout::Reject,
            Some(OnExpiry::Fail) | None => OnTimeout::Fail,
        };
        let mut gate = GateSpec::new(summary(shown))
            .title(title)
            .phase(&request.approval_type.word().parse().expect("a plain word is a phase"))
            .kind(kind)
            .allow(choices)
            .timeout(self.planning.expires_after.unwrap_or(self.expires_after))
            .on_timeout(on_timeout)
            .artifact(name, "text/markdown", shown.as_bytes())
            .artifact(REQUEST, "application/json", serde_json::to_vec(request)?);
        if let Some(reviewers) = &self.planning.reviewers {
            gate = gate.reviewers(reviewers.iter().cloned());
        }
        for channel in &self.planning.notification_channels {
            gate = gate.notify(channel);
        }
        if !self.asks {
            gate = gate.approved_alone(ALONE);
        }
        ctx.gate(key, gate).await
    }
}

/// The artifact with the gate's request as JSON, for programs.
pub const REQUEST: &str = "request.json";

/// As much of the text as fits into a summary.
fn summary(shown: &str) -> String {
    if shown.len() <= text::SUMMARY_BYTES_MAX {
        return shown.to_owned();
    }
    format!("{}{PART}", text::cut(shown, text::SUMMARY_BYTES_MAX - PART.len()))
}

fn said(decision: &Decision) -> Option<String> {
    decision.feedback.clone().filter(|feedback| !feedback.trim().is_empty())
}

fn told(decision: &Decision) -> String {
    format!("{} by {}: {}", decision.decision, decision.reviewer, decision.reason)
}

pub(super) fn expired() -> Failure {
    Failure::new(code::EXPIRED, "Your session has expired. Please start planning again.")
}
