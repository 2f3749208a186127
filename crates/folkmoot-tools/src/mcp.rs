//! Tools of MCP (Model Context Protocol) servers.
//!
//! ```text
//! Mcp::connect ─▶ stdio (our process) or HTTP ─▶ its tools, each `mcp/<server>/<tool>` ─▶ Toolbox
//! a call ─▶ connected? else reconnect ─▶ same tool as offered? ─▶ call ─▶ JSON
//! ```
//!
//! Keys and variables that a server was given are erased from its output. Nothing it says is
//! trusted: names, descriptions and schemas are checked, cleaned and cut; results are data; a tool
//! that changed since it was offered is no longer called.

mod bounded;
mod connection;
mod http;
mod offer;
mod stdio;

use std::{
    collections::{BTreeMap, VecDeque},
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use folkmoot_llm::outbound::Keys;
use futures_util::{FutureExt, future::BoxFuture};
use rmcp::{
    ServiceError,
    model::{CallToolRequestParams, CallToolResult, ContentBlock, ResourceContents},
};
use serde_json::{Map, Value, json};
use tokio::{sync::Mutex, time::timeout};

use crate::{
    foreign,
    tool::{Tool, ToolError, ToolErrorCode},
};
use connection::McpConnection;
use offer::McpOffer;

/// The configuration of an MCP server.
#[derive(Clone, Debug)]
pub struct McpServerConfig {
    /// Its name here: lower-case letters, digits, `-` and `_`.
    pub name: String,
    pub reach: Reach,
    pub limits: McpLimits,
    /// Whether debates that an agent started may call its tools.
    pub for_agents: bool,
}

#[derive(Clone, Debug)]
pub enum Reach {
    /// A child process, over its standard input and output.
    Stdio {
        command: Vec<String>,
        /// Variables in addition to PATH, HOME and LANG.
        environment: BTreeMap<String, String>,
        folder: PathBuf,
    },
    /// Over streamable HTTP.
    Http {
        url: String,
        /// The bearer token.
        key: Option<KeySource>,
    },
}

/// Where a key is. It is read when needed and not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    Variable(String),
    File(PathBuf),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct McpLimits {
    /// Connecting and listing the tools.
    pub connect: Duration,
    pub call: Duration,
    /// One message, and so one result.
    pub message_bytes: usize,
    /// Everything between two answers that we wait for.
    pub flood_bytes: usize,
    /// Further tools are left out.
    pub tools_max: usize,
    /// A longer description is cut.
    pub description_bytes: usize,
    pub reconnects_per_minute: usize,
}

impl Default for McpLimits {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            call: Duration::from_secs(60),
            message_bytes: 4 << 20,
            flood_bytes: 16 << 20,
            tools_max: 128,
            description_bytes: 2048,
            reconnects_per_minute: 5,
        }
    }
}

/// Why a server cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("MCP server `{server}`: {detail}")]
pub struct McpError {
    pub server: String,
    pub kind: McpErrorKind,
    /// What happened, and what to do.
    pub detail: String,
}

folkmoot_core::vocabulary! {
    pub enum McpErrorKind {
        Misconfigured = "misconfigured",
        /// It cannot be started or reached.
        Unreachable = "unreachable",
        TimedOut = "timed_out",
        /// It ended or closed the connection.
        Ended = "ended",
        Malformed = "malformed",
        TooLarge = "too_large",
        /// It rejected the key.
        Unauthorised = "unauthorised",
        /// It was reconnected too often and is not called for a while.
        Resting = "resting",
    }
}

/// A connected server and its tools. The connection ends when the last of them is dropped.
#[derive(Clone, Debug)]
pub struct Mcp {
    client: Arc<McpClient>,
    tools: Vec<Arc<dyn Tool>>,
    warnings: Vec<String>,
}

impl Mcp {
    pub async fn connect(server: McpServerConfig) -> Result<Self, McpError> {
        let fault = |detail: &str| McpError {
            server: server.name.clone(),
            kind: McpErrorKind::Misconfigured,
            detail: detail.to_owned(),
        };
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'_';
        if !(1..=32).contains(&server.name.len()) || !server.name.bytes().all(is_name) {
            return Err(fault("a server's name has 1 to 32 lower-case letters, digits, `-` and `_`"));
        }
        let connection = connection::open(&server).await?;
        let (offers, warnings) = offer::admit(&server, connection.listed(), connection.keys());
        let client = Arc::new(McpClient {
            server,
            state: Mutex::new(McpClientState { connection: Some(Arc::new(connection)), ..McpClientState::default() }),
        });
        let tools = offers
            .into_iter()
            .map(|offer| Arc::new(RemoteTool { client: Arc::clone(&client), offer }) as Arc<dyn Tool>);
        Ok(Self { tools: tools.collect(), warnings, client })
    }

