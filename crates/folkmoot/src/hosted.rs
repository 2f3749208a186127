//! A server inside this process, for as long as one verb lasts. Other terminals find it through the data folder.

use std::{net::SocketAddr, time::Duration};

use anyhow::Result;
use folkmoot_server::{Config, DataFolder, LocalTokens, Server, StartError};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::exit::Stopped;

/// How often to look whether somebody wants to serve the folder for longer.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Whoever has been there for so long is waiting for somebody, and has time.
const STAYS: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub(crate) struct Hosted {
    pub(crate) url: String,
    pub(crate) tokens: LocalTokens,
    shutdown: CancellationToken,
    serving: JoinHandle<Result<(), String>>,
}

/// Why there is no server.
#[derive(Debug)]
pub(crate) enum NotHosted {
    /// Somebody else is the server of this folder.
    InUse(StartError),
    Failed(anyhow::Error),
}

impl Hosted {
    /// Starts on a free port of the loopback. It executes workflows at once, or once it is clear that it stays for a while.
    pub(crate) async fn start(data: &DataFolder, works: bool) -> Result<Self, NotHosted> {
        let mut config = config(data).map_err(NotHosted::Failed)?;
        if !works {
            config.work.begins_after = STAYS;
        }
        let server = Server::start(config).await.map_err(|error| match error {
            StartError::InUse { .. } => NotHosted::InUse(error),
            error => NotHosted::Failed(error.into()),
        })?;
        let (url, tokens) = (server.url().to_owned(), server.tokens().clone());
        let shutdown = CancellationToken::new();
        let serving = tokio::spawn(server.serve(shutdown.clone()));
        tokio::spawn(yield_to_a_lasting_server(data.clone(), shutdown.clone()));
        Ok(Self { url, tokens, shutdown, serving })
    }

    /// Whether it has let go of the folder, or is about to, because somebody wants to serve it for longer.
    pub(crate) fn has_yielded(&self) -> bool {
        self.shutdown.is_cancelled()
    }

    /// Ends it and lets go of the folder.
    pub(crate) async fn close(self) -> Result<()> {
        self.shutdown.cancel();
        self.serving.await?.map_err(|reason| Stopped(reason).into())
    }
}

/// Whoever waits here goes on at the server that takes the folder over.
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
    let mut config = Config::new(data.clone());
    config.read_file(None)?;
    config.read_environment(|name| std::env::var(name).ok())?;
    config.temporary = true;
    config.listen = SocketAddr::from(([127, 0, 0, 1], 0));
    config.database = std::env::var("FOLKMOOT_DATABASE").ok().filter(|url| !url.is_empty());
    // Somebody served this folder with a PostgreSQL. An empty SQLite beside it would look as if all gates were gone.
    if config.database.is_none() && data.tokens()?.is_some() && !data.database().exists() {
        anyhow::bail!(
            "{} keeps its data in a PostgreSQL, and no server runs; start `folkmoot serve --database …`, \
             or set FOLKMOOT_DATABASE",
            data.path().display()
        );
    }
    Ok(config)
}
