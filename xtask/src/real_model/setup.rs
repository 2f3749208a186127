//! Sets up `real-model`: a Python with the server, and the model. Both are created once and kept.

use std::{
    path::{Path, PathBuf},
    process::Stdio,
};

use anyhow::{Context, Result, ensure};

use super::scripts;
use crate::{cargo::terminated_with_us, python};

/// Returns the Python that has the server.
pub(super) fn server(home: &Path) -> Result<PathBuf> {
    let options = ["--only-binary", ":all:", "--require-hashes"];
    python::with(&home.join("venv"), &scripts().join("server.txt"), &options, "llama.cpp's server")
}

/// The path of the model, after its SHA-256 was compared.
pub(super) fn model(home: &Path, python: &Path) -> Result<PathBuf> {
    let output = terminated_with_us(python)
        .arg(scripts().join("get_model.py"))
        .arg(home.join("model"))
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()?;
    ensure!(output.status.success(), "there is no model to ask; see above");
    let path = String::from_utf8(output.stdout).context("the model's path is not UTF-8")?;
    Ok(PathBuf::from(path.trim_end()))
}
