//! A plan as text.

use folkmoot_api::{
    debate::plan::{PlanGateRequest, PlanStatus, code},
    wire::{Gate, Plan},
};

use crate::{
    connection::find,
    context::CliContext,
    exit::Exit,
    terminal::{
        printable::{one_line, printable},
        style::{self, paint},
        wrap::behind_bar,
    },
    views,
};

/// How long a bar is.
const BAR: usize = 24;

/// The progress, in a line.
pub(crate) fn progress(plan: &Plan) -> String {
    let done = plan.current_iteration.saturating_sub(1).min(plan.total_iterations);
    format!("{} {}", bar(done, plan.total_iterations), one_line(&plan.message))
}

fn bar(done: u32, of: u32) -> String {
    let filled = BAR * usize::try_from(done).unwrap_or(0) / usize::try_from(of).unwrap_or(1).max(1);
    format!("{}{}", paint(style::GOOD, "█".repeat(filled)), paint(style::FAINT, "░".repeat(BAR - filled)))
}

/// The request with everything needed to decide.
pub(crate) fn asked(plan: &Plan, gate: &Gate) -> String {
    // The summary may be cut; the artifact is whole.
    let whole = gate.artifacts.iter().find(|artifact| artifact.media_type == "text/markdown");
    let text = whole.and_then(|artifact| artifact.content.as_deref()).or(gate.summary.as_deref()).unwrap_or("(erased)");
    let mut parts = vec![paint(style::STRONG, one_line(&gate.title)), behind_bar(printable(text).trim_end().lines())];
    parts.extend(chart(plan, gate));
    parts.join("\n\n") + "\n"
}

/// The progress as bars.
fn chart(plan: &Plan, gate: &Gate) -> Option<String> {
    let request = gate.artifacts.iter().find(|artifact| artifact.name == "request.json")?.content.as_ref()?;
    let request: PlanGateRequest = serde_json::from_str(request).ok()?;
    if request.approval_type != folkmoot_api::debate::plan::ApprovalType::Checkpoint {
        return None;
    }
    let total = plan.total_iterations;
    let most = request.frameworks_evolved.max(request.data_points_collected).max(request.insights.len()).max(1);
    let row = |name: &str, count: usize, new: &str| {
        let length = (BAR * count / most).max(usize::from(count > 0));
        format!(
            "  {} {} {count}{new}",
            paint(style::FAINT, format!("{name:<12}")),
            paint(style::COMMAND, "▇".repeat(length))
        )
    };
    Some(
        [
            format!(
                "  {} {} {} of {total}",
                paint(style::FAINT, format!("{:<12}", "iterations")),
                bar(request.number, total),
                request.number
            ),
            row("insights", request.insights.len(), " new"),
            row("frameworks", request.frameworks_evolved, ""),
            row("data points", request.data_points_collected, ""),
        ]
        .join("\n"),
    )
}

/// Says that somebody must decide, and how.
pub(crate) fn waits(ctx: &CliContext, plan: &Plan, gate: &Gate) -> String {
    format!("{} ({})\n{}", one_line(&plan.message), plan.id, views::gate::ways(ctx, gate))
}

/// The result.
pub(crate) fn ended(ctx: &CliContext, plan: &Plan) -> String {
    match (plan.status, &plan.result, &plan.fault) {
        (PlanStatus::Complete, Some(result), _) => {
            let counted = format!(
                "{} of {} iterations · {} insights · {} frameworks · {} data points · {}",
                result.iterations_completed,
                plan.total_iterations,
                result.insights,
                result.frameworks_evolved,
                result.data_points_collected,
                result.provider,
            );
            let export = format!("{} plan export {} --html > plan.html", ctx.command(), find::short_run(&plan.id));
            let text = printable(&result.final_plan);
            let text = if ctx.screen.terminal { behind_bar(text.trim().lines()) } else { text.trim().to_owned() };
            if !ctx.screen.terminal {
                return text;
            }
            format!(
                "{}\n{}\n\n{text}\n\n{} takes it with you",
                paint(style::GOOD, "The plan is complete"),
                paint(style::FAINT, counted),
                paint(style::COMMAND, export)
            )
        }
        (_, _, Some(fault)) => {
            let style = if plan.status == PlanStatus::Cancelled { style::WARN } else { style::BAD };
            format!("{} {} ({})", paint(style, words(plan.status)), one_line(&fault.message), one_line(&fault.code))
        }
        _ => one_line(&plan.message),
    }
}

fn words(status: PlanStatus) -> &'static str {
    match status {
        PlanStatus::InProgress => "In progress:",
        PlanStatus::AwaitingApproval => "Waiting:",
        PlanStatus::Complete => "Complete:",
        PlanStatus::Cancelled => "Cancelled:",
        PlanStatus::Error => "No plan:",
    }
}

pub(crate) fn exit(plan: &Plan) -> Exit {
    match (plan.status, &plan.fault) {
        (PlanStatus::Complete, _) => Exit::Done,
        (PlanStatus::InProgress | PlanStatus::AwaitingApproval, _) => Exit::Waiting,
        (PlanStatus::Cancelled, _) => Exit::NotApproved,
        (PlanStatus::Error, Some(fault)) if fault.code == code::EXPIRED => Exit::TimedOut,
        (PlanStatus::Error, _) => Exit::Problems,
    }
}
