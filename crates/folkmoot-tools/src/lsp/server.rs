//! A running server, in the jail or outside.

use std::{collections::BTreeMap, path::Path, time::Duration};

use tokio::{io::AsyncWrite, process::ChildStdout};

use super::{Lsp, LspError, LspLanguage, LspPlacement};
use crate::{
    child::{self, Child, ProcessSpec},
    foreign,
    jail::{self, FOLDER, Inmate, Jail, JailError, JailJob, JailLimits, JobEnd, Profile},
    program,
    project::tools,
};

/// Longer than the conversation's own limit; a second line of defence.
const WALL_MARGIN: Duration = Duration::from_secs(30);
/// Far more than a server logs in one conversation.
const LOG_BYTES_MAX: usize = 16 << 20;

/// A running language server.
#[derive(Debug)]
pub(super) enum LspProcess {
    Inside(Inmate),
    Outside(Child),
}

pub(super) type Input = Box<dyn AsyncWrite + Send + Sync + Unpin>;

impl LspProcess {
    /// The only place that starts a language server.
    pub(super) async fn start(
        lsp: &Lsp,
        command: &[String],
        language: LspLanguage,
        root: &Path,
    ) -> Result<Self, LspError> {
        match &lsp.place {
            LspPlacement::Jail(jail) => {
                let mut job = lend(jail, command, language).await?;
                job.folder = Some(root.to_owned());
                job.limits.wall = lsp.total + WALL_MARGIN;
                Ok(Self::Inside(jail.start(job).await?))
            }
            LspPlacement::OutsideTheJail => {
                let start = ProcessSpec { command, environment: &environment(), folder: root };
                child::start(&start).map(Self::Outside).map_err(LspError::Missing)
            }
        }
    }

    /// The project's path, as the server sees it.
    pub(super) fn root<'a>(&self, root: &'a Path) -> &'a Path {
        match self {
            Self::Inside(_) => Path::new(FOLDER),
            Self::Outside(_) => root,
        }
    }

    pub(super) fn is_jailed(&self) -> bool {
        matches!(self, Self::Inside(_))
    }

    pub(super) fn pipes(&mut self) -> Option<(Input, ChildStdout)> {
        match self {
            Self::Inside(inmate) => Some((Box::new(inmate.stdin.take()?), inmate.stdout.take()?)),
            Self::Outside(child) => Some((Box::new(child.stdin.take()?), child.stdout.take()?)),
        }
    }

    /// Waits for it to end, then ends it. Returns its last message.
    pub(super) async fn end(self, patience: Duration) -> String {
        let complaint = match self {
            Self::Outside(mut child) => {
                let complaint = child.complaint().await;
                child.end(patience).await;
                complaint
            }
            Self::Inside(inmate) => match inmate.end(patience).await {
                Ok(report) => {
                    let said = String::from_utf8_lossy(&report.stderr).into_owned();
                    match report.end {
                        JobEnd::Limited(jail::Limit::Wall) | JobEnd::Exited(_) => said,
                        JobEnd::Limited(limit) => format!("{said}\nit reached its limit of {limit}"),
                        JobEnd::Signalled(signal) => format!("{said}\nsignal {signal}"),
                    }
                }
                Err(error) => error.to_string(),
            },
        };
        foreign::line(&complaint, 1000)
    }
}

/// The job for a server, with everything it needs except the project.
pub(super) async fn lend(jail: &Jail, command: &[String], language: LspLanguage) -> Result<JailJob, LspError> {
    let Some((server, arguments)) = command.split_first() else {
        return Err(LspError::Missing("the command is empty: name a program".to_owned()));
    };
    let mut job = JailJob::new(Profile::Project, ["true"]);
    // Some servers call the project's compiler; others work without.
    let tool_chain = match language {
        LspLanguage::Rust => jail::ProgramLanguage::Rust,
        LspLanguage::Python => jail::ProgramLanguage::Python,
        LspLanguage::TypeScript | LspLanguage::JavaScript => jail::ProgramLanguage::JavaScript,
        LspLanguage::Go => jail::ProgramLanguage::Go,
        LspLanguage::Shell => jail::ProgramLanguage::Bash,
    };
    match tools::lend(jail, tool_chain, &mut job).await {
        Ok(()) | Err(JailError::Missing(_)) => {}
        Err(error) => return Err(error.into()),
    }
    job.command = program::lend(jail, server, &mut job).await?;
    job.command.extend(arguments.iter().cloned());
    let known = language.servers().iter().find(|known| Path::new(server).ends_with(known.command[0]));
    for needed in known.into_iter().flat_map(|known| known.needs) {
        let needed = program::lend(jail, needed, &mut job).await?;
        program::put_first(&mut job, needed.last().map_or("", String::as_str));
    }
    job.environment.extend(environment());
    // The project is read-only.
    job.environment.insert("CARGO_TARGET_DIR".to_owned(), "/tmp/target".to_owned());
    job.folder_is_read_only = true;
    job.limits = JailLimits { output_bytes: LOG_BYTES_MAX, ..JailLimits::of(Profile::Project) };
    Ok(job)
}

/// `rust-analyzer` is often rustup, which would download a whole tool chain.
fn environment() -> BTreeMap<String, String> {
    BTreeMap::from([("RUSTUP_AUTO_INSTALL".to_owned(), "0".to_owned())])
}

impl From<JailError> for LspError {
    fn from(error: JailError) -> Self {
        match error {
            JailError::NoJail(why) => Self::NoJail(why),
            JailError::Missing(why) => Self::Missing(why),
            JailError::Invalid(why) => Self::Invalid(why),
            JailError::Failed(_) => Self::Failed(error.to_string()),
        }
    }
}
