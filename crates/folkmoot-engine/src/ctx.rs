//! The interface for workflows: steps that are recorded, and waits that survive restarts.
//!
//! A workflow's function runs from its top each time the run is claimed, and recorded calls return
//! at once. So the function must make the same calls in the same order each time. Anything that may
//! differ (the time, randomness, the outside world) must come from a step, or from [`Ctx::now`] and
//! [`Ctx::random`]. Every call takes a key, by which a replay finds its record. Calls must be made
//! by the function itself: a step that uses the [`Ctx`] fails.

mod ask;
mod child;
mod emit;
mod gate;
mod join;
mod pass;
mod records;
mod sleep;
mod step;
mod value;

use std::sync::{
    Arc,
    atomic::{AtomicU32, Ordering},
};

use folkmoot_core::{
    Digest, Name, Role, RunId, SessionId,
    journal::{EntryKey, EntryKind},
};
use folkmoot_store::JournalLine;

use crate::Failure;

pub use ask::{QuestionOutcome, QuestionSpec};
pub use gate::{GateOutcome, GateSpec};
pub(crate) use pass::{AGAIN, NOT_RECORDED, Pass, PassEnd, PassWatch, SPINS};
pub(crate) use step::step_asked_about;
pub use step::{OnUncertain, Retry, Step};

/// A workflow's access to everything outside it. Clones share the same state.
#[derive(Clone, Debug)]
pub struct Ctx {
    pass: Arc<Pass>,
    /// The prefix of keys in this branch.
    branch: Arc<str>,
    /// The number of calls so far in this branch.
    calls: Arc<AtomicU32>,
}

/// A stable key of several parts: `key!("proposal", round, agent.id)` is `proposal/2/critic`.
#[macro_export]
macro_rules! key {
    ($first:expr $(, $part:expr)* $(,)?) => {{
        let mut key = ::std::string::ToString::to_string(&$first);
        $(key.push('/'); key.push_str(&::std::string::ToString::to_string(&$part));)*
        key
    }};
}

/// One call on the `Ctx`, with its key and its position in the branch.
#[derive(Clone, Debug)]
struct CtxCall {
    key: EntryKey,
    kind: EntryKind,
    /// 0 for calls that have no fixed place in the order, because they do not happen in every pass.
    ordinal: u32,
    input: Option<Digest>,
}

impl Ctx {
    pub(crate) fn new(pass: Arc<Pass>) -> Self {
        Self { pass, branch: "".into(), calls: Arc::default() }
    }

    pub fn run_id(&self) -> &RunId {
        &self.pass.run.start.id
    }

    pub fn session_id(&self) -> &SessionId {
        &self.pass.run.start.session_id
    }

    /// The principal that started the run.
    pub fn initiator(&self) -> &Name {
        &self.pass.run.start.initiator
    }

    /// The role of that principal.
    pub fn role(&self) -> Role {
        self.pass.run.start.role
    }

    /// Stops the run for something that a person must repair outside it, such as a missing key or a
    /// full disk. The run shows the message, and continues from here when it is resumed. Never
    /// returns.
    pub async fn stop<T>(&self, code: &str, message: impl Into<String>) -> T {
        self.pass.end(PassEnd::stop(code, message)).await
    }

    /// Stops the run like [`Ctx::stop`], but returns after it was resumed. What failed before can
    /// then be done again, under other keys.
    pub async fn stop_until_resumed(
        &self,
        key: impl AsRef<str>,
        code: &str,
        message: impl Into<String>,
    ) -> Result<(), Failure> {
        let stopped_at = self.now(key).await?;
        match self.pass.run.resumed_at {
            Some(resumed_at) if resumed_at > stopped_at => Ok(()),
            _ => self.stop(code, message).await,
        }
    }

    /// The full key in the journal of a call with this key. It includes the branch, so it is unique
    /// in the run.
    pub fn key_in_run(&self, key: &str) -> String {
        format!("{}{key}", self.branch)
    }

    /// Begins a call with this key, and returns its record if there is one. Never returns if the
    /// call differs from the recorded one, because the code has changed.
    async fn call(&self, kind: EntryKind, key: &str, input: Option<Digest>) -> (CtxCall, Option<JournalLine>) {
        let ordinal = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        self.call_at(kind, key, ordinal, input).await
    }

    async fn call_at(
        &self,
        kind: EntryKind,
        key: &str,
        ordinal: u32,
        input: Option<Digest>,
    ) -> (CtxCall, Option<JournalLine>) {
        self.pass.must_be_polled(key);
        self.pass.must_be_allowed().await;
        self.pass.has_called();
        let key: EntryKey = match self.key_in_run(key).parse() {
            Ok(key) => key,
            Err(error) => return self.pass.end(PassEnd::stop("invalid_key", error.to_string())).await,
        };
        if !self.pass.use_key(&key) {
            let message = format!("this workflow uses the key {key:?} twice; give each call a key of its own");
            return self.pass.end(PassEnd::stop("key_used_twice", message)).await;
        }
        let known = self.pass.recorded(&key);
        if known.is_none() {
            self.pass.stop_if_replaying(&key).await;
        }
        if let Some(differs) = known.as_ref().and_then(|line| line.entry.differs_from(kind, input, ordinal)) {
            return self.pass.end(PassEnd::changed(&self.pass.run, &key, differs)).await;
        }
        (CtxCall { key, kind, ordinal, input }, known)
    }
}

/// The digest of a value as JSON, by which the journal recognises an input.
fn digest_of(value: &impl serde::Serialize) -> Option<Digest> {
    serde_json::to_vec(value).ok().map(|bytes| Digest::of(&bytes))
}

/// A workflow's value as JSON with sorted maps. Otherwise a map that serializes in another order
/// each time would have another digest.
fn canonical(value: &impl serde::Serialize) -> Option<serde_json::Value> {
    serde_json::to_value(value).ok()
}
