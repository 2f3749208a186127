//! Plans on the wire, as `/v1/plans` has them.

use folkmoot_core::{GateId, Name, RunId, SessionId, Timeout, Timestamp};
use folkmoot_debate::plan::{Entity, OnExpiry, PlanStatus};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use super::{Fault, Outage, schema};

/// Starts a plan. Only `goal` is required.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"goal": "Open a second bakery", "max_iterations": 6, "checkpoint_interval": 3}))]
pub struct StartPlan {
    /// What the plan should achieve.
    #[schema(min_length = 1, max_length = 16384)]
    pub goal: String,
    /// The number of iterations; default 6. With more than one, people first decide on a proposal;
    /// with one, nobody is asked.
    #[schema(minimum = 1, maximum = 20)]
    pub max_iterations: Option<u32>,
    /// The number of iterations between two checkpoints; default 3.
    #[schema(minimum = 1, maximum = 10)]
    pub checkpoint_interval: Option<u32>,
    /// The id of the session and of the plan; by default a new one. A session has one plan.
    pub session_id: Option<SessionId>,
    /// Parts of earlier plans to build on, each as `plan/entity`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entities: Vec<String>,
    /// How long each gate waits before the session expires; by default as configured, or a day.
    pub expires_after_ms: Option<Timeout>,
    /// What happens to a checkpoint that expires. `fail`, the default, ends the plan. `reject`
    /// leaves out what the checkpoint showed and makes the plan of what was accepted before.
    pub on_expiry: Option<OnExpiry>,
    /// The model provider, as `provider` or `provider/model`; by default the server's.
    pub provider: Option<String>,
    /// The longest answer of a model, in tokens; by default as the provider is configured.
    #[schema(minimum = 1, maximum = 1000000)]
    pub max_tokens: Option<u32>,
    /// What the plan may spend on models; by default as configured.
    pub budget: Option<PlanBudget>,
    /// Who may decide on the plan's gates.
    pub reviewers: Option<Vec<Name>>,
    /// The channels that are notified.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notification_channels: Vec<String>,
}

/// A budget for model calls. What is left out is not limited.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PlanBudget {
    /// Tokens read and written.
    pub tokens: Option<u64>,
    #[schema(minimum = 0)]
    pub usd: Option<f64>,
}

/// A plan.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Plan {
    /// The id of the plan and of its session. `/v1/runs` has the plan under the same id.
    pub id: RunId,
    pub session_id: SessionId,
    /// What the plan should achieve.
    pub goal: String,
    pub status: PlanStatus,
    /// The number of iterations of the plan.
    pub total_iterations: u32,
    /// The number of iterations between two checkpoints.
    pub checkpoint_interval: u32,
    /// The iteration that began last; 0 before the first.
    pub current_iteration: u32,
    /// What the plan is doing now, in one line.
    pub message: String,
    /// The gate at which the plan waits.
    pub waiting_at: Option<GateId>,
    /// The unavailable model providers for which the plan waits. It continues by itself when they
    /// are back, or at once when its run is resumed.
    #[serde(default)]
    pub outages: Vec<Outage>,
    /// The `approval_id` of that gate at `/api/approve`.
    pub approval_id: Option<String>,
    /// The ids of the questions and halts that keep the plan from working, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub halted_by: Vec<String>,
    /// The principal that started the plan.
    pub initiator: Name,
    pub started_at: Timestamp,
    pub ended_at: Option<Timestamp>,
    /// Why there is no final plan, if the plan failed, expired, was cancelled or is stopped.
    pub fault: Option<Fault>,
    /// The result, once the plan is complete. Absent in lists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<PlanResult>,
}

/// A finished plan.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PlanResult {
    /// The complete text of the plan, as Markdown.
    pub final_plan: String,
    /// The plan's parts. Later plans can build on them by their names.
    pub entities: Vec<PlanEntity>,
    /// The last iteration that the plan contains.
    pub iterations_completed: u32,
    /// Whether a reviewer paused the plan before its last iteration.
    pub paused: bool,
    /// The number of insights of the iterations that the plan contains.
    pub insights: u64,
    /// The number of their frameworks.
    pub frameworks_evolved: u64,
    /// The number of their data points.
    pub data_points_collected: u64,
    /// The model provider that was asked.
    pub provider: String,
    /// Tokens read and written.
    pub tokens: u64,
}

/// A part of a finished plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanEntity {
    /// Unique in its plan.
    pub name: String,
    /// The heading of the part in the plan.
    pub title: String,
    /// The complete text of the part, as Markdown.
    pub text: String,
}

impl From<Entity> for PlanEntity {
    fn from(Entity { name, title, text }: Entity) -> Self {
        Self { name, title, text }
    }
}

/// A page of plans, newest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct PlanList {
    pub plans: Vec<Plan>,
    /// The `cursor` of the next page; `null` at the end.
    pub next: Option<String>,
}

/// Which plans to list.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PlanQuery {
    /// `next` of the previous page.
    pub cursor: Option<String>,
    /// The maximum number of plans; default 50.
    pub limit: Option<u32>,
}

/// The format of an exported plan.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ExportPlan {
    /// `markdown` (the default) or `html`.
    #[param(schema_with = schema::export_format)]
    pub format: Option<String>,
}
