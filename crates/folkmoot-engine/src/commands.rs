//! The verbs that change something. Each makes one command and says what came of it.

mod amend;
mod ask;
mod cancel;
mod close;
mod decide;
mod extend;
mod halt;
mod open;
mod run;
mod tokens;

use folkmoot_core::{Action, Actor, Command, Gate, Outcome, Question, gate::ArtifactRef};
use folkmoot_store::{Error, Store};

pub use open::{Opened, Request};
pub use run::Recorded;
pub use tokens::Minted;

use crate::{Caller, Engine};

/// Content that comes with a gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewArtifact {
    /// As the requester calls it.
    pub name: String,
    /// What it is.
    pub media_type: String,
    /// The bytes.
    pub content: Vec<u8>,
}

impl NewArtifact {
    pub(crate) fn reference(&self) -> ArtifactRef {
        ArtifactRef {
            name: self.name.clone(),
            media_type: self.media_type.clone(),
            digest: folkmoot_core::Digest::of(&self.content),
            bytes: self.content.len() as u64,
        }
    }
}

impl Engine {
    async fn execute(&self, caller: Caller, action: Action) -> Result<Outcome, Error> {
        let written = self.0.store.execute(self.command(caller, action)).await;
        self.note(&written);
        written
    }

    /// As [`Engine::execute`], and returns only when this node's index of holds knows of it.
    async fn execute_and_reach(&self, caller: Caller, action: Action) -> Result<Outcome, Error> {
        let written = self.0.store.write(self.command(caller, action)).await;
        self.note(&written);
        let written = written?;
        self.reached(written.position).await;
        Ok(written.outcome)
    }

    fn command(&self, caller: Caller, action: Action) -> Command {
        let Caller { principal, idempotency } = caller;
        Command { id: self.new_command_id(), by: Actor::Principal(principal), idempotency, action }
    }

    async fn execute_on_question(&self, caller: Caller, action: Action) -> Result<Question, Error> {
        match self.execute_and_reach(caller, action).await? {
            Outcome::Question(question) => Ok(*question),
            other => Err(Error::Unreadable(format!("a question was expected, and this came: {other:?}"))),
        }
    }

    async fn execute_on_gate(&self, caller: Caller, action: Action) -> Result<Gate, Error> {
        match self.execute(caller, action).await? {
            Outcome::Gate(gate) | Outcome::Existing(gate) => Ok(*gate),
            other => Err(Error::Unreadable(format!("a gate was expected, and this came: {other:?}"))),
        }
    }
}
