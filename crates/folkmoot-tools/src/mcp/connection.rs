//! One connection to a server.

use std::{
    collections::HashSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use folkmoot_llm::outbound::Keys;
use rmcp::{
    ClientHandler, RoleClient, ServiceError,
    model::{
        CallToolRequestParams, CallToolResult, ClientCapabilities, ClientRequest, Implementation,
        InitializeRequestParams, PaginatedRequestParams, PingRequest, ProtocolVersion, Tool,
    },
    service::{
        ClientInitializeError, ClientLifecycleMode, NotificationContext, RunningService, serve_client_with_lifecycle,
    },
};
use tokio::time::{Instant, timeout, timeout_at};

use super::{McpError, McpErrorKind, McpLimits, McpServerConfig, Reach, bounded::Meter, http, stdio};
use crate::{child::Child, foreign};

/// An established connection.
#[derive(Debug)]
pub(super) struct McpConnection {
    service: RunningService<RoleClient, McpClientHandler>,
    /// Its process, which ends with the connection.
    child: Option<Child>,
    meter: Arc<Meter>,
    has_changed: Arc<AtomicBool>,
    /// A call was abandoned, so the server may hang.
    is_suspect: AtomicBool,
    listed: Vec<Tool>,
    limits: McpLimits,
    /// Secrets that it was given and may repeat.
    keys: Keys,
}

/// How long a suspect server may take to answer a ping.
const PING_TIMEOUT: Duration = Duration::from_secs(1);

/// How to begin: most servers know only the handshake, the newest only the other way.
const WAYS: [fn() -> ClientLifecycleMode; 2] = [
    || ClientLifecycleMode::Initialize,
    || ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] },
];

/// Connects and lists the tools, within the time limit.
pub(super) async fn open(server: &McpServerConfig) -> Result<McpConnection, McpError> {
    let error = |(kind, detail): (McpErrorKind, String)| McpError { server: server.name.clone(), kind, detail };
    let until = Instant::now() + server.limits.connect;
    let mut refused = None;
    for way in WAYS {
        match timeout_at(until, attempt(server, way())).await {
            Ok(Ok(connection)) => return Ok(connection),
            // It answered, but not to this way. Report the first refusal: the second way is our
            // guess.
            Ok(Err(ConnectError::Refused(why))) => refused = refused.or(Some((McpErrorKind::Malformed, why))),
            Ok(Err(ConnectError::Failed(kind, why))) => return Err(error(refused.unwrap_or((kind, why)))),
            Err(_) => {
                let why = format!("it was not ready within {:?}", server.limits.connect);
                return Err(error((McpErrorKind::TimedOut, why)));
            }
        }
    }
    Err(error(refused.unwrap_or((McpErrorKind::Malformed, "it refuses every way to begin".to_owned()))))
}

/// Why no connection was established.
enum ConnectError {
    Refused(String),
    /// Another attempt would not help.
    Failed(McpErrorKind, String),
}

async fn attempt(server: &McpServerConfig, way: ClientLifecycleMode) -> Result<McpConnection, ConnectError> {
    let failed = |(kind, why): (McpErrorKind, String)| ConnectError::Failed(kind, why);
    let meter = Meter::new(server.limits.message_bytes, server.limits.flood_bytes);
    let has_changed = Arc::new(AtomicBool::new(false));
    let listener = McpClientHandler { has_changed: Arc::clone(&has_changed) };
    let (service, mut child, keys) = match &server.reach {
        Reach::Stdio { command, environment, folder } => {
            let (child, transport) = stdio::start(command, environment, folder, &meter).map_err(failed)?;
            (serve_client_with_lifecycle(listener, transport, way).await, Some(child), Keys::new(environment))
        }
        Reach::Http { url, key } => {
            let (transport, keys) = http::transport(url, key.as_ref(), &server.limits, &meter).map_err(failed)?;
            (serve_client_with_lifecycle(listener, transport, way).await, None, keys)
        }
    };
    let service = match service {
        Ok(service) => service,
        Err(error) => return Err(unopened(error, &meter, child.as_mut(), &keys).await),
    };
    let mut connection = McpConnection {
        service,
        child,
        meter,
        has_changed,
        is_suspect: AtomicBool::new(false),
        listed: Vec::new(),
        limits: server.limits,
        keys,
    };
    match connection.list().await {
        Ok(listed) => connection.listed = listed,
        Err(error) => {
            let (kind, why) = connection.fault().unwrap_or_else(|| unlisted(&error, &connection.keys));
            return Err(ConnectError::Failed(kind, why));
        }
    }
    Ok(connection)
}

