//! Observability of requests: an id, metrics, a log line, and a trace span.
//!
//! Bodies, queries and headers are never recorded, because they may contain secrets.

use std::{
    cell::OnceCell,
    panic::AssertUnwindSafe,
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};

use axum::{
    extract::{MatchedPath, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode},
    middleware::Next,
    response::{IntoResponse, Response},
};
use folkmoot_core::{GateId, Name};
use futures_util::FutureExt;
use tracing::{Instrument, Span, field};

use crate::{app::App, error::ApiError, figures};

/// Continues the caller's trace, if there is one.
pub type Adopt = fn(&Span, &HeaderMap);

const HEADER: HeaderName = HeaderName::from_static("x-request-id");
const ID_CHARS_MAX: usize = 128;

tokio::task_local! {
    static NOTED: RequestNotes;
}

/// What becomes known of a request while it is answered.
struct RequestNotes {
    id: String,
    principal: OnceCell<Name>,
    gate: OnceCell<GateId>,
}

/// The stable code of a problem, for the log line.
#[derive(Clone, Debug)]
pub(crate) struct ProblemCode(pub(crate) String);

/// The id of the current request.
pub(crate) fn id() -> Option<String> {
    NOTED.try_with(|noted| noted.id.clone()).ok()
}

/// Records the principal.
pub(crate) fn principal(name: &Name) {
    let _ = NOTED.try_with(|noted| noted.principal.set(name.clone()));
    Span::current().record("enduser.id", name.as_str());
}

/// Records the gate.
pub(crate) fn gate(id: &GateId) {
    let _ = NOTED.try_with(|noted| noted.gate.set(id.clone()));
    Span::current().record("folkmoot.gate", id.as_str());
}

/// Answers a request and records it.
pub(crate) async fn request(
    State(app): State<App>,
    route: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let began = Instant::now();
    let route = route.as_ref().map_or("none", MatchedPath::as_str);
    let method = figures::MethodLabel::of(request.method());
    let noted = RequestNotes { id: id_of(&request), principal: OnceCell::new(), gate: OnceCell::new() };
    let span = tracing::debug_span!(
        target: "folkmoot::request",
        "request",
        otel.name = field::Empty,
        otel.kind = "server",
        otel.status_code = field::Empty,
        http.request.method = method.name(),
        http.route = route,
        http.response.status_code = field::Empty,
        enduser.id = field::Empty,
        folkmoot.gate = field::Empty,
        request_id = noted.id,
    );
    if !span.is_disabled() {
        span.record("otel.name", field::display(format_args!("{} {route}", method.name())));
        app.adopt.iter().for_each(|adopt| adopt(&span, request.headers()));
    }
    let answered = async {
        // A panic in a handler costs one response, not the connection.
        let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
        let mut answer = answered.unwrap_or_else(|_| {
            tracing::error!(request_id = id(), "a handler panicked");
            ApiError::internal().into_response()
        });
        let status = answer.status();
        Span::current().record("http.response.status_code", status.as_u16());
        if status.is_server_error() {
            Span::current().record("otel.status_code", "error");
        }
        NOTED.with(|noted| {
            tell(noted, method, route, &answer, began);
            answer.headers_mut().extend(HeaderValue::from_str(&noted.id).ok().map(|id| (HEADER, id)));
        });
        app.figures.answered(route, method, status, began.elapsed());
        answer
    };
    NOTED.scope(noted, answered.instrument(span)).await
}

fn tell(noted: &RequestNotes, method: figures::MethodLabel, route: &str, answer: &Response, began: Instant) {
    macro_rules! line {
        ($level:ident) => {
            tracing::$level!(
                target: "folkmoot::request",
                request_id = noted.id,
                method = method.name(),
                route,
                status = answer.status().as_u16(),
                code = answer.extensions().get::<ProblemCode>().map(|code| code.0.as_str()),
                ms = began.elapsed().as_micros() as f64 / 1000.0,
                principal = noted.principal.get().map(Name::as_str),
                gate = noted.gate.get().map(GateId::as_str),
                "answered"
            )
        };
    }
    match answer.status() {
        status if status < StatusCode::INTERNAL_SERVER_ERROR => line!(info),
        _ => line!(warn),
    }
}

/// The caller's id if it is printable, otherwise a new one.
fn id_of(request: &Request) -> String {
    static PROCESS: LazyLock<u64> = LazyLock::new(|| getrandom::u64().unwrap_or_default());
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let fits = |id: &&str| {
        let printable = |byte: u8| byte.is_ascii_alphanumeric() || b"._:@-".contains(&byte);
        (1..=ID_CHARS_MAX).contains(&id.len()) && id.bytes().all(printable)
    };
    let theirs = request.headers().get(HEADER).and_then(|id| id.to_str().ok()).filter(fits);
    let make = || format!("req-{:016x}-{}", *PROCESS, NEXT.fetch_add(1, Ordering::Relaxed));
    theirs.map_or_else(make, str::to_owned)
}
