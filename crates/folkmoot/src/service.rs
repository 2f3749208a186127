//! Telling a service manager how the server is, if one asks by `NOTIFY_SOCKET`.

use std::time::Duration;

use folkmoot_server::LivenessProbe;
use sd_notify::NotifyState;
use tokio_util::sync::CancellationToken;

/// Everything is recovered and the port is open. From now on it is told when the server ends and,
/// if it wants to know, that the store answers.
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

/// Says twice in each period that the store answers. Where it hangs nothing is said, and the
/// service manager acts; it ends with the process, so that a server that hangs while it closes is
/// noticed too.
async fn watch(pulse: LivenessProbe, every: Duration) {
    let mut beat = tokio::time::interval(every / 2);
    loop {
        beat.tick().await;
        while !pulse.beats().await {
            // A full queue has room again soon, unless nobody works it off.
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
