//! HTTP to one vendor: one client, one key, one attempt per call.

use std::{error::Error as _, time::Duration};

use folkmoot_outbound::{loopback, retry_after, tls};
use reqwest::{
    Client, Method, RequestBuilder, Response, StatusCode, Url,
    header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION},
    redirect, retry,
};
use serde::de::DeserializeOwned;

use super::{Endpoint, call_timer::CallTimer, fault::VendorFault};
use crate::{FailureKind, ModelFailure, ModelRequest};

#[derive(Debug)]
pub(super) struct Http {
    pub(super) endpoint: Endpoint,
    client: Client,
    base: String,
    key: Option<(HeaderName, HeaderValue)>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum KeyHeader {
    /// `authorization: Bearer …`
    Bearer,
    In(&'static str),
}

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How much of an error response is read.
const ERROR_BYTES_MAX: usize = 64 * 1024;

impl Http {
    /// A client for `endpoint`. The address may or may not contain `version`, the first part of
    /// each path.
    pub(super) fn new(endpoint: Endpoint, version: &str, key: KeyHeader) -> Result<Self, ModelFailure> {
        let misconfigured = |detail: String| {
            VendorFault::new(FailureKind::Misconfigured, detail).of(&endpoint.name, endpoint.key.as_ref())
        };
        let url = &endpoint.base_url;
        let parsed = Url::parse(url).map_err(|error| misconfigured(format!("{url:?} is no base URL: {error}")))?;
        if !matches!(parsed.scheme(), "http" | "https") {
            return Err(misconfigured(format!("{url:?} is no base URL: it must begin with http:// or https://")));
        }
        // A password in the address would be printed with it. This error does not repeat it either.
        if !parsed.username().is_empty() || parsed.password().is_some() || parsed.query().is_some() {
            let detail = "the base URL must have no user, password or query: a key belongs in the key's place";
            return Err(misconfigured(detail.to_owned()));
        }
        let base = parsed.as_str().trim_end_matches('/');
        let base = base.strip_suffix(version).unwrap_or(base).to_owned();
        let client = loopback::client(&parsed)
            .tls_backend_preconfigured(tls::config(&base))
            .connect_timeout(CONNECT_TIMEOUT)
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .referer(false)
            .user_agent(concat!("folkmoot/", env!("CARGO_PKG_VERSION")))
            .pool_max_idle_per_host(connections_kept(&parsed))
            .build()
            .map_err(|error| misconfigured(format!("no client can be made: {}", innermost(&error))))?;
        let key = endpoint.key.as_ref().map(|secret| {
            let (name, value) = match key {
                KeyHeader::Bearer => (HeaderName::from_static("authorization"), format!("Bearer {}", secret.reveal())),
                KeyHeader::In(name) => (HeaderName::from_static(name), secret.reveal().to_owned()),
            };
            let mut value = HeaderValue::from_str(&value).expect("a secret is visible ASCII");
            value.set_sensitive(true);
            (name, value)
        });
        Ok(Self { client, base, key, endpoint })
    }

    /// The whole response to a request without streaming.
    pub(super) async fn fetch<T: DeserializeOwned>(
        &self,
        request: RequestBuilder,
        patience: &CallTimer,
        bytes_max: usize,
    ) -> Result<T, VendorFault> {
        let mut response = self.send(request, patience).await?;
        let mut body = Vec::new();
        while let Some(chunk) = self.chunk(&mut response, patience).await? {
            if body.len() + chunk.len() > bytes_max {
                return Err(VendorFault::new(
                    FailureKind::TooLarge,
                    format!("the answer is longer than {bytes_max} bytes"),
                ));
            }
            body.extend_from_slice(&chunk);
        }
        serde_json::from_slice(&body).map_err(|error| unreadable(&error))
    }

    pub(super) fn get(&self, path: &str) -> RequestBuilder {
        self.request(Method::GET, path)
    }

    pub(super) fn post(&self, path: &str, body: String) -> RequestBuilder {
        self.request(Method::POST, path).header(CONTENT_TYPE, "application/json").body(body)
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.base));
        let request = request.header(ACCEPT, "application/json, text/event-stream, application/x-ndjson");
        match &self.key {
            Some((name, value)) => request.header(name, value),
            None => request,
        }
    }

