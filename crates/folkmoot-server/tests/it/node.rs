//! Servers to test: one on SQLite, or any number on one PostgreSQL.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
};

use folkmoot_api::{
    Client,
    wire::{Gate, OpenGate, Verdict},
};
use folkmoot_core::{
    Capability, Principal,
    gate::{Choice, GatePolicy},
    question::QuestionPolicy,
};
use folkmoot_engine::{WorkerSettings, Workflows};
use folkmoot_server::{
    BootstrapToken, Config, DataFolder, Origin, Plans, Server, ServerLimits,
    notify_settings::ChannelSettings,
    workflows::{equipment::McpServer, llm::settings::ProviderSettings},
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::http::{self, Answer};

/// A running server.
pub struct Node {
    pub url: String,
    pub data: TempDir,
    shutdown: CancellationToken,
    serving: JoinHandle<Result<(), String>>,
    client: Client,
}

/// How a server is to be started.
#[derive(Clone, Default)]
pub struct Setting {
    pub policy: GatePolicy,
    pub questions: QuestionPolicy,
    pub limits: Option<ServerLimits>,
    pub database: Option<String>,
    pub workflows: Workflows,
    pub work: Option<WorkerSettings>,
    /// What may be sent to, beside what everybody can reach.
    pub allow: Vec<String>,
    pub channels: BTreeMap<String, ChannelSettings>,
    pub public_url: Option<String>,
    pub origins: Vec<Origin>,
    /// The names under which it may be asked.
    pub hosts: Vec<String>,
    pub plans: Plans,
    /// Whom agents of ours ask, by name; the rehearsal unless it is said.
    pub provider: Option<(String, ProviderSettings)>,
    /// MCP servers whose tools agents of ours may call, by name.
    pub mcp: BTreeMap<String, McpServer>,
    /// Prompts in place of those that are built in.
    pub prompts: Option<std::path::PathBuf>,
    /// What judging goes by.
    pub clock: Option<std::sync::Arc<dyn folkmoot_store::Clock>>,
    /// Another node's key, where it is not alone.
    pub key: Option<std::path::PathBuf>,
}

pub const PEOPLE: [(&str, &str); 7] = [
    ("admin", "root-of-all"),
    ("reviewer", "alice"),
    ("reviewer", "bob"),
    ("reviewer", "carol"),
    ("agent", "agent-a"),
    ("agent", "agent-b"),
    ("viewer", "vera"),
];

/// The token of one of the [`PEOPLE`].
pub fn token(name: &str) -> String {
    format!("secret-of-{name}-0123456789")
}

impl Node {
    pub async fn start() -> Self {
        Self::with(Setting::default()).await
    }

    pub async fn with(setting: Setting) -> Self {
        Self::on(tempfile::tempdir().expect("a temporary folder"), setting).await
    }

    /// On a folder that is there.
    pub async fn on(data: TempDir, setting: Setting) -> Self {
        let server = Server::start(config(data.path(), setting)).await.expect("the server starts");
        let url = server.url().to_owned();
        let shutdown = CancellationToken::new();
        let serving = tokio::spawn(server.serve(shutdown.clone()));
        let client = Client::new(&url, "").expect("a client");
        Self { url, data, shutdown, serving, client }
    }

    /// Ends the server and gives its folder back.
    pub async fn stop(self) -> TempDir {
        self.shutdown.cancel();
        self.serving.await.expect("no panic").expect("no failed sync");
        self.data
    }

    pub fn client(&self, name: &str) -> Client {
        self.client.with_token(&token(name))
    }

    /// Opens a gate as `agent-a`.
    pub async fn open(&self, summary: &str) -> Gate {
        let gate = OpenGate { summary: summary.to_owned(), ..OpenGate::default() };
        self.client("agent-a").open_gate(&gate, None).await.expect("it opens")
    }

    pub async fn say(&self, who: &str, gate: &Gate, choice: Choice) -> Result<Gate, folkmoot_api::client::Error> {
        let verdict = Verdict { reason: Some("because".to_owned()), ..Verdict::default() };
        self.client(who).decide(&gate.id, choice, &verdict, None).await
    }

    pub async fn post(&self, who: &str, path: &str, body: Value) -> Answer {
        http::send(&self.url, "POST", path, &token(who), &[], &body.to_string()).await
    }

    pub async fn send(&self, who: &str, method: &str, path: &str, body: Value) -> Answer {
        http::send(&self.url, method, path, &token(who), &[], &body.to_string()).await
    }

    pub async fn get(&self, who: &str, path: &str) -> Answer {
        http::send(&self.url, "GET", path, &token(who), &[], "").await
    }

    /// Opens a gate with this body as `agent-a`.
    pub async fn opened(&self, body: Value) -> Value {
        let answer = self.post("agent-a", "/v1/gates", body).await;
        assert_eq!(answer.status, 201, "{answer:?}");
        answer.json()
    }

    /// Whether the log verifies and every row agrees with it.
    pub async fn verifies(&self) {
        let found = self.client("vera").verify().await.expect("it can be verified");
        assert!(found.ok, "{:?}", found.problems);
        assert!(found.events > 0, "an empty log proves nothing");
    }
}

fn config(data: &Path, setting: Setting) -> Config {
    let mut config = Config::new(DataFolder::at(data));
    config.listen = ([127, 0, 0, 1], 0).into();
    config.key = setting.key;
    config.clock = setting.clock;
    config.origins = setting.origins;
    config.hosts = setting.hosts;
    config.policy = setting.policy;
    config.database = setting.database;
    let usual = ServerLimits {
        requests_per_second: 1_000_000,
        pending_gates_per_agent: 0,
        open_questions_per_agent: 0,
        ..ServerLimits::default()
    };
    config.limits = setting.limits.unwrap_or(usual);
    config.bootstrap_tokens = PEOPLE
        .iter()
        .map(|(role, name)| BootstrapToken {
            principal: Principal::new(name.parse().expect("a name"), role.parse().expect("a role")),
            secret: token(name),
        })
        .collect();
    let monitor = Principal { capabilities: vec![Capability::Halt], ..config.bootstrap_tokens[4].principal.clone() };
    let monitor = Principal { name: "monitor".parse().expect("a name"), ..monitor };
    config.bootstrap_tokens.push(BootstrapToken { principal: monitor, secret: token("monitor") });
    config.questions = setting.questions;
    config.workflows = setting.workflows;
    config.work = setting.work.unwrap_or_default();
    config.notify.allow = setting.allow;
    config.notify.public_url = setting.public_url;
    config.channels = setting.channels;
    config.plans = setting.plans;
    config.equipment.prompts = setting.prompts;
    config.equipment.mcp = setting.mcp;
    let (name, provider) = setting.provider.unzip();
    config.equipment.models.providers.extend(name.clone().zip(provider));
    // Never one that happens to run on this machine.
    config.equipment.models.provider = name.or_else(|| Some("rehearsal".to_owned()));
    config
}

/// An empty schema on the PostgreSQL that `cargo xtask test` starts; `None` where
/// FOLKMOOT_SKIP_POSTGRES allows to skip the test.
pub async fn postgres() -> Option<Setting> {
    let Ok(url) = std::env::var("FOLKMOOT_TEST_POSTGRES") else {
        assert!(
            std::env::var_os("FOLKMOOT_SKIP_POSTGRES").is_some(),
            "this test needs PostgreSQL: run `cargo xtask test`, or set FOLKMOOT_SKIP_POSTGRES to skip it"
        );
        return None;
    };
    static SCHEMAS: AtomicU64 = AtomicU64::new(0);
    let schema = format!("server_{}_{}", std::process::id(), SCHEMAS.fetch_add(1, Ordering::Relaxed));
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.expect("PostgreSQL answers");
    let connection = tokio::spawn(connection);
    client.batch_execute(&format!("CREATE SCHEMA {schema}")).await.expect("a schema");
    connection.abort();
    let database = Some(format!("{url} options='-c search_path={schema}'"));
    Some(Setting { database, ..Setting::default() })
}

/// One node on SQLite, and two on one PostgreSQL where there is one.
pub async fn everywhere() -> Vec<Vec<Node>> {
    everywhere_with(Setting::default).await
}

/// As [`everywhere`], with this but for the database.
pub async fn everywhere_with(setting: impl Fn() -> Setting) -> Vec<Vec<Node>> {
    let mut all = vec![vec![Node::with(setting()).await]];
    if let Some(Setting { database, .. }) = postgres().await {
        let shared = || Setting { database: database.clone(), ..setting() };
        let first = Node::with(shared()).await;
        let key = Some(first.data.path().join("server.key"));
        let second = Node::with(Setting { key, ..shared() }).await;
        all.push(vec![first, second]);
    }
    all
}

/// A body with everything that a gate can say.
pub fn everything() -> Value {
    json!({
        "title": "Deploy 1.4.2", "summary": "Deploy 1.4.2 to production", "phase": "merge", "run_id": "run-7",
        "session_id": "session-3", "kind": "custom", "risk": "high",
        "artifacts": [{"name": "change.diff", "media_type": "text/x-diff", "content": "-a\n+b\n"}],
        "timeout_ms": 1_800_000, "on_timeout": "fail", "allowed": ["approve", "reject"], "reviewers": ["alice", "bob"],
        "quorum": 1, "dedupe_key": "deploy-1.4.2"
    })
}
