//! Streamable HTTP: our TLS, no redirects, and limited bodies.

use std::{borrow::Cow, collections::HashMap, error::Error, sync::Arc, time::Duration};

use folkmoot_core::text;
use folkmoot_llm::outbound::{Keys, Secret, loopback, tls};
use futures_util::{StreamExt, stream::BoxStream};
use reqwest::{
    Response, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue},
};
use rmcp::{
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::{
        common::client_side_sse::SseRetryPolicy,
        streamable_http_client::{
            StreamableHttpClient, StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
            StreamableHttpError, StreamableHttpPostResponse,
        },
    },
};
use sse_stream::{Error as SseError, Sse, SseStream};

use super::{KeySource, McpErrorKind, McpLimits, bounded::Meter};
use crate::foreign;

const SESSION: &str = "mcp-session-id";
const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
/// How long it may take to reach it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

type HttpFault = StreamableHttpError<reqwest::Error>;

/// The transport and its keys, or what is wrong with the configuration.
pub(super) fn transport(
    url: &str,
    key: Option<&KeySource>,
    limits: &McpLimits,
    meter: &Arc<Meter>,
) -> Result<(StreamableHttpClientTransport<BoundedHttpClient>, Keys), (McpErrorKind, String)> {
    let misconfigured = |why: String| (McpErrorKind::Misconfigured, why);
    let parsed = reqwest::Url::parse(url).map_err(|error| misconfigured(format!("its URL cannot be read: {error}")))?;
    let is_local = loopback::is_loopback(&parsed);
    match parsed.scheme() {
        "https" => {}
        "http" if key.is_none() || is_local => {}
        "http" => return Err(misconfigured("a key is sent over https only".to_owned())),
        _ => return Err(misconfigured("its URL begins with neither http nor https".to_owned())),
    }
    let key = key.map(read).transpose().map_err(misconfigured)?;
    let keys = key.as_ref().map(Secret::keys).unwrap_or_default();
    let client = loopback::client(&parsed)
        .tls_backend_preconfigured(tls::config(url))
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .user_agent(concat!("folkmoot/", env!("CARGO_PKG_VERSION")))
        .build()
        .map_err(|error| misconfigured(foreign::line(&error.to_string(), 300)))?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url).max_sse_event_size(limits.message_bytes);
    config.auth_header = key.map(|key| key.reveal().to_owned());
    config.retry_config = Arc::new(ThreeTimes);
    let meter = Arc::clone(meter);
    let client = BoundedHttpClient {
        client,
        meter,
        keys: keys.clone(),
        message_bytes: limits.message_bytes,
        flood_bytes: limits.flood_bytes,
    };
    Ok((StreamableHttpClientTransport::with_client(client, config), keys))
}

fn read(key: &KeySource) -> Result<Secret, String> {
    let key = match key {
        KeySource::Variable(name) => Secret::from_env(name),
        KeySource::File(path) => Secret::from_file(path),
    };
    key.map_err(|error| format!("its key cannot be used: {error}"))
}

