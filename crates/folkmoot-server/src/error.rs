//! Every error as problem+json. The only place that maps refusals to statuses.

use axum::{
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use folkmoot_api::wire::{Closed, Decision, Problem};
use folkmoot_core::{BadId, Refusal};
use folkmoot_engine::Error;

use crate::{accept::NoPlace, observe};

#[derive(Debug)]
pub(crate) struct ApiError(Box<Parts>);

#[derive(Debug)]
struct Parts {
    problem: Problem,
    retry_after_s: Option<u32>,
    close: bool,
    header: Option<(HeaderName, HeaderValue)>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, code: &str, detail: impl Into<String>) -> Self {
        let problem = Problem {
            kind: format!("urn:folkmoot:problem:{code}"),
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            status: status.as_u16(),
            code: code.to_owned(),
            detail: detail.into(),
            decision: None,
            closed: None,
            digest: None,
            gate: None,
            request_id: None,
        };
        Self(Box::new(Parts { problem, retry_after_s: None, close: false, header: None }))
    }

    pub(crate) fn bad_request(code: &str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, code, detail)
    }

    pub(crate) fn unauthenticated() -> Self {
        let detail = "send `Authorization: Bearer TOKEN` with a token that is valid; \
                      `folkmoot token create` makes one, and tokens.json in the data folder has yours";
        Self::new(StatusCode::UNAUTHORIZED, "unauthenticated", detail)
    }

    /// An agent exceeded its share of bytes.
    pub(crate) fn too_many_bytes() -> Self {
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "too_many_bytes",
            "this agent has sent all the bytes that it may send in an hour; wait, or raise limits.bytes_per_hour_per_agent",
        )
    }

    pub(crate) fn too_many_requests() -> Self {
        let mut error = Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "too_many_requests",
            "this principal has sent more requests than it may; wait a second, and wait for gates instead of polling",
        );
        error.0.retry_after_s = Some(1);
        error
    }

    /// Too many bad tokens came from one address.
    pub(crate) fn too_many_bad_tokens() -> Self {
        let detail = "too many requests with tokens that are not valid came from this address; wait a minute, and check the \
                      token that you send. Requests with a valid token are answered as ever";
        let mut error = Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_bad_tokens", detail);
        error.0.retry_after_s = Some(60);
        error
    }

    pub(crate) fn no_place(reason: NoPlace) -> Self {
        let mut error = match reason {
            NoPlace::Full => {
                let detail = "as many connections as there may be are in use, and the rest is kept for people who decide; try again";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", detail).closing()
            }
            NoPlace::TooMany(held) => {
                let detail = format!(
                    "this principal has {held} requests, streams and waits open, which is the most; close one, or raise \
                     limits.connections_per_principal"
                );
                Self::new(StatusCode::TOO_MANY_REQUESTS, "too_many_connections", detail)
            }
        };
        error.0.retry_after_s = Some(1);
        error
    }

    pub(crate) fn body_too_large(limit: usize) -> Self {
        let detail = format!("the body is longer than {limit} bytes; send less, or raise limits.body_bytes");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "body_too_large", detail).closing()
    }

    pub(crate) fn internal() -> Self {
        let detail = "something failed that should not; the server's log says what. Nothing was acknowledged";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", detail)
    }

    /// Its status, code and detail, for responses in another format.
    pub(crate) fn told(&self) -> (StatusCode, &str, &str) {
        let problem = &self.0.problem;
        let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        (status, &problem.code, problem.detail.as_str())
    }

    /// The problem document, for a stream that has begun.
    pub(crate) fn into_problem(self) -> Problem {
        self.0.problem
    }

    pub(crate) fn with_header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.0.header = Some((name, value));
        self
    }

    /// Closes the connection after this response, because what follows on it cannot be trusted.
    pub(crate) fn closing(mut self) -> Self {
        self.0.close = true;
        self
    }
}

impl From<Refusal> for ApiError {
    fn from(refusal: Refusal) -> Self {
        let mut error = Self::new(status(&refusal), refusal.code(), refusal.to_string());
        let problem = &mut error.0.problem;
        match refusal {
            Refusal::Decided { decision } => problem.decision = Some(Decision::from(*decision)),
            Refusal::QuestionClosed { closure, .. } => problem.closed = Some(Closed::from(*closure)),
            Refusal::StaleDigest { current, .. } | Refusal::DigestRequired { current, .. } => {
                problem.digest = Some(current.to_string());
            }
            Refusal::DedupeConflict { gate } => problem.gate = Some(gate.to_string()),
            _ => {}
        }
        error
    }
}

impl From<BadId> for ApiError {
    fn from(error: BadId) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", error.to_string())
    }
}

