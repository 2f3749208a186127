//! Servers on this machine. No proxy stands between us and them: it would look for them on its own
//! machine, and be shown their key.

use std::net::IpAddr;

use reqwest::{Client, ClientBuilder, Url};

/// Whether `url` leads to this machine.
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    address.map_or(host == "localhost", |address| address.to_canonical().is_loopback())
}

/// The beginning of a client for `url`, which uses the environment's proxy only where that can lead
/// there.
pub fn client(url: &Url) -> ClientBuilder {
    if is_loopback(url) { Client::builder().no_proxy() } else { Client::builder() }
}

#[cfg(test)]
mod tests;
