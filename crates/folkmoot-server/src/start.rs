//! Starting and stopping a server.

use std::{path::PathBuf, sync::Arc, time::Duration};

use folkmoot_api::wire::ServerFile;
use folkmoot_core::{
    Name, Principal, Role, principal,
    token::{Token, TokenKind},
};
use folkmoot_engine::{Engine, EngineSettings, TokioHost, Workflows};
use folkmoot_store::{AnyStore, Postgres, Sqlite, SteadyClock};
use folkmoot_workflows::{
    Equipment, Voices,
    debate::{Debater, Effects, RealEffects},
    llm::models::KeyOwner,
    plan::Planner,
    tools::jail::Helper,
};
use futures_util::future::BoxFuture;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::{
    Checkpoints, Config, DataFolder, DataFolderLock, LastServed, LocalTokens, ServerKey,
    accept::{self, Acceptor, Door, Hosts},
    app::{AgentSetup, App},
    data_folder::LocalToken,
    debates, figures,
    notify::{self, Notifier},
    open_files, routes,
};

/// How long requests in flight may take at shutdown.
const DRAIN: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{} cannot be used: {error}; choose another folder with --data", .path.display())]
    Folder { path: PathBuf, error: std::io::Error },
    /// Another server uses the folder.
    #[error("{} already has a server{}; use it, or stop it, or choose another folder with --data",
        .path.display(), describe(.server.as_deref()))]
    InUse {
        path: PathBuf,
        /// Its data, as far as known.
        server: Option<Box<ServerFile>>,
    },
    #[error("{} cannot be used as the server's key: {error}", .path.display())]
    Key { path: PathBuf, error: std::io::Error },
    /// The models or tools of our agents are configured wrongly.
    #[error("in the configuration: {0}")]
    Equipment(String),
    #[error("in the configuration: {0}")]
    Channels(String),
    #[error("no checkpoint can be written to {}: {error}; see [audit] in the configuration", .path.display())]
    Checkpoints { path: PathBuf, error: std::io::Error },
    /// The address is in use or not ours.
    #[error("cannot listen on {address}: {error}; choose another with --listen")]
    Listen { address: std::net::SocketAddr, error: std::io::Error },
    #[error(transparent)]
    Store(#[from] folkmoot_engine::Error),
}

fn describe(server: Option<&ServerFile>) -> String {
    let Some(server) = server else { return String::new() };
    let what =
        if server.temporary { ", a `folkmoot` command that serves it only until it has what it waits for" } else { "" };
    format!(": process {} at {}{what}", server.pid, server.url)
}

/// How often writing to a full disk is retried.
const ROOM_AGAIN: Duration = Duration::from_secs(1);

/// A server that has recovered and listens.
#[derive(Debug)]
pub struct Server {
    app: App,
    acceptor: Acceptor,
    data: DataFolder,
    tokens: LocalTokens,
    url: String,
    lock: DataFolderLock,
    checkpoints: Option<Checkpoints>,
}

