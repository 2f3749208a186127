//! The verbs that change something. Each makes one command and returns its result.

mod amend;
mod ask;
mod cancel;
mod close;
mod correct;
mod decide;
mod erase;
mod extend;
mod halt;
mod open;
mod redeliver;
mod run;
mod tokens;
mod webhooks;

use folkmoot_core::{Action, Actor, Command, Gate, Outcome, Question, gate, gate::ArtifactRef, question};
use folkmoot_store::{Error, QUEUE, Store, WriteResult};
use futures_util::future::BoxFuture;
use tracing::{Instrument, Span, field};

pub use erase::ErasedContent;
pub use open::{OpenRequest, OpenedGate};
pub use run::RecordedEntry;
pub use tokens::Minted;

use crate::{Caller, Engine, refusals::ReviewAttempt};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArtifactInput {
    pub name: String,
    pub media_type: String,
    pub content: Vec<u8>,
}

impl ArtifactInput {
    pub(crate) fn reference(&self) -> ArtifactRef {
        ArtifactRef {
            name: self.name.clone(),
            media_type: self.media_type.clone(),
            digest: folkmoot_core::Digest::of(&self.content),
            bytes: self.content.len() as u64,
        }
    }
}

/// How many commands of one agent wait in the store's queue. Its others wait outside, so that a
/// person's command waits behind a bounded number of them.
pub(crate) const AGENT_WRITES_MAX: usize = 64;

/// Whether the command comes from a person who decides, or from Folkmoot.
fn is_urgent(command: &Command) -> bool {
    match &command.by {
        Actor::System => true,
        Actor::Principal(by) => by.role.decides() || by.may_halt(),
    }
}

impl Engine {
    /// Sends a command to the store. Its result is traced only if somebody traces.
    ///
    /// Boxed, because every verb ends here: otherwise every caller would compile the large future
    /// of the write again.
    pub(crate) fn write(&self, command: Command) -> BoxFuture<'_, Result<WriteResult, Error>> {
        Box::pin(self.write_within_limits(command))
    }

    async fn write_within_limits(&self, command: Command) -> Result<WriteResult, Error> {
        // The last places are reserved for people who decide and for Folkmoot itself.
        if self.0.store.queued() >= QUEUE - QUEUE / 4 && !is_urgent(&command) {
            return Err(Error::Busy);
        }
        let _permit = match &command.by {
            Actor::Principal(principal) => self.0.agent_writes.permit(principal).await,
            Actor::System => None,
        };
        let attempt = ReviewAttempt::of(&command);
        let written = self.write_traced(command).await;
        if let (Some(attempt), Err(error)) = (attempt, &written) {
            self.0.refusals.note(&attempt, error, self.now());
        }
        self.note(&written);
        written
    }

    async fn write_traced(&self, command: Command) -> Result<WriteResult, Error> {
        let span = tracing::debug_span!(
            target: "folkmoot::command",
            "command",
            otel.name = command.action.word(),
            command = command.id.as_str(),
            position = field::Empty,
            together = field::Empty,
            refused = field::Empty,
        );
        if span.is_disabled() {
            return self.0.store.write(command).await;
        }
        async {
            let written = self.0.store.write(command).await;
            let span = Span::current();
            match &written {
                Ok(WriteResult { position, together, .. }) => {
                    span.record("position", position);
                    span.record("together", together);
                    tracing::debug!(target: "folkmoot::command", "done");
                }
                Err(error) => match error.refusal() {
                    Some(refusal) => {
                        span.record("refused", refusal.code());
                        tracing::debug!(target: "folkmoot::command", "refused");
                    }
                    None => tracing::debug!(target: "folkmoot::command", "failed: {error}"),
                },
            }
            written
        }
        .instrument(span)
        .await
    }

    /// As [`Engine::write`], without the log position.
    pub(crate) async fn execute_command(&self, command: Command) -> Result<Outcome, Error> {
        Ok(self.write(command).await?.outcome)
    }

    async fn execute(&self, caller: Caller, action: impl Into<Action>) -> Result<Outcome, Error> {
        self.execute_command(self.command(caller, action)).await
    }

    /// As [`Engine::execute`], but returns only when this node's index of holds includes the
    /// command.
    async fn execute_and_reach(&self, caller: Caller, action: impl Into<Action>) -> Result<Outcome, Error> {
        let written = self.write(self.command(caller, action)).await?;
        self.reached(written.position).await;
        Ok(written.outcome)
    }

    fn command(&self, caller: Caller, action: impl Into<Action>) -> Command {
        let Caller { principal, token, claims, idempotency } = caller;
        let mut command =
            Command { token, claims, idempotency, ..self.command_by(Actor::Principal(principal), action) };
        self.0.refusals.prepare(&mut command, self.now());
        command
    }

    /// The only place that makes commands, for callers without a token.
    pub(crate) fn command_by(&self, by: Actor, action: impl Into<Action>) -> Command {
        let subscriptions = self.0.channels.subscriptions();
        Command {
            id: self.new_command_id(),
            by,
            token: None,
            claims: None,
            idempotency: None,
            action: action.into(),
            quota: self.0.quota,
            subscriptions,
        }
    }

    pub(crate) fn system_command(&self, action: impl Into<Action>) -> Command {
        self.command_by(Actor::System, action)
    }

    async fn execute_on_question(&self, caller: Caller, action: question::Action) -> Result<Question, Error> {
        match self.execute_and_reach(caller, action).await? {
            Outcome::Question(question) => Ok(*question),
            other => Err(Error::Unreadable(format!("a question was expected, and this came: {other:?}"))),
        }
    }

    async fn execute_on_gate(&self, caller: Caller, action: gate::Action) -> Result<Gate, Error> {
        match self.execute(caller, action).await? {
            Outcome::Gate(gate) | Outcome::Existing(gate) => Ok(*gate),
            other => Err(Error::Unreadable(format!("a gate was expected, and this came: {other:?}"))),
        }
    }
}

/// The write succeeded, so a later error must not report it as failed.
fn after_the_commit(what: &str, error: &Error) -> Error {
    tracing::warn!("{what} cannot be read just now: {error}");
    Error::OutcomeUnknown
}
