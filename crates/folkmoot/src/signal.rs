//! Ctrl-C, and what a service manager sends.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Cancelled by the first signal to end; the second ends the process at once.
pub(crate) fn shutdown() -> anyhow::Result<CancellationToken> {
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    // The terminal is gone, and with it whoever looked on.
    let mut hangup = signal(SignalKind::hangup())?;
    let shutdown = CancellationToken::new();
    let told = shutdown.clone();
    tokio::spawn(async move {
        loop {
            let code = tokio::select! {
                _ = hangup.recv() => 129,
                _ = interrupt.recv() => 130,
                _ = terminate.recv() => 143,
            };
            if told.is_cancelled() {
                std::process::exit(code);
            }
            told.cancel();
        }
    });
    Ok(shutdown)
}
