//! A client with a method for every request that the server takes. The command line reaches the
//! server only through it.

mod audit;
mod debates;
mod feed;
mod gates;
mod halts;
mod models;
mod plans;
mod questions;
mod runs;
mod tls;
mod tokens;
mod webhooks;

use std::time::Duration;

pub use debates::{DebateFrame, DebateFrames};
pub use feed::Feed;
use folkmoot_core::Presence;
use reqwest::{Method, RequestBuilder, Response};
use serde::{Serialize, de::DeserializeOwned};

use crate::wire::{Problem, WaitFor};

/// Sends requests to one server, with one token.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    url: String,
    token: String,
    presence: Option<Presence>,
}

/// Why a request failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The server refused the request and says why.
    #[error("{}", .0.detail)]
    Problem(Box<Problem>),
    /// The server could not be reached, or the connection broke.
    #[error("{url} cannot be reached: {reason}")]
    Unreachable {
        url: String,
        /// The innermost cause.
        reason: String,
    },
    /// The response is not one that Folkmoot sends.
    #[error("{url} answered something that is not Folkmoot's: {reason}")]
    Foreign {
        url: String,
        /// What is wrong with the response.
        reason: String,
    },
}

impl Error {
    /// The server's stable error code, if the server answered.
    pub fn code(&self) -> Option<&str> {
        match self {
            Error::Problem(problem) => Some(&problem.code),
            Error::Unreachable { .. } | Error::Foreign { .. } => None,
        }
    }
}

/// The header in which a request says how a person made it.
pub const PRESENCE: &str = "folkmoot-presence";

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The time for a response, in addition to the time that the server was asked to wait.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// The HTTP and TLS client for `url`, without a token.
pub fn http(url: &str) -> Result<reqwest::Client, Error> {
    reqwest::Client::builder()
        .tls_backend_preconfigured(tls::config(url))
        .connect_timeout(CONNECT_TIMEOUT)
        .user_agent(concat!("folkmoot/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| Error::Unreachable { url: url.to_owned(), reason: error.to_string() })
}

impl Client {
    pub fn new(url: &str, token: &str) -> Result<Self, Error> {
        Ok(Self {
            http: http(url)?,
            url: url.trim_end_matches('/').to_owned(),
            token: token.to_owned(),
            presence: None,
        })
    }

    /// A client for the same server with another token.
    pub fn with_token(&self, token: &str) -> Self {
        Self { token: token.to_owned(), ..self.clone() }
    }

    /// A client for the same server and token that claims a person's presence at a terminal. Use it
    /// only after showing the person what they decide on, and reading their answer there.
    #[must_use]
    pub fn at_a_terminal(&self) -> Self {
        Self { presence: Some(Presence::Terminal), ..self.clone() }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Succeeds if the server is ready.
    pub async fn ready(&self) -> Result<(), Error> {
        self.send(self.request(Method::GET, "/readyz").timeout(CONNECT_TIMEOUT)).await.map(drop)
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.http.request(method, format!("{}{path}", self.url)).bearer_auth(&self.token);
        match self.presence {
            Some(presence) => request.header(PRESENCE, presence.word()),
            None => request,
        }
    }

    async fn get<T: DeserializeOwned>(&self, path: &str, query: &impl Serialize) -> Result<T, Error> {
        self.json(self.request(Method::GET, path).query(query).timeout(ANSWER_TIMEOUT)).await
    }

    /// Sends a request that the server may hold for up to `timeout`.
    async fn wait<T: DeserializeOwned>(&self, path: &str, timeout: Duration) -> Result<T, Error> {
        let wait = WaitFor { timeout_ms: Some(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)) };
        self.json(self.request(Method::GET, path).query(&wait).timeout(timeout + ANSWER_TIMEOUT)).await
    }

    async fn call<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
        idempotency_key: Option<&str>,
    ) -> Result<T, Error> {
        self.json(self.to_call(method, path, body, idempotency_key)).await
    }

    fn to_call(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
        idempotency_key: Option<&str>,
    ) -> RequestBuilder {
        let request = self.request(method, path).json(body).timeout(ANSWER_TIMEOUT);
        match idempotency_key {
            Some(key) => request.header("idempotency-key", key),
            None => request,
        }
    }

    async fn json<T: DeserializeOwned>(&self, request: RequestBuilder) -> Result<T, Error> {
        self.read(self.send(request).await?).await
    }

    async fn read<T: DeserializeOwned>(&self, answer: Response) -> Result<T, Error> {
        let bytes = answer.bytes().await.map_err(|error| self.unreachable(&error))?;
        serde_json::from_slice(&bytes).map_err(|error| self.foreign(error.to_string()))
    }

    async fn send(&self, request: RequestBuilder) -> Result<Response, Error> {
        let answer = request.send().await.map_err(|error| self.unreachable(&error))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let bytes = answer.bytes().await.map_err(|error| self.unreachable(&error))?;
        match serde_json::from_slice::<Problem>(&bytes) {
            Ok(problem) => Err(Error::Problem(Box::new(problem))),
            Err(_) => Err(self.foreign(format!("status {status} without an explanation"))),
        }
    }

    fn unreachable(&self, error: &reqwest::Error) -> Error {
        // The outermost error only repeats the address. The innermost one says what happened.
        let mut cause: &dyn std::error::Error = error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        Error::Unreachable { url: self.url.clone(), reason: said_plainly(&self.url, cause.to_string()) }
    }

    fn foreign(&self, reason: String) -> Error {
        Error::Foreign { url: self.url.clone(), reason }
    }
}

/// Explains a failed handshake. The libraries below only report which byte they did not expect.
fn said_plainly(url: &str, reason: String) -> String {
    if url.starts_with("https://") && reason.contains("InvalidContentType") {
        return "it does not speak TLS; write http:// instead of https:// if it is meant to".to_owned();
    }
    if url.starts_with("http://") && reason.contains("invalid HTTP version") {
        return "it does not speak plain HTTP; write https:// instead of http:// if it speaks TLS".to_owned();
    }
    reason
}

/// The length of one waiting request; after it, another one is sent.
const ROUND: Duration = Duration::from_secs(30);
/// The pause before another attempt to reach the server.
const RETRY: Duration = Duration::from_millis(250);

/// Repeats `wait` until it returns something. `patience` is how long a server that cannot be
/// reached is tried again.
async fn patiently<T, F: Future<Output = Result<Option<T>, Error>>>(
    patience: Duration,
    mut wait: impl FnMut(Duration) -> F,
) -> Result<T, Error> {
    let mut unreached = Duration::ZERO;
    loop {
        match wait(ROUND).await {
            Ok(Some(found)) => return Ok(found),
            Ok(None) => unreached = Duration::ZERO,
            Err(error) if is_passing(&error) && unreached < patience => {
                unreached += RETRY;
                tokio::time::sleep(RETRY).await;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Whether another attempt may help.
fn is_passing(error: &Error) -> bool {
    match error {
        Error::Unreachable { .. } => true,
        Error::Problem(problem) => problem.status == 503,
        Error::Foreign { .. } => false,
    }
}
