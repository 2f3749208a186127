//! Traces for an OpenTelemetry collector, where somebody asks for them: OTLP over HTTP, and the
//! usual variables.
//!
//! A collector that is slow or gone costs spans, never a request: spans wait in a queue that drops
//! what does not fit.

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

/// How long the end may wait for the last spans to be sent.
const FLUSH: Duration = Duration::from_secs(3);

/// Where spans are sent, by the variables that every program of OpenTelemetry reads.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

/// The spans of this process, on their way to a collector.
#[derive(Debug)]
pub(crate) struct Telemetry {
    provider: SdkTracerProvider,
}

impl Telemetry {
    /// Begins, if a collector is named: by `url`, or by the environment. Must be called inside the
    /// runtime.
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
        // As the variables say, if they do.
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

    /// Makes spans of requests and commands, and of nothing else.
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

    /// Makes a request part of its caller's trace, if the caller says which that is.
    pub(crate) fn adopt() -> Adopt {
        |span, headers| {
            let given = ["traceparent", "tracestate"].into_iter().filter_map(|name| {
                let value = headers.get(name)?.to_str().ok()?;
                Some((name.to_owned(), value.to_owned()))
            });
            let given: HashMap<String, String> = given.collect();
            if !given.is_empty() {
                // Where spans are made, as here, this cannot fail.
                let _ = span.set_parent(TraceContextPropagator::new().extract(&given));
            }
        }
    }

    /// Sends what is left, but not for long.
    pub(crate) async fn finish(self) {
        let sent = tokio::task::spawn_blocking(move || self.provider.shutdown_with_timeout(FLUSH));
        match tokio::time::timeout(FLUSH * 2, sent).await {
            Ok(Ok(Ok(()))) => {}
            Ok(Ok(Err(error))) => tracing::warn!("the last spans were not sent: {error}"),
            _ => tracing::warn!("the last spans were not sent in time"),
        }
    }
}

/// As the variable for all signals is understood: traces are below it.
fn traces_at(url: &str) -> String {
    let url = url.trim_end_matches('/');
    if url.ends_with("/v1/traces") { url.to_owned() } else { format!("{url}/v1/traces") }
}

/// Sends on the server's own runtime: the thread that collects spans has none, and the HTTP client
/// needs one.
struct OnRuntime {
    exporter: Arc<opentelemetry_otlp::SpanExporter>,
    runtime: Handle,
    /// Whether the last attempt failed; what stays so is not said again.
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
        // Nobody else has it yet: it is set while the provider is built.
        if let Some(exporter) = Arc::get_mut(&mut self.exporter) {
            exporter.set_resource(resource);
        }
    }
}
