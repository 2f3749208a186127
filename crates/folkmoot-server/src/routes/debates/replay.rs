//! `GET /v1/debates/{id}/replay`

use axum::{Json, extract::State};
use folkmoot_api::wire::{DebateReplay, Problem};

use crate::{app::App, auth::PageReader, debates::replayed, error::ApiError, extract::RunPath};

/// Replays a debate
///
/// Its workflow runs once more, and only what is recorded answers: no model is asked, nothing is
/// executed, nothing is written. It comes to the same verdict, or says at which turn it differs. Of
/// a debate that is not over it says where the record ends.
#[utoipa::path(get, path = "/v1/debates/{id}/replay", operation_id = "replay_debate", tag = "debates", params(("id" = String, Path)),
    responses((status = 200, body = DebateReplay), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn replay(
    State(app): State<App>,
    PageReader(who): PageReader,
    RunPath(id): RunPath,
) -> Result<Json<DebateReplay>, ApiError> {
    Ok(Json(replayed::replay(&app, &who.principal, &id).await?))
}