    /// Sends, and waits for a successful response head.
    pub(super) async fn send(&self, request: RequestBuilder, patience: &CallTimer) -> Result<Response, VendorFault> {
        let response = patience.wait(request.send()).await?.map_err(|error| self.unsent(&error))?;
        let status = response.status();
        if status.is_success() {
            return Ok(response);
        }
        if status.is_redirection() {
            return Err(self.redirected(&response));
        }
        Err(self.refused(status, response, patience).await)
    }

    /// The next bytes, or `None` at the end.
    pub(super) async fn chunk(
        &self,
        response: &mut Response,
        patience: &CallTimer,
    ) -> Result<Option<bytes::Bytes>, VendorFault> {
        patience.wait(response.chunk()).await?.map_err(|error| {
            VendorFault::new(FailureKind::Truncated, format!("the answer broke off: {}", innermost(&error)))
        })
    }

    /// Converts `fault` to this provider's failure.
    pub(super) fn failure(&self, fault: VendorFault) -> ModelFailure {
        fault.of(&self.endpoint.name, self.endpoint.key.as_ref())
    }

    async fn refused(&self, status: StatusCode, mut response: Response, patience: &CallTimer) -> VendorFault {
        let wait = retry_after(response.headers());
        let mut body = Vec::new();
        // If the body breaks off, its beginning is enough to explain the error.
        while let Ok(Some(chunk)) = self.chunk(&mut response, patience).await {
            let room = ERROR_BYTES_MAX - body.len();
            body.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if body.len() == ERROR_BYTES_MAX {
                break;
            }
        }
        let fault = VendorFault::refused(status, &String::from_utf8_lossy(&body)).after(wait);
        if fault.kind == FailureKind::Unauthorised { fault.and(&self.whose_key()) } else { fault }
    }

    fn whose_key(&self) -> String {
        let name = &self.endpoint.name;
        match &self.endpoint.key {
            Some(key) => format!("The key from {} is not accepted: set another", key.origin()),
            None => format!("No key is known for {name}: set one"),
        }
    }

    fn redirected(&self, response: &Response) -> VendorFault {
        let place = response.headers().get(LOCATION).and_then(|place| place.to_str().ok()).unwrap_or("nowhere");
        let detail = format!(
            "status {}: redirects to {place}, and is not followed there with a key; set the base URL to where it answers",
            response.status()
        );
        VendorFault::new(FailureKind::Misconfigured, detail)
    }

    fn unsent(&self, error: &reqwest::Error) -> VendorFault {
        let (base, reason) = (&self.base, innermost(error));
        if error.is_builder() {
            return VendorFault::new(FailureKind::Misconfigured, format!("no request can be made of this: {reason}"));
        }
        let mut causes = std::iter::successors(error.source(), |&cause| cause.source());
        if causes.any(|cause| cause.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse)) {
            return VendorFault::malformed(format!("{base} does not answer in HTTP as we know it: {reason}"));
        }
        VendorFault::new(FailureKind::Unreachable, format!("{base} cannot be reached: {reason}"))
    }
}

pub(super) fn unreadable(error: &serde_json::Error) -> VendorFault {
    VendorFault::malformed(format!("the answer is not in the vendor's format: {error}"))
}

/// The innermost cause. The outermost message only repeats the address.
fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

/// How many idle connections are kept. Without TLS a new connection costs almost nothing, and such
/// servers are unreliable: llama.cpp's announces `keep-alive` with a streamed answer and then
/// closes, so every second call would fail.
fn connections_kept(base: &Url) -> usize {
    if base.scheme() == "http" { 0 } else { usize::MAX }
}

/// Adds the idempotency key, for vendors that charge a repeated call once.
pub(super) fn named(post: RequestBuilder, request: &ModelRequest) -> RequestBuilder {
    match &request.idempotency_key {
        Some(key) => post.header("idempotency-key", key),
        None => post,
    }
}
