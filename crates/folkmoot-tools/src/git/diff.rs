//! What differs between two commits: every file, and the text as far as it fits.

use serde::{Deserialize, Serialize};

use super::{GitCommand, GitError, Repository};

/// What differs between two commits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diff {
    /// The commit before.
    pub from: String,
    /// The commit after.
    pub to: String,
    /// Every file that differs.
    pub files: Vec<ChangedFile>,
    /// The unified diff.
    pub text: String,
    /// The text was longer, and ends before its end. Nobody has seen all of the change then.
    pub cut: bool,
}

/// A file that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// Where it is, or was. What is no text in the name is shown as `�`.
    pub path: String,
    /// Where it was before it was renamed.
    pub was: Option<String>,
    /// What happened to it.
    pub change: Change,
    /// Lines that are new and lines that are gone; nothing for what has no lines.
    pub lines: Option<(u64, u64)>,
}

folkmoot_core::vocabulary! {
    /// What happened to a file.
    pub enum Change {
        /// It is new.
        Added = "added",
        /// It has another content or mode.
        Modified = "modified",
        /// It is gone.
        Deleted = "deleted",
        /// It has another name, and perhaps another content.
        Renamed = "renamed",
        /// It is something else: a link, a file, a submodule.
        Retyped = "retyped",
    }
}

impl Repository {
    /// What differs between two revisions.
    pub async fn diff(&self, from: &str, to: &str) -> Result<Diff, GitError> {
        let (from, to) = (self.resolve(from).await?, self.resolve(to).await?);
        let place = self.reading();
        // Submodules are compared by their ids alone, and always: a repository could ask to pass
        // over them.
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
            // At the end of a line, so that what is there can be read.
            let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
            text.truncate(end);
        }
        Ok(Diff { from, to, files, text: String::from_utf8_lossy(&text).into_owned(), cut: answer.cut })
    }
}

/// Reads `--raw --numstat -z`: first `:<modes> <ids> <status>\0<path>\0[<path>\0]` for all files,
/// then `<added>\t<removed>\t<path>\0` or `<added>\t<removed>\t\0<path>\0<path>\0` for all of them
/// in the same order.
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
