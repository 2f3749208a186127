//! Fallbacks: if a model fails, the next one is asked.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::{FailedAttempt, Hear, Model, ModelAnswer, ModelFailure, ModelRequest};

#[cfg(test)]
mod tests;

/// Models in the order in which they are tried.
#[derive(Debug)]
pub struct FallbackChain {
    first: FallbackModel,
    fallbacks: Vec<FallbackModel>,
}

/// One model of a chain.
#[derive(Clone, Debug)]
pub struct FallbackModel {
    /// The name for the record.
    pub name: String,
    pub model: Arc<dyn Model>,
}

impl FallbackChain {
    pub fn new(first: FallbackModel, fallbacks: Vec<FallbackModel>) -> Self {
        Self { first, fallbacks }
    }
}

impl Model for FallbackChain {
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        hear: &'a mut dyn Hear,
    ) -> BoxFuture<'a, Result<ModelAnswer, ModelFailure>> {
        Box::pin(async move {
            let mut failed = Vec::new();
            let mut link = &self.first;
            for next in self.fallbacks.iter().map(Some).chain([None]) {
                let failure = match link.model.ask(request, hear).await {
                    Ok(mut answer) => {
                        failed.append(&mut answer.failed);
                        answer.failed = failed;
                        return Ok(answer);
                    }
                    Err(failure) => failure,
                };
                let Some(next) = next.filter(|_| failure.kind.is_the_providers()) else {
                    return Err(all_failed(failed, failure));
                };
                tracing::warn!(from = link.name, to = next.name, %failure, "a model failed, and the next is asked");
                failed.push(FailedAttempt { model: link.name.clone(), failure });
                hear.again();
                link = next;
            }
            unreachable!("the last link returns")
        })
    }
}

/// The last failure, together with the earlier ones.
fn all_failed(before: Vec<FailedAttempt>, last: ModelFailure) -> ModelFailure {
    let mut detail = last.detail;
    for FailedAttempt { failure, .. } in before.iter().rev() {
        detail.push_str(&format!("; before it, {failure}"));
    }
    ModelFailure { detail, ..last }
}
