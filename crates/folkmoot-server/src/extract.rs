//! Extractors that read requests, with our own error messages.

use std::time::Duration;

use axum::{
    body::HttpBody as _,
    extract::{FromRequest, FromRequestParts, Request},
    http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts},
};
use folkmoot_core::{Digest, GateId, Idempotency, RunId, text};
use folkmoot_engine::Caller;
use http_body_util::{BodyExt, Limited};
use serde::de::DeserializeOwned;

use crate::{
    app::App,
    auth::{SendPermit, authenticate},
    error::ApiError,
    observe,
};

/// Bodies up to this size are received without a permit.
const SHORT_BODY_BYTES: usize = 64 << 10;

/// A JSON body with its caller and idempotency key. A missing body is an empty object.
#[derive(Debug)]
pub(crate) struct AuthenticatedCall<T> {
    pub(crate) caller: Caller,
    pub(crate) body: T,
}

impl<T: DeserializeOwned> FromRequest<App> for AuthenticatedCall<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, app: &App) -> Result<Self, ApiError> {
        let (parts, body) = request.into_parts();
        let who = authenticate(&parts, app)?;
        must_be_plain(&parts)?;
        let limit = app.limits.body_bytes;
        let announced = body.size_hint().exact().unwrap_or(limit as u64);
        let _permits = match usize::try_from(announced).unwrap_or(limit) {
            0..=SHORT_BODY_BYTES => None,
            long => app.agent_bodies.permits(&who.principal, long.div_ceil(1024)).await,
        };
        let patience = Duration::from_millis(app.limits.body_timeout_ms);
        let bytes = match tokio::time::timeout(patience, Limited::new(body, limit).collect()).await {
            Err(_) => {
                let detail = "the body did not arrive in time; send it faster, or raise limits.body_timeout_ms";
                return Err(ApiError::new(StatusCode::REQUEST_TIMEOUT, "body_timeout", detail).closing());
            }
            Ok(Ok(collected)) => collected.to_bytes(),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                return Err(ApiError::body_too_large(limit));
            }
            Ok(Err(_)) => {
                return Err(ApiError::bad_request("body_unreadable", "the body ended before it was complete").closing());
            }
        };
        // The body may have taken its time. Writes check the token again; this is for everything
        // else.
        if app.engine.is_revoked(&who.token) {
            return Err(ApiError::unauthenticated());
        }
        if !app.takes(&who.principal, bytes.len()) {
            return Err(ApiError::too_many_bytes());
        }
        let idempotency = idempotency(&parts, &bytes)?;
        let text: &[u8] = if bytes.iter().all(u8::is_ascii_whitespace) { b"{}" } else { &bytes };
        SendPermit::of(&parts).hold(app, &who.principal).await;
        let body = parse(text)?;
        Ok(Self { caller: Caller { idempotency, ..who.into() }, body })
    }
}

/// Compressed bodies are refused: a few bytes could expand without limit.
fn must_be_plain(parts: &Parts) -> Result<(), ApiError> {
    let packed = |value: &HeaderValue| !value.as_bytes().eq_ignore_ascii_case(b"identity");
    if parts.headers.get_all(header::CONTENT_ENCODING).iter().any(packed) {
        let detail = "the body has a Content-Encoding; send it as it is";
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported_encoding", detail).closing());
    }
    Ok(())
}

/// The only value of a header; an error if there are several.
pub(crate) fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<Result<&'a HeaderValue, SentTwice>> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    Some(if values.next().is_none() { Ok(first) } else { Err(SentTwice) })
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct SentTwice;

fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, ApiError> {
    let refused = |error: serde_json::Error| match error.classify() {
        serde_json::error::Category::Data => ApiError::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            "invalid",
            format!("the body is not what this takes: {error}"),
        ),
        _ => ApiError::bad_request("malformed_json", format!("the body is not JSON: {error}")),
    };
    // Serde would also accept a list for a struct.
    if text.trim_ascii_start().first() != Some(&b'{') {
        serde_json::from_slice::<serde::de::IgnoredAny>(text).map_err(refused)?;
        return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", "the body must be a JSON object"));
    }
    // PostgreSQL cannot store U+0000. The escape is rare, so only bodies that contain it are parsed
    // twice.
    if text.windows(NUL.len()).any(|window| window == NUL)
        && text::holds_nul(&serde_json::from_slice(text).map_err(refused)?)
    {
        let detail = "the body holds the character U+0000, which cannot be stored; remove it";
        return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", detail));
    }
    serde_json::from_slice(text).map_err(refused)
}

const NUL: &[u8] = b"u0000";

/// The longest idempotency key.
pub(crate) const KEY_CHARS_MAX: usize = 255;

fn idempotency(parts: &Parts, body: &[u8]) -> Result<Option<Idempotency>, ApiError> {
    let Some(header) = only(&parts.headers, "idempotency-key") else { return Ok(None) };
    match header.ok().and_then(|key| key.to_str().ok()) {
        // HTTP allows a tab, but it is not printable.
        Some(key) if (1..=KEY_CHARS_MAX).contains(&key.len()) && !key.contains('\t') => Ok(Some(Idempotency {
            key: key.to_owned(),
            route: format!("{} {}", parts.method, parts.uri.path()),
            fingerprint: Digest::of(body),
        })),
        _ => {
            let detail = format!("Idempotency-Key must be 1 to {KEY_CHARS_MAX} printable ASCII characters, sent once");
            Err(ApiError::bad_request("bad_idempotency_key", detail))
        }
    }
}

/// The gate in the path. An invalid id is an unknown gate.
#[derive(Debug)]
pub(crate) struct GatePath(pub(crate) GateId);

impl<S: Send + Sync> FromRequestParts<S> for GatePath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let PathText(id) = PathText::from_request_parts(parts, state).await?;
        let id = id.parse().map_err(|_| unknown_gate())?;
        observe::gate(&id);
        Ok(Self(id))
    }
}

/// The run in the path. An invalid id is an unknown run.
#[derive(Debug)]
pub(crate) struct RunPath(pub(crate) RunId);

impl<S: Send + Sync> FromRequestParts<S> for RunPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let PathText(id) = PathText::from_request_parts(parts, state).await?;
        Ok(Self(id.parse().map_err(|_| unknown_run())?))
    }
}

pub(crate) fn unknown_gate() -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "unknown_gate", "there is no gate with this id")
}

pub(crate) fn unknown_run() -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "unknown_run", "there is no run with this id")
}

/// The variable part of the path.
#[derive(Debug)]
pub(crate) struct PathText(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PathText {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let path = axum::extract::Path::<String>::from_request_parts(parts, state).await;
        let bad = |_| ApiError::bad_request("bad_path", "the path is not valid UTF-8; check how it is escaped");
        Ok(Self(path.map_err(bad)?.0))
    }
}

/// The query string.
#[derive(Debug)]
pub(crate) struct Query<T>(pub(crate) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let query = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        let bad = |error: axum::extract::rejection::QueryRejection| {
            ApiError::bad_request("bad_query", format!("the query is not what this takes: {}", error.body_text()))
        };
        Ok(Self(query.map_err(bad)?.0))
    }
}

/// The page size. Zero, or more than the maximum, is refused.
pub(crate) fn limit(asked: Option<u32>, usual: u32, most: u32) -> Result<u32, ApiError> {
    match asked {
        None => Ok(usual),
        Some(asked) if (1..=most).contains(&asked) => Ok(asked),
        Some(asked) => Err(ApiError::bad_request("bad_query", format!("limit is {asked}; ask for 1 to {most}"))),
    }
}
