//! Traces for an OpenTelemetry collector, if one is named: OTLP over HTTP, with the usual
//! variables.
//!
//! A slow or unreachable collector never delays a request: spans wait in a bounded queue and are
//! dropped when it is full.

use std::{
    collections::HashMap,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result};
use folkmoot_api::client;
use folkmoot_server::Adopt;
use opentelemetry::{propagation::TextMapPropagator, trace::TracerProvider};
use opentelemetry_otlp::{WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::{
    Resource,
    error::{OTelSdkError, OTelSdkResult},
    propagation::TraceContextPropagator,
    trace::{SdkTracerProvider, SpanData, SpanExporter},
};
use tokio::runtime::Handle;
use tracing_opentelemetry::OpenTelemetrySpanExt;
use tracing_subscriber::{Layer, filter::filter_fn, registry::LookupSpan};

/// How long shutdown may wait for the last spans.
const FLUSH: Duration = Duration::from_secs(3);

/// The standard OpenTelemetry variables for the collector's address.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

/// The exporter of this process's spans.
#[derive(Debug)]
pub(crate) struct Telemetry {
    provider: SdkTracerProvider,
}

impl Telemetry {
    /// Starts if `url` or the environment names a collector. Must be called inside the runtime.
    pub(crate) fn start(url: Option<&str>) -> Result<Option<Self>> {
        let variable = |name: &&str| std::env::var(name).ok().filter(|value| !value.is_empty());
        let Some(named) = url.map(str::to_owned).or_else(|| ENDPOINTS.iter().find_map(variable)) else {
            return Ok(None);
        };
        let mut exporter =
            opentelemetry_otlp::SpanExporter::builder().with_http().with_http_client(client::http(&named)?);
        if let Some(url) = url {
            exporter = exporter.with_endpoint(traces_at(url));
        }
        let exporter = exporter.build().context("the collector for traces is not right")?;
        let mut resource = Resource::builder();
        // The standard variables take precedence.
        if std::env::var_os("OTEL_SERVICE_NAME").is_none()
            && !variable(&"OTEL_RESOURCE_ATTRIBUTES").is_some_and(|given| given.contains("service.name="))
        {
            resource = resource.with_service_name("folkmoot");
        }
        let exporter = OnRuntime { exporter: Arc::new(exporter), runtime: Handle::current(), failing: Arc::default() };
        let provider =
            SdkTracerProvider::builder().with_resource(resource.build()).with_batch_exporter(exporter).build();
        Ok(Some(Self { provider }))
    }

    /// Creates spans for requests and commands, and for nothing else.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: tracing::Subscriber + for<'a> LookupSpan<'a>,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("folkmoot"))
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_filter(filter_fn(|span| span.is_span() && span.target().starts_with("folkmoot::")))
    }

    /// Makes a request part of its caller's trace, if it has a `traceparent`.
    pub(crate) fn adopt() -> Adopt {
        |span, headers| {
            let given = ["traceparent", "tracestate"].into_iter().filter_map(|name| {
                let value = headers.get(name)?.to_str().ok()?;
                Some((name.to_owned(), value.to_owned()))
            });
            let given: HashMap<String, String> = given.collect();
            if !given.is_empty() {
                // This cannot fail with the layer above.
                let _ = span.set_parent(TraceContextPropagator::new().extract(&given));
            }
        }
    }

    /// Sends the remaining spans, for a limited time.
    pub(crate) async fn finish(self) {
        let sent = tokio::task::spawn_blocking(move || self.provider.shutdown_with_timeout(FLUSH));
        match tokio::time::timeout(FLUSH * 2, sent).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => tracing::warn!("the last spans were not sent: {error}"),
            _ => tracing::warn!("the last spans were not sent in time"),
        }
    }
}

/// The address for traces, which is below the one for all signals.
fn traces_at(url: &str) -> String {
    let url = url.trim_end_matches('/');
    if url.ends_with("/v1/traces") { url.to_owned() } else { format!("{url}/v1/traces") }
}

/// Sends on the server's runtime. The thread that collects spans has no runtime, and the HTTP
/// client needs one.
struct OnRuntime {
    exporter: Arc<opentelemetry_otlp::SpanExporter>,
    runtime: Handle,
    /// Whether the last attempt failed, so that a lasting failure is logged once.
    failing: Arc<AtomicBool>,
}

impl fmt::Debug for OnRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnRuntime").finish_non_exhaustive()
    }
}

impl SpanExporter for OnRuntime {
    fn export(&self, batch: Vec<SpanData>) -> impl Future<Output = OTelSdkResult> + Send {
        let (exporter, failing) = (self.exporter.clone(), self.failing.clone());
        let sending = self.runtime.spawn(async move {
            let sent = exporter.export(batch).await;
            match (&sent, failing.swap(sent.is_err(), Ordering::Relaxed)) {
                (Err(error), false) => tracing::warn!("spans cannot be sent, and are dropped until they can: {error}"),
                (Ok(()), true) => tracing::info!("spans are sent again"),
                _ => {}
            }
            sent
        });
        async { sending.await.unwrap_or_else(|error| Err(OTelSdkError::InternalFailure(error.to_string()))) }
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        // The only reference: this runs while the provider is built.
        if let Some(exporter) = Arc::get_mut(&mut self.exporter) {
            exporter.set_resource(resource);
        }
    }
}
