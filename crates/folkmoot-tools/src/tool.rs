//! Tools that an agent can call during a turn. Each call is recorded with its arguments and its
//! result.
//!
//! ```text
//! Toolbox::call ─▶ known? ─▶ arguments fit the schema? ─▶ Tool::call ─▶ result fits? ─▶ ToolCall
//! ```
//!
//! Every failure, including a panic of the tool, is the [`ToolError`] of that call. Dropping the
//! future cancels the call.

mod execute;
mod format;
mod git;
mod kind;
mod printed;
mod project_command;
mod run_tests;
pub mod schema;
mod search;
pub mod turn;

use std::{
    any::Any,
    collections::BTreeMap,
    fmt::Debug,
    panic::AssertUnwindSafe,
    sync::Arc,
    time::{Duration, Instant},
};

use futures_util::{FutureExt, future::BoxFuture};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use self::{
    execute::ExecuteTool,
    format::FormatTool,
    git::{CommitRange, GitTool},
    kind::{serving, serving_all},
    project_command::ProjectCommandTool,
    run_tests::RunTestsTool,
    search::SearchTool,
    turn::{Steps, ToolTurn, TurnLimits, TurnOutcome, turn, turn_by},
};
use crate::{foreign, jail::JailError};

pub trait Tool: Debug + Send + Sync {
    /// Letters, digits, `_`, `-`, `.` and `/`.
    fn name(&self) -> &str;

    /// For the model.
    fn description(&self) -> &str;

    /// JSON Schema of its arguments.
    fn arguments(&self) -> Value;

    /// Whether it may change something outside the jail and the run's own folders. A person is then
    /// asked before each call.
    fn has_effects(&self) -> bool {
        false
    }

    /// Errors are reported to the agent and are not an answer.
    fn call(&self, arguments: Value) -> BoxFuture<'_, Result<Value, ToolError>>;
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{detail}")]
#[serde(deny_unknown_fields)]
pub struct ToolError {
    pub code: ToolErrorCode,
    /// What happened, and what to do.
    pub detail: String,
}

folkmoot_core::vocabulary! {
    pub enum ToolErrorCode {
        UnknownTool = "unknown_tool",
        /// The arguments do not fit the schema, or ask for something impossible.
        InvalidArguments = "invalid_arguments",
        /// The tool needs something that is missing: a program, a server, a file.
        Missing = "missing",
        TimedOut = "timed_out",
        TooLarge = "too_large",
        Failed = "failed",
    }
}

impl ToolError {
    pub fn new(code: ToolErrorCode, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into() }
    }

    pub fn failed(detail: impl Into<String>) -> Self {
        Self::new(ToolErrorCode::Failed, detail)
    }
}

impl From<JailError> for ToolError {
    fn from(error: JailError) -> Self {
        let code = match error {
            JailError::NoJail(_) | JailError::Missing(_) => ToolErrorCode::Missing,
            JailError::Invalid(_) => ToolErrorCode::InvalidArguments,
            JailError::Failed(_) => ToolErrorCode::Failed,
        };
        Self::new(code, error.to_string())
    }
}

/// Parses arguments. They already fit the schema, which can be less strict than a type.
pub(crate) fn parsed<T: serde::de::DeserializeOwned>(arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments)
        .map_err(|error| ToolError::new(ToolErrorCode::InvalidArguments, error.to_string()))
}

/// Removes null fields, which a model need not read.
fn without_nulls(mut value: Value) -> Value {
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    value
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    pub tool: String,
    /// As the model sent them.
    pub arguments: Value,
    pub result: Result<Value, ToolError>,
    pub elapsed_ms: u64,
}

/// A tool as it is described to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolOffer {
    pub name: String,
    pub description: String,
    /// JSON Schema of its arguments.
    pub arguments: Value,
    /// Whether it may change something outside. A person is then asked before each call, and the
    /// call is made once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub effects: bool,
}

/// An agent's tools, and the limits of each call.
#[derive(Clone, Debug)]
pub struct Toolbox {
    tools: BTreeMap<String, ToolEntry>,
    pub timeout: Duration,
    /// The longest result, as JSON. A longer text is cut and marked; anything else is refused.
    pub result_bytes: usize,
}

/// A tool with its schema at the time it was added. Later changes have no effect.
#[derive(Clone, Debug)]
struct ToolEntry {
    tool: Arc<dyn Tool>,
    description: String,
    arguments: Value,
    fits: Arc<schema::CompiledSchema>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddError {
    #[error("there is a tool `{0}` already; each needs a name of its own")]
    Duplicate(String),
    #[error("`{0}` cannot be the name of a tool: 1 to {NAME_BYTES_MAX} letters, digits, `_`, `-`, `.` and `/`")]
    Name(String),
    /// Its schema cannot be compiled.
    #[error("the schema of the arguments of `{tool}` cannot be used: {why}")]
    Schema { tool: String, why: String },
}

/// The longest name of a tool.
pub const NAME_BYTES_MAX: usize = 128;
const DETAIL_BYTES_MAX: usize = 4096;

impl Default for Toolbox {
    fn default() -> Self {
        Self { tools: BTreeMap::new(), timeout: Duration::from_secs(60), result_bytes: 64 * 1024 }
    }
}

impl Toolbox {
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), AddError> {
        let name = tool.name().to_owned();
        if !is_name(&name) {
            return Err(AddError::Name(foreign::line(&name, NAME_BYTES_MAX)));
        }
        if self.tools.contains_key(&name) {
            return Err(AddError::Duplicate(name));
        }
        let arguments = tool.arguments();
        let fits = schema::compile(&arguments).map_err(|why| AddError::Schema { tool: name.clone(), why })?;
        let description = tool.description().to_owned();
        self.tools.insert(name, ToolEntry { tool, description, arguments, fits: Arc::new(fits) });
        Ok(())
    }

