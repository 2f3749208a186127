//! Programs that tests need and cargo cannot install.

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

/// True if the program starts and answers `--version`.
pub(crate) fn works(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Installs a Debian package, or says how to.
pub(crate) fn install(package: &str, why: &str) -> Result<()> {
    if !is_root() || !works("apt-get") {
        bail!("{why}: install it first (on Debian: `apt-get install --no-install-recommends {package}`)");
    }
    eprintln!("xtask: {why}; installing the package {package}");
    for arguments in [&["update"][..], &["install", "-y", "--no-install-recommends", package]] {
        let done = Command::new("apt-get")
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null())
            .status()?
            .success();
        if !done {
            bail!("`apt-get {}` failed; see above", arguments.join(" "));
        }
    }
    Ok(())
}

pub(crate) fn is_root() -> bool {
    id("-u", None).is_some_and(|uid| uid == 0)
}

/// What `id` says: `-u` or `-g`, of this user or of a named one.
pub(crate) fn id(what: &str, user: Option<&str>) -> Option<u32> {
    let output = Command::new("id").arg(what).args(user).output().ok()?;
    if !output.status.success() {
        return None;
    }
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}
