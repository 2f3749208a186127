//! The configuration: a file, and a few environment variables for automation.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    num::{NonZeroU32, NonZeroU64},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use folkmoot_core::{
    Capability, Name, Principal, Quota, Role, Timeout,
    gate::GatePolicy,
    question::{self, QuestionPolicy, QuestionType},
};
use folkmoot_engine::{Retention, WorkerSettings, Workflows};
use folkmoot_notify::{
    AddressGuard,
    settings::{ChannelSettings, Notify},
};
use folkmoot_store::Clock;
use folkmoot_workflows::{
    equipment::{self, EquipmentSettings},
    llm::{
        price::Price,
        settings::{self, BudgetSettings},
    },
    plan,
};
use serde::Deserialize;

use crate::{Checkpoints, DataFolder, Origin, observe::Adopt};

/// Everything a server needs to start.
#[derive(Clone, Debug)]
pub struct Config {
    pub data: DataFolder,
    /// Port 0 means a free port.
    pub listen: SocketAddr,
    /// A PostgreSQL database instead of the SQLite file in the data folder.
    pub database: Option<String>,
    /// The policy for gates that agents open.
    pub policy: GatePolicy,
    /// Defaults for questions.
    pub questions: QuestionPolicy,
    /// The workflows that this node executes. They are code, so no file configures them.
    pub workflows: Workflows,
    /// Limits of concurrent execution.
    pub work: WorkerSettings,
    pub plans: Plans,
    /// The models and tools of our own agents.
    pub equipment: EquipmentSettings,
    /// Reads environment variables for models and their keys. It returns nothing by default, so
    /// that no test uses the developer's keys.
    pub variable: fn(&str) -> Option<String>,
    pub notify: Notify,
    /// The configured channels.
    pub channels: BTreeMap<String, ChannelSettings>,
    pub limits: ServerLimits,
    /// Foreign origins whose pages may open WebSockets.
    pub origins: Vec<Origin>,
    /// Host names in addition to IP addresses and `localhost`. `*` accepts every name.
    pub hosts: Vec<String>,
    /// Continues the caller's trace.
    pub adopt: Option<Adopt>,
    /// The configuration file, if it is not `folkmoot.toml` in the data folder.
    pub file: Option<PathBuf>,
    /// The server's key file. Default: `server.key` in the data folder, created at the first start.
    /// Servers on one PostgreSQL share one.
    pub key: Option<PathBuf>,
    /// Automatic checkpoints, if configured.
    pub checkpoints: Option<Checkpoints>,
    pub retention: Retention,
    /// A clock for tests, instead of the machine's or the database's.
    pub clock: Option<Arc<dyn Clock>>,
    /// It serves only while a command-line verb runs.
    pub temporary: bool,
    /// Tokens to create at the start.
    pub bootstrap_tokens: Vec<BootstrapToken>,
}

/// Limits of requests and connections.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerLimits {
    pub body_bytes: usize,
    /// How long a client may take to send its headers, or stay silent between requests.
    pub header_timeout_ms: u64,
    pub body_timeout_ms: u64,
    /// How long a client may leave its response unread.
    pub write_timeout_ms: u64,
    /// How often an idle stream sends a heartbeat.
    pub heartbeat_ms: u64,
    pub connections: usize,
    /// Connections that may serve one principal, including streams and waits; 0 means no separate
    /// limit.
    pub connections_per_principal: Option<usize>,
    /// Per principal.
    pub requests_per_second: u32,
    /// 0 means no limit.
    pub pending_gates_per_agent: u64,
    /// Bytes of those gates' artifacts; 0 means no limit.
    pub pending_bytes_per_agent: u64,
    /// 0 means no limit.
    pub open_questions_per_agent: u64,
    /// Standing halts of one principal that is no admin; 0 means no limit.
    pub halts_per_principal: u64,
    /// Unfinished runs of one agent that the server executes; 0 means no limit.
    pub open_runs_per_agent: u64,
    /// Bytes of request bodies; 0 means no limit.
    pub bytes_per_hour_per_agent: u64,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            body_bytes: 4 << 20,
            header_timeout_ms: 30_000,
            body_timeout_ms: 30_000,
            write_timeout_ms: 30_000,
            heartbeat_ms: 15_000,
            connections: 16_384,
            connections_per_principal: None,
            requests_per_second: 2_000,
            pending_gates_per_agent: 1_000,
            pending_bytes_per_agent: 256 << 20,
            open_questions_per_agent: 1_000,
            halts_per_principal: 100,
            open_runs_per_agent: 100,
            bytes_per_hour_per_agent: 1 << 30,
        }
    }
}

