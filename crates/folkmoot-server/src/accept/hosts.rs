//! The host names of this server.
//!
//! A foreign page can make its own name point here (DNS rebinding); a browser then treats this
//! server as that page's. The browser sends the name in `Host`, so other names are refused.

use std::net::IpAddr;

use axum::http::{HeaderMap, StatusCode, Uri, header, uri::Authority};

use crate::{error::ApiError, extract};

/// Names in addition to IP addresses and `localhost`, which are always accepted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hosts {
    names: Vec<String>,
    any: bool,
}

impl Hosts {
    /// `*` accepts every name. The name in `public_url` is accepted too.
    pub(crate) fn new(listed: &[String], public_url: Option<&str>) -> Self {
        let public = public_url.and_then(|url| url.parse::<Uri>().ok()?.host().map(str::to_ascii_lowercase));
        let names = listed.iter().map(|name| name.to_ascii_lowercase()).chain(public).collect();
        Self { names, any: listed.iter().any(|name| name == "*") }
    }

    /// Refuses a request for another name.
    pub(crate) fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), ApiError> {
        let said = match extract::only(headers, header::HOST.as_str()) {
            None => None,
            Some(Ok(host)) => Some(host.to_str().unwrap_or_default()),
            Some(Err(_)) => return Err(unknown("two names")),
        };
        for host in said.into_iter().chain(uri.authority().map(Authority::as_str)) {
            if !self.knows(host) {
                return Err(unknown(&format!("{host:?}")));
            }
        }
        Ok(())
    }

    fn knows(&self, host: &str) -> bool {
        let Ok(authority) = host.parse::<Authority>() else { return self.any };
        let host = authority.host().to_ascii_lowercase();
        let name = host.strip_suffix('.').unwrap_or(&host);
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok();
        self.any
            || address
            || name == "localhost"
            || name.ends_with(".localhost")
            || self.names.iter().any(|n| n == name)
    }
}

fn unknown(host: &str) -> ApiError {
    let detail = format!(
        "the request was sent to {host}, which is no name of this server; use its address or localhost, or list the name \
         under [server] hosts"
    );
    ApiError::new(StatusCode::MISDIRECTED_REQUEST, "unknown_host", detail).closing()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_localhost_and_what_is_listed_are_known_and_no_other_name() {
        let hosts = Hosts::new(&["Board.example".to_owned()], Some("https://folkmoot.example.org/x"));
        for known in
            ["127.0.0.1:7400", "[::1]:7400", "10.1.2.3", "localhost:1", "LOCALHOST", "a.localhost", "board.example:80"]
        {
            assert!(hosts.knows(known), "{known}");
        }
        assert!(hosts.knows("folkmoot.example.org") && hosts.knows("localhost."));
        for other in ["x", "evil.example", "localhost.evil.example", "board.example.evil", "", "127.0.0.1.evil.example"]
        {
            assert!(!hosts.knows(other), "{other}");
        }
        assert!(Hosts::new(&["*".to_owned()], None).knows("evil.example"));
    }
}
