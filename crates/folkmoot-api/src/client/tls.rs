//! TLS with the certificates that this machine trusts. The only place here that chooses a provider.

use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore, crypto::ring};

pub(super) fn config() -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring speaks TLS 1.2 and 1.3")
        .with_root_certificates(roots)
        .with_no_client_auth()
}
