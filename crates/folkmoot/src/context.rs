//! What every verb has at hand: where the data is, which server and token were named, and the
//! screen.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use folkmoot_server::DataFolder;

use crate::{cli::Global, terminal::screen::Screen};

#[derive(Debug)]
pub(crate) struct CliContext {
    pub(crate) data: DataFolder,
    pub(crate) url: Option<String>,
    pub(crate) token: Option<String>,
    pub(crate) screen: Screen,
    /// What must be repeated on the command line of another terminal, to mean the same data.
    pub(crate) data_named: Option<PathBuf>,
    /// Whether a server that this process has to be executes workflows at once. Whoever is there
    /// only for a moment begins nothing that it could not end.
    pub(crate) works: bool,
}

impl CliContext {
    pub(crate) fn new(global: Global, works: bool) -> Result<Self> {
        let Global { data, url, token, json, no_color } = global;
        if no_color {
            anstream::ColorChoice::Never.write_global();
        }
        let path = match &data {
            Some(path) => std::path::absolute(path)?,
            None => platform_folder().context("there is no home folder; say with --data where the data is to be")?,
        };
        let from_environment = std::env::var_os("FOLKMOOT_DATA").map(PathBuf::from) == data;
        let data_named = data.filter(|_| !from_environment).map(|_| path.clone());
        must_be_folder(&path)?;
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        let (url, token) = (given(url).map(with_scheme).transpose()?, given(token));
        Ok(Self { data: DataFolder::at(path), url, token, screen: Screen::new(json), data_named, works })
    }

    /// Where the token comes from that the server is shown, as a sentence names it.
    pub(crate) fn token_source(&self) -> String {
        match &self.token {
            Some(token) if std::env::var("FOLKMOOT_TOKEN").is_ok_and(|variable| variable == *token) => {
                "in FOLKMOOT_TOKEN".to_owned()
            }
            Some(_) => "given with --token".to_owned(),
            None => format!("in {}", self.data.path().join("tokens.json").display()),
        }
    }

    /// This program, and what another terminal must add to reach the same data.
    pub(crate) fn command(&self) -> String {
        let program = program();
        match &self.data_named {
            Some(data) => format!("{program} --data {}", quoted(&data.display().to_string())),
            None => program,
        }
    }
}

/// As it was called, if that was by a path; so what we print can be pasted.
pub(crate) fn program() -> String {
    let name = std::env::args_os().next().and_then(|name| name.into_string().ok());
    name.filter(|name| name.contains('/')).map_or_else(|| "folkmoot".to_owned(), |name| quoted(&name))
}

/// Refuses a path at which no folder can be, by the name under which it was given.
fn must_be_folder(path: &Path) -> Result<()> {
    match path.ancestors().find(|ancestor| ancestor.exists()) {
        Some(file) if !file.is_dir() => {
            let (path, file) = (path.display(), file.display());
            bail!(
                "{path} cannot be the data folder, because {file} is no folder; choose another with --data or FOLKMOOT_DATA"
            )
        }
        Some(_) | None => Ok(()),
    }
}

/// An address of this machine needs no `http://`. To another machine a token travels, so whoever
/// names it says how.
fn with_scheme(url: String) -> Result<String> {
    if url.contains("://") {
        return Ok(url);
    }
    let host = url.split(['/', '?']).next().unwrap_or_default();
    let name = host.rsplit_once(':').filter(|(_, port)| port.parse::<u16>().is_ok()).map_or(host, |(name, _)| name);
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    if name == "localhost" || address.is_ok_and(|address| address.is_loopback()) {
        return Ok(format!("http://{url}"));
    }
    bail!("the address {url:?} does not say how to speak to the server; write https://{url}, or http://{url}")
}

/// For a shell.
pub(crate) fn quoted(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"/._-:@%+=,".contains(&b);
    if !text.is_empty() && text.bytes().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

fn platform_folder() -> Option<PathBuf> {
    let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = match absolute("XDG_DATA_HOME") {
        Some(base) => base,
        None if cfg!(target_os = "macos") => absolute("HOME")?.join("Library/Application Support"),
        None => absolute("HOME")?.join(".local/share"),
    };
    Some(base.join("folkmoot"))
}
