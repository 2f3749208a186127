//! The difference between two commits: all files, and the text as far as it fits.

use serde::{Deserialize, Serialize};

use super::{GitCommand, GitError, Repository};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diff {
    pub from: String,
    pub to: String,
    pub files: Vec<ChangedFile>,
    pub text: String,
    /// The text was cut, so a reader has not seen the whole change.
    pub cut: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// Its path. Bytes that are not text are shown as `�`.
    pub path: String,
    /// Its path before a rename.
    pub was: Option<String>,
    pub change: Change,
    /// Added and removed lines; `None` if it has no lines.
    pub lines: Option<(u64, u64)>,
}

folkmoot_core::vocabulary! {
    pub enum Change {
        Added = "added",
        /// Another content or mode.
        Modified = "modified",
        Deleted = "deleted",
        /// Another name, perhaps with another content.
        Renamed = "renamed",
        /// Another type: a link, a file, a submodule.
        Retyped = "retyped",
    }
}

impl Repository {
    pub async fn diff(&self, from: &str, to: &str) -> Result<Diff, GitError> {
        let (from, to) = (self.resolve(from).await?, self.resolve(to).await?);
        let place = self.reading();
        // Submodules are always compared, by id; a repository could ask to ignore them.
        let call = |format: &'static str| {
            GitCommand::new(
                &place,
                [
                    "diff-tree",
                    "-r",
                    "-M",
                    "--no-ext-diff",
                    "--no-textconv",
                    "--no-color",
                    "--submodule=short",
                    "--ignore-submodules=none",
                    format,
                ],
            )
        };
        let files = call("--raw").with("--numstat").with("-z").with(&from).with(&to);
        let files = files_of(&self.git.run(files).await?.stdout).ok_or_else(|| GitError::Failed {
            command: "diff-tree".into(),
            stderr: "its answer makes no sense".into(),
        })?;
        let answer = self.git.run(call("--patch").with(&from).with(&to).cut_at(self.git.limits.diff_bytes)).await?;
        let mut text = answer.stdout;
        if answer.cut {
            // Cut at the end of a line.
            let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
            text.truncate(end);
        }
        Ok(Diff { from, to, files, text: String::from_utf8_lossy(&text).into_owned(), cut: answer.cut })
    }
}

/// Parses `--raw --numstat -z`: `:<modes> <ids> <status>\0<path>\0[<path>\0]` for all files, then
/// `<added>\t<removed>\t<path>\0` or `<added>\t<removed>\t\0<path>\0<path>\0` for all of them in
/// the same order.
fn files_of(answer: &[u8]) -> Option<Vec<ChangedFile>> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut parts = answer.split(|byte| *byte == 0).filter(|part| !part.is_empty()).peekable();
    let mut files = Vec::new();
    while let Some(head) = parts.next_if(|part| part.starts_with(b":")) {
        let change = match head.rsplit(|byte| *byte == b' ').next()?.first()? {
            b'A' | b'C' => Change::Added,
            b'D' => Change::Deleted,
            b'M' => Change::Modified,
            b'R' => Change::Renamed,
            b'T' => Change::Retyped,
            _ => return None,
        };
        let mut path = text(parts.next()?);
        let mut was = None;
        if change == Change::Renamed {
            was = Some(std::mem::replace(&mut path, text(parts.next()?)));
        }
        files.push(ChangedFile { path, was, change, lines: None });
    }
    for file in &mut files {
        let mut fields = parts.next()?.splitn(3, |byte| *byte == b'\t');
        let number = |field: &[u8]| std::str::from_utf8(field).ok()?.parse::<u64>().ok();
        let (added, removed) = (fields.next()?, fields.next()?);
        file.lines = number(added).zip(number(removed));
        if fields.next()?.is_empty() {
            parts.next()?;
            parts.next()?;
        }
    }
    parts.next().is_none().then_some(files)
}

#[cfg(test)]
mod tests;
