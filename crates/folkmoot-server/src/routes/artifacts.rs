//! `DELETE /v1/artifacts/{digest}`

use axum::{Json, extract::State, http::StatusCode};
use folkmoot_api::wire::{Erase, Erased, Problem};
use folkmoot_core::{Digest, erase::Erasing};
use folkmoot_engine::Erasure;

use crate::{
    app::App,
    error::ApiError,
    extract::{AuthenticatedCall, PathText},
};

/// Erases content
///
/// For good: the digest stays, the bytes go, and are not kept again whoever sends them. Admins can,
/// with a reason, once nothing needs the content that is not over.
#[utoipa::path(delete, path = "/v1/artifacts/{digest}", operation_id = "erase_artifact", tag = "artifacts",
    params(("digest" = String, Path, description = "`sha256:` and 64 hexadecimal digits")), request_body = Erase,
    responses((status = 200, body = Erased), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn erase(
    State(app): State<App>,
    PathText(digest): PathText,
    AuthenticatedCall { caller, body }: AuthenticatedCall<Erase>,
) -> Result<Json<Erased>, ApiError> {
    let unknown =
        |_| ApiError::new(StatusCode::NOT_FOUND, "unknown_content", "nothing was ever kept under this digest");
    let digest: Digest = digest.parse().map_err(unknown)?;
    let erasing = Erasing { digests: vec![digest], reason: body.reason };
    Ok(Json(erased(app.engine.erase(caller, erasing).await?)))
}

/// As the wire tells it.
pub(crate) fn erased(erasure: Erasure) -> Erased {
    Erased { erased: erasure.digests, scrubbed: erasure.scrubbed }
}
