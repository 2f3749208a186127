//! TLS with the certificates that this machine trusts. The only place in this crate that chooses a
//! crypto provider.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore, crypto::ring};

/// Reads the certificates only for an address that needs them, because that takes longer than most
/// requests.
pub(super) fn config(url: &str) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    if url.starts_with("https:") {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring speaks TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth()
}
