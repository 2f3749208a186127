//! Ctrl-C, and what a service manager sends.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Cancelled by the first signal to end; the second ends the process at once.
pub(crate) fn shutdown() -> anyhow::Result<CancellationToken> {
    shutdown_by(&[SignalKind::interrupt(), SignalKind::terminate()])
}

/// The same, also when the terminal is gone. Not for what somebody may have started with `nohup`,
/// which would be in vain.
pub(crate) fn shutdown_or_hangup() -> anyhow::Result<CancellationToken> {
    shutdown_by(&[SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()])
}

fn shutdown_by(kinds: &[SignalKind]) -> anyhow::Result<CancellationToken> {
    let shutdown = CancellationToken::new();
    for kind in kinds {
        let (mut signals, told) = (signal(*kind)?, shutdown.clone());
        let code = 128 + kind.as_raw_value();
        tokio::spawn(async move {
            while signals.recv().await.is_some() {
                if told.is_cancelled() {
                    std::process::exit(code);
                }
                told.cancel();
            }
        });
    }
    Ok(shutdown)
}