impl Server {
    /// Takes the folder's lock, opens the database, recovers, and listens.
    ///
    /// Boxed, so that it is compiled once, and not again in each function that awaits it.
    pub fn start(config: Config) -> BoxFuture<'static, Result<Self, StartError>> {
        Box::pin(Self::recover_and_listen(config))
    }

    async fn recover_and_listen(mut config: Config) -> Result<Self, StartError> {
        let lock = config.data.lock()?;
        let unusable = |error| StartError::Folder { path: config.data.path().to_owned(), error };
        // The previous server is dead. Until this one is ready, there is none.
        config.data.retire_server();
        // First, because the store keeps metric handles.
        figures::recorder();
        let store = match &config.database {
            Some(url) => AnyStore::Postgres(Postgres::open(url, config.clock.clone()).await?),
            None => {
                let clock = config.clock.clone().unwrap_or_else(|| Arc::new(SteadyClock::default()));
                AnyStore::Sqlite(Sqlite::open(&config.data.database(), clock)?)
            }
        };
        let key = match &config.key {
            Some(path) => ServerKey::read(path).map_err(|error| StartError::Key { path: path.clone(), error })?,
            None => config.data.server_key().map_err(unusable)?,
        };
        let key = Arc::new(key);
        let notifier = Notifier::new(&config, Arc::clone(&key)).map_err(StartError::Channels)?;
        let equipment = equipment(&config).map_err(StartError::Equipment)?;
        if !config.plans.asks {
            tracing::warn!("APPROVAL_GATES is off: plans that are started now approve their own gates");
        }
        let equipment = Arc::new(equipment);
        let effects: Arc<dyn Effects> = Arc::new(RealEffects::new(Arc::clone(&equipment)));
        let voices: Arc<dyn Voices> = equipment;
        let debater = Debater { voices: Arc::clone(&voices), effects: Arc::clone(&effects) };
        let planner =
            Planner { voices: Arc::clone(&voices), expires_after: config.plans.expires_after, asks: config.plans.asks };
        let replays = Debater::replaying(Arc::clone(&voices)).join(Workflows::new());
        let settings = EngineSettings {
            gates: config.policy.clone(),
            questions: config.questions.clone(),
            quota: config.limits.quota(),
            workflows: debater.join(planner.join(config.workflows.clone())),
            work: config.work.clone(),
            channels: notifier.channels().subscriptions(),
            courier: Some(Arc::new(notifier.clone())),
            key: Some(key.public().id()),
            retention: config.retention.clone(),
        };
        let engine = Engine::start(store, settings, Arc::new(TokioHost)).await?;
        let tokens = first_tokens(&config.data, &engine).await?;
        for token in &config.bootstrap_tokens {
            engine.ensure_configured_token(token.principal.clone(), &token.secret).await?;
        }
        notify::warn(&notifier, &config, &engine).await?;
        let refused = |error| StartError::Listen { address: config.listen, error };
        let listener = TcpListener::bind(config.listen).await.map_err(refused)?;
        let url = format!("http://{}", listener.local_addr().map_err(refused)?);
        let app = App::new(engine, key, notifier, AgentSetup { voices, effects, replays }, &config);
        if let Some(checkpoints) = config.checkpoints.clone() {
            let unwritable = |error| StartError::Checkpoints { path: checkpoints.file.clone(), error };
            match checkpoints.begin(&app, config.temporary).await.map_err(unwritable)? {
                Some(written) => drop(tokio::spawn(checkpoints.go_on(app.clone(), written))),
                // Not at the end either: it would be a checkpoint of another log.
                None => config.checkpoints = None,
            }
        }
        let server = ServerFile {
            url: url.clone(),
            pid: std::process::id(),
            started_at: app.engine.now(),
            temporary: config.temporary,
        };
        if !config.temporary {
            let served = LastServed { config: config.file.clone(), key: config.key.clone() };
            or_full(config.data.write_served(&served)).map_err(unusable)?;
        }
        if !or_full(config.data.write_server(&server)).map_err(unusable)? {
            tokio::spawn(write_server_later(config.data.clone(), server, app.closing.clone()));
        }
        let hosts = Hosts::new(&config.hosts, config.notify.public_url.as_deref());
        let door = Door { router: routes::router(app.clone()), limits: open_files::within(config.limits), hosts };
        let acceptor = Acceptor { listener, door: Arc::new(door) };
        let checkpoints = config.checkpoints;
        Ok(Self { app, acceptor, data: config.data, tokens, url, lock, checkpoints })
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// A probe for its liveness while it serves.
    pub fn pulse(&self) -> LivenessProbe {
        LivenessProbe(self.app.engine.clone())
    }

    pub fn tokens(&self) -> &LocalTokens {
        &self.tokens
    }

    /// Serves until `shutdown`, then ends open streams, lets requests in flight finish, and
    /// returns. `Err` has the reason if the store has stopped: nothing was acknowledged afterwards.
    pub async fn serve(self, shutdown: CancellationToken) -> Result<(), String> {
        let stopped = self.app.engine.stopped();
        let upkeep = tokio::spawn(keep_up(self.app.clone()));
        let tidying = tokio::spawn(debates::tidy::keep_tidy(self.app.clone()));
        let served = tokio::select! {
            () = accept::run(self.acceptor, self.app.closing.clone(), shutdown.clone(), DRAIN) => Ok(()),
            reason = stopped => Err(reason),
        };
        upkeep.abort();
        tidying.abort();
        // Not after a failed sync: then the files stay as they are, and the process exits.
        if served.is_ok() {
            if let Some(checkpoints) = &self.checkpoints {
                checkpoints.end(&self.app).await;
            }
            self.app.engine.close().await;
        }
        self.data.remove_server();
        // Release the lock last. The next server reads the log's head once, so nobody may write
        // after that.
        drop(self.lock);
        served
    }
}

#[derive(Clone, Debug)]
pub struct LivenessProbe(Engine);

