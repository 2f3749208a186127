//! `/v1/tokens`

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use folkmoot_api::wire::{NewToken, Problem, Token, TokenList};
use folkmoot_core::{Principal, TokenId};

use crate::{
    app::App,
    auth::Authenticated,
    error::ApiError,
    extract::{AuthenticatedCall, PathText},
};

/// Creates a token
///
/// Admins only. The secret is only in this response.
#[utoipa::path(post, path = "/v1/tokens", operation_id = "create_token", tag = "tokens", request_body = NewToken,
    responses((status = 201, body = Token), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn create(
    State(app): State<App>,
    AuthenticatedCall { caller, body }: AuthenticatedCall<NewToken>,
) -> Result<Response, ApiError> {
    let minted = app
        .engine
        .mint(caller, Principal { name: body.name, role: body.role, capabilities: body.capabilities }, body.kind)
        .await?;
    Ok((StatusCode::CREATED, Json(Token::new(minted.token, minted.secret))).into_response())
}

/// Lists tokens
///
/// Without their secrets. Admins only.
#[utoipa::path(get, path = "/v1/tokens", operation_id = "list_tokens", tag = "tokens",
    responses((status = 200, body = TokenList), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn list(State(app): State<App>, who: Authenticated) -> Result<Json<TokenList>, ApiError> {
    let tokens = app.engine.tokens(&who.principal).await?;
    Ok(Json(TokenList { tokens: tokens.into_iter().map(|token| Token::new(token, None)).collect() }))
}

/// Revokes a token
///
/// At once. Admins only.
#[utoipa::path(delete, path = "/v1/tokens/{id}", operation_id = "revoke_token", tag = "tokens", params(("id" = String, Path)),
    responses((status = 200, body = Token), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn revoke(
    State(app): State<App>,
    who: Authenticated,
    PathText(id): PathText,
) -> Result<Json<Token>, ApiError> {
    let unknown = |_| ApiError::new(StatusCode::NOT_FOUND, "unknown_token", "there is no token with this id");
    let id: TokenId = id.parse().map_err(unknown)?;
    let revoked = app.engine.revoke(who.into(), id).await?;
    Ok(Json(Token::new(revoked, None)))
}
