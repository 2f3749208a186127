//! What an agent shows the reviewer: files, or standard input.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use folkmoot_api::wire::NewArtifact;

/// `PATH`, or `NAME=PATH`; `-` is standard input.
#[derive(Clone, Debug)]
pub(crate) struct ArtifactSource {
    name: String,
    path: PathBuf,
}

impl ArtifactSource {
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let (name, path) = match text.split_once('=') {
            // If a file has this name, the `=` is part of the name.
            Some((name, path)) if !Path::new(text).exists() => (Some(name), path),
            _ => (None, text),
        };
        let path = PathBuf::from(path);
        let own_name =
            || if is_stdin(&path) { "stdin".into() } else { path.file_name().unwrap_or_default().to_string_lossy() };
        let name = name.map_or_else(|| own_name().into_owned(), str::to_owned);
        if name.is_empty() || path.as_os_str().is_empty() {
            bail!("write PATH or NAME=PATH");
        }
        Ok(Self { name, path })
    }

    fn read(&self) -> Result<NewArtifact> {
        let content = read_text(&self.path)?;
        // In `change.diff=-`, the name sets the media type of what comes by standard input.
        let named = if is_stdin(&self.path) { Path::new(&self.name) } else { &self.path };
        Ok(NewArtifact { name: self.name.clone(), media_type: media_type(named).to_owned(), content })
    }
}

/// Reads all sources. `summary` is the file of the summary, if there is one: standard input can be
/// read only once.
pub(crate) fn read_all(sources: &[ArtifactSource], summary: Option<&Path>) -> Result<Vec<NewArtifact>> {
    let readers = sources.iter().map(|source| source.path.as_path()).chain(summary).filter(|path| is_stdin(path));
    if readers.count() > 1 {
        bail!("standard input can be read only once; give one `-`");
    }
    sources.iter().map(ArtifactSource::read).collect()
}

/// The text of a file, or of standard input.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    let bytes = if is_stdin(path) {
        let mut bytes = Vec::new();
        std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes).context("cannot read standard input")?
    } else {
        std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?
    };
    String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("{} is no UTF-8 text; gates carry text", path.display()))
}

fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn media_type(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("diff" | "patch") => "text/x-diff",
        Some("md" | "markdown") => "text/markdown",
        Some("json") => "application/json",
        _ => "text/plain",
    }
}
