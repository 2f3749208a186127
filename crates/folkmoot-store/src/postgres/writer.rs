//! A node's queue: takes what has arrived during the last batch, and writes it in one transaction.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use folkmoot_core::Command;
use futures_util::StreamExt;
use tokio::{
    sync::{Notify, mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};
use tokio_postgres::{AsyncMessage, Client, Config};

use super::{
    REPLY_TIMEOUT, Time,
    batch::{self, BatchFailure},
    failed,
    statements::PostgresStatements,
    tls::TlsConnector,
    warnings::Warnings,
};
use crate::{
    Error, WriteResult,
    figures::Figures,
    recent::{OfferResult, Recent},
};

const BATCH: usize = 128;
/// How long a batch may take before the database counts as lost.
const BATCH_TIMEOUT: Duration = Duration::from_secs(10);
/// How often to reconnect to a lost database. Commands in between fail at once.
const RETRY: Duration = Duration::from_millis(200);

/// A command, and where to send its outcome.
#[derive(Debug)]
pub(super) struct PostgresJob {
    pub(super) command: Command,
    pub(super) reply: oneshot::Sender<Result<WriteResult, Error>>,
}

pub(super) struct PostgresWriter {
    config: Config,
    tls: TlsConnector,
    recent: Arc<Recent>,
    time: Arc<Time>,
    hint: Arc<Notify>,
    gap: Arc<Notify>,
    link: WriterConnection,
    figures: Figures,
}

/// The writer's connection, up or down.
enum WriterConnection {
    Up { client: Client, statements: Box<PostgresStatements>, warnings: Arc<Warnings>, driver: JoinHandle<()> },
    Down { since: Option<Instant>, why: String },
}

impl PostgresWriter {
    pub(super) fn new(
        config: Config,
        tls: TlsConnector,
        recent: Arc<Recent>,
        time: Arc<Time>,
        hint: Arc<Notify>,
        gap: Arc<Notify>,
    ) -> Self {
        let link = WriterConnection::Down { since: None, why: String::new() };
        Self { config, tls, recent, time, hint, gap, link, figures: Figures::new() }
    }

    pub(super) async fn run(mut self, mut queue: mpsc::Receiver<PostgresJob>) {
        let mut jobs = Vec::with_capacity(BATCH);
        while queue.recv_many(&mut jobs, BATCH).await > 0 {
            let (commands, replies): (Vec<_>, Vec<_>) = jobs.drain(..).map(|job| (job.command, job.reply)).unzip();
            let answers = self.write(&commands).await;
            for (reply, answer) in replies.into_iter().zip(answers) {
                // A caller that is gone can ask again with the same idempotency key.
                let _ = reply.send(answer);
            }
        }
    }

    async fn write(&mut self, commands: &[Command]) -> Vec<Result<WriteResult, Error>> {
        match self.attempt(commands).await {
            Ok(answers) => answers,
            // One of them broke a constraint, collided with another node, or needs an unreadable
            // row. Alone, each gets its own answer.
            Err(Error::Database(_) | Error::Cancelled(_) | Error::Unreadable(_)) if commands.len() > 1 => {
                let mut answers = Vec::with_capacity(commands.len());
                for command in commands {
                    answers.push(self.alone(command).await);
                }
                answers
            }
            Err(Error::Database(_) | Error::Cancelled(_)) => vec![self.alone(&commands[0]).await],
            Err(error) => commands.iter().map(|_| Err(error.clone())).collect(),
        }
    }

    async fn alone(&mut self, command: &Command) -> Result<WriteResult, Error> {
        let mut answers = self.attempt(std::slice::from_ref(command)).await?;
        answers.pop().unwrap_or(Err(Error::OutcomeUnknown))
    }

    async fn attempt(&mut self, commands: &[Command]) -> Result<Vec<Result<WriteResult, Error>>, Error> {
        let time = self.time.clone();
        let (client, statements, warnings) = self.connected().await?;
        let began = Instant::now();
        let done = timeout(BATCH_TIMEOUT, batch::run(client, statements, warnings, &time, commands)).await;
        match done {
            Ok(Ok(done)) => {
                self.figures.committed(commands.len(), began);
                if !done.events.is_empty() {
                    if self.recent.offer(&done.events) != OfferResult::Taken {
                        self.gap.notify_one();
                    }
                    self.hint.notify_one();
                }
                Ok(done.answers)
            }
            Ok(Err(BatchFailure::RolledBack(error))) => {
                if let Error::Unavailable(why) = &error {
                    self.down(why.clone());
                }
                Err(error)
            }
            Ok(Err(BatchFailure::Unknown)) => {
                self.down("the connection was lost".to_owned());
                Err(Error::OutcomeUnknown)
            }
            Err(_) => {
                self.down("the database does not answer".to_owned());
                Err(Error::OutcomeUnknown)
            }
        }
    }

    async fn connected(&mut self) -> Result<(&Client, &PostgresStatements, &Warnings), Error> {
        if matches!(&self.link, WriterConnection::Up { client, .. } if client.is_closed()) {
            self.down("the connection was closed".to_owned());
        }
        if let WriterConnection::Down { since, why } = &self.link {
            if since.is_some_and(|since| since.elapsed() < RETRY) {
                return Err(Error::Unavailable(why.clone()));
            }
            let connecting = timeout(REPLY_TIMEOUT, connect(&self.config, &self.tls)).await;
            match connecting.unwrap_or_else(|_| Err(Error::Unavailable("it does not answer".to_owned()))) {
                Ok(link) => self.link = link,
                Err(error) => {
                    let why = match error {
                        Error::Unavailable(why) => why,
                        error => error.to_string(),
                    };
                    self.link = WriterConnection::Down { since: Some(Instant::now()), why: why.clone() };
                    return Err(Error::Unavailable(why));
                }
            }
        }
        match &self.link {
            WriterConnection::Up { client, statements, warnings, .. } => Ok((client, statements, warnings)),
            WriterConnection::Down { why, .. } => Err(Error::Unavailable(why.clone())),
        }
    }

    fn down(&mut self, why: String) {
        if let WriterConnection::Up { driver, .. } = &self.link {
            driver.abort();
        }
        self.link = WriterConnection::Down { since: None, why };
    }
}

async fn connect(config: &Config, tls: &TlsConnector) -> Result<WriterConnection, Error> {
    let (client, mut connection) = config.connect(tls.clone()).await.map_err(failed)?;
    let warnings = Arc::new(Warnings::default());
    let heard = warnings.clone();
    let driver = tokio::spawn(async move {
        let mut messages = futures_util::stream::poll_fn(move |cx| connection.poll_message(cx));
        while let Some(message) = messages.next().await {
            match message {
                // Responses after a notice are delivered only after the next poll, so a caller that
                // learns of its COMMIT finds the warning here.
                Ok(AsyncMessage::Notice(notice)) => heard.take(&notice),
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!("the connection that writes to the database was lost: {error}");
                    // After an error, further polls may never answer.
                    break;
                }
            }
        }
    });
    let statements = Box::new(PostgresStatements::prepare(&client).await.map_err(failed)?);
    Ok(WriterConnection::Up { client, statements, warnings, driver })
}
