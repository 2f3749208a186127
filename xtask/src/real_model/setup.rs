//! A Python of our own with the server in it, and the model. Both are made once and kept.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};

use super::scripts;
use crate::cargo::terminated_with_us;

/// The server's wheels are for this Python and all later ones.
const PYTHON_MIN: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";

/// Returns the Python that has the server.
pub(super) fn server(home: &Path) -> Result<PathBuf> {
    let folder = home.join("venv");
    let python = folder.join("bin").join("python");
    let pinned = scripts().join("server.txt");
    let wanted = fs::read_to_string(&pinned).with_context(|| format!("cannot read {}", pinned.display()))?;
    // Written when all else is there: what was interrupted, or is of another version, is made again.
    let mark = folder.join("complete");
    if fs::read_to_string(&mark).is_ok_and(|found| found == wanted) {
        return Ok(python);
    }

    let system = system_python()?;
    eprintln!("xtask: installing llama.cpp's server into {}", folder.display());
    let made = terminated_with_us(Path::new(system)).args(["-m", "venv", "--clear"]).arg(&folder).status()?.success();
    ensure!(made, "`{system} -m venv` failed; see above (on Debian: `apt-get install python3-venv`)");
    let installed = terminated_with_us(&python)
        .args(["-m", "pip", "--disable-pip-version-check", "install", "--quiet"])
        .args(["--no-deps", "--only-binary", ":all:", "--require-hashes", "--requirement"])
        .arg(&pinned)
        .status()?
        .success();
    ensure!(
        installed,
        "pip cannot get the server; see above. It needs a package index (PIP_INDEX_URL names another than the usual) that has a \
         wheel for this machine"
    );
    fs::write(&mark, wanted)?;
    Ok(python)
}

fn system_python() -> Result<&'static str> {
    for name in ["python3", "python"] {
        let good = Command::new(name)
            .args(["-c", PYTHON_MIN])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success());
        if good {
            return Ok(name);
        }
    }
    bail!(
        "the model's server needs Python 3.10 or later with venv and pip: install it first (on Debian: `apt-get install \
         python3 python3-venv`)"
    );
}

/// Returns where the model is, whose SHA-256 was compared just now.
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
