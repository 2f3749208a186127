//! In place of `telemetry.rs` where Folkmoot is built without the feature `otel`: no traces.

use anyhow::{Result, bail};
use folkmoot_server::Adopt;
use tracing_subscriber::layer::Identity;

const MISSING: &str = "this build sends no traces; build it with `--features otel`";

/// Has no value: nothing can be started.
#[derive(Debug)]
pub(crate) enum Telemetry {}

impl Telemetry {
    /// Fails if the caller names a collector. A variable that all programs of a machine share is
    /// no reason not to start.
    pub(crate) fn start(url: Option<&str>) -> Result<Option<Self>> {
        if url.is_some() {
            bail!("{MISSING}");
        }
        if std::env::var_os("OTEL_EXPORTER_OTLP_ENDPOINT").is_some() {
            eprintln!("OTEL_EXPORTER_OTLP_ENDPOINT is set, but {MISSING}");
        }
        Ok(None)
    }

    pub(crate) fn layer(&self) -> Identity {
        match *self {}
    }

    pub(crate) fn adopt() -> Adopt {
        |_, _| {}
    }

    pub(crate) async fn finish(self) {
        match self {}
    }
}
