//! Who is asking: from the credential, and from nowhere else.

use axum::{extract::FromRequestParts, http::request::Parts};
use folkmoot_core::{Principal, TokenId};
use folkmoot_engine::{Caller, Credential};

use crate::{app::App, error::ApiError, extract, observe};

/// As [`Authenticated`], for an answer whose delivery counts: one without a body, to HEAD, would not be one.
#[derive(Clone, Debug)]
pub(crate) struct Reader(pub(crate) Authenticated);

impl FromRequestParts<App> for Reader {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        if parts.method == axum::http::Method::HEAD {
            return Err(crate::routes::wrong_method().await);
        }
        Ok(Self(Authenticated::from_request_parts(parts, app).await?))
    }
}

/// The principal that the request's token names, within its rate.
#[derive(Clone)]
pub(crate) struct Authenticated {
    pub(crate) principal: Principal,
    pub(crate) token: TokenId,
    /// Kept, so that a stream can end when its token is revoked.
    pub(crate) secret: String,
}

impl From<Authenticated> for Caller {
    fn from(Authenticated { principal, token, .. }: Authenticated) -> Self {
        Credential { principal, token }.into()
    }
}

/// Without the secret.
impl std::fmt::Debug for Authenticated {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Authenticated({})", self.principal.name)
    }
}

impl FromRequestParts<App> for Authenticated {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let header = match extract::only(&parts.headers, "authorization") {
            Some(Ok(value)) => value.to_str().ok(),
            // Of two, whoever stands before us may have checked the other.
            Some(Err(_)) | None => None,
        };
        let secret = header.and_then(bearer).ok_or_else(ApiError::unauthenticated)?;
        let Credential { principal, token } = app.engine.authenticate(secret).ok_or_else(ApiError::unauthenticated)?;
        observe::principal(&principal.name);
        if !app.admits(&principal.name) {
            return Err(ApiError::too_many_requests());
        }
        Ok(Self { principal, token, secret: secret.to_owned() })
    }
}

fn bearer(header: &str) -> Option<&str> {
    let (scheme, secret) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}