impl ServerLimits {
    /// The limits on what one agent may have open.
    pub(crate) fn quota(&self) -> Quota {
        let some = |limit: u64| (limit > 0).then_some(limit);
        Quota {
            pending_gates: some(self.pending_gates_per_agent),
            pending_bytes: some(self.pending_bytes_per_agent),
            open_questions: some(self.open_questions_per_agent),
            standing_halts: some(self.halts_per_principal),
            open_runs: some(self.open_runs_per_agent),
            ..Quota::default()
        }
    }

    /// Refuses limits of zero that would serve nobody.
    fn check(&self) -> Result<(), String> {
        let zero = [
            ("body_bytes", self.body_bytes == 0),
            ("header_timeout_ms", self.header_timeout_ms == 0),
            ("body_timeout_ms", self.body_timeout_ms == 0),
            ("write_timeout_ms", self.write_timeout_ms == 0),
            ("heartbeat_ms", self.heartbeat_ms == 0),
            ("connections", self.connections == 0),
            ("requests_per_second", self.requests_per_second == 0),
        ];
        match zero.iter().find(|(_, is_zero)| *is_zero) {
            Some((name, _)) => Err(format!("{name} is 0, which would serve nobody")),
            None => Ok(()),
        }
    }
}

/// A token that is created at the start if it does not exist.
#[derive(Clone, PartialEq, Eq)]
pub struct BootstrapToken {
    pub principal: Principal,
    pub secret: String,
}

impl std::fmt::Debug for BootstrapToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BootstrapToken({}, …)", self.principal.name)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ConfigError(String);

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    gates: GatePolicy,
    questions: BTreeMap<QuestionType, QuestionTypeEntry>,
    limits: ServerLimits,
    server: ListenSettings,
    provider: Option<String>,
    providers: BTreeMap<String, settings::ProviderSettings>,
    models: BTreeMap<String, Price>,
    budget: BudgetSettings,
    prompts: Option<PathBuf>,
    mcp: BTreeMap<String, equipment::McpServer>,
    jail: equipment::JailSettings,
    outages: equipment::Outages,
    notify: Notify,
    channels: BTreeMap<String, ChannelSettings>,
    audit: Audit,
    retention: RetentionSettings,
    plans: PlansFile,
}

/// The settings of plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plans {
    /// How long a plan's gate waits before its session expires.
    pub expires_after: Timeout,
    /// Whether people are asked. Only `APPROVAL_GATES` turns this off.
    pub asks: bool,
}

impl Default for Plans {
    fn default() -> Self {
        Self { expires_after: Timeout::After(plan::EXPIRES_AFTER), asks: true }
    }
}

/// `[plans]`
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct PlansFile {
    expires_after_ms: Option<Timeout>,
}

/// Parses `APPROVAL_GATES`. Anything but a clear yes or no is an error, so that a typing error is
/// noticed.
fn approval_gates(said: &str) -> Result<bool, ConfigError> {
    match said.trim().to_ascii_lowercase().as_str() {
        "false" | "0" | "no" | "off" => Ok(false),
        "true" | "1" | "yes" | "on" => Ok(true),
        _ => Err(ConfigError(format!(
            "APPROVAL_GATES is {said:?}, which is neither yes nor no; say `true` or `false`, or leave it out to have gates"
        ))),
    }
}

/// `[audit]`
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Audit {
    checkpoints: Option<PathBuf>,
    checkpoint_every_ms: Option<NonZeroU64>,
}

impl Audit {
    /// Relative paths start at the configuration's folder.
    fn checkpoints(self, folder: &Path) -> Option<Checkpoints> {
        let every = self.checkpoint_every_ms.map_or(CHECKPOINT_EVERY, |ms| Duration::from_millis(ms.get()));
        Some(Checkpoints { file: folder.join(self.checkpoints?), every })
    }
}

