//! Tools: what an agent can call inside a turn. Each call is recorded, with its arguments and its
//! result.
//!
//! ```text
//! Toolbox::call ─▶ known? ─▶ arguments fit the schema? ─▶ Tool::call ─▶ result fits? ─▶ ToolCall
//! ```
//!
//! Whatever goes wrong on the way is the [`ToolError`] of that call, a panic of the tool too.
//! Dropping the future ends the call.

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
    git::{GitTool, View},
    kind::{serving, serving_all},
    project_command::ProjectCommandTool,
    run_tests::RunTestsTool,
    search::SearchTool,
    turn::{Steps, ToolTurn, TurnLimits, TurnOutcome, turn, turn_by},
};
use crate::{foreign, jail::JailError};

/// Something that an agent can call.
pub trait Tool: Debug + Send + Sync {
    /// What it is called: letters, digits, `_`, `-`, `.` and `/`.
    fn name(&self) -> &str;

    /// What it does, as a model is told.
    fn description(&self) -> &str;

    /// JSON Schema of its arguments.
    fn arguments(&self) -> Value;

    /// Whether it may change something outside of the jail and of the run's own folders: then a
    /// person is asked before each call.
    fn has_effects(&self) -> bool {
        false
    }

    /// Does it. What goes wrong is told to the agent, and is no answer.
    fn call(&self, arguments: Value) -> BoxFuture<'_, Result<Value, ToolError>>;
}

/// Why a tool gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("{detail}")]
#[serde(deny_unknown_fields)]
pub struct ToolError {
    /// What sort of error.
    pub code: ToolErrorCode,
    /// What happened, and what to do.
    pub detail: String,
}

folkmoot_core::vocabulary! {
    /// The sorts of error of a tool.
    pub enum ToolErrorCode {
        /// The agent has no tool of that name.
        UnknownTool = "unknown_tool",
        /// The arguments do not fit the tool's schema, or ask for what cannot be.
        InvalidArguments = "invalid_arguments",
        /// What the tool needs is not there: a program, a server, a file.
        Missing = "missing",
        /// It took longer than it may.
        TimedOut = "timed_out",
        /// The result is longer than it may be.
        TooLarge = "too_large",
        /// It went wrong.
        Failed = "failed",
    }
}

impl ToolError {
    /// An error with its code.
    pub fn new(code: ToolErrorCode, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into() }
    }

    /// It went wrong.
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

/// Arguments as a tool reads them. They fit its schema already, which can say less than a type.
pub(crate) fn parsed<T: serde::de::DeserializeOwned>(arguments: Value) -> Result<T, ToolError> {
    serde_json::from_value(arguments)
        .map_err(|error| ToolError::new(ToolErrorCode::InvalidArguments, error.to_string()))
}

/// An object without the fields that say nothing: a model need not read them.
fn without_nulls(mut value: Value) -> Value {
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    value
}

/// One call, as it is recorded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// Which tool.
    pub tool: String,
    /// With what, as it came.
    pub arguments: Value,
    /// What came of it.
    pub result: Result<Value, ToolError>,
    /// How long it took.
    pub elapsed_ms: u64,
}

/// A tool as it is described to a model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolOffer {
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub arguments: Value,
    /// Whether it may change something outside: a person is asked before each call, and the call is
    /// made once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub effects: bool,
}

/// The tools that an agent has, and the limits that hold for every call.
#[derive(Clone, Debug)]
pub struct Toolbox {
    tools: BTreeMap<String, ToolEntry>,
    /// How long one call may take.
    pub timeout: Duration,
    /// The longest result, as JSON. A longer text is cut, and says so; anything else is refused.
    pub result_bytes: usize,
}

/// A tool with the schema that it had when it was added. Later changes of it have no effect.
#[derive(Clone, Debug)]
struct ToolEntry {
    tool: Arc<dyn Tool>,
    description: String,
    arguments: Value,
    fits: Arc<schema::CompiledSchema>,
}

/// Why a tool cannot be in a toolbox.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddError {
    /// Its name is taken.
    #[error("there is a tool `{0}` already; each needs a name of its own")]
    Duplicate(String),
    /// Its name is no name.
    #[error("`{0}` cannot be the name of a tool: 1 to {NAME_BYTES_MAX} letters, digits, `_`, `-`, `.` and `/`")]
    Name(String),
    /// Nothing can be checked against its schema.
    #[error("the schema of the arguments of `{tool}` cannot be used: {why}")]
    Schema {
        /// Which tool.
        tool: String,
        /// What is wrong with its schema.
        why: String,
    },
}

/// The longest name of a tool.
pub const NAME_BYTES_MAX: usize = 128;
/// The longest explanation of what went wrong.
const DETAIL_BYTES_MAX: usize = 4096;

impl Default for Toolbox {
    fn default() -> Self {
        Self { tools: BTreeMap::new(), timeout: Duration::from_secs(60), result_bytes: 64 * 1024 }
    }
}

impl Toolbox {
    /// Puts a tool into it.
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

    /// A toolbox with only those of its tools that are named, for a role. A name that it does not
    /// have is an error: a role that silently lost a tool would be hard to notice.
    pub fn only<'a>(&self, names: impl IntoIterator<Item = &'a str>) -> Result<Self, ToolError> {
        let mut tools = BTreeMap::new();
        for name in names {
            let entry = self.tools.get(name).ok_or_else(|| self.unknown(name))?;
            tools.insert(name.to_owned(), entry.clone());
        }
        Ok(Self { tools, ..*self })
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Whether it has this tool, and that may change something outside.
    pub fn has_effects(&self, name: &str) -> bool {
        self.tools.get(name).is_some_and(|entry| entry.tool.has_effects())
    }

    /// The names of its tools, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.keys().map(String::as_str)
    }

    /// Its tools as a model is told of them, in the order of their names.
    pub fn offers(&self) -> Vec<ToolOffer> {
        let offer = |(name, entry): (&String, &ToolEntry)| ToolOffer {
            name: name.clone(),
            description: entry.description.clone(),
            arguments: entry.arguments.clone(),
            effects: entry.tool.has_effects(),
        };
        self.tools.iter().map(offer).collect()
    }

    /// The same in words.
    pub fn describe(&self) -> String {
        describe(&self.offers())
    }

    /// Calls a tool. What comes of it, good or bad, is in the record.
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
        // The call begins inside, so that a tool which panics before its first await is caught as
        // well.
        let call = AssertUnwindSafe(async move { entry.tool.call(arguments).await }).catch_unwind();
        let result = tokio::time::timeout(self.timeout, call).await;
        let value = result.map_err(|_| self.late(name))?.map_err(|panic| panicked(name, &*panic))??;
        self.fit(name, value)
    }

    /// A long text is cut: its beginning is worth something. Half of any other JSON is not.
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

/// One line of JSON for each. As JSON, because a description can come from a server that nobody
/// trusts, and cannot begin a line of its own this way.
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
