//! `GET /v1/audit`, and `verify`, `checkpoint` and `key` below it.

use axum::{Json, extract::State, http::header, response::IntoResponse};
use folkmoot_api::wire::{AuditEntry, AuditPage, Checkpoint, Problem, Verification};
use folkmoot_core::TokenId;
use serde::Deserialize;
use serde_json::Value;
use utoipa::IntoParams;

use crate::{
    app::App,
    auth::{Authenticated, PageReader},
    error::ApiError,
    extract::{Query, limit},
    signed,
};

const LIMIT: u32 = 100;
const LIMIT_MAX: u32 = 1000;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditParams {
    /// Begin after this position.
    #[serde(default)]
    pub(crate) after: u64,
    /// At most this many, up to 1000; default 100.
    #[serde(default)]
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<u32>,
    /// Only events caused with this token.
    #[serde(default)]
    #[param(value_type = Option<String>)]
    pub(crate) token_id: Option<TokenId>,
}

impl AuditParams {
    pub(crate) fn limit(&self) -> Result<u32, ApiError> {
        limit(self.limit, LIMIT, LIMIT_MAX)
    }
}

/// Reads the log
///
/// With hashes; docs/audit.md says how to check them without our code. Agents see only events of
/// their own gates.
#[utoipa::path(get, path = "/v1/audit", tag = "audit", params(AuditParams),
    responses((status = 200, body = AuditPage), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn page(
    State(app): State<App>,
    PageReader(who): PageReader,
    Query(part): Query<AuditParams>,
) -> Result<Json<AuditPage>, ApiError> {
    let (limit, token) = (part.limit()?, part.token_id.as_ref());
    let (reached, events) = app.engine.events(&who.principal, part.after, limit, token).await?;
    let more = reached < app.engine.position().await?;
    let entries = events.into_iter().map(AuditEntry::from).collect();
    Ok(Json(AuditPage { entries, next: more.then_some(reached) }))
}

/// Verifies the log
///
/// Checks the whole chain, and compares every row with the log.
#[utoipa::path(get, path = "/v1/audit/verify", tag = "audit",
    responses((status = 200, body = Verification), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn verify(State(app): State<App>, who: Authenticated) -> Result<Json<Verification>, ApiError> {
    let report = app.engine.verify(&who.principal).await?;
    Ok(Json(Verification {
        ok: report.problems.is_empty(),
        events: report.events,
        rows: report.rows,
        head_hash: report.head_hash.hex(),
        problems: report.problems,
    }))
}

/// Takes a checkpoint
///
/// Signed: the log had this hash at this position at this moment. Kept elsewhere, it reveals a
/// missing end and a rewritten past. All roles except agents.
#[utoipa::path(get, path = "/v1/audit/checkpoint", operation_id = "checkpoint", tag = "audit",
    responses((status = 200, body = Checkpoint), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn checkpoint(State(app): State<App>, who: Authenticated) -> Result<Json<Value>, ApiError> {
    let checkpoint = app.engine.checkpoint(&who.principal).await?;
    Ok(Json(signed::sign(&app.key, &checkpoint)))
}

/// Returns the public key of this server's signatures
///
/// As PEM. Needs no token.
#[utoipa::path(get, path = "/v1/audit/key", operation_id = "audit_key", tag = "audit", security(()),
    responses((status = 200, body = String, content_type = "application/x-pem-file")))]
pub(crate) async fn key(State(app): State<App>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/x-pem-file")], app.key.public().to_pem())
}