/// Tokens to create at the start: `role:name=token,…`.
pub const BOOTSTRAP_TOKENS: &str = "FOLKMOOT_BOOTSTRAP_TOKENS";
const CHECKPOINT_EVERY: Duration = Duration::from_secs(600);

/// `[retention]`. Zero is refused: somebody who has just decided may want to look again.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct RetentionSettings {
    contents_days: Option<NonZeroU32>,
    deliveries_days: Option<NonZeroU32>,
    idempotency_days: Option<NonZeroU32>,
}

impl From<RetentionSettings> for Retention {
    fn from(kept: RetentionSettings) -> Self {
        let span = |days: NonZeroU32| Duration::from_secs(u64::from(days.get()) * 24 * 3600);
        Retention {
            contents: kept.contents_days.map(span),
            deliveries: kept.deliveries_days.map(span),
            idempotency: kept.idempotency_days.map_or(Retention::default().idempotency, span),
        }
    }
}

/// `[server]`
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ListenSettings {
    origins: Vec<String>,
    hosts: Vec<String>,
}

/// `[questions.BLOCKING]` and so on. Omitted values keep their defaults.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct QuestionTypeEntry {
    timeout_ms: Option<Timeout>,
    default: Option<serde_json::Value>,
}

impl Config {
    /// The default configuration for a data folder: loopback, SQLite, default policy.
    pub fn new(data: DataFolder) -> Self {
        Self {
            data,
            listen: SocketAddr::from(([127, 0, 0, 1], 7400)),
            database: None,
            policy: GatePolicy::default(),
            questions: QuestionPolicy::default(),
            workflows: Workflows::new(),
            work: WorkerSettings::default(),
            plans: Plans::default(),
            equipment: EquipmentSettings::default(),
            variable: |_| None,
            notify: Notify::default(),
            channels: BTreeMap::new(),
            limits: ServerLimits::default(),
            origins: Vec::new(),
            hosts: Vec::new(),
            adopt: None,
            file: None,
            key: None,
            checkpoints: None,
            retention: Retention::default(),
            clock: None,
            temporary: false,
            bootstrap_tokens: Vec::new(),
        }
    }