    pub fn tools(&self) -> &[Arc<dyn Tool>] {
        &self.tools
    }

    /// What was left out or cut of its offer, and why.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Ends the connection; a process gets a moment to end. The next call of a tool connects again.
    pub async fn close(&self) {
        if let Some(connection) = self.client.state.lock().await.connection.take()
            && let Some(connection) = Arc::into_inner(connection)
        {
            connection.close().await;
        }
    }
}

/// The connection and configuration that a server's tools share.
#[derive(Debug)]
struct McpClient {
    server: McpServerConfig,
    state: Mutex<McpClientState>,
}

#[derive(Debug, Default)]
struct McpClientState {
    connection: Option<Arc<McpConnection>>,
    reconnects: VecDeque<Instant>,
}

impl McpClient {
    /// The current connection, or a new one. Concurrent callers share it.
    async fn connection(&self) -> Result<Arc<McpConnection>, McpError> {
        let mut state = self.state.lock().await;
        if let Some(connection) = &state.connection
            && connection.is_alive().await
        {
            return Ok(Arc::clone(connection));
        }
        state.connection = None;
        while state.reconnects.front().is_some_and(|at| at.elapsed() > Duration::from_secs(60)) {
            state.reconnects.pop_front();
        }
        if state.reconnects.len() >= self.server.limits.reconnects_per_minute {
            let detail = format!(
                "it was connected to {} times within a minute; it is left alone for a while",
                state.reconnects.len()
            );
            return Err(McpError { server: self.server.name.clone(), kind: McpErrorKind::Resting, detail });
        }
        state.reconnects.push_back(Instant::now());
        let connection = Arc::new(connection::open(&self.server).await?);
        state.connection = Some(Arc::clone(&connection));
        Ok(connection)
    }
}

#[derive(Debug)]
struct RemoteTool {
    client: Arc<McpClient>,
    offer: McpOffer,
}

impl Tool for RemoteTool {
    fn name(&self) -> &str {
        &self.offer.name
    }

    fn description(&self) -> &str {
        &self.offer.description
    }

    fn arguments(&self) -> Value {
        self.offer.arguments.clone()
    }

    fn has_effects(&self) -> bool {
        !self.offer.is_read_only
    }

    fn call(&self, arguments: Value) -> BoxFuture<'_, Result<Value, ToolError>> {
        async move {
            let Value::Object(arguments) = arguments else {
                return Err(ToolError::new(ToolErrorCode::InvalidArguments, "the arguments are no object"));
            };
            let connection = self.client.connection().await.map_err(unconnected)?;
            self.must_be_as_offered(&connection).await?;
            self.ask(&connection, arguments).await
        }
        .boxed()
    }
}

impl RemoteTool {
    /// A server could offer something harmless and change it later. Only the tool that was checked,
    /// described and perhaps approved is called.
    async fn must_be_as_offered(&self, connection: &Arc<McpConnection>) -> Result<(), ToolError> {
        let listed = match timeout(self.client.server.limits.connect, connection.relisted()).await {
            Ok(listed) => listed.map_err(|error| self.failed(connection, error))?,
            Err(_) => return Err(self.late("list its tools", self.client.server.limits.connect)),
        };
        match listed.iter().find(|tool| tool.name == self.offer.remote) {
            Some(tool) if offer::digest(tool) == self.offer.digest => Ok(()),
            Some(_) => Err(ToolError::new(
                ToolErrorCode::Missing,
                format!(
                    "`{}` has changed since the server offered it, and is not called; connect to the server anew",
                    self.offer.name
                ),
            )),
            None => {
                Err(ToolError::new(ToolErrorCode::Missing, format!("the server no longer has `{}`", self.offer.name)))
            }
        }
    }

    async fn ask(&self, connection: &Arc<McpConnection>, arguments: Map<String, Value>) -> Result<Value, ToolError> {
        let limit = self.client.server.limits.call;
        let params = CallToolRequestParams::new(self.offer.remote.clone()).with_arguments(arguments);
        match timeout(limit, connection.call(params)).await {
            Ok(Ok(result)) => flatten(result, connection.keys()),
            Ok(Err(error)) => Err(self.failed(connection, error)),
            Err(_) => Err(self.late("answer", limit)),
        }
    }

