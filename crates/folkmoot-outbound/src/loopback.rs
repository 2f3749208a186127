//! Connections to servers on this machine. They never use a proxy: a proxy would look for the
//! server on its own machine, and would see the key.

use std::net::IpAddr;

use reqwest::{Client, ClientBuilder, Url};

pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    address.map_or(host == "localhost", |address| address.to_canonical().is_loopback())
}

/// A client builder for `url`. It uses the environment's proxy only for other machines.
pub fn client(url: &Url) -> ClientBuilder {
    if is_loopback(url) { Client::builder().no_proxy() } else { Client::builder() }
}

#[cfg(test)]
mod tests;
