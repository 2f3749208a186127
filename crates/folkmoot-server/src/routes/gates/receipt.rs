//! `GET /v1/gates/{id}/receipt`

use axum::{Json, extract::State};
use folkmoot_api::wire::{AuditEntry, Problem, Receipt};
use serde_json::Value;

use crate::{app::App, auth::PageReader, error::ApiError, extract::GatePath, signed};

/// Returns a signed receipt of a gate
///
/// Everything that was shown, all events, the decision, and a checkpoint of the log: enough to
/// check it without this server. For everybody who may see the gate.
#[utoipa::path(get, path = "/v1/gates/{id}/receipt", operation_id = "gate_receipt", tag = "gates", params(("id" = String, Path)),
    responses((status = 200, body = Receipt), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn receipt(
    State(app): State<App>,
    PageReader(who): PageReader,
    GatePath(id): GatePath,
) -> Result<Json<Value>, ApiError> {
    let (receipt, events, checkpoint) = app.engine.receipt(&who.principal, &id).await?;
    let events: Vec<AuditEntry> = events.into_iter().map(AuditEntry::from).collect();
    let mut statement = serde_json::to_value(receipt).unwrap_or_default();
    statement["events"] = serde_json::to_value(events).unwrap_or_default();
    statement["checkpoint"] = signed::sign(&app.key, &checkpoint);
    Ok(Json(signed::sign(&app.key, &statement)))
}