impl LivenessProbe {
    /// Returns when the writer has answered; never if it hangs. `false` if nothing can be written
    /// any more or the queue is full. An unreachable PostgreSQL does not count: the server recovers
    /// without a restart.
    pub async fn beats(&self) -> bool {
        self.0.is_alive().await
    }
}

async fn keep_up(app: App) {
    loop {
        tokio::time::sleep(figures::UPKEEP).await;
        app.metrics.run_upkeep();
        app.forget_addresses();
    }
}

/// The first start creates two principals: you, who decides, and your agent, which opens gates and
/// asks. If your token is protected, nothing stored unencrypted here gives a new deciding token,
/// whatever the file says.
async fn first_tokens(data: &DataFolder, engine: &Engine) -> Result<LocalTokens, StartError> {
    let unusable = |error| StartError::Folder { path: data.path().to_owned(), error };
    let stored = data.tokens().map_err(unusable)?;
    let mut tokens = stored.clone().unwrap_or_else(|| {
        let new = |name, role| LocalToken { name, role, token: engine.new_secret() };
        LocalTokens { you: new(your_name(), Role::Admin), agent: new(word("agent"), Role::Agent), protected: None }
    });
    if tokens.agent.role != Role::Agent {
        let problem = format!("tokens.json gives `agent` the role {}; it can only be agent", tokens.agent.role);
        return Err(unusable(std::io::Error::new(std::io::ErrorKind::InvalidData, problem)));
    }
    let owner = Principal::new(tokens.you.name.clone(), tokens.you.role);
    let is_known =
        |token: Token| token.kind == TokenKind::Personal && token.revoked_at.is_none() && token.principal == owner;
    let is_personal = match engine.protected_person().await? {
        // An unprotected token is kept.
        Some(_) => engine.token_of(&tokens.you.token).await?.is_some_and(is_known),
        None => true,
    };
    let kind = if is_personal { TokenKind::Personal } else { TokenKind::Reading };
    for (kind, LocalToken { name, role, token }) in [(kind, &mut tokens.you), (TokenKind::Minted, &mut tokens.agent)] {
        let principal = Principal::new(name.clone(), *role);
        if let Err(error) = engine.ensure_token(principal.clone(), kind, token).await {
            // It was revoked, or an older version made another kind. The folder's owner gets a new
            // one, which they could make themselves; the old one ends.
            error.refusal().ok_or_else(|| error.clone())?;
            engine.end_token(token).await?;
            *token = engine.new_secret();
            engine.ensure_token(principal, kind, token).await?;
        }
    }
    let written = data.write_tokens(&tokens);
    if stored.as_ref() == Some(&tokens) {
        or_full(written).map_err(unusable)?;
    } else {
        written.map_err(unusable)?;
    }
    Ok(tokens)
}

/// The operating system's name for the user.
pub fn your_name() -> Name {
    let login = std::env::var("USER").or_else(|_| std::env::var("LOGNAME")).unwrap_or_default();
    let usable = |name: &Name| principal::check_name("name", name).is_ok() && name.as_str() != "agent";
    login.parse().ok().filter(usable).unwrap_or_else(|| word("you"))
}

/// The models and tools of our agents, from the configuration and the environment.
fn equipment(config: &Config) -> Result<Equipment, String> {
    // A lasting server has the environment in which it was started, not its caller's.
    let whose = if config.temporary { KeyOwner::Command } else { KeyOwner::Server };
    let mut equipment = Equipment::new(config.equipment.clone(), config.variable, Helper::this_program())?;
    equipment.models = equipment.models.of(whose);
    Ok(equipment)
}

fn word(word: &str) -> Name {
    word.parse().expect("a plain word is a name")
}

/// Whether it was written. A full disk does not prevent the start, because reading still works.
fn or_full(written: std::io::Result<()>) -> std::io::Result<bool> {
    match written {
        Err(error) if error.kind() == std::io::ErrorKind::StorageFull => {
            tracing::error!(
                "the disk is full: what is there can be read, and nothing can be written until there is room"
            );
            Ok(false)
        }
        written => written.map(|()| true),
    }
}

/// Writes the server's address for other programs as soon as there is room.
async fn write_server_later(data: DataFolder, server: ServerFile, closing: CancellationToken) {
    while !closing.is_cancelled() && data.write_server(&server).is_err() {
        tokio::time::sleep(ROOM_AGAIN).await;
    }
}
