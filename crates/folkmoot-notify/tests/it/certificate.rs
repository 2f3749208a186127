//! A certificate for 127.0.0.1, but not for its name, that nobody trusts, made for one test.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tempfile::TempDir;
use tokio_rustls::TlsAcceptor;

pub struct Certificate {
    folder: TempDir,
}

impl Certificate {
    /// `None` without openssl, which is said.
    pub fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let made = Command::new("openssl")
            .args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"])
            .args(["-subj", "/CN=folkmoot-test", "-addext", "subjectAltName=IP:127.0.0.1"])
            .args(["-addext", "basicConstraints=critical,CA:FALSE", "-keyout", "key.pem", "-out", "certificate.pem"])
            .current_dir(folder.path())
            .output();
        match made {
            Ok(made) => {
                assert!(made.status.success(), "openssl: {}", String::from_utf8_lossy(&made.stderr));
                Some(Self { folder })
            }
            Err(_) => {
                eprintln!("skipped a test that needs the program openssl to make a certificate");
                None
            }
        }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.path().join("certificate.pem")
    }

    pub fn acceptor(&self) -> TlsAcceptor {
        let read = |name: &str| std::fs::read(Path::new(self.folder.path()).join(name)).unwrap();
        let chain = CertificateDer::pem_slice_iter(&read("certificate.pem")).map(Result::unwrap).collect();
        let key = PrivateKeyDer::from_pem_slice(&read("key.pem")).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }
}
