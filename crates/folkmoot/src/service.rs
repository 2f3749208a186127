//! Reports the server's state to a service manager, if `NOTIFY_SOCKET` names one.

use std::time::Duration;

use folkmoot_server::LivenessProbe;
use sd_notify::NotifyState;
use tokio_util::sync::CancellationToken;

/// Reports that recovery is complete and the port is open. Afterwards it reports the shutdown and,
/// if the service manager wants it, that the store answers.
pub(crate) fn ready(url: &str, pulse: LivenessProbe, shutdown: &CancellationToken) {
    tell(&[NotifyState::Ready, NotifyState::Status(&format!("listens on {url}"))]);
    let ending = shutdown.clone();
    tokio::spawn(async move {
        ending.cancelled().await;
        tell(&[NotifyState::Stopping]);
    });
    if let Some(every) = sd_notify::watchdog_enabled() {
        tokio::spawn(watch(pulse, every));
    }
}

/// Reports twice per period that the store answers. If the store hangs, nothing is reported and the
/// service manager acts. This goes on until the process ends, so that a server that hangs during
/// shutdown is noticed too.
async fn watch(pulse: LivenessProbe, every: Duration) {
    let mut beat = tokio::time::interval(every / 2);
    loop {
        beat.tick().await;
        while !pulse.beats().await {
            // A full queue has room again soon, unless the writer hangs.
            tokio::time::sleep(every / 20).await;
        }
        tell(&[NotifyState::Watchdog]);
    }
}

fn tell(state: &[NotifyState<'_>]) {
    // Without a service manager this does nothing.
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!("the service manager cannot be told: {error}");
    }
}
