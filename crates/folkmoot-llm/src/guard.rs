//! Protects one provider: limits concurrent calls, retries, and opens a circuit breaker.

use std::{sync::Arc, time::Duration};

use backon::{BackoffBuilder, ExponentialBuilder};
use futures_util::future::BoxFuture;
use tokio::{
    sync::Semaphore,
    time::{Instant, sleep, timeout_at},
};

use crate::{
    FailedAttempt, FailureKind, Hear, Model, ModelAnswer, ModelFailure, ModelRequest,
    breaker::{Breaker, BreakerPermit},
    price::Price,
};

#[cfg(test)]
mod tests;

/// A limit that no clock overflows with, and longer than anybody waits.
const TOTAL_MAX: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// How often and for how long a call is tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The maximum number of attempts, including the first.
    pub attempts: u32,
    /// The delay before the second attempt. It doubles after that, with some jitter.
    pub backoff: Duration,
    /// The longest delay. If a vendor asks for more, the call is not retried.
    pub backoff_max: Duration,
    /// The time limit for everything, including waiting for a free slot.
    pub total: Duration,
    pub concurrency: usize,
    /// After this many failures in a row, the circuit breaker opens.
    pub failures_max: u32,
    /// How long it stays open.
    pub rest: Duration,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self {
            attempts: 4,
            backoff: Duration::from_millis(500),
            backoff_max: Duration::from_secs(30),
            total: Duration::from_secs(540),
            concurrency: 8,
            failures_max: 5,
            rest: Duration::from_secs(30),
        }
    }
}

/// State that all models of one provider share: the slots and the breaker.
#[derive(Debug)]
pub struct Guard {
    provider: String,
    patience: RetryPolicy,
    places: Semaphore,
    breaker: Breaker,
}

impl Guard {
    pub fn new(provider: &str, patience: RetryPolicy) -> Arc<Self> {
        Arc::new(Self {
            provider: provider.to_owned(),
            places: Semaphore::new(patience.concurrency.min(Semaphore::MAX_PERMITS)),
            breaker: Breaker::new(patience.failures_max, patience.rest),
            patience,
        })
    }

    fn failure(&self, kind: FailureKind, detail: String) -> ModelFailure {
        ModelFailure::new(&self.provider, kind, detail)
    }
}

#[derive(Debug)]
pub struct GuardedModel {
    pub model: Arc<dyn Model>,
    /// The name for the record.
    pub name: String,
    pub guard: Arc<Guard>,
    pub price: Option<Price>,
}

impl Model for GuardedModel {
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        hear: &'a mut dyn Hear,
    ) -> BoxFuture<'a, Result<ModelAnswer, ModelFailure>> {
        Box::pin(async move {
            let patience = &self.guard.patience;
            let until = Instant::now() + patience.total.min(TOTAL_MAX);
            let mut waits = ExponentialBuilder::default()
                .with_min_delay(patience.backoff)
                .with_max_delay(patience.backoff_max)
                .with_max_times(usize::try_from(patience.attempts.saturating_sub(1)).unwrap_or(usize::MAX))
                .with_jitter()
                .build();
            let mut failed = Vec::new();
            loop {
                let (failure, heard) = match self.attempt(request, hear, until).await {
                    Ok(mut answer) => {
                        answer.cost_usd_micros = self.price.map(|price| price.cost(&answer.usage));
                        failed.append(&mut answer.failed);
                        answer.failed = failed;
                        return Ok(answer);
                    }
                    Err(failed) => failed,
                };
                let again = waits.next().and_then(|wait| self.again_after(&failure, wait, until));
                let Some(wait) = again else { return Err(self.given_up(failure, failed.len() + 1)) };
                tracing::debug!(provider = failure.provider, kind = %failure.kind, ?wait, "a model call is tried again");
                if heard {
                    hear.again();
                }
                hear.waiting(&failure, wait);
                failed.push(FailedAttempt { model: self.name.clone(), failure });
                sleep(wait).await;
            }
        })
    }
}

