//! Finds the server, and the token to use with it.
//!
//! ```text
//!   --url ──given──▶ that one
//!     └─▶ the folder's lock ──taken──▶ the server in server.json, as soon as it answers
//!                            └─free──▶ a server of our own, for as long as this verb lasts
//! ```
//!
//! The lock says whether a server is alive; server.json only says where. So a file that a dead
//! server left behind never sends a token to the program that has its port now.

pub(crate) mod find;
pub(crate) mod hosted;
pub(crate) mod idempotency;
pub(crate) mod wait;

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, bail};
use folkmoot_api::{Client, client, wire::Problem};
use folkmoot_server::{LocalTokens, StartError};
use futures_util::future::LocalBoxFuture;

use crate::{
    cli::ActingAs,
    connection::hosted::{Hosted, NotHosted},
    context::CliContext,
    logging,
    terminal::{
        prompt,
        style::{self, paint},
        tty::Terminal,
    },
};

/// How long a server that holds the lock may take to answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_millis(50);
/// How long to leave the folder free between two visits.
const BETWEEN_VISITS: Duration = Duration::from_secs(1);

const NOBODY_HERE: &str = "this is yours to decide, and there is no terminal at which you could be asked; run it in a terminal, or \
                           make a token for this script (`folkmoot token create NAME --role reviewer`) and set it as \
                           FOLKMOOT_TOKEN";
const NOT_BEFOREHAND: &str = "with your own token you are always shown what you decide on and asked, so --yes does not count; leave it \
                              out, or make a token for this script (`folkmoot token create NAME --role reviewer`) and set it as \
                              FOLKMOOT_TOKEN";

#[derive(Debug)]
pub(crate) struct Connection {
    client: Client,
    tokens: TokenSource,
    person: Person,
    hosted: Option<Hosted>,
    visiting: bool,
}

#[derive(Debug)]
enum TokenSource {
    Given(String),
    /// The tokens that the data folder keeps for its owner.
    Folder(LocalTokens),
    /// The tokens of the demo's temporary folder.
    Demo(LocalTokens),
    Missing,
}

/// What this process knows about the person who uses it.
#[derive(Clone, Default)]
enum Person {
    #[default]
    Unseen,
    /// Somebody typed an answer at a terminal to what they were shown.
    AtTerminal,
    /// Somebody typed the passphrase, which decrypted this token. It is kept until this process
    /// ends.
    Unlocked(String),
}

/// Does not show the secret.
impl std::fmt::Debug for Person {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Person::Unseen => "Unseen",
            Person::AtTerminal => "AtTerminal",
            Person::Unlocked(_) => "Unlocked(…)",
        })
    }
}

impl Connection {
    /// Connects to the demo's own server, on a temporary folder. `you` decides there without a
    /// terminal.
    pub(crate) fn to_demo(hosted: Hosted, you: String) -> Result<Self> {
        let mut tokens = hosted.tokens.clone();
        tokens.you.token = you;
        let (client, tokens) = (Client::new(&hosted.url, "")?, TokenSource::Demo(tokens));
        Ok(Self { client, tokens, person: Person::default(), hosted: Some(hosted), visiting: false })
    }

    /// Finds the server, runs the verb, and stops the server if this process hosted it.
    pub(crate) async fn with<T>(ctx: &CliContext, verb: impl AsyncFnOnce(&mut Connection) -> Result<T>) -> Result<T> {
        logging::quiet(ctx)?;
        let mut connection = Connection::find(ctx).await?;
        let done = verb(&mut connection).await.map_err(|error| connection.explain(ctx, error));
        // An error of the store explains more than the failed request does.
        connection.close().await?;
        done
    }

    pub(crate) async fn find(ctx: &CliContext) -> Result<Self> {
        let Some(url) = &ctx.url else { return in_folder(ctx).await };
        // The folder's tokens are for the folder's server and are sent to no other.
        let its_own = ctx.data.server().is_some_and(|server| server.url == url.trim_end_matches('/'));
        let tokens = ctx.data.tokens()?.filter(|_| its_own);
        let (client, tokens) = (Client::new(url, "")?, TokenSource::choose(ctx, tokens));
        Ok(Self { client, tokens, person: Person::default(), hosted: None, visiting: false })
    }