/// Explains an error that the protocol library reports only as types.
pub(super) fn fault(error: &(dyn Error + Send + Sync + 'static), keys: &Keys) -> (McpErrorKind, String) {
    let unauthorised = || (McpErrorKind::Unauthorised, "it does not take the key; check its `key`".to_owned());
    let said = || foreign::line(&keys.erase(&error.to_string()), 500);
    match error.downcast_ref::<HttpFault>() {
        Some(HttpFault::Client(error)) if error.is_connect() => {
            (McpErrorKind::Unreachable, "nobody answers there; check its address".to_owned())
        }
        Some(HttpFault::Client(error)) => {
            let cause = std::iter::successors(error.source(), |error: &&dyn Error| (*error).source()).last();
            let cause = cause.map_or_else(|| error.to_string(), ToString::to_string);
            (McpErrorKind::Ended, format!("the connection broke: {}", foreign::line(&keys.erase(&cause), 300)))
        }
        Some(HttpFault::AuthRequired(_) | HttpFault::InsufficientScope(_)) => unauthorised(),
        Some(HttpFault::UnexpectedServerResponse(why))
            if why.starts_with("HTTP 401") || why.starts_with("HTTP 403") =>
        {
            unauthorised()
        }
        Some(HttpFault::HttpStatus(_)) => (McpErrorKind::Unreachable, said()),
        _ => (McpErrorKind::Malformed, said()),
    }
}

/// Reopens the notification stream a few times; calls do not depend on it.
#[derive(Debug)]
struct ThreeTimes;

impl SseRetryPolicy for ThreeTimes {
    fn retry(&self, times: usize) -> Option<Duration> {
        (times < 3).then_some(Duration::from_secs(1))
    }
}

/// An HTTP client that limits bodies, which the library's own does not.
#[derive(Clone, Debug)]
pub(super) struct BoundedHttpClient {
    client: reqwest::Client,
    /// Reports why reading stopped; the library does not pass that on.
    meter: Arc<Meter>,
    keys: Keys,
    message_bytes: usize,
    flood_bytes: usize,
}

impl StreamableHttpClient for BoundedHttpClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        key: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpFault> {
        let had_session = session.is_some();
        let mut request = self.client.post(&*uri).header(ACCEPT, format!("{EVENTS}, {JSON}"));
        for (name, value) in headers {
            request = request.header(name, value);
        }
        if let Some(session) = session {
            request = request.header(SESSION, &*session);
        }
        if let Some(key) = key {
            request = request.bearer_auth(key);
        }
        let response = request.json(&message).send().await.map_err(HttpFault::Client)?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        if status == StatusCode::NOT_FOUND && had_session {
            return Err(HttpFault::SessionExpired);
        }
        let session = response.headers().get(SESSION).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let wants_reply = matches!(message, ClientJsonRpcMessage::Request(_));
        if status.is_success() && kind.starts_with(EVENTS) {
            return Ok(StreamableHttpPostResponse::Sse(self.events(response), session));
        }
        let body = self.body(response).await?;
        let reply = serde_json::from_slice::<ServerJsonRpcMessage>(&body).ok().filter(|_| kind.starts_with(JSON));
        let is_auth = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        match reply {
            Some(reply) if status.is_success() => Ok(StreamableHttpPostResponse::Json(reply, session)),
            Some(reply @ ServerJsonRpcMessage::Error(_)) if !is_auth => {
                Ok(StreamableHttpPostResponse::Json(reply, session))
            }
            _ if status.is_success() && !wants_reply => Ok(StreamableHttpPostResponse::Accepted),
            _ => {
                // Cut after erasing keys: half a key would not be found.
                let (said, kind) = (self.keys.erase(&String::from_utf8_lossy(&body)), self.keys.erase(&kind));
                let said = foreign::line(text::cut(&said, 300), 300);
                Err(HttpFault::UnexpectedServerResponse(Cow::Owned(format!("HTTP {status}, {kind}: {said}"))))
            }
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        key: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpFault> {
        self.client.delete_session(uri, session, key, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        key: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, SseError>>, HttpFault> {
        self.client.get_stream_with_max_sse_event_size(uri, session, last, key, headers, self.message_bytes).await
    }
}

impl BoundedHttpClient {
    async fn body(&self, response: Response) -> Result<Vec<u8>, HttpFault> {
        let mut body = Vec::new();
        let mut pieces = response.bytes_stream();
        while let Some(piece) = pieces.next().await {
            body.extend_from_slice(&piece.map_err(HttpFault::Client)?);
            if body.len() > self.message_bytes {
                return Err(HttpFault::Io(too_large(&self.meter, self.message_bytes)));
            }
        }
        Ok(body)
    }

    /// A response as events, limited in total.
    fn events(&self, response: Response) -> BoxStream<'static, Result<Sse, SseError>> {
        let (meter, limit) = (Arc::clone(&self.meter), self.flood_bytes);
        let mut read = 0;
        let pieces = response.bytes_stream().map(move |piece| {
            let piece = piece.map_err(std::io::Error::other)?;
            read += piece.len();
            if read > limit { Err(too_large(&meter, limit)) } else { Ok(piece) }
        });
        SseStream::from_bytes_stream(pieces).boxed()
    }
}

fn too_large(meter: &Meter, limit: usize) -> std::io::Error {
    let why = format!("it sent more than {limit} bytes");
    meter.stop(why.clone());
    std::io::Error::other(why)
}