    /// Applies a file. Without a path, `folkmoot.toml` in the data folder is read if it exists.
    pub fn read_file(&mut self, path: Option<PathBuf>) -> Result<(), ConfigError> {
        let given = path.is_some();
        self.file.clone_from(&path);
        let path = path.unwrap_or_else(|| self.data.path().join("folkmoot.toml"));
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !given => return Ok(()),
            Err(error) => return Err(ConfigError(format!("{} cannot be read: {error}", path.display()))),
        };
        let file: File = toml::from_str(&text).map_err(|error| not_right(&path, &text, &error))?;
        file.gates.check().map_err(|refusal| ConfigError(format!("[gates] in {}: {refusal}", path.display())))?;
        self.policy = file.gates;
        for (question_type, QuestionTypeEntry { timeout_ms, default }) in file.questions {
            let defaults = self.questions.defaults(question_type);
            let timeout = timeout_ms.unwrap_or(defaults.timeout);
            let defaults = question::TypeDefaults { timeout, default: default.or(defaults.default) };
            self.questions.set(question_type, defaults).map_err(|refusal| {
                ConfigError(format!("[questions.{question_type}] in {}: {refusal}", path.display()))
            })?;
        }
        if let Some(expires_after) = file.plans.expires_after_ms {
            self.plans.expires_after = expires_after;
        }
        self.checkpoints = file.audit.checkpoints(path.parent().unwrap_or(Path::new("")));
        self.retention = file.retention.into();
        let models = settings::ModelSettings {
            provider: file.provider,
            providers: file.providers,
            models: file.models,
            budget: file.budget,
        };
        let File { prompts, mcp, jail, outages, .. } = file;
        self.equipment = EquipmentSettings { models, prompts, mcp, jail, outages };
        self.equipment.found_from(path.parent().unwrap_or(Path::new("")));
        self.equipment.check().map_err(|problem| ConfigError(format!("{}: {problem}", path.display())))?;
        self.take_channels(file.notify, file.channels, path.parent().unwrap_or(Path::new("")))
            .map_err(|problem| ConfigError(format!("{}: {problem}", path.display())))?;
        let origin = |text: &String| {
            let wrong = |error| ConfigError(format!("[server] origins in {}: {text:?}: {error}", path.display()));
            text.parse::<Origin>().map_err(wrong)
        };
        self.origins = file.server.origins.iter().map(origin).collect::<Result<_, _>>()?;
        if let Some(host) = file.server.hosts.iter().find(|host| host.is_empty() || host.contains([':', '/'])) {
            let wrong = "a host is a name without scheme and port, for example \"folkmoot.example.org\"";
            return Err(ConfigError(format!("[server] hosts in {}: {host:?}: {wrong}", path.display())));
        }
        self.hosts = file.server.hosts;
        self.limits = file.limits;
        self.limits.check().map_err(|problem| ConfigError(format!("[limits] in {}: {problem}", path.display())))
    }

    fn take_channels(
        &mut self,
        mut notify: Notify,
        mut channels: BTreeMap<String, ChannelSettings>,
        folder: &Path,
    ) -> Result<(), String> {
        notify.check().map_err(|problem| format!("[notify]: {problem}"))?;
        notify.ca_file = notify.ca_file.map(|path| folder.join(path));
        let guard = AddressGuard::new(&notify.allow)?;
        for (name, channel) in &mut channels {
            channel.relative_to(folder);
            channel.check(&guard).map_err(|problem| format!("[channels.{name}]: {problem}"))?;
        }
        (self.notify, self.channels) = (notify, channels);
        Ok(())
    }

    /// Applies `FOLKMOOT_BOOTSTRAP_TOKENS` (`role:name=token,…`), `FOLKMOOT_RATE_LIMIT` (requests
    /// per second) and `APPROVAL_GATES` (whether plans ask people).
    pub fn read_environment(&mut self, variable: impl Fn(&str) -> Option<String>) -> Result<(), ConfigError> {
        if let Some(tokens) = variable(BOOTSTRAP_TOKENS) {
            for entry in tokens.split(',').filter(|entry| !entry.trim().is_empty()) {
                self.bootstrap_tokens.push(parse_bootstrap(entry.trim())?);
            }
        }
        if let Some(said) = variable("APPROVAL_GATES") {
            self.plans.asks = approval_gates(&said)?;
        }
        if let Some(rate) = variable("FOLKMOOT_RATE_LIMIT") {
            self.limits.requests_per_second =
                rate.parse().map_err(|_| ConfigError(format!("FOLKMOOT_RATE_LIMIT is {rate:?}, not a number")))?;
            self.limits
                .check()
                .map_err(|_| ConfigError("FOLKMOOT_RATE_LIMIT is 0, which would serve nobody".to_owned()))?;
        }
        Ok(())
    }
}

/// Where and why the file is invalid. The line itself is not shown: it may contain a key.
fn not_right(path: &Path, text: &str, error: &toml::de::Error) -> ConfigError {
    let before = error.span().and_then(|span| text.get(..span.start));
    let line = before.map_or_else(String::new, |before| format!(", line {}", before.matches('\n').count() + 1));
    ConfigError(format!("{}{line} is not right: {}", path.display(), error.message()))
}

/// Errors do not show the secret.
fn parse_bootstrap(entry: &str) -> Result<BootstrapToken, ConfigError> {
    let wrong = |why: String| {
        ConfigError(format!("FOLKMOOT_BOOTSTRAP_TOKENS: {why}; write role:name=token,… or role+halt:name=token"))
    };
    let (who, secret) = entry.split_once('=').ok_or_else(|| wrong("an entry has no `=`".to_owned()))?;
    let (role, name) = who.split_once(':').ok_or_else(|| wrong(format!("{who:?} has no `:`")))?;
    let (role, capabilities) = role.split_once('+').unwrap_or((role, ""));
    let role: Role = role.parse().map_err(|error| wrong(format!("{error}")))?;
    let capabilities = capabilities.split('+').filter(|word| !word.is_empty()).map(str::parse::<Capability>);
    let capabilities = capabilities.collect::<Result<_, _>>().map_err(|error| wrong(format!("{error}")))?;
    let name: Name = name.parse().map_err(|error| wrong(format!("{error}")))?;
    Ok(BootstrapToken { principal: Principal { name, role, capabilities }, secret: secret.to_owned() })
}