    /// Calls the server. If that server has just ended, calls the one that has replaced it: another
    /// verb's server ends with that verb, perhaps between finding and calling it. `call` may run
    /// twice, so a change needs an idempotency key.
    pub(crate) async fn ask<T>(
        &mut self,
        ctx: &CliContext,
        who: ActingAs,
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
            if !gone || ctx.url.is_some() || ours || begun.elapsed() > ANSWER_TIMEOUT {
                return Err(error);
            }
            if let Some(yielded) = self.hosted.take() {
                yielded.close().await?;
                tokio::time::sleep(BETWEEN_VISITS).await;
            }
            tokio::time::sleep(PAUSE).await;
            self.become_of(in_folder(ctx).await?);
        }
    }

    /// Continues with another server. The person at the terminal is the same.
    fn become_of(&mut self, found: Connection) {
        let person = std::mem::take(&mut self.person);
        *self = Self { person, ..found };
    }

    /// Whether the token is the one that the data folder keeps for its owner. With it, only the
    /// owner decides, at a terminal.
    pub(crate) fn is_personal(&self) -> bool {
        matches!(self.tokens, TokenSource::Folder(_))
    }

    /// The data folder's tokens, if this connection uses them.
    pub(crate) fn folder_tokens(&self) -> Option<&LocalTokens> {
        match &self.tokens {
            TokenSource::Folder(tokens) => Some(tokens),
            TokenSource::Given(_) | TokenSource::Demo(_) | TokenSource::Missing => None,
        }
    }

    /// Records that somebody has typed an answer to what they were shown. Asks for the passphrase
    /// if their token is protected. Must be called before deciding with the folder's own token.
    pub(crate) async fn answered(&mut self) -> Result<()> {
        let (protected, owner) = match &self.tokens {
            TokenSource::Folder(LocalTokens { protected, you, .. }) => (protected.clone(), you.name.clone()),
            TokenSource::Given(_) | TokenSource::Demo(_) | TokenSource::Missing => {
                self.person = Person::AtTerminal;
                return Ok(());
            }
        };
        let terminal = Terminal::open().ok_or_else(|| anyhow!(NOBODY_HERE))?;
        match (protected, &self.person) {
            (Some(protected), Person::Unseen | Person::AtTerminal) => {
                let passphrase =
                    terminal.secret("Passphrase:").await?.context("nothing was typed, so nothing was done")?;
                // Decrypting is slow on purpose.
                let opened = tokio::task::spawn_blocking(move || protected.open(&owner, &passphrase)).await?;
                self.person = Person::Unlocked(opened.context("nothing was done")?);
            }
            (_, Person::Unlocked(_)) => {}
            (None, _) => self.person = Person::AtTerminal,
        }
        Ok(())
    }

    /// As [`Connection::confirm`], with nothing to show but the question. Does not ask if a token
    /// was given explicitly.
    pub(crate) async fn agrees(&mut self, ctx: &CliContext, who: ActingAs, question: &str) -> Result<bool> {
        if !self.is_personal() {
            return Ok(true);
        }
        let agreed = self.confirm(ctx, who, "", question, true).await?;
        if !agreed {
            ctx.screen.note("Nothing was done.");
        }
        Ok(agreed)
    }

    /// Asks the person at the terminal before something is done in their name with the folder's own
    /// token. Returns `false` if they say no. `shown` is what they agree to. With an explicitly
    /// given token, asks only if `ask` is set and somebody is there.
    pub(crate) async fn confirm(
        &mut self,
        ctx: &CliContext,
        who: ActingAs,
        shown: &str,
        question: &str,
        ask: bool,
    ) -> Result<bool> {
        if who == ActingAs::Agent {
            return Ok(true);
        }
        if self.is_personal() {
            let terminal = Terminal::open().ok_or_else(|| anyhow!(NOBODY_HERE))?;
            if !ask {
                bail!("{NOT_BEFOREHAND}");
            }
            let agreed = if ctx.screen.answers {
                if !shown.is_empty() {
                    ctx.screen.say(shown)?;
                }
                prompt::yes(question).await?
            } else {
                // Standard output is redirected, but a person is at the terminal.
                if !shown.is_empty() {
                    terminal.say(shown)?;
                }
                let said = terminal.line(&format!("{question} [y/N]")).await?;
                said.is_some_and(|said| matches!(said.to_lowercase().as_str(), "y" | "yes"))
            };
            if agreed {
                self.answered().await?;
            }
            return Ok(agreed);
        }
        if !ask || !ctx.screen.answers {
            return Ok(true);
        }
        ctx.screen.say(shown)?;
        let agreed = prompt::yes(question).await?;
        if agreed {
            self.answered().await?;
        }
        Ok(agreed)
    }

    /// Finds the server again after it stopped answering. If no server is running, this process
    /// hosts one, but only briefly: a server that restarts must not find its folder taken by a
    /// waiting command.
    pub(crate) async fn again(&mut self, ctx: &CliContext) -> Result<()> {
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
        // The server that holds the folder may take longer to answer; the caller decides how long
        // to wait.
        if let Ok(found) = in_folder(ctx).await {
            self.become_of(found);
            // A process that executes workflows must keep serving; a server that wants the folder
            // asks for it.
            self.visiting = self.hosted.is_some() && !ctx.works;
        }
        Ok(())
    }

    /// Whether this process hosts the server only briefly. The caller should look, and then [find
    /// the server again](Self::again).
    pub(crate) fn is_visiting(&self) -> bool {
        self.visiting && self.hosted.is_some()
    }

    /// A client for the server, with a token.
    pub(crate) fn client(&self, who: ActingAs) -> Result<Client> {
        let token = match (&self.tokens, who) {
            (TokenSource::Given(token), _) => token,
            (TokenSource::Folder(tokens), ActingAs::You) => match &self.person {
                Person::Unlocked(secret) => secret,
                Person::Unseen | Person::AtTerminal => &tokens.you.token,
            },
            (TokenSource::Demo(tokens), ActingAs::You) => &tokens.you.token,
            (TokenSource::Folder(tokens) | TokenSource::Demo(tokens), ActingAs::Agent) => &tokens.agent.token,
            (TokenSource::Missing, _) => {
                bail!("no token for {}; give one with --token or FOLKMOOT_TOKEN", self.client.url())
            }
        };
        let client = self.client.with_token(token);
        Ok(match (&self.person, who) {
            (Person::AtTerminal, ActingAs::You) => client.at_a_terminal(),
            (Person::Unseen | Person::Unlocked(_), ActingAs::You) | (_, ActingAs::Agent) => client,
        })
    }

    /// Adds where the token came from to the error for an unknown token; the server cannot know
    /// that.
    pub(crate) fn explain(&self, ctx: &CliContext, error: anyhow::Error) -> anyhow::Error {
        match error.downcast_ref() {
            Some(client::Error::Problem(problem)) if problem.code == "unauthenticated" => {
                let detail = format!(
                    "{} does not know the token {}; use one that it knows: `folkmoot token create NAME --role ROLE` makes one",
                    self.url(),
                    ctx.token_source()
                );
                client::Error::Problem(Box::new(Problem { detail, ..problem.as_ref().clone() })).into()
            }
            _ => error,
        }
    }

    pub(crate) fn url(&self) -> &str {
        self.client.url()
    }

    /// Whether this process hosts the server.
    pub(crate) fn is_hosted(&self) -> bool {
        self.hosted.is_some()
    }

    /// Stops the server if this process hosts it.
    pub(crate) async fn close(self) -> Result<()> {
        let Connection { client, hosted, .. } = self;
        drop(client);
        match hosted {
            Some(hosted) => hosted.close().await,
            None => Ok(()),
        }
    }
}

