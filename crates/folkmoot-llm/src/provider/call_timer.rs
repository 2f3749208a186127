//! The time limits of one call.

use std::{future::Future, time::Duration};

use tokio::time::{Instant, timeout};

use super::{Endpoint, fault::VendorFault};
use crate::FailureKind;

#[derive(Debug)]
pub(super) struct CallTimer {
    began: Instant,
    whole: Duration,
    silence: Duration,
}

impl CallTimer {
    pub(super) fn of(endpoint: &Endpoint) -> Self {
        Self { began: Instant::now(), whole: endpoint.timeout, silence: endpoint.silence }
    }

    /// Waits for the vendor's next action.
    pub(super) async fn wait<T>(&self, next: impl Future<Output = T>) -> Result<T, VendorFault> {
        let left = self.whole.saturating_sub(self.began.elapsed());
        let is_silence = self.silence < left;
        timeout(left.min(self.silence), next).await.map_err(|_| {
            let detail = if is_silence {
                format!("silent for {:?}: the longest silence that is waited for", self.silence)
            } else {
                format!("not finished after {:?}: the longest that an answer may take", self.whole)
            };
            VendorFault::new(FailureKind::TimedOut, detail)
        })
    }

    pub(super) fn elapsed_ms(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}
