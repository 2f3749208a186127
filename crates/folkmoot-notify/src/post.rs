//! One HTTP POST, to an address that the [guard](AddressGuard) allows.
//!
//! Redirects are not followed: the receiver could send a message that was signed for it to any
//! other address. Proxies of the environment are not used: a proxy would connect in our place, and
//! the guard could not check the address.

use std::{error::Error as _, sync::OnceLock, time::Duration};

use folkmoot_outbound::{
    AddressGuard, Keys, Trust,
    address::{AddressRefusal, Unresolved},
    retry_after, tls,
};
use reqwest::{
    Client, Response, StatusCode, Url,
    header::{CONTENT_TYPE, HeaderMap, LOCATION},
    redirect, retry,
};

use crate::{RetryAdvice, SendFailure, text};

/// The time limit, from connecting to the response.
pub const POST_TIMEOUT: Duration = Duration::from_secs(15);
/// How much of an error response is read; it is shown in one line.
const ANSWER_BYTES_MAX: usize = 4 * 1024;
/// How much of it is shown.
const SHOWN_CHARS_MAX: usize = 200;
/// The longest `Retry-After` that is honoured.
const WAIT_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Sends requests to allowed addresses.
#[derive(Debug)]
pub struct Post {
    guard: AddressGuard,
    trust: Trust,
    patience: Duration,
    /// Created on first use, because reading the machine's certificates takes longer than most
    /// requests.
    https: OnceLock<Client>,
    http: OnceLock<Client>,
}

impl Post {
    /// Sends to addresses that the guard allows and, over TLS, that the certificates authenticate.
    pub fn new(guard: AddressGuard, trust: Trust) -> Self {
        Self { guard, trust, patience: POST_TIMEOUT, https: OnceLock::new(), http: OnceLock::new() }
    }

    /// Sets the time limit.
    pub fn patient_for(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    pub fn guard(&self) -> &AddressGuard {
        &self.guard
    }

    /// Sends this JSON once. 2xx is success, and its body is not read. Error reasons do not contain
    /// what is `hidden`.
    pub(crate) async fn json(
        &self,
        url: &str,
        headers: HeaderMap,
        body: Vec<u8>,
        hidden: &Keys,
    ) -> Result<(), SendFailure> {
        let url = self.guard.check(url).map_err(|refused| SendFailure::never(refused.to_string()))?;
        let request = self.client(&url).post(url.clone()).headers(headers).header(CONTENT_TYPE, "application/json");
        let told = async {
            let answer = request.body(body).send().await.map_err(|error| unsent(&url, &error, hidden))?;
            if answer.status().is_success() { Ok(()) } else { Err(refused(&url, answer, hidden).await) }
        };
        match tokio::time::timeout(self.patience, told).await {
            Ok(told) => told,
            Err(_) => Err(SendFailure::later(format!("{} did not answer within {:?}", origin(&url), self.patience))),
        }
    }

    fn client(&self, url: &Url) -> &Client {
        let is_plain = url.scheme() == "http";
        let place = if is_plain { &self.http } else { &self.https };
        place.get_or_init(|| {
            Client::builder()
                .tls_backend_preconfigured(tls::trusting(url.as_str(), &self.trust.certificates))
                .dns_resolver(self.guard.resolver(is_plain))
                .no_proxy()
                .redirect(redirect::Policy::none())
                .retry(retry::never())
                .referer(false)
                // Messages are rare, and a receiver that moved must be resolved again.
                .pool_max_idle_per_host(0)
                .user_agent(concat!("folkmoot/", env!("CARGO_PKG_VERSION")))
                .build()
                .expect("nothing in it depends on what users say")
        })
    }
}

/// The address without path and query, in which many services put a secret.
fn origin(url: &Url) -> String {
    url.origin().ascii_serialization()
}

fn unsent(url: &Url, error: &reqwest::Error, hidden: &Keys) -> SendFailure {
    let mut cause: &dyn std::error::Error = error;
    loop {
        if let Some(Unresolved::Refused(refused)) = cause.downcast_ref() {
            return not_allowed(refused);
        }
        match cause.source() {
            Some(deeper) => cause = deeper,
            None => break,
        }
    }
    // Only the innermost cause: the outer message contains the whole address.
    let reason = if error.source().is_some() { cause.to_string() } else { "the request failed".to_owned() };
    SendFailure::later(format!(
        "{} cannot be reached: {}",
        origin(url),
        text::line(&hidden.erase(&reason), SHOWN_CHARS_MAX)
    ))
}

fn not_allowed(refused: &AddressRefusal) -> SendFailure {
    let again = if refused.may_change() { RetryAdvice::Later } else { RetryAdvice::Never };
    SendFailure { reason: refused.to_string(), again }
}

async fn refused(url: &Url, mut answer: Response, hidden: &Keys) -> SendFailure {
    let (status, origin) = (answer.status(), origin(url));
    if status.is_redirection() {
        let place = answer.headers().get(LOCATION).and_then(|place| url.join(place.to_str().ok()?).ok());
        let place = place.map_or_else(|| "nowhere".to_owned(), |place| place.origin().ascii_serialization());
        return SendFailure::later(format!(
            "{origin} answered {status} and wants it sent to {place}; redirects are not followed: give the address where it is taken"
        ));
    }
    let wait = retry_after(answer.headers()).map(|wait| wait.min(WAIT_MAX));
    let mut said = Vec::new();
    // If the body breaks off, its beginning is enough to explain the error.
    while let Ok(Some(chunk)) = answer.chunk().await {
        let room = ANSWER_BYTES_MAX - said.len();
        said.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if said.len() == ANSWER_BYTES_MAX {
            break;
        }
    }
    // Erase before cutting: a cut through a secret would leave its first part visible.
    let said = text::line(&hidden.erase(&String::from_utf8_lossy(&said)), SHOWN_CHARS_MAX);
    // An HTML page says nothing useful in one line.
    let reason = if said.is_empty() || said.starts_with('<') {
        format!("{origin} answered {status}")
    } else {
        format!("{origin} answered {status}: {said}")
    };
    let again = match (status, wait) {
        (StatusCode::GONE, _) => RetryAdvice::Never,
        (StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE, Some(wait)) => RetryAdvice::After(wait),
        // Also for 4xx: receivers are misconfigured and then fixed.
        _ => RetryAdvice::Later,
    };
    SendFailure { reason, again }
}