impl TokenSource {
    fn choose(ctx: &CliContext, folder: Option<LocalTokens>) -> Self {
        match (&ctx.token, folder) {
            (Some(token), _) => TokenSource::Given(token.clone()),
            (None, Some(tokens)) => TokenSource::Folder(tokens),
            (None, None) => TokenSource::Missing,
        }
    }
}

fn in_folder(ctx: &CliContext) -> LocalBoxFuture<'_, Result<Connection>> {
    // Boxed: every request of a verb may have to find the server again.
    Box::pin(find_in_folder(ctx))
}

async fn find_in_folder(ctx: &CliContext) -> Result<Connection> {
    let begun = Instant::now();
    let is_first = matches!(ctx.data.tokens(), Ok(None));
    loop {
        match Hosted::start(&ctx.data, ctx.works).await {
            Ok(hosted) => {
                if is_first {
                    offer_protection(ctx);
                }
                let client = Client::new(&hosted.url, "")?;
                let tokens = TokenSource::choose(ctx, Some(hosted.tokens.clone()));
                return Ok(Connection {
                    client,
                    tokens,
                    person: Person::default(),
                    hosted: Some(hosted),
                    visiting: false,
                });
            }
            Err(NotHosted::InUse(in_use)) => {
                if let Some(connection) = answering(ctx).await {
                    return Ok(connection);
                }
                if begun.elapsed() > ANSWER_TIMEOUT {
                    return Err(silent(in_use));
                }
            }
            Err(NotHosted::Failed(error)) => return Err(error),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// After the first start, says once that the new token is stored unencrypted.
pub(crate) fn offer_protection(ctx: &CliContext) {
    if ctx.screen.notes_are_read {
        let protect = paint(style::COMMAND, format!("{} protect", ctx.command()));
        ctx.screen.note(format!(
            "Agents of your account could decide with your stored token; {protect} puts it under a passphrase."
        ));
    }
}

async fn answering(ctx: &CliContext) -> Option<Connection> {
    let client = Client::new(&ctx.data.server()?.url, "").ok()?;
    client.ready().await.ok()?;
    Some(Connection {
        client,
        tokens: TokenSource::choose(ctx, ctx.data.tokens().ok().flatten()),
        person: Person::default(),
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
