//! Signed statements (checkpoints and receipts) in files.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use folkmoot_api::{core::checkpoint::Checkpoint, wire};
use folkmoot_server::{PublicKey, signed, workflows::llm::structured};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::context::CliContext;

#[derive(Debug)]
pub(super) struct SavedStatement {
    /// The file, and the line if it has several.
    pub(super) place: String,
    /// Exactly as it was signed.
    statement: Value,
}

/// Reads the checkpoints in files: a single one, one per line, or the one in a receipt. A line that
/// is not a checkpoint, such as one cut off by a crash, is reported and skipped.
pub(super) fn read_checkpoints(ctx: &CliContext, paths: &[PathBuf]) -> Result<Vec<SavedStatement>> {
    let mut kept = Vec::new();
    for path in paths {
        let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let text = String::from_utf8_lossy(&bytes);
        let shown = path.display();
        if let Ok(statement) = unambiguous(&text) {
            kept.push(SavedStatement::new(shown.to_string(), statement));
            continue;
        }
        let before = kept.len();
        for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            match unambiguous(line) {
                Ok(statement) => kept.push(SavedStatement::new(format!("{shown}, line {}", n + 1), statement)),
                Err(problem) => ctx.screen.note(format!("{shown}, line {} is left out: {problem}", n + 1)),
            }
        }
        if kept.len() == before {
            bail!("{shown} holds no checkpoint");
        }
    }
    Ok(kept)
}

impl SavedStatement {
    pub(super) fn new(place: String, mut statement: Value) -> Self {
        let inner = statement.get_mut("checkpoint").map(Value::take);
        Self { place, statement: inner.unwrap_or(statement) }
    }

    /// The content, if this key signed it; otherwise why it does not count.
    pub(super) fn stated(&self, expected: Option<&PublicKey>) -> Result<(Checkpoint, PublicKey), String> {
        let key = signed::check(&self.statement, expected).map_err(|problem| problem.to_string())?;
        let checkpoint: Option<Checkpoint> =
            parse::<wire::Checkpoint>(&self.statement).ok().and_then(|it| it.statement());
        Ok((checkpoint.ok_or_else(|| "it is signed, but no checkpoint".to_owned())?, key))
    }
}

/// Parses JSON and refuses duplicate members: another reader might use the one that we ignore.
pub(super) fn unambiguous(text: &str) -> Result<Value, String> {
    structured::parse(text)
}

pub(super) fn parse<T: DeserializeOwned>(statement: &Value) -> serde_json::Result<T> {
    T::deserialize(statement)
}

/// Reads a key file that `folkmoot audit key` wrote.
pub(super) fn read_key(path: &Path) -> Result<PublicKey> {
    PublicKey::from_pem(&read(path)?)
        .with_context(|| format!("{} holds no key; write one there with `folkmoot audit key`", path.display()))
}

pub(super) fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Writes a signed statement to a file, or prints it.
pub(super) fn put(ctx: &CliContext, statement: &Value, out: Option<&Path>, what: &str) -> Result<()> {
    match out {
        Some(path) => {
            let text = serde_json::to_string_pretty(statement)? + "\n";
            std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
            ctx.screen.note(format!("{what} in {}", path.display()));
            Ok(())
        }
        None => ctx.screen.json(statement),
    }
}
