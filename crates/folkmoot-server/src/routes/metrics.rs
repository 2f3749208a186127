//! `/metrics`, in the text format of Prometheus.

use std::{sync::OnceLock, time::Instant};

use axum::{
    extract::{MatchedPath, Request, State},
    http::header,
    middleware::Next,
    response::{IntoResponse, Response},
};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use crate::{app::App, error::ApiError};

/// The process's recorder, which is made once.
pub(crate) fn recorder() -> PrometheusHandle {
    static HANDLE: OnceLock<PrometheusHandle> = OnceLock::new();
    let make = || {
        let recorder = PrometheusBuilder::new().build_recorder();
        let handle = recorder.handle();
        // Where an embedding program has a recorder of its own, ours stays empty.
        let _ = metrics::set_global_recorder(recorder);
        handle
    };
    HANDLE.get_or_init(make).clone()
}

/// Counts each request, by route and status, and how long it took.
pub(crate) async fn count(route: Option<MatchedPath>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let method = request.method().to_string();
    let answer = next.run(request).await;
    let route = route.map_or_else(|| "none".to_owned(), |route| route.as_str().to_owned());
    let status = answer.status().as_u16().to_string();
    let labels = [("method", method), ("route", route), ("status", status)];
    metrics::counter!("folkmoot_http_requests_total", &labels).increment(1);
    metrics::histogram!("folkmoot_http_request_seconds", &labels[..2]).record(began.elapsed());
    answer
}

/// Figures for Prometheus
#[utoipa::path(get, path = "/metrics", tag = "operations", security(()), responses((status = 200, body = String)))]
pub(crate) async fn metrics(State(app): State<App>) -> Result<impl IntoResponse, ApiError> {
    metrics::gauge!("folkmoot_gates_pending").set(app.engine.pending().await? as f64);
    metrics::gauge!("folkmoot_runs_active").set(app.engine.active_runs() as f64);
    metrics::gauge!("folkmoot_steps_in_flight").set(app.engine.steps_in_flight().len() as f64);
    metrics::gauge!("folkmoot_holds").set(app.engine.holds() as f64);
    metrics::gauge!("folkmoot_clearance_waiters").set(app.engine.waiting_for_clearance() as f64);
    app.metrics.run_upkeep();
    Ok(([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], app.metrics.render()))
}