    fn late(&self, what: &str, limit: Duration) -> ToolError {
        ToolError::new(
            ToolErrorCode::TimedOut,
            format!("the server of `{}` did not {what} within {limit:?}", self.offer.name),
        )
    }

    fn failed(&self, connection: &McpConnection, error: ServiceError) -> ToolError {
        let (name, keys) = (&self.offer.name, connection.keys());
        if let Some((kind, detail)) = connection.fault() {
            let code = if kind == McpErrorKind::TooLarge { ToolErrorCode::TooLarge } else { ToolErrorCode::Failed };
            return ToolError::new(code, format!("the server of `{name}` was given up: {detail}"));
        }
        let detail = match error {
            ServiceError::McpError(error) => {
                format!("the server refused `{name}`: {}", foreign::line(&keys.erase(&error.message), 1000))
            }
            ServiceError::TransportSend(error) if matches!(self.client.server.reach, Reach::Http { .. }) => {
                let (_, why) = http::fault(&*error.error, keys);
                format!("calling `{name}` failed: {why}")
            }
            ServiceError::TransportClosed | ServiceError::TransportSend(_) => {
                format!("the server of `{name}` ended during the call; whether the call had effects is not known")
            }
            ServiceError::UnexpectedResponse | ServiceError::InputRequiredRoundsExceeded { .. } => {
                format!("the server of `{name}` wants something that an agent's call cannot give")
            }
            error => format!("calling `{name}` failed: {}", foreign::line(&keys.erase(&error.to_string()), 500)),
        };
        ToolError::failed(detail)
    }
}

fn unconnected(error: McpError) -> ToolError {
    let code = match error.kind {
        McpErrorKind::TimedOut => ToolErrorCode::TimedOut,
        McpErrorKind::TooLarge => ToolErrorCode::TooLarge,
        McpErrorKind::Misconfigured
        | McpErrorKind::Unreachable
        | McpErrorKind::Ended
        | McpErrorKind::Malformed
        | McpErrorKind::Unauthorised
        | McpErrorKind::Resting => ToolErrorCode::Missing,
    };
    ToolError::new(code, error.to_string())
}

/// A result as one JSON value: structured content as it is, a text as a string, anything else as a
/// list. Images and sounds are only named, because agents read text.
fn flatten(result: CallToolResult, keys: &Keys) -> Result<Value, ToolError> {
    let mut parts: Vec<Value> = result.content.into_iter().map(|block| keys.erase_value(part(block))).collect();
    if result.is_error == Some(true) {
        let said =
            parts.iter().map(|part| part.as_str().map_or_else(|| part.to_string(), str::to_owned)).collect::<Vec<_>>();
        let said = keys.erase(&foreign::text(&said.join("\n"), 4000));
        return Err(ToolError::failed(if said.is_empty() { "it failed without saying why".to_owned() } else { said }));
    }
    if let Some(structured) = result.structured_content {
        return Ok(keys.erase_value(structured));
    }
    match parts.len() {
        0 => Ok(Value::Null),
        1 => Ok(parts.remove(0)),
        _ if parts.iter().all(Value::is_string) => {
            let texts: Vec<&str> = parts.iter().filter_map(Value::as_str).collect();
            Ok(Value::String(keys.erase(&texts.join("\n"))))
        }
        _ => Ok(Value::Array(parts)),
    }
}

fn part(block: ContentBlock) -> Value {
    match block {
        ContentBlock::Text(text) => Value::String(text.text),
        ContentBlock::Image(image) => {
            json!({ "type": "image", "media_type": image.mime_type, "base64_bytes": image.data.len() })
        }
        ContentBlock::Audio(audio) => {
            json!({ "type": "audio", "media_type": audio.mime_type, "base64_bytes": audio.data.len() })
        }
        ContentBlock::Resource(resource) => match resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                json!({ "type": "resource", "uri": uri, "text": text })
            }
            ResourceContents::BlobResourceContents { uri, blob, .. } => {
                json!({ "type": "resource", "uri": uri, "base64_bytes": blob.len() })
            }
            _ => json!({ "type": "resource" }),
        },
        ContentBlock::ResourceLink(link) => json!({ "type": "resource_link", "uri": link.uri, "name": link.name }),
        _ => json!({ "type": "unknown" }),
    }
}
