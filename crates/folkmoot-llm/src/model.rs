//! What can be asked, and how its answer is heard.

use std::{fmt::Debug, time::Duration};

use futures_util::future::BoxFuture;

use crate::{ModelAnswer, ModelFailure, ModelRequest};

/// Something that answers. Dropping the future ends the call, as far as the vendor lets it.
pub trait Model: Debug + Send + Sync {
    /// Asks, and tells `hear` each piece of the answer as it comes. What was heard before a failure
    /// is no answer.
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        hear: &'a mut dyn Hear,
    ) -> BoxFuture<'a, Result<ModelAnswer, ModelFailure>>;
}

/// Somebody who listens to an answer while it is given.
pub trait Hear: Send {
    /// The next piece of its text.
    fn piece(&mut self, text: &str);

    /// What was heard until now counts no more: the answer begins again, from another attempt or
    /// another provider.
    fn again(&mut self) {}

    /// An attempt has failed, and the next is made after a while.
    fn waiting(&mut self, _failure: &ModelFailure, _wait: Duration) {}
}

/// Nobody listens; the answer is read when it is complete.
impl Hear for () {
    fn piece(&mut self, _: &str) {}
}

impl<F: FnMut(&str) + Send> Hear for F {
    fn piece(&mut self, text: &str) {
        self(text);
    }
}

/// Something that turns texts into vectors whose closeness is closeness of meaning.
pub trait Embedder: Debug + Send + Sync {
    /// One vector for each text, in order, all of one length.
    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, ModelFailure>>;
}
