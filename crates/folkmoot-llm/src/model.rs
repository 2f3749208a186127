//! The traits for models, listeners and embeddings.

use std::{fmt::Debug, time::Duration};

use futures_util::future::BoxFuture;

use crate::{ModelAnswer, ModelFailure, ModelRequest};

/// A model. Dropping the future cancels the call, as far as the vendor allows.
pub trait Model: Debug + Send + Sync {
    /// Asks, and passes each piece of output to `hear`. Output before a failure is not an answer.
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        hear: &'a mut dyn Hear,
    ) -> BoxFuture<'a, Result<ModelAnswer, ModelFailure>>;
}

/// Receives output while it is generated.
pub trait Hear: Send {
    fn piece(&mut self, text: &str);

    /// Discards the output so far: the answer begins again, from another attempt or provider.
    fn again(&mut self) {}

    /// An attempt failed; the next one follows after `wait`.
    fn waiting(&mut self, _failure: &ModelFailure, _wait: Duration) {}
}

/// Ignores the output; the answer is read when it is complete.
impl Hear for () {
    fn piece(&mut self, _: &str) {}
}

impl<F: FnMut(&str) + Send> Hear for F {
    fn piece(&mut self, text: &str) {
        self(text);
    }
}

/// Turns texts into vectors. Similar texts have similar vectors.
pub trait Embedder: Debug + Send + Sync {
    /// One vector per text, in order, all of the same length.
    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, ModelFailure>>;
}
