//! Authentication. The principal comes only from the credential, and a revoked token gets no
//! answers.

use std::{convert::Infallible, sync::Arc};

use axum::{
    body::{Body, HttpBody as _},
    extract::{FromRequestParts, Request, State},
    http::{HeaderMap, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use folkmoot_api::PRESENCE;
use folkmoot_core::{Presence, Principal, TokenId};
use folkmoot_engine::{Caller, Credential, Error};
use futures_util::{StreamExt, stream};
use http_body_util::BodyExt;
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::{accept::RequestGuard, app::App, error::ApiError, extract, observe};

/// The size of the pieces of a long response.
const PIECE_BYTES: usize = 64 << 10;

/// Longer answers keep their permits until they are sent.
pub(crate) const LONG_ANSWER_BYTES: usize = 16 << 10;

/// As [`Authenticated`], for a response whose delivery matters: HEAD, which has no body, is
/// refused.
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

/// As [`Authenticated`], for a page of a list or another large response. An agent reads few of them
/// at once and until each is sent, so that people's reads never wait behind its own and little
/// memory is used.
#[derive(Debug)]
pub(crate) struct PageReader(pub(crate) Authenticated);

impl FromRequestParts<App> for PageReader {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let who = authenticate(parts, app)?;
        SendPermit::of(parts).hold_page(app, &who.principal).await;
        Ok(Self(who))
    }
}

/// A permit that an agent's request holds while it is answered, and until a long answer is sent.
/// Every request holds one of many; one that may be answered with a page holds one of few.
#[derive(Clone, Debug, Default)]
pub(crate) struct SendPermit(Arc<Mutex<Option<OwnedSemaphorePermit>>>);

impl SendPermit {
    pub(crate) fn of(parts: &Parts) -> Self {
        parts.extensions.get().cloned().unwrap_or_default()
    }

    pub(crate) async fn hold(&self, app: &App, principal: &Principal) {
        self.replace(app.agent_answers.permit(principal).await);
    }

    /// For a page or another answer that can be very long, before any of it is read.
    pub(crate) async fn hold_page(&self, app: &App, principal: &Principal) {
        // Release first: a request that holds one permit while it waits for another could deadlock
        // with itself.
        self.release();
        self.replace(app.agent_pages.permit(principal).await);
    }

    /// For a wait: any number of them wait at once.
    pub(crate) fn release(&self) {
        self.replace(None);
    }

    fn replace(&self, permit: Option<OwnedSemaphorePermit>) -> Option<OwnedSemaphorePermit> {
        std::mem::replace(&mut *self.0.lock(), permit)
    }

    /// The same answer. A long one keeps the permit until it is sent.
    async fn until_sent(self, answer: Response) -> Response {
        let permit = self.replace(None);
        let is_long = answer.body().size_hint().exact().is_some_and(|bytes| bytes > LONG_ANSWER_BYTES as u64);
        match permit.filter(|_| is_long) {
            Some(permit) => until_sent(permit, answer).await,
            None => answer,
        }
    }
}

impl FromRequestParts<App> for SendPermit {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Infallible> {
        Ok(Self::of(parts))
    }
}

/// The token's principal, within its rate.
#[derive(Clone, Debug)]
pub(crate) struct Authenticated {
    pub(crate) principal: Principal,
    pub(crate) token: TokenId,
    /// How the request claims that a person made it.
    pub(crate) claims: Option<Presence>,
}

impl From<Authenticated> for Caller {
    fn from(Authenticated { principal, token, claims }: Authenticated) -> Self {
        Caller { claims, ..Credential { principal, token }.into() }
    }
}

impl FromRequestParts<App> for Authenticated {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let who = authenticate(parts, app)?;
        SendPermit::of(parts).hold(app, &who.principal).await;
        Ok(who)
    }
}

/// Identifies the caller. Code that calls this instead of using an extractor must take the
/// [`SendPermit`] itself.
pub(crate) fn authenticate(parts: &Parts, app: &App) -> Result<Authenticated, ApiError> {
    let header = match extract::only(&parts.headers, "authorization") {
        Some(Ok(value)) => value.to_str().ok(),
        // With two tokens, a proxy may have checked the other one.
        Some(Err(_)) | None => None,
    };
    let guard = parts.extensions.get::<RequestGuard>();
    let secret = header.and_then(bearer).ok_or_else(ApiError::unauthenticated)?;
    let Credential { principal, token } = match app.engine.authenticate(secret) {
        Some(credential) => credential,
        // A revoked token is not a guess.
        None if app.engine.knows_token(secret) => return Err(ApiError::unauthenticated()),
        None => return Err(app.bad_token(guard)),
    };
    observe::principal(&principal.name);
    if !app.admits(&principal.name) {
        return Err(ApiError::too_many_requests());
    }
    if let Some(guard) = guard {
        guard.authenticated(&principal).map_err(ApiError::no_place)?;
    }
    let claims = claimed(&parts.headers)?;
    if let Some(RequestToken(shown)) = parts.extensions.get() {
        shown.send_replace(Some(token.clone()));
    }
    Ok(Authenticated { principal, token, claims })
}

