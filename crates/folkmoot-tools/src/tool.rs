//! Tools: what an agent can call inside a turn. Each call is recorded, with its arguments and its result.

use std::{collections::BTreeMap, fmt::Debug, sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Something that an agent can call.
pub trait Tool: Debug + Send + Sync {
    /// What it is called: letters, digits, `_`, `-`, `.` and `/`.
    fn name(&self) -> &str;

    /// What it does, as a model is told.
    fn description(&self) -> &str;

    /// JSON Schema of its arguments.
    fn arguments(&self) -> Value;

    /// Does it. What goes wrong is told to the agent, and is no answer.
    fn call(&self, arguments: Value) -> BoxFuture<'_, Result<Value, ToolError>>;
}

/// Why a tool gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{detail}")]
pub struct ToolError {
    /// A stable word: `unknown_tool`, `invalid_arguments`, `missing`, `timed_out`, `too_large`, `failed`.
    pub code: String,
    /// What happened, and what to do.
    pub detail: String,
}

impl ToolError {
    /// An error with its code.
    pub fn new(code: &str, detail: impl Into<String>) -> Self {
        Self { code: code.to_owned(), detail: detail.into() }
    }
}

/// One call, as it is recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    /// Which tool.
    pub tool: String,
    /// With what.
    pub arguments: Value,
    /// What came of it.
    pub result: Result<Value, ToolError>,
    /// How long it took.
    pub elapsed_ms: u64,
}

/// The tools that an agent has, and the limits that hold for every call.
#[derive(Clone, Debug)]
pub struct Toolbox {
    tools: BTreeMap<String, Arc<dyn Tool>>,
    /// How long one call may take.
    pub timeout: Duration,
    /// The longest result, as JSON.
    pub result_bytes: usize,
}
