//! The hash chain: each event's hash covers the hash of the event before. So no event can be
//! changed, removed or moved unnoticed.
//!
//! The hash is SHA-256 over twelve fields: position, stream, stream_seq, type, version, actor,
//! on_behalf_of, session, command_id, at, payload, prev_hash. Each field is written as its length
//! in bytes (eight bytes, big-endian), followed by its bytes. Numbers are written in decimal, `at`
//! as RFC 3339 with six decimals, hashes as 64 hexadecimal digits, and an absent field as an empty
//! string.
//!
//! An event with a token id has a thirteenth field, token_id. An event without one ends after
//! prev_hash, as all events of older versions do. Since every field begins with its length, no
//! input can be read both as twelve fields and as thirteen.

#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

use crate::{Digest, Event, Fact, Head};

/// Appends `fact` to the log and moves the head to it.
pub fn append(head: &mut Head, fact: Fact) -> Event {
    let position = head.position + 1;
    let hash = hash(position, &fact, head.hash);
    let event = Event { position, fact, prev_hash: head.hash, hash };
    *head = Head { position, hash };
    event
}

/// The hash that an event with this content must have at this position.
pub fn hash(position: u64, fact: &Fact, prev_hash: Digest) -> Digest {
    let mut hasher = Sha256::new();
    let mut scratch = String::with_capacity(64);
    let mut number = |hasher: &mut Sha256, number: &dyn std::fmt::Display| {
        scratch.clear();
        write!(scratch, "{number}").expect("writing to a string does not fail");
        field(hasher, scratch.as_bytes());
    };
    number(&mut hasher, &position);
    field(&mut hasher, fact.stream.as_bytes());
    number(&mut hasher, &fact.stream_seq);
    field(&mut hasher, fact.kind.as_bytes());
    number(&mut hasher, &fact.version);
    field(&mut hasher, fact.actor.as_str().as_bytes());
    field(&mut hasher, fact.on_behalf_of.as_ref().map_or("", |name| name.as_str()).as_bytes());
    field(&mut hasher, fact.session.as_ref().map_or("", |session| session.as_str()).as_bytes());
    field(&mut hasher, fact.command_id.as_str().as_bytes());
    number(&mut hasher, &fact.at);
    field(&mut hasher, fact.payload.as_bytes());
    field(&mut hasher, prev_hash.hex().as_bytes());
    if let Some(token_id) = &fact.token_id {
        field(&mut hasher, token_id.as_str().as_bytes());
    }
    Digest::from(<[u8; 32]>::from(hasher.finalize()))
}

fn field(hasher: &mut Sha256, bytes: &[u8]) {
    hasher.update((bytes.len() as u64).to_be_bytes());
    hasher.update(bytes);
}
