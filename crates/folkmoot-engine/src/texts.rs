//! Summaries that were just written, so that an answer about a gate need not read them back. Content is addressed by
//! its digest and never changes, so nothing here can be stale.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use folkmoot_core::Digest;

/// How much text is kept.
const BYTES_MAX: usize = 8 << 20;

#[derive(Debug, Default)]
pub(crate) struct Texts(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    texts: HashMap<Digest, Arc<str>>,
    order: VecDeque<Digest>,
    bytes: usize,
}

impl Texts {
    pub(crate) fn get(&self, digest: Digest) -> Option<String> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.texts.get(&digest).map(|text| text.as_ref().to_owned())
    }

    pub(crate) fn put(&self, digest: Digest, text: &str) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if text.len() > BYTES_MAX / 64 || kept.texts.insert(digest, text.into()).is_some() {
            return;
        }
        kept.order.push_back(digest);
        kept.bytes += text.len() + OVERHEAD;
        while kept.bytes > BYTES_MAX {
            let Some(oldest) = kept.order.pop_front() else { break };
            if let Some(gone) = kept.texts.remove(&oldest) {
                kept.bytes -= gone.len() + OVERHEAD;
            }
        }
    }
}

/// What one entry costs beside its text.
const OVERHEAD: usize = 128;