impl From<Error> for ApiError {
    fn from(error: Error) -> Self {
        let unavailable = |code: &str| {
            let mut unavailable = Self::new(StatusCode::SERVICE_UNAVAILABLE, code, error.to_string());
            unavailable.0.retry_after_s = Some(1);
            unavailable
        };
        match error {
            Error::Refused(refusal) => refusal.into(),
            Error::Busy => unavailable("busy"),
            Error::Full => unavailable("disk_full"),
            Error::Unavailable(_) => unavailable("database_unavailable"),
            Error::Cancelled(_) => unavailable("database_cancelled"),
            Error::OutcomeUnknown => unavailable("outcome_unknown"),
            Error::Stopped(_) => Self::new(StatusCode::SERVICE_UNAVAILABLE, "stopped", error.to_string()),
            Error::Database(_) | Error::Unreadable(_) | Error::Schema(_) => {
                tracing::error!(request_id = observe::id(), "{error}");
                Self::internal()
            }
        }
    }
}

fn status(refusal: &Refusal) -> StatusCode {
    match refusal {
        Refusal::Unauthenticated => StatusCode::UNAUTHORIZED,
        Refusal::UnknownGate { .. }
        | Refusal::UnknownQuestion { .. }
        | Refusal::UnknownHalt { .. }
        | Refusal::UnknownRun { .. }
        | Refusal::UnknownWebhook { .. }
        | Refusal::UnknownDelivery { .. }
        | Refusal::UnknownLesson { .. }
        | Refusal::UnknownContent { .. }
        | Refusal::UnknownEntity { .. }
        | Refusal::UnknownToken { .. } => StatusCode::NOT_FOUND,
        Refusal::Decided { .. }
        | Refusal::Overdue { .. }
        | Refusal::QuestionClosed { .. }
        | Refusal::QuestionExpired { .. }
        | Refusal::HaltLifted { .. }
        | Refusal::StaleDigest { .. }
        | Refusal::AlreadyVoted { .. }
        | Refusal::DedupeConflict { .. }
        | Refusal::DeadlineNotLater { .. }
        | Refusal::RunExists { .. }
        | Refusal::RunEnded { .. }
        | Refusal::RunWaits { .. }
        | Refusal::GatePending { .. }
        | Refusal::GateStopped { .. }
        | Refusal::NotOurs { .. }
        | Refusal::NotYours { .. }
        | Refusal::NotReady { .. }
        | Refusal::LeaseLost { .. }
        | Refusal::StepRecorded { .. }
        | Refusal::StepDiffers { .. }
        | Refusal::StepsOpen { .. }
        | Refusal::Halted { .. }
        | Refusal::Changed { .. }
        | Refusal::LimitExceeded { .. }
        | Refusal::TooManyOpen { .. }
        | Refusal::ChannelTaken { .. }
        | Refusal::DeliveryUnderWay { .. }
        | Refusal::ContentInUse { .. }
        | Refusal::ContentErased { .. }
        | Refusal::RoleTaken { .. } => StatusCode::CONFLICT,
        Refusal::OwnGate { .. }
        | Refusal::OwnQuestion { .. }
        | Refusal::HaltsAsker { .. }
        | Refusal::SelfReview { .. }
        | Refusal::RoleMayNot { .. }
        | Refusal::PresenceRequired { .. }
        | Refusal::NotYou { .. }
        | Refusal::NotAReviewer { .. }
        | Refusal::WeakensPolicy { .. }
        | Refusal::NotRequester { .. }
        | Refusal::NamesPerson { .. }
        | Refusal::NotYourRun { .. } => StatusCode::FORBIDDEN,
        Refusal::OutOfRange { .. } => StatusCode::BAD_REQUEST,
        Refusal::DigestRequired { .. }
        | Refusal::NotAllowed { .. }
        | Refusal::OptionNotOffered { .. }
        | Refusal::DefaultNotAllowed { .. }
        | Refusal::ReasonRequired { .. }
        | Refusal::FeedbackRequired
        | Refusal::IdempotencyMismatch
        | Refusal::Invalid { .. } => StatusCode::UNPROCESSABLE_ENTITY,
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let Parts { mut problem, retry_after_s, close, header } = *self.0;
        problem.request_id = observe::id();
        let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&problem).unwrap_or_default();
        let mut answer = (status, [(header::CONTENT_TYPE, "application/problem+json")], body).into_response();
        let headers = answer.headers_mut();
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(seconds) = retry_after_s {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if close {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        headers.extend(header);
        answer.extensions_mut().insert(observe::ProblemCode(problem.code));
        answer
    }
}
