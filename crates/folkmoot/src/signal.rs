//! Ctrl-C and the signals of a service manager.

use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Returns a token that the first signal cancels. The second signal ends the process at once.
pub(crate) fn shutdown() -> anyhow::Result<CancellationToken> {
    shutdown_by(&[SignalKind::interrupt(), SignalKind::terminate()])
}

/// As [`shutdown`], but also cancelled by SIGHUP. Not for commands that may be started with
/// `nohup`.
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
