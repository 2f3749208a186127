//! Checks the origin of the page that opens a socket. Only browsers send one.

use std::str::FromStr;

use axum::http::{HeaderMap, StatusCode, Uri, header};

use crate::error::ApiError;

/// The origin of a page: scheme and authority, without a default port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    scheme: String,
    authority: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an origin is http:// or https:// and a host, with a port if it is not the usual one, and nothing after it")]
pub struct NoOrigin;

impl FromStr for Origin {
    type Err = NoOrigin;

    fn from_str(text: &str) -> Result<Self, NoOrigin> {
        let (scheme, authority) = text.split_once("://").ok_or(NoOrigin)?;
        let uri: Uri = text.parse().map_err(|_| NoOrigin)?;
        let plain = uri.authority().is_some_and(|parsed| parsed.as_str() == authority) && !authority.contains('@');
        match scheme.to_ascii_lowercase().as_str() {
            scheme @ ("http" | "https") if plain => {
                Ok(Self { scheme: scheme.to_owned(), authority: without_default_port(authority, scheme) })
            }
            _ => Err(NoOrigin),
        }
    }
}

impl Origin {
    /// Whether it is this server. A proxy may have terminated TLS, so the scheme is ignored.
    fn is(&self, host: &str) -> bool {
        self.authority == without_default_port(host, &self.scheme)
    }
}

/// Refuses a browser with a foreign page.
pub(super) fn check(headers: &HeaderMap, allowed: &[Origin]) -> Result<(), ApiError> {
    let mut given = headers.get_all(header::ORIGIN).iter();
    let Some(first) = given.next() else { return Ok(()) };
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let known = first.to_str().ok().and_then(|text| text.parse::<Origin>().ok()).is_some_and(|origin| {
        let same = host.is_some_and(|host| origin.is(host));
        same || allowed.contains(&origin)
    });
    if known && given.next().is_none() {
        return Ok(());
    }
    let detail = "a page from there may not read here; list its origin under [server] origins if it may";
    Err(ApiError::new(StatusCode::FORBIDDEN, "foreign_origin", detail))
}

fn without_default_port(authority: &str, scheme: &str) -> String {
    let port = if scheme == "https" { ":443" } else { ":80" };
    authority.strip_suffix(port).unwrap_or(authority).to_ascii_lowercase()
}
