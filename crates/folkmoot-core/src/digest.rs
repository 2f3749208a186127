//! SHA-256 digests of content. Their text form is `sha256:` and 64 hexadecimal digits.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

crate::openapi!(
    Digest,
    ["A SHA-256: `sha256:` and 64 hexadecimal digits."],
    crate::openapi::text("^sha256:[0-9a-f]{64}$", "sha256:".len() + 64)
);

impl Digest {
    /// The `prev_hash` of the log's first event.
    pub const ZERO: Digest = Digest([0; 32]);

    pub fn of(content: &[u8]) -> Self {
        Self(Sha256::digest(content).into())
    }

    /// The digest of a value's canonical JSON (RFC 8785). The value's keys must be ASCII and
    /// already sorted, and its numbers must be integers. Then `serde_json` writes exactly the
    /// canonical form.
    pub(crate) fn of_canonical(value: &impl Serialize) -> Self {
        Self::of(&serde_json::to_vec(value).expect("a struct of texts and integers is JSON"))
    }

    /// 64 hexadecimal digits, without the prefix.
    pub fn hex(&self) -> String {
        let mut text = String::with_capacity(64);
        for byte in self.0 {
            text.push(char::from(DIGITS[usize::from(byte >> 4)]));
            text.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
        text
    }

    /// The inverse of [`Digest::hex`].
    pub fn from_hex(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = nibble(pair[0])? << 4 | nibble(pair[1])?;
        }
        Some(Self(bytes))
    }

    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl From<[u8; 32]> for Digest {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

const DIGITS: &[u8; 16] = b"0123456789abcdef";

fn nibble(digit: u8) -> Option<u8> {
    DIGITS.iter().position(|d| *d == digit).and_then(|n| u8::try_from(n).ok())
}

/// The text is not a valid digest.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a digest is `sha256:` and 64 hexadecimal digits in lower case")]
pub struct BadDigest;

impl FromStr for Digest {
    type Err = BadDigest;
    fn from_str(text: &str) -> Result<Self, BadDigest> {
        text.strip_prefix("sha256:").and_then(Self::from_hex).ok_or(BadDigest)
    }
}

impl TryFrom<String> for Digest {
    type Error = BadDigest;
    fn try_from(text: String) -> Result<Self, BadDigest> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.to_string()
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
