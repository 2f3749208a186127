//! Finding the server, and the token to show it.
//!
//! ```text
//!   --url ──given──▶ that one
//!     └─▶ the folder's lock ──taken──▶ the server in server.json, as soon as it answers
//!                            └─free──▶ a server of our own, for as long as this verb lasts
//! ```
//!
//! The lock says whether a server lives; server.json only says where. So a file that a dead server left behind never
//! sends a token to whoever has its port now.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use folkmoot_api::{Client, client};
use folkmoot_server::{LocalTokens, StartError};

use crate::{
    cli::As,
    context::Context,
    hosted::{Hosted, NotHosted},
};

/// How long a server that holds the lock may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);
/// How long to leave the folder to others between two visits.
const BETWEEN_VISITS: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub(crate) struct Connection {
    client: Client,
    tokens: Tokens,
    hosted: Option<Hosted>,
    visiting: bool,
}

#[derive(Debug)]
enum Tokens {
    Given(String),
    Folder(LocalTokens),
    Missing,
}

impl Connection {
    /// To a server of this process's own.
    pub(crate) fn to(hosted: Hosted) -> Result<Self> {
        let (client, tokens) = (Client::new(&hosted.url, "")?, Tokens::Folder(hosted.tokens.clone()));
        Ok(Self { client, tokens, hosted: Some(hosted), visiting: false })
    }

    pub(crate) async fn find(ctx: &Context) -> Result<Self> {
        let Some(url) = &ctx.url else { return in_folder(ctx).await };
        // The folder's tokens are for the folder's server, and are shown to no other.
        let its_own = ctx.data.server().is_some_and(|server| server.url == url.trim_end_matches('/'));
        let tokens = ctx.data.tokens()?.filter(|_| its_own);
        Ok(Self { client: Client::new(url, "")?, tokens: Tokens::choose(ctx, tokens), hosted: None, visiting: false })
    }

    /// Asks the server; and, if that one has just ended, whoever is the server now. Another verb's server ends with that
    /// verb, perhaps between our finding it and our asking. `call` may be made twice: a change needs an idempotency key.
    pub(crate) async fn ask<T>(
        &mut self,
        ctx: &Context,
        who: As,
        call: impl AsyncFn(&Client) -> Result<T>,
    ) -> Result<T> {
        let begun = Instant::now();
        loop {
            let error = match call(&self.client(who)?).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let gone = matches!(error.downcast_ref(), Some(client::Error::Unreachable { .. }));
            let ours = self.hosted.as_ref().is_some_and(|hosted| !hosted.has_yielded());
            if !gone || ctx.url.is_some() || ours || begun.elapsed() > PATIENCE {
                return Err(error);
            }
            if let Some(yielded) = self.hosted.take() {
                yielded.close().await?;
                tokio::time::sleep(BETWEEN_VISITS).await;
            }
            tokio::time::sleep(PAUSE).await;
            *self = in_folder(ctx).await?;
        }
    }

    /// Finds the server anew, after it stopped answering. Where nobody is one now, this process is it for a moment only:
    /// a server that was restarted must not find its folder taken by whoever waited for it.
    pub(crate) async fn again(&mut self, ctx: &Context) -> Result<()> {
        match self.hosted.take() {
            Some(visit) => {
                visit.close().await?;
                tokio::time::sleep(BETWEEN_VISITS).await;
            }
            None => tokio::time::sleep(PAUSE * 5).await,
        }
        if ctx.url.is_some() {
            return Ok(());
        }
        // Whoever holds the folder may take longer to answer; how long that may last is for the caller to say.
        if let Ok(found) = in_folder(ctx).await {
            *self = found;
            // Whoever executes something must stay for it; a server that wants the folder asks for it.
            self.visiting = self.hosted.is_some() && !ctx.works;
        }
        Ok(())
    }

    /// Whether this process is the server only for a moment: look, and [find the server again](Self::again).
    pub(crate) fn is_visiting(&self) -> bool {
        self.visiting && self.hosted.is_some()
    }

    /// The server, with a token.
    pub(crate) fn client(&self, who: As) -> Result<Client> {
        let token = match (&self.tokens, who) {
            (Tokens::Given(token), _) => token,
            (Tokens::Folder(tokens), As::You) => &tokens.you.token,
            (Tokens::Folder(tokens), As::Agent) => &tokens.agent.token,
            (Tokens::Missing, _) => {
                bail!("no token for {}; give one with --token or FOLKMOOT_TOKEN", self.client.url())
            }
        };
        Ok(self.client.with_token(token))
    }

    pub(crate) fn url(&self) -> &str {
        self.client.url()
    }

    /// Whether the server is this process, and ends with it.
    pub(crate) fn is_hosted(&self) -> bool {
        self.hosted.is_some()
    }

    /// Ends the server, if it is ours.
    pub(crate) async fn close(self) -> Result<()> {
        let Connection { client, hosted, .. } = self;
        drop(client);
        match hosted {
            Some(hosted) => hosted.close().await,
            None => Ok(()),
        }
    }
}

impl Tokens {
    fn choose(ctx: &Context, folder: Option<LocalTokens>) -> Self {
        match (&ctx.token, folder) {
            (Some(token), _) => Tokens::Given(token.clone()),
            (None, Some(tokens)) => Tokens::Folder(tokens),
            (None, None) => Tokens::Missing,
        }
    }
}

async fn in_folder(ctx: &Context) -> Result<Connection> {
    let begun = Instant::now();
    loop {
        match Hosted::start(&ctx.data, ctx.works).await {
            Ok(hosted) => {
                let client = Client::new(&hosted.url, "")?;
                let tokens = Tokens::choose(ctx, Some(hosted.tokens.clone()));
                return Ok(Connection { client, tokens, hosted: Some(hosted), visiting: false });
            }
            Err(NotHosted::InUse(in_use)) => {
                if let Some(connection) = answering(ctx).await {
                    return Ok(connection);
                }
                if begun.elapsed() > PATIENCE {
                    return Err(silent(in_use));
                }
            }
            Err(NotHosted::Failed(error)) => return Err(error),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn answering(ctx: &Context) -> Option<Connection> {
    let client = Client::new(&ctx.data.server()?.url, "").ok()?;
    client.ready().await.ok()?;
    Some(Connection {
        client,
        tokens: Tokens::choose(ctx, ctx.data.tokens().ok().flatten()),
        hosted: None,
        visiting: false,
    })
}

fn silent(error: StartError) -> anyhow::Error {
    match error {
        StartError::InUse { path, server: Some(server) } => anyhow::anyhow!(
            "process {} holds {} but does not answer at {}; wait, stop it, or choose another folder with --data",
            server.pid,
            path.display(),
            server.url
        ),
        StartError::InUse { path, server: None } => anyhow::anyhow!(
            "another process holds {} but does not say where it listens; wait, stop it, or choose another folder \
             with --data",
            path.display()
        ),
        error => error.into(),
    }
}
