//! `/metrics`, in Prometheus's text format.

use std::time::Duration;

use axum::{extract::State, http::header, response::IntoResponse};
use folkmoot_engine::{Engine, Error};

use crate::app::App;

/// How long the database may take to answer. Scrapers usually wait ten seconds.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(3);

/// Returns metrics for Prometheus
#[utoipa::path(get, path = "/metrics", tag = "operations", security(()), responses((status = 200, body = String)))]
pub(crate) async fn metrics(State(app): State<App>) -> impl IntoResponse {
    // While the database does not answer, its values stay as they were, because the other metrics
    // are needed most then.
    let asked = tokio::time::timeout(DATABASE_TIMEOUT, ask(&app.engine)).await;
    metrics::gauge!("folkmoot_database_up").set(if matches!(asked, Ok(Ok(()))) { 1.0 } else { 0.0 });
    metrics::gauge!("folkmoot_runs_active").set(app.engine.active_runs() as f64);
    metrics::gauge!("folkmoot_steps_in_flight").set(app.engine.steps_in_flight().len() as f64);
    metrics::gauge!("folkmoot_holds").set(app.engine.holds() as f64);
    metrics::gauge!("folkmoot_clearance_waiters").set(app.engine.waiting_for_clearance() as f64);
    metrics::gauge!("folkmoot_gate_waiters").set(app.engine.waiting_for_gates() as f64);
    metrics::gauge!("folkmoot_store_queue").set(app.engine.queued() as f64);
    app.metrics.run_upkeep();
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], app.metrics.render())
}

async fn ask(engine: &Engine) -> Result<(), Error> {
    metrics::gauge!("folkmoot_gates_pending").set(engine.pending().await? as f64);
    let lag = engine.feed_lag().await?;
    metrics::gauge!("folkmoot_feed_lag_events").set(lag.events as f64);
    metrics::gauge!("folkmoot_feed_lag_seconds").set(lag.age.as_secs_f64());
    Ok(())
}
