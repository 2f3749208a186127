//! The vocabulary and the rules of Folkmoot.
//!
//! This crate is pure: no async, no clock, no randomness, no I/O. `now` and new ids are arguments,
//! so the same input always gives the same answer. A [`Command`] names the rows that it [`Needs`].
//! [`judge()`] gets those rows and returns a [`Commit`] (everything to write) or a [`Refusal`] (the
//! rules forbid it).

/// Describes a type in an OpenAPI document. Without the feature `openapi` it expands to nothing.
#[cfg(not(feature = "openapi"))]
#[macro_export]
macro_rules! openapi {
    ($($description:tt)*) => {};
}

#[macro_use]
pub mod vocabulary;

pub mod audit;
pub mod canonical;
pub mod chain;
pub mod checkpoint;
pub mod clearance;
pub mod command;
pub mod commit;
pub mod delivery;
pub mod digest;
pub mod erase;
pub mod event;
pub mod gate;
pub mod halt;
pub mod id;
pub mod journal;
pub mod judge;
pub mod node;
#[cfg(feature = "openapi")]
pub mod openapi;
pub mod presence;
pub mod principal;
pub mod question;
pub mod quota;
pub mod receipt;
pub mod record;
pub mod refusal;
pub mod run;
pub mod text;
pub mod time;
pub mod token;
#[cfg(test)]
mod transcript;
pub mod webhook;

pub use clearance::{Hold, HoldId, Scope};
pub use command::{Action, Actor, Command, Idempotency, Loaded, Needs};
pub use commit::{Artifact, Commit, Judgement, Outcome, Row, Subject, Timer, TimerChange, Wake};
pub use delivery::Delivery;
pub use digest::Digest;
pub use event::{CorruptLog, Event, Fact, Head};
pub use gate::{Gate, GateStatus};
pub use halt::Halt;
pub use id::{
    BadId, CommandId, DeliveryId, GateId, HaltId, KeyId, Name, Phase, QuestionId, RunId, SessionId, TokenId, WebhookId,
};
pub use judge::judge;
pub use presence::Presence;
pub use principal::{Capability, Principal, Role};
pub use question::Question;
pub use quota::{Quota, QuotaUsage};
pub use record::{NewRecord, Record, RecordQuery, RecordView};
pub use refusal::Refusal;
pub use run::{Run, WorkflowName};
pub use time::{Deadline, Timeout, Timestamp};
pub use webhook::Webhook;