impl GuardedModel {
    /// One attempt, and whether it produced any output.
    async fn attempt(
        &self,
        request: &ModelRequest,
        hear: &mut dyn Hear,
        until: Instant,
    ) -> Result<ModelAnswer, (ModelFailure, bool)> {
        let guard = &self.guard;
        let place = timeout_at(until, guard.places.acquire()).await;
        let Ok(Ok(_place)) = place else {
            let detail = format!(
                "no place was free for {} s; raise `concurrency`, or start fewer agents",
                guard.patience.total.as_secs()
            );
            return Err((guard.failure(FailureKind::TimedOut, detail), false));
        };
        // After waiting for a slot, so that earlier calls' results count.
        let pass = guard.breaker.pass().map_err(|left| {
            let detail =
                format!("it failed {} times in a row and is left alone for {left:.0?}", guard.patience.failures_max);
            (guard.failure(FailureKind::CircuitOpen, detail).after(Some(left)), false)
        })?;
        let mut noticing = NoticingHear { hear, heard: false };
        let answer = timeout_at(until, self.model.ask(request, &mut noticing)).await.unwrap_or_else(|_| {
            let detail = format!("no answer within {} s, all attempts together", guard.patience.total.as_secs());
            Err(guard.failure(FailureKind::TimedOut, detail))
        });
        tell(pass, &answer);
        count(&guard.provider, &answer);
        let heard = noticing.heard;
        answer.map_err(|failure| (failure, heard))
    }

    /// Adds to a failure how often it was tried.
    fn given_up(&self, failure: ModelFailure, attempts: usize) -> ModelFailure {
        let wanted = failure.retry_after_ms.map(Duration::from_millis);
        let detail = match wanted.filter(|wanted| *wanted > self.guard.patience.backoff_max) {
            Some(wanted) => format!("{}; it wants to be left alone for {} s", failure.detail, wanted.as_secs()),
            None if attempts > 1 => format!("{} (tried {attempts} times)", failure.detail),
            None => failure.detail,
        };
        ModelFailure { detail, ..failure }
    }

    /// The delay before the next attempt, if one is worthwhile.
    fn again_after(&self, failure: &ModelFailure, backoff: Duration, until: Instant) -> Option<Duration> {
        let wait = match failure.retry_after_ms.map(Duration::from_millis) {
            Some(demanded) if demanded > self.guard.patience.backoff_max => return None,
            Some(demanded) => demanded.max(backoff),
            None => backoff,
        };
        (failure.kind.passes() && Instant::now() + wait < until).then_some(wait)
    }
}

/// Reports to the breaker. A refusal or a rate limit shows that the provider works.
fn tell(pass: BreakerPermit<'_>, answer: &Result<ModelAnswer, ModelFailure>) {
    use FailureKind::*;
    match answer.as_ref().map_err(|failure| failure.kind) {
        Err(Unreachable | TimedOut | Unavailable | Truncated | Malformed | Empty | TooLarge) => pass.failed(),
        Ok(_) | Err(RateLimited | NoCredit | Unauthorised | Refused | Withheld) => pass.answered(),
        // The provider was not called, so these say nothing about it.
        Err(CircuitOpen | BudgetExceeded | NotRecorded | Misconfigured) => drop(pass),
    }
}

fn count(provider: &str, answer: &Result<ModelAnswer, ModelFailure>) {
    let outcome = answer.as_ref().map_or_else(|failure| failure.kind.word(), |_| "answered");
    metrics::counter!("folkmoot_model_calls_total", "provider" => provider.to_owned(), "outcome" => outcome)
        .increment(1);
    if let Ok(answer) = answer {
        for (direction, tokens) in [("input", answer.usage.input_tokens), ("output", answer.usage.output_tokens)] {
            metrics::counter!("folkmoot_model_tokens_total", "provider" => provider.to_owned(), "direction" => direction)
                .increment(tokens);
        }
    }
}

/// Notices whether there is any output.
struct NoticingHear<'a> {
    hear: &'a mut dyn Hear,
    heard: bool,
}

impl Hear for NoticingHear<'_> {
    fn piece(&mut self, text: &str) {
        self.heard = true;
        self.hear.piece(text);
    }

    fn again(&mut self) {
        self.heard = false;
        self.hear.again();
    }

    fn waiting(&mut self, failure: &ModelFailure, wait: Duration) {
        self.hear.waiting(failure, wait);
    }
}
