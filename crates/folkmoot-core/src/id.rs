//! Ids and names as types. All of them are short, printable and safe in a URL.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};

use crate::Timestamp;

/// The text is not a valid id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no {what}: use 1 to {max} of the characters A-Z a-z 0-9 . _ : @ -")]
pub struct BadId {
    what: &'static str,
    max: usize,
    text: String,
}

/// A regular expression that every id matches, for clients that check before they send. The maximum
/// length is each type's `BYTES_MAX`.
pub const PATTERN: &str = r"^\.*[A-Za-z0-9_:@-][A-Za-z0-9._:@-]*$";

macro_rules! id {
    ($(#[doc = $doc:literal])* $name:ident, $what:literal, $max:literal) => {
        $(#[doc = $doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// The maximum length, in bytes.
            pub const BYTES_MAX: usize = $max;

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        /// Lets a map with such keys be searched by `&str`.
        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = BadId;
            fn from_str(text: &str) -> Result<Self, BadId> {
                if is_id(text, Self::BYTES_MAX) {
                    return Ok(Self(text.into()));
                }
                Err(BadId { what: $what, max: Self::BYTES_MAX, text: text.chars().take(80).collect() })
            }
        }

        impl TryFrom<String> for $name {
            type Error = BadId;
            fn try_from(text: String) -> Result<Self, BadId> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0.as_ref().to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.0, f)
            }
        }

        crate::openapi!($name, [$($doc),*], crate::openapi::text(PATTERN, Self::BYTES_MAX));
    };
}

id!(/** A gate: `gate-{run}-{phase}-{milliseconds}-{random}`. */ GateId, "gate id", 320);
id!(/** A run. */ RunId, "run id", 128);
id!(/** A session: the scope that agents share. */ SessionId, "session id", 128);
id!(/** One command, as the log names it. */ CommandId, "command id", 64);
id!(/** A token's public name; the secret is another thing. */ TokenId, "token id", 64);
id!(/** The name of a principal, or of an agent that a principal speaks for. */ Name, "name", 128);
id!(/** A question: `question-{milliseconds}-{random}`. */ QuestionId, "question id", 64);
id!(/** An operator's halt: `halt-{milliseconds}-{random}`. */ HaltId, "halt id", 64);
id!(/** A webhook: `webhook-{milliseconds}-{random}`. */ WebhookId, "webhook id", 64);
id!(/** A delivery: `dlv-{position}-{hash of the event}-{number}`. */ DeliveryId, "delivery id", 64);
id!(/** A server's key, by its public half: `key-{hash}`. */ KeyId, "key id", 64);
id!(/** A named part of a run, at whose end a gate can stand. */ Phase, "phase", 64);

impl GateId {
    /// Makes `gate-{run}-{phase}-{milliseconds}-{random}`, with `external` if there is no run. The
    /// random part makes it unique.
    pub fn new(run: Option<&RunId>, phase: &Phase, now: Timestamp, random: u64) -> Self {
        let run = run.map_or("external", RunId::as_str);
        Self(format!("gate-{run}-{phase}-{}-{random:016x}", now.as_micros() / 1000).into())
    }
}

impl RunId {
    /// Makes a unique id. Such ids sort in the order in which the runs were started.
    pub fn new(now: Timestamp, random: u64) -> Self {
        Self(format!("run-{}-{random:016x}", now.as_micros() / 1000).into())
    }
}

impl QuestionId {
    /// Makes a unique id. Such ids sort in the order in which the questions were asked.
    pub fn new(now: Timestamp, random: u64) -> Self {
        Self(format!("question-{}-{random:016x}", now.as_micros() / 1000).into())
    }
}

impl HaltId {
    /// Makes a unique id. Such ids sort in the order in which the halts were raised.
    pub fn new(now: Timestamp, random: u64) -> Self {
        Self(format!("halt-{}-{random:016x}", now.as_micros() / 1000).into())
    }
}

impl WebhookId {
    /// Makes a unique id. Such ids sort in the order in which the webhooks were created.
    pub fn new(now: Timestamp, random: u64) -> Self {
        Self(format!("webhook-{}-{random:016x}", now.as_micros() / 1000).into())
    }
}

fn is_id(text: &str, bytes_max: usize) -> bool {
    let fits = (1..=bytes_max).contains(&text.len());
    fits && text.bytes().all(|b| b.is_ascii_alphanumeric() || b".-_:@".contains(&b)) && text.bytes().any(|b| b != b'.')
}