async fn unopened(error: ClientInitializeError, meter: &Meter, child: Option<&mut Child>, keys: &Keys) -> ConnectError {
    if let Some((kind, why)) = meter.fault() {
        return ConnectError::Failed(kind, why);
    }
    match error {
        ClientInitializeError::JsonRpcError(error) => {
            ConnectError::Refused(format!("it refuses to begin: {}", foreign::line(&keys.erase(&error.message), 500)))
        }
        ClientInitializeError::ConnectionClosed(_) => {
            let complaint = match child {
                Some(child) => foreign::line(&keys.erase_end(&child.complaint().await), 1000),
                None => String::new(),
            };
            let why =
                if complaint.is_empty() { "without saying why".to_owned() } else { format!("saying: {complaint}") };
            ConnectError::Failed(McpErrorKind::Ended, format!("it ended before it was ready, {why}"))
        }
        ClientInitializeError::TransportError { error, .. } => {
            let (kind, why) = http::fault(&*error.error, keys);
            ConnectError::Failed(kind, why)
        }
        error => ConnectError::Failed(
            McpErrorKind::Malformed,
            format!("it does not speak MCP: {}", foreign::line(&keys.erase(&error.to_string()), 500)),
        ),
    }
}

fn unlisted(error: &ServiceError, keys: &Keys) -> (McpErrorKind, String) {
    let kind = match error {
        ServiceError::TransportClosed | ServiceError::TransportSend(_) => McpErrorKind::Ended,
        _ => McpErrorKind::Malformed,
    };
    (kind, format!("it does not list its tools: {}", foreign::line(&keys.erase(&error.to_string()), 500)))
}

impl McpConnection {
    /// Whether it still works. After an abandoned call it is pinged, so that the next call does not
    /// hang too.
    pub(super) async fn is_alive(&self) -> bool {
        if self.service.is_closed() || self.service.is_transport_closed() || self.meter.fault().is_some() {
            return false;
        }
        if self.is_suspect.load(Ordering::SeqCst) {
            self.meter.begin();
            let ping = self.service.send_request(ClientRequest::PingRequest(PingRequest::default()));
            // A refusal is an answer.
            let answers = matches!(timeout(PING_TIMEOUT, ping).await, Ok(Ok(_) | Err(ServiceError::McpError(_))));
            self.is_suspect.store(!answers, Ordering::SeqCst);
            return answers;
        }
        true
    }

    /// Why we closed it, if we did.
    pub(super) fn fault(&self) -> Option<(McpErrorKind, String)> {
        self.meter.fault()
    }

    /// Secrets to erase from its output.
    pub(super) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// The tools that it listed first.
    pub(super) fn listed(&self) -> &[Tool] {
        &self.listed
    }

    /// Its current tools. It is asked again only after it announced a change.
    pub(super) async fn relisted(&self) -> Result<Vec<Tool>, ServiceError> {
        if !self.has_changed.load(Ordering::SeqCst) {
            return Ok(self.listed.clone());
        }
        self.meter.begin();
        self.list().await
    }

    pub(super) async fn call(&self, params: CallToolRequestParams) -> Result<CallToolResult, ServiceError> {
        self.meter.begin();
        let unanswered = Unanswered(Some(&self.is_suspect));
        let result = self.service.call_tool(params).await;
        unanswered.answered();
        result
    }

    pub(super) async fn close(self) {
        let Self { service, child, .. } = self;
        let patience = Duration::from_secs(1);
        let _ = timeout(patience, service.cancel()).await;
        if let Some(child) = child {
            child.end(patience).await;
        }
    }

    /// All pages, up to one more tool than is admitted, to detect that there are more.
    async fn list(&self) -> Result<Vec<Tool>, ServiceError> {
        let mut tools: Vec<Tool> = Vec::new();
        let (mut cursor, mut cursors) = (None, HashSet::new());
        // Empty pages with cursors could go on for ever.
        for _ in 0..=self.limits.tools_max {
            let page = self.service.list_tools(Some(PaginatedRequestParams::default().with_cursor(cursor))).await?;
            tools.extend(page.tools);
            cursor = page.next_cursor;
            // A repeated cursor means that this page was read.
            let is_new = cursor.clone().is_some_and(|cursor| cursors.insert(cursor));
            if !is_new || tools.len() > self.limits.tools_max {
                break;
            }
        }
        tools.truncate(self.limits.tools_max + 1);
        Ok(tools)
    }
}

/// Marks the connection as suspect if a call is dropped.
struct Unanswered<'a>(Option<&'a AtomicBool>);

impl Unanswered<'_> {
    fn answered(mut self) {
        self.0 = None;
    }
}

impl Drop for Unanswered<'_> {
    fn drop(&mut self) {
        if let Some(is_suspect) = self.0 {
            is_suspect.store(true, Ordering::SeqCst);
        }
    }
}

/// Our side of a connection. It offers no roots, sampling or elicitation.
#[derive(Clone, Debug)]
struct McpClientHandler {
    has_changed: Arc<AtomicBool>,
}

impl ClientHandler for McpClientHandler {
    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.has_changed.store(true, Ordering::SeqCst);
    }

    fn get_info(&self) -> InitializeRequestParams {
        InitializeRequestParams::new(
            ClientCapabilities::default(),
            Implementation::new("folkmoot", env!("CARGO_PKG_VERSION")),
        )
        .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE)
    }
}
