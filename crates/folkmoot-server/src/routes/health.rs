//! `/healthz` and `/readyz`

use std::time::Duration;

use axum::{extract::State, http::StatusCode};
use folkmoot_api::wire::Problem;

use crate::{app::App, error::ApiError};

/// How long the database may take to answer.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(3);

/// Says whether the process is alive
#[utoipa::path(get, path = "/healthz", tag = "operations", security(()), responses((status = 200, body = String)))]
pub(crate) async fn alive() -> &'static str {
    "ok\n"
}

/// Says whether requests can be served
///
/// 503 while the database does not answer or the server is shutting down. If only writing fails
/// (the disk is full or read-only), reading still works, and this is 200 and `degraded` with the
/// reason.
#[utoipa::path(get, path = "/readyz", tag = "operations", security(()),
    responses((status = 200, body = String), (status = 503, body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn ready(State(app): State<App>) -> Result<String, ApiError> {
    let unready = |detail: String| ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "not_ready", detail);
    if app.closing.is_cancelled() {
        return Err(unready("the server is ending".to_owned()));
    }
    match tokio::time::timeout(DATABASE_TIMEOUT, app.engine.ready()).await {
        Ok(Ok(())) => Ok(match app.engine.trouble() {
            None => "ready\n".to_owned(),
            Some(why) => format!("degraded: {why}\n"),
        }),
        Ok(Err(error)) => Err(unready(error.to_string())),
        Err(_) => Err(unready("the database does not answer".to_owned())),
    }
}
