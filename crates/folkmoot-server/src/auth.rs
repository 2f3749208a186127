//! Who is asking: from the credential, and from nowhere else; and that nobody is answered whose
//! token is gone.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    body::Body,
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
use tokio::sync::{OwnedSemaphorePermit, watch};

use crate::{accept::Seat, app::App, error::ApiError, extract, observe};

/// How much of a long answer a connection takes at once.
const PIECE_BYTES: usize = 64 << 10;

/// As [`Authenticated`], for an answer whose delivery counts: one without a body, to HEAD, would
/// not be one.
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

/// As [`Authenticated`], for a page of a list or another large answer. An agent reads few of them
/// at once, so that people's reads never queue behind all of its own, and until each is sent, so
/// that few are kept in memory for it.
#[derive(Debug)]
pub(crate) struct PageReader(pub(crate) Authenticated);

impl FromRequestParts<App> for PageReader {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let who = Authenticated::from_request_parts(parts, app).await?;
        let permit = app.agent_pages.permit(&who.principal).await;
        if let Some(SendPermit(sending)) = parts.extensions.get() {
            *sending.lock().unwrap_or_else(PoisonError::into_inner) = permit;
        }
        Ok(Self(who))
    }
}

/// What a request holds until its answer is sent.
#[derive(Clone, Debug, Default)]
struct SendPermit(Arc<Mutex<Option<OwnedSemaphorePermit>>>);

/// The principal that the request's token names, within its rate.
#[derive(Clone, Debug)]
pub(crate) struct Authenticated {
    pub(crate) principal: Principal,
    pub(crate) token: TokenId,
    /// How the request says that a person made it.
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
        let header = match extract::only(&parts.headers, "authorization") {
            Some(Ok(value)) => value.to_str().ok(),
            // Of two, whoever stands before us may have checked the other.
            Some(Err(_)) | None => None,
        };
        let seat = parts.extensions.get::<Seat>();
        let secret = header.and_then(bearer).ok_or_else(ApiError::unauthenticated)?;
        let Credential { principal, token } = match app.engine.authenticate(secret) {
            Some(credential) => credential,
            // Whoever has a token that was revoked does not guess.
            None if app.engine.knows_token(secret) => return Err(ApiError::unauthenticated()),
            None => return Err(app.bad_token(seat)),
        };
        observe::principal(&principal.name);
        if !app.admits(&principal.name) {
            return Err(ApiError::too_many_requests());
        }
        if let Some(seat) = seat {
            seat.authenticated(&principal).map_err(ApiError::no_place)?;
        }
        let claims = claimed(&parts.headers)?;
        if let Some(RequestToken(shown)) = parts.extensions.get() {
            shown.send_replace(Some(token.clone()));
        }
        Ok(Self { principal, token, claims })
    }
}

/// How the request says that a person made it. What a token shows by itself, or what this version
/// does not know, is claimed by nobody.
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

/// Ends whatever only reads, waits or follows when its token is revoked, and sends nothing of it
/// from then on. What writes is refused in its transaction; what was written before is answered, so
/// that whoever wrote it knows.
pub(crate) async fn guard(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path();
    // A node that is out of touch says to everybody that they may not work, which helps nobody.
    let says_no = path.starts_with("/v1/clearance");
    if !request.method().is_safe() && path != "/v1/gates/wait" {
        return next.run(request).await;
    }
    let (sender, mut shown) = watch::channel(None);
    request.extensions_mut().insert(RequestToken(sender));
    let sending = SendPermit::default();
    request.extensions_mut().insert(sending.clone());
    let mut known = shown.clone();
    let revoked = async {
        let token = known.wait_for(Option::is_some).await.ok().and_then(|token| token.clone());
        match token {
            Some(token) => app.engine.revoked(&token).await,
            // It needs none.
            None => std::future::pending().await,
        }
    };
    let answer = tokio::select! {
        biased;
        () = revoked => return ApiError::unauthenticated().into_response(),
        answer = next.run(request) => answer,
    };
    let permit = sending.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    let answer = match permit {
        Some(permit) => until_sent(permit, answer).await,
        None => answer,
    };
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

/// The same answer, in pieces of which the connection takes the next when it has sent the one
/// before, and the permit with the last.
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

/// The same frames, until the token is revoked.
fn guarded(app: App, token: TokenId, frames: Body) -> Body {
    let (engine, ends_with) = (app.engine.clone(), token.clone());
    let revoked = async move { engine.revoked(&ends_with).await };
    let frames = Box::pin(frames.into_data_stream().take_until(revoked));
    Body::from_stream(stream::unfold((app, token, frames), |(app, token, mut frames)| async move {
        let frame = frames.next().await?;
        stands(&app, &token).await.then_some((frame, (app, token, frames)))
    }))
}

/// Whether the token stands, as soon as this node can know it; `false` also where the server ends
/// before it does.
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

/// What somebody waits for after a write, unless its token is revoked first.
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
