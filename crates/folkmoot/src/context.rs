//! What every verb needs: the data folder, the named server and token, and the screen.

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
    /// The data folder if it was named; another terminal must name it too.
    pub(crate) data_named: Option<PathBuf>,
    /// Whether a server that this process hosts executes workflows at once. A short-lived command
    /// must not start work that it cannot finish.
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

    /// Where the token comes from, as words for a sentence.
    pub(crate) fn token_source(&self) -> String {
        match &self.token {
            Some(token) if std::env::var("FOLKMOOT_TOKEN").is_ok_and(|variable| variable == *token) => {
                "in FOLKMOOT_TOKEN".to_owned()
            }
            Some(_) => "given with --token".to_owned(),
            None => format!("in {}", self.data.path().join("tokens.json").display()),
        }
    }

    /// How to call this program from another terminal so that it uses the same data.
    pub(crate) fn command(&self) -> String {
        let program = program();
        match &self.data_named {
            Some(data) => format!("{program} --data {}", quoted(&data.display().to_string())),
            None => program,
        }
    }
}

/// The program as it was called, if by a path, so that printed commands can be pasted.
pub(crate) fn program() -> String {
    let name = std::env::args_os().next().and_then(|name| name.into_string().ok());
    name.filter(|name| name.contains('/')).map_or_else(|| "folkmoot".to_owned(), |name| quoted(&name))
}

/// Refuses a path that cannot be a folder. The error names the path as the user gave it.
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

/// Adds `http://` to an address of this machine. For other machines the user must name the scheme,
/// because a token is sent there.
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

/// Quotes a text for a shell.
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
