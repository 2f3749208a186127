//! A server inside this process, for the duration of one verb. Other terminals find it through the
//! data folder.

use std::{net::SocketAddr, path::PathBuf, time::Duration};

use anyhow::{Result, anyhow};
use folkmoot_server::{
    BOOTSTRAP_TOKENS, BootstrapToken, Config, DataFolder, LocalTokens, Server, ServerKey, StartError,
};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::exit::StoreStopped;

/// How often to check whether a `folkmoot serve` wants the folder.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// A verb that has lasted this long is waiting for a person, so it has time to execute workflows.
const STAYS: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Hosted {
    pub(crate) url: String,
    pub(crate) tokens: LocalTokens,
    shutdown: CancellationToken,
    serving: JoinHandle<Result<(), String>>,
}

/// Why this process could not host a server.
#[derive(Debug)]
pub(crate) enum NotHosted {
    /// Another process serves this folder.
    InUse(StartError),
    Failed(anyhow::Error),
}

impl From<StartError> for NotHosted {
    fn from(error: StartError) -> Self {
        match error {
            StartError::InUse { .. } => NotHosted::InUse(error),
            error => NotHosted::Failed(error.into()),
        }
    }
}

impl Hosted {
    /// Starts on a free loopback port. It executes workflows at once if `works` is set, otherwise
    /// after the verb has lasted a while.
    pub(crate) async fn start(data: &DataFolder, works: bool) -> Result<Self, NotHosted> {
        Self::start_with(data, works, Vec::new()).await
    }

    /// As [`Hosted::start`], with additional tokens.
    pub(crate) async fn start_with(
        data: &DataFolder,
        works: bool,
        tokens: Vec<BootstrapToken>,
    ) -> Result<Self, NotHosted> {
        let mut config = config(data).map_err(NotHosted::Failed)?;
        config.bootstrap_tokens.extend(tokens);
        if config.database.is_none() {
            refuse_beside_postgresql(data)?;
        }
        if !works {
            config.work.begins_after = STAYS;
        }
        let server = Server::start(config).await?;
        let (url, tokens) = (server.url().to_owned(), server.tokens().clone());
        let shutdown = CancellationToken::new();
        let serving = tokio::spawn(server.serve(shutdown.clone()));
        tokio::spawn(yield_to_a_lasting_server(data.clone(), shutdown.clone()));
        Ok(Self { url, tokens, shutdown, serving })
    }

    /// Whether it has released the folder, or is about to, because `folkmoot serve` wants it.
    pub(crate) fn has_yielded(&self) -> bool {
        self.shutdown.is_cancelled()
    }

    /// Stops the server and releases the folder.
    pub(crate) async fn close(self) -> Result<()> {
        self.shutdown.cancel();
        self.serving.await?.map_err(|reason| StoreStopped(reason).into())
    }
}

/// Requests that wait here continue at the server that takes the folder.
async fn yield_to_a_lasting_server(data: DataFolder, shutdown: CancellationToken) {
    while !data.is_wanted() {
        tokio::select! {
            () = tokio::time::sleep(LOOK_EVERY) => {}
            () = shutdown.cancelled() => return,
        }
    }
    shutdown.cancel();
}

fn config(data: &DataFolder) -> Result<Config> {
    // Use the same configuration and key as the last `folkmoot serve`. Otherwise this server would
    // apply other rules and another key.
    let served = data.served()?;
    let given = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let mut config = Config::new(data.clone());
    config.read_file(served.config.clone()).map_err(|error| match &served.config {
        Some(_) => anyhow!("{error}; `folkmoot serve` was last started with this file: put it back, or start it anew"),
        None => error.into(),
    })?;
    // Only `folkmoot serve` accepts bootstrap tokens. Otherwise the user of any verb could create a
    // deciding token.
    config.read_environment(|name| std::env::var(name).ok().filter(|_| name != BOOTSTRAP_TOKENS))?;
    config.key = given("FOLKMOOT_KEY_FILE").map(PathBuf::from);
    if let (None, Some(key)) = (&config.key, served.key) {
        ServerKey::read(&key).map_err(|error| {
            anyhow!(
                "the key {} cannot be read: {error}; `folkmoot serve` was last started with it: put it back, or start it anew",
                key.display()
            )
        })?;
        config.key = Some(key);
    }
    config.variable = |name| std::env::var(name).ok();
    config.temporary = true;
    config.listen = SocketAddr::from(([127, 0, 0, 1], 0));
    config.database = given("FOLKMOOT_DATABASE");
    Ok(config)
}

/// Refuses to serve from SQLite if this folder was last served with PostgreSQL. An empty SQLite
/// database would look as if all gates were gone.
fn refuse_beside_postgresql(data: &DataFolder) -> Result<(), NotHosted> {
    let tokens = data.tokens().map_err(|error| NotHosted::Failed(error.into()))?;
    if tokens.is_none() || data.database().exists() {
        return Ok(());
    }
    // If another process serves the folder now, it knows where its data is and can be asked.
    drop(data.lock()?);
    Err(NotHosted::Failed(anyhow!(
        "{} keeps its data in a PostgreSQL, and no server runs; start `folkmoot serve --database …`, or set \
         FOLKMOOT_DATABASE",
        data.path().display()
    )))
}
