//! `DELETE /v1/artifacts/{digest}`

use axum::{Json, extract::State, http::StatusCode};
use folkmoot_api::wire::{Erase, Erased, Problem};
use folkmoot_core::{Digest, erase::Erasure};
use folkmoot_engine::ErasedContent;

use crate::{
    app::App,
    error::ApiError,
    extract::{AuthenticatedCall, PathText},
};

/// Erases content
///
/// For good: the digest stays, the bytes are erased, and the same bytes cannot be stored again.
/// Admins only, with a reason, and only if no open gate or question and no unfinished run needs the
/// content.
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
    let erasure = Erasure { digests: vec![digest], reason: body.reason };
    Ok(Json(erased(app.engine.erase(caller, erasure).await?)))
}

pub(crate) fn erased(erasure: ErasedContent) -> Erased {
    Erased { erased: erasure.digests, scrubbed: erasure.scrubbed }
}
