//! The certificates that are trusted: the machine's, and those in `ca_file` of `[notify]`.

use std::{fmt, path::Path};

use rustls::pki_types::{CertificateDer, pem::PemObject};

/// Additional trusted certificates. Verification cannot be turned off.
#[derive(Clone, Default)]
pub struct Trust {
    pub certificates: Vec<CertificateDer<'static>>,
}

impl Trust {
    /// Reads the PEM file at `path`.
    pub fn read(path: &Path) -> Result<Self, String> {
        let wrong = |why: String| format!("{} cannot be used as ca_file: {why}", path.display());
        let text = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
        let certificates: Vec<_> = CertificateDer::pem_slice_iter(&text)
            .collect::<Result<_, _>>()
            .map_err(|error| wrong(error.to_string()))?;
        if certificates.is_empty() {
            return Err(wrong("it holds no certificate in PEM".to_owned()));
        }
        Ok(Self { certificates })
    }
}

impl fmt::Debug for Trust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trust({} certificates)", self.certificates.len())
    }
}
