//! TLS with the certificates that this machine trusts. The only place that chooses a cryptography
//! provider for models, tools and messages.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::CertificateDer};

/// Reads the certificates only if the address needs them, because that takes longer than most
/// requests.
pub fn config(url: &str) -> ClientConfig {
    trusting(url, &[])
}

/// The same, with additional trusted certificates.
pub fn trusting(url: &str, further: &[CertificateDer<'static>]) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    if url.starts_with("https:") {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        roots.add_parsable_certificates(further.iter().cloned());
    }
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring speaks TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth()
}