/// Reads the claimed presence. Values that a token proves by itself, or that this version does not
/// know, cannot be claimed.
fn claimed(headers: &HeaderMap) -> Result<Option<Presence>, ApiError> {
    match extract::only(headers, PRESENCE) {
        None => Ok(None),
        Some(Ok(value)) if value.as_bytes() == Presence::Terminal.word().as_bytes() => Ok(Some(Presence::Terminal)),
        Some(Ok(_) | Err(_)) => {
            let detail = "Folkmoot-Presence can only be `terminal`, sent once; the command line sends it when somebody has typed \
                          an answer. Leave it out otherwise";
            Err(ApiError::bad_request("bad_presence", detail))
        }
    }
}

fn bearer(header: &str) -> Option<&str> {
    let (scheme, secret) = header.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret.trim())
}

/// The token of a request, once it is known.
#[derive(Clone, Debug)]
struct RequestToken(watch::Sender<Option<TokenId>>);

/// Ends reads, waits and streams when their token is revoked, and sends nothing more. Writes are
/// refused in their transaction. A completed write is answered, so that the caller knows.
pub(crate) async fn guard(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path();
    // A node without the database answers no to every clearance request, which needs no guard.
    let says_no = path.starts_with("/v1/clearance");
    let only_reads = request.method().is_safe() || path == "/v1/gates/wait";
    let sending = SendPermit::default();
    request.extensions_mut().insert(sending.clone());
    if !only_reads {
        return sending.until_sent(next.run(request).await).await;
    }
    let (sender, mut shown) = watch::channel(None);
    request.extensions_mut().insert(RequestToken(sender));
    let mut known = shown.clone();
    let revoked = async {
        let token = known.wait_for(Option::is_some).await.ok().and_then(|token| token.clone());
        match token {
            Some(token) => app.engine.revoked(&token).await,
            // The request needs no token.
            None => std::future::pending().await,
        }
    };
    let answer = tokio::select! {
        biased;
        () = revoked => return ApiError::unauthenticated().into_response(),
        answer = next.run(request) => answer,
    };
    let answer = sending.until_sent(answer).await;
    let Some(token) = shown.borrow_and_update().clone() else { return answer };
    let says_nothing = answer.status().is_server_error();
    if (says_no || says_nothing) && !app.engine.in_touch() && !app.engine.is_revoked(&token) {
        return answer;
    }
    if let Err(error) = app.engine.must_stand(Some(&token)).await {
        return ApiError::from(error).into_response();
    }
    let kind = answer.headers().get(header::CONTENT_TYPE).map(|kind| kind.as_bytes());
    match kind.is_some_and(|kind| kind.starts_with(b"text/event-stream")) {
        true => answer.map(|frames| guarded(app, token, frames)),
        false => answer,
    }
}

/// The response in pieces; the permit is released after the last is sent.
async fn until_sent(permit: OwnedSemaphorePermit, answer: Response) -> Response {
    let (mut parts, body) = answer.into_parts();
    let rest = match body.collect().await {
        Ok(body) => body.to_bytes(),
        Err(_) => return ApiError::internal().into_response(),
    };
    if !rest.is_empty() {
        parts.headers.insert(header::CONTENT_LENGTH, rest.len().into());
    }
    let pieces = stream::unfold((rest, permit), |(mut rest, permit)| async move {
        let piece = rest.split_to(rest.len().min(PIECE_BYTES));
        (!piece.is_empty()).then(|| (Ok::<_, Infallible>(piece), (rest, permit)))
    });
    Response::from_parts(parts, Body::from_stream(pieces))
}

/// The frames, until the token is revoked.
fn guarded(app: App, token: TokenId, frames: Body) -> Body {
    let (engine, ends_with) = (app.engine.clone(), token.clone());
    let revoked = async move { engine.revoked(&ends_with).await };
    let frames = Box::pin(frames.into_data_stream().take_until(revoked));
    Body::from_stream(stream::unfold((app, token, frames), |(app, token, mut frames)| async move {
        let frame = frames.next().await?;
        stands(&app, &token).await.then_some((frame, (app, token, frames)))
    }))
}

/// Waits until this node can know whether the token is valid. `false` also if the server shuts down
/// first.
pub(crate) async fn stands(app: &App, token: &TokenId) -> bool {
    loop {
        match app.engine.must_stand(Some(token)).await {
            Ok(()) => return true,
            Err(Error::Refused(_)) => return false,
            Err(_) if app.closing.is_cancelled() => return false,
            Err(_) => {}
        }
    }
}

/// The result of a wait after a write, unless the token is revoked first.
pub(crate) async fn while_it_stands<T>(
    app: &App,
    token: Option<&TokenId>,
    wait: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let revoked = async {
        match token {
            Some(token) => app.engine.revoked(token).await,
            None => std::future::pending().await,
        }
    };
    let found = tokio::select! {
        biased;
        () = revoked => None,
        found = wait => Some(found),
    };
    app.engine.must_stand(token).await?;
    found.unwrap_or_else(|| Err(folkmoot_core::Refusal::Unauthenticated.into()))
}
