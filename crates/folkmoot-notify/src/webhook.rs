//! Webhooks according to <https://www.standardwebhooks.com>: JSON, with an id, a time and a
//! signature over all three.
//!
//! A receiver checks the signature, so it knows that the message is ours and unchanged. It checks
//! the time, so that an old message cannot be replayed. It checks the id, which stays the same if a
//! message is sent again, so it handles each message once.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD};
use folkmoot_core::Timestamp;
use folkmoot_outbound::Keys;
use hmac::{Hmac, KeyInit, Mac};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::json;
use sha2::Sha256;

use crate::{Notification, Post, SendFailure};

#[cfg(test)]
mod tests;

/// The secret that signs a webhook's messages. It cannot be printed.
#[derive(Clone)]
pub struct WebhookSecret(Vec<u8>);

/// The prefix of written secrets.
const PREFIX: &str = "whsec_";
/// The bounds of the format: a shorter secret could be guessed, a longer one is a mistake.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;

impl WebhookSecret {
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self(bytes.into())
    }

    /// Parses `whsec_` and base64.
    pub fn parse(text: &str) -> Result<Self, String> {
        let encoded = text.trim().strip_prefix(PREFIX);
        let bytes = encoded.and_then(|encoded| STANDARD.decode(encoded).ok());
        let bytes = bytes.filter(|bytes| SECRET_BYTES.contains(&bytes.len()));
        bytes.map(Self).ok_or_else(|| {
            "is no webhook secret: write whsec_ and 24 to 64 random bytes in base64, such as \
             `echo whsec_$(openssl rand -base64 32)` prints"
                .to_owned()
        })
    }

    /// The text for the receiver. It is shown once, when it is created.
    pub fn reveal(&self) -> String {
        format!("{PREFIX}{}", STANDARD.encode(&self.0))
    }

    fn sign(&self, id: &str, seconds: i64, body: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes a key of any length");
        mac.update(format!("{id}.{seconds}.").as_bytes());
        mac.update(body);
        format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()))
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// Sends `message` to `url` once, signed at `now` with each secret. There are two while a receiver
/// changes from one to the next.
pub async fn send(
    post: &Post,
    url: &str,
    secrets: &[WebhookSecret],
    message: &Notification,
    now: Timestamp,
) -> Result<(), SendFailure> {
    let body = body(message);
    let headers = headers(secrets, &message.id, now, &body)?;
    post.json(url, headers, body, &hidden(url, secrets)).await
}

fn body(message: &Notification) -> Vec<u8> {
    json!({ "type": message.kind, "timestamp": message.at, "data": message.data }).to_string().into_bytes()
}

fn headers(secrets: &[WebhookSecret], id: &str, now: Timestamp, body: &[u8]) -> Result<HeaderMap, SendFailure> {
    let seconds = now.as_micros().div_euclid(1_000_000);
    let signatures: Vec<String> = secrets.iter().map(|secret| secret.sign(id, seconds, body)).collect();
    let named = [
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", seconds.to_string()),
        ("webhook-signature", signatures.join(" ")),
    ];
    let header = |(name, value): (&'static str, String)| {
        let value = HeaderValue::from_str(&value)
            .map_err(|_| SendFailure::never(format!("{name} cannot be sent: {value:?}")))?;
        Ok((HeaderName::from_static(name), value))
    };
    named.into_iter().map(header).collect()
}

/// What error reasons must not contain: the secrets, and everything after the host, where many
/// services put one.
fn hidden(url: &str, secrets: &[WebhookSecret]) -> Keys {
    let secrets = secrets.iter().map(|secret| STANDARD.encode(&secret.0));
    let path = url.split_once("://").and_then(|(_, rest)| rest.split_once('/')).map_or("", |(_, path)| path);
    let (segments, query) = path.split_once('?').unwrap_or((path, ""));
    let parts = query.split('&').flat_map(|part| [Some(part), part.split_once('=').map(|(_, value)| value)]).flatten();
    let address = [url, path, segments, query].into_iter().chain(segments.split('/')).chain(parts).map(str::to_owned);
    Keys::new(secrets.chain(address).map(|text| ("", text)))
}