    /// A toolbox with only the named tools, for a role. An unknown name is an error, because a
    /// silently missing tool would be hard to notice.
    pub fn only<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<Self, ToolError> {
        let mut tools = BTreeMap::new();
        for name in names {
            let entry = self.tools.get(name).ok_or_else(|| self.unknown(name))?;
            tools.insert(name.to_owned(), entry.clone());
        }
        Ok(Self { tools, ..*self })
    }

    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Whether it has this tool and the tool has effects.
    pub fn has_effects(&self, name: &str) -> bool {
        self.tools.get(name).is_some_and(|entry| entry.tool.has_effects())
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// The tools as described to a model, sorted by name.
    pub fn offers(&self) -> Vec<ToolOffer> {
        let offer = |(name, entry): (&String, &ToolEntry)| ToolOffer {
            name: name.clone(),
            description: entry.description.clone(),
            arguments: entry.arguments.clone(),
            effects: entry.tool.has_effects(),
        };
        self.tools.iter().map(offer).collect()
    }

    /// The same as text.
    pub fn describe(&self) -> String {
        describe(&self.offers())
    }

    /// Calls a tool. The record contains the result or the error.
    pub async fn call(&self, name: &str, arguments: Value) -> ToolCall {
        let begun = Instant::now();
        let result = self
            .result(name, &arguments)
            .await
            .map_err(|error| ToolError { detail: foreign::text(&error.detail, DETAIL_BYTES_MAX), ..error });
        let elapsed_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        ToolCall { tool: name.to_owned(), arguments, result, elapsed_ms }
    }

    async fn result(&self, name: &str, arguments: &Value) -> Result<Value, ToolError> {
        let entry = self.tools.get(name).ok_or_else(|| self.unknown(name))?;
        schema::check(&entry.fits, arguments).map_err(|why| {
            ToolError::new(ToolErrorCode::InvalidArguments, format!("the arguments do not fit `{name}`: {why}"))
        })?;
        let arguments = arguments.clone();
        // Called inside, so that a panic before the first await is caught too.
        let call = AssertUnwindSafe(async move { entry.tool.call(arguments).await }).catch_unwind();
        let result = tokio::time::timeout(self.timeout, call).await;
        let value = result.map_err(|_| self.late(name))?.map_err(|panic| panicked(name, &*panic))??;
        self.fit(name, value)
    }

    /// Cuts a long text, because its beginning is useful. Half of other JSON is not.
    fn fit(&self, name: &str, value: Value) -> Result<Value, ToolError> {
        let bytes = schema::json_bytes(&value);
        if bytes <= self.result_bytes {
            return Ok(value);
        }
        match value {
            Value::String(text) => Ok(Value::String(foreign::text(&text, self.result_bytes))),
            _ => Err(ToolError::new(
                ToolErrorCode::TooLarge,
                format!("the result of `{name}` is {bytes} bytes long, and may be {}; ask for less", self.result_bytes),
            )),
        }
    }

    fn unknown(&self, name: &str) -> ToolError {
        let known = match self.tools.is_empty() {
            true => "there are no tools".to_owned(),
            false => format!("there are {}", self.names().collect::<Vec<_>>().join(", ")),
        };
        ToolError::new(
            ToolErrorCode::UnknownTool,
            format!("no tool `{}`; {known}", foreign::line(name, NAME_BYTES_MAX)),
        )
    }

    fn late(&self, name: &str) -> ToolError {
        ToolError::new(ToolErrorCode::TimedOut, format!("`{name}` did not end within {:?}", self.timeout))
    }
}

/// One line of JSON per tool. JSON, because a description can come from an untrusted server and
/// must not begin a line of its own.
fn describe(offers: &[ToolOffer]) -> String {
    let line = |ToolOffer { name, description, arguments, .. }: &ToolOffer| {
        json!({ "name": name, "description": description, "arguments": arguments }).to_string() + "\n"
    };
    offers.iter().map(line).collect()
}

fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
    (1..=NAME_BYTES_MAX).contains(&name.len()) && name.bytes().all(allowed)
}

fn panicked(name: &str, panic: &(dyn Any + Send)) -> ToolError {
    let said = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    ToolError::failed(format!("`{name}` broke down: {}", said.unwrap_or("it did not say why")))
}

#[cfg(test)]
mod tests;
