//! A Python environment with exactly the packages that a file pins. Created once and kept.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};

use crate::cargo::terminated_with_us;

/// What we install is for this Python and all later ones.
const PYTHON_MIN: &str = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";

/// The Python in `folder` with the packages in `pinned`; `options` are for pip, `what` is its name
/// for people.
pub(crate) fn with(folder: &Path, pinned: &Path, options: &[&str], what: &str) -> Result<PathBuf> {
    let python = folder.join("bin").join("python");
    let wanted = fs::read_to_string(pinned).with_context(|| format!("cannot read {}", pinned.display()))?;
    // Written last, so that an interrupted or outdated environment is created again.
    let mark = folder.join("complete");
    if fs::read_to_string(&mark).is_ok_and(|found| found == wanted) {
        return Ok(python);
    }

    let system = system_python(what)?;
    eprintln!("xtask: installing {what} into {}", folder.display());
    let made = terminated_with_us(Path::new(system)).args(["-m", "venv", "--clear"]).arg(folder).status()?.success();
    ensure!(made, "`{system} -m venv` failed; see above (on Debian: `apt-get install python3-venv`)");
    let installed = terminated_with_us(&python)
        .args(["-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"])
        .args(options)
        .arg("--requirement")
        .arg(pinned)
        .status()?
        .success();
    ensure!(
        installed,
        "pip cannot get {what}; see above. It needs a package index (PIP_INDEX_URL names another than the usual) that has a \
         wheel for this machine"
    );
    fs::write(&mark, wanted)?;
    Ok(python)
}

fn system_python(what: &str) -> Result<&'static str> {
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
        "{what} needs Python 3.10 or later with venv and pip: install it first (on Debian: `apt-get install python3 \
         python3-venv`)"
    );
}
