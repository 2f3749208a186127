//! Plans on the wire, as a resource.

use folkmoot_core::{GateId, Name, RunId, SessionId, Timeout, Timestamp};
use folkmoot_debate::plan::{Entity, OnExpiry, PlanStatus};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use super::{Fault, Outage, schema};

/// Starts a plan. Only the goal is needed.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"goal": "Open a second bakery", "max_iterations": 6, "checkpoint_interval": 3}))]
pub struct StartPlan {
    /// What the plan is for.
    #[schema(min_length = 1, max_length = 16384)]
    pub goal: String,
    /// How many iterations; 6 unless it is given. One runs at once, more are proposed first.
    #[schema(minimum = 1, maximum = 20)]
    pub max_iterations: Option<u32>,
    /// After how many of them people are asked; 3 unless it is given.
    #[schema(minimum = 1, maximum = 10)]
    pub checkpoint_interval: Option<u32>,
    /// The session, which the plan is called after; one of its own unless it is given. A session
    /// has one plan.
    pub session_id: Option<SessionId>,
    /// Parts of earlier plans to build on, each as `plan/entity`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<String>,
    /// How long each gate waits before the session has expired; a day unless it is given or
    /// configured.
    pub expires_after_ms: Option<Timeout>,
    /// What becomes of a checkpoint then: `fail` (unless it is given) ends the plan, `reject`
    /// leaves out what was shown and makes the plan of what was accepted before.
    pub on_expiry: Option<OnExpiry>,
    /// Whom to ask, `provider` or `provider/model`; whoever there is unless it is given.
    pub provider: Option<String>,
    /// The longest answer of a model, in tokens; what the provider's configuration says unless it
    /// is given.
    #[schema(minimum = 1, maximum = 1000000)]
    pub max_tokens: Option<u32>,
    /// What it may spend; what the configuration says unless it is given.
    pub budget: Option<PlanBudget>,
    /// Who may decide on its gates.
    pub reviewers: Option<Vec<Name>>,
    /// Whom to tell, beside the feed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notification_channels: Vec<String>,
}

/// What may be spent. What is not said is not limited.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlanBudget {
    /// Tokens, read and written.
    pub tokens: Option<u64>,
    /// US dollars.
    #[schema(minimum = 0)]
    pub usd: Option<f64>,
}

/// A plan.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Plan {
    /// As its session is called; `/v1/runs` has it under the same id.
    pub id: RunId,
    pub session_id: SessionId,
    /// What it is for.
    pub goal: String,
    /// Where it is.
    pub status: PlanStatus,
    /// How many iterations it may have.
    pub total_iterations: u32,
    /// After how many of them people are asked.
    pub checkpoint_interval: u32,
    /// The iteration that was begun last; 0 before the first.
    pub current_iteration: u32,
    /// What it does, in a line.
    pub message: String,
    /// The gate at which it waits.
    pub waiting_at: Option<GateId>,
    /// The providers of models that it waits for. It goes on by itself when they are back, or at
    /// once when its run is resumed.
    #[serde(default)]
    pub outages: Vec<Outage>,
    /// What that gate is called at `/api/approve`.
    pub approval_id: Option<String>,
    /// The questions and halts that keep it from working, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub halted_by: Vec<String>,
    /// Who started it.
    pub initiator: Name,
    pub started_at: Timestamp,
    /// When it was over.
    pub ended_at: Option<Timestamp>,
    /// Why there is no final plan, where there is none and will be none.
    pub fault: Option<Fault>,
    /// What came of it, once it is complete; only where one plan is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<PlanResult>,
}

/// A finished plan.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PlanResult {
    /// All of it, as Markdown.
    pub final_plan: String,
    /// Its parts, by the names under which later plans find them.
    pub entities: Vec<PlanEntity>,
    /// The last iteration that is in it.
    pub iterations_completed: u32,
    /// Whether somebody ended it before its last iteration.
    pub paused: bool,
    /// Insights of the iterations that are in it.
    pub insights: u64,
    /// Their frameworks.
    pub frameworks_evolved: u64,
    /// Their data points.
    pub data_points_collected: u64,
    /// Who was asked.
    pub provider: String,
    /// Tokens, read and written.
    pub tokens: u64,
}

/// A part of a finished plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanEntity {
    /// Unique in its plan.
    pub name: String,
    /// As the plan calls it.
    pub title: String,
    /// All of it, as Markdown.
    pub text: String,
}

impl From<Entity> for PlanEntity {
    fn from(Entity { name, title, text }: Entity) -> Self {
        Self { name, title, text }
    }
}

/// Plans, the newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PlanList {
    /// This page.
    pub plans: Vec<Plan>,
    /// Where the next one begins, if there is one.
    pub next: Option<String>,
}

/// Which plans.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PlanQuery {
    /// From `next` of the page before.
    pub cursor: Option<String>,
    /// How many; 50 unless it is given.
    pub limit: Option<u32>,
}

/// As what a plan is exported.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ExportPlan {
    /// `markdown` (unless it is given) or `html`.
    #[param(schema_with = schema::export_format)]
    pub format: Option<String>,
}
