//! What a debate does outside of the database: it executes code, calls tools and writes to a
//! repository. Each of these is a step of the run, so a replay needs none of them.

use std::{
    fmt,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use folkmoot_core::Role;
use folkmoot_debate::agent::ToolKind;
use folkmoot_tools::{
    JailLimits, Profile, Repository, Worktree,
    git::{Author, Removal, Snapshot, WorktreeKind},
    project::{self, Hook, ProjectCheck},
    testing::{self, Solution, Suite, TestRun},
    tool::{ToolCall, ToolError, ToolErrorCode, ToolOffer},
};
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::{Equipment, Site, Workbench};

/// At most this many workbenches are kept between calls.
const BENCHES_MAX: usize = 64;

/// The branch that a debate's code is committed to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Branch {
    /// The user's repository.
    pub repository: String,
    /// The session of the debate, which the branch belongs to.
    pub session: String,
}

/// The debate, role and branch that tools are called for.
#[derive(Clone, Debug)]
pub struct ToolContext {
    pub debate: String,
    /// The role of the principal that started the debate.
    pub role: Role,
    pub branch: Option<Branch>,
}

/// A command of the project, and its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProjectCommandRun {
    pub command: String,
    /// Whether it succeeded.
    pub passed: bool,
    /// The end of its output, or why it could not be executed.
    pub output: String,
    /// Whether it was executed at all.
    #[serde(default = "executed")]
    pub executed: bool,
}

/// For recordings without this field.
fn executed() -> bool {
    true
}

/// Everything that a debate does outside of its run, except calling models.
pub trait Effects: fmt::Debug + Send + Sync {
    /// Executes tests on a solution, in the jail. An error means that the jail or a tool chain is
    /// missing.
    fn test(&self, solution: Solution, suite: Suite) -> BoxFuture<'_, Result<TestRun, String>>;

    /// The tools of an agent that works with these kinds.
    fn offers(&self, place: ToolContext, kinds: Vec<ToolKind>) -> BoxFuture<'_, Vec<ToolOffer>>;

    /// Calls one of these tools. A tool that may change something outside is called only if a
    /// person has approved the call.
    fn call(
        &self,
        place: ToolContext,
        kinds: Vec<ToolKind>,
        tool: String,
        arguments: serde_json::Value,
        approved: bool,
    ) -> BoxFuture<'_, ToolCall>;

    /// Writes a file into the debate's worktree and commits it. Returns the commit's name.
    fn commit(
        &self,
        branch: Branch,
        file: String,
        content: String,
        author: Author,
    ) -> BoxFuture<'_, Result<String, String>>;

    /// Runs the project's commands for a hook, in the debate's worktree.
    fn hook(&self, branch: Branch, hook: Hook) -> BoxFuture<'_, Result<Vec<ProjectCommandRun>, String>>;

    /// Removes the worktree. The branch stays, with what was committed. Does nothing if nothing is
    /// left.
    fn clean(&self, debate: String, branch: Option<Branch>) -> BoxFuture<'_, Result<(), String>>;
}

/// Effects that really happen.
#[derive(Debug)]
pub struct RealEffects {
    equipment: Arc<Equipment>,
    /// By debate, the oldest first. They are kept so that connections to MCP servers are made only
    /// once.
    benches: Mutex<Vec<(String, Arc<Workbench>)>>,
}

impl RealEffects {
    pub fn new(equipment: Arc<Equipment>) -> Self {
        Self { equipment, benches: Mutex::default() }
    }

    fn benches(&self) -> std::sync::MutexGuard<'_, Vec<(String, Arc<Workbench>)>> {
        self.benches.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn bench(&self, ToolContext { debate, role, branch }: &ToolContext) -> Arc<Workbench> {
        if let Some((_, bench)) = self.benches().iter().find(|(name, _)| name == debate) {
            return Arc::clone(bench);
        }
        let site = match branch {
            Some(branch) => worktree(branch).await.ok().map(|worktree| Site::Worktree(Box::new(worktree))),
            None => None,
        };
        let bench = Arc::new(Workbench::new(&self.equipment, site.as_ref(), *role).await);
        let mut benches = self.benches();
        if benches.len() >= BENCHES_MAX {
            benches.remove(0);
        }
        benches.push((debate.to_owned(), Arc::clone(&bench)));
        bench
    }
}

impl Effects for RealEffects {
    fn test(&self, solution: Solution, suite: Suite) -> BoxFuture<'_, Result<TestRun, String>> {
        Box::pin(async move {
            let jail = self.equipment.jail().await;
            let limits = testing::limits(solution.language);
            testing::run_tests(jail, &solution, &suite, &limits).await.map_err(|error| error.to_string())
        })
    }

    fn offers(&self, place: ToolContext, kinds: Vec<ToolKind>) -> BoxFuture<'_, Vec<ToolOffer>> {
        Box::pin(async move { self.bench(&place).await.toolbox(&kinds).offers() })
    }

    fn call(
        &self,
        place: ToolContext,
        kinds: Vec<ToolKind>,
        tool: String,
        arguments: serde_json::Value,
        approved: bool,
    ) -> BoxFuture<'_, ToolCall> {
        Box::pin(async move {
            let toolbox = self.bench(&place).await.toolbox(&kinds);
            if toolbox.has_effects(&tool) && !approved {
                // The tool was not offered, or it changed since it was offered as one without
                // effects.
                let why = format!("`{tool}` may change something, and nobody was asked about this call");
                let result = Err(ToolError::new(ToolErrorCode::Missing, why));
                return ToolCall { tool, arguments, result, elapsed_ms: 0 };
            }
            toolbox.call(&tool, arguments).await
        })
    }

    fn commit(
        &self,
        branch: Branch,
        file: String,
        content: String,
        author: Author,
    ) -> BoxFuture<'_, Result<String, String>> {
        Box::pin(async move {
            let worktree = worktree(&branch).await?;
            let snapshot = Snapshot { files: vec![(file, content.into_bytes())], deletions: Vec::new() };
            let committed = worktree.commit(snapshot, &author).await.map_err(|error| error.to_string())?;
            Ok(committed.commit)
        })
    }

    fn hook(&self, branch: Branch, hook: Hook) -> BoxFuture<'_, Result<Vec<ProjectCommandRun>, String>> {
        Box::pin(async move {
            let worktree = worktree(&branch).await?;
            let project = project::detect(worktree.folder()).map_err(|error| error.to_string())?;
            let (jail, limits) = (self.equipment.jail().await, JailLimits::of(Profile::Project));
            let mut all = Vec::new();
            for purpose in hook.purposes() {
                let check = project::check(jail, worktree.folder(), &project, *purpose, &limits).await;
                match check.map_err(|error| error.to_string())? {
                    ProjectCheck::NoCommand => {}
                    ProjectCheck::Unavailable(why) => all.push(ProjectCommandRun {
                        command: purpose.to_string(),
                        passed: false,
                        output: why,
                        executed: false,
                    }),
                    ProjectCheck::Ran(results) => all.extend(results.into_iter().map(|result| ProjectCommandRun {
                        command: result.command.argv.join(" "),
                        passed: result.passed,
                        output: result.output,
                        executed: true,
                    })),
                }
            }
            Ok(all)
        })
    }

    fn clean(&self, debate: String, branch: Option<Branch>) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            self.benches().retain(|(name, _)| *name != debate);
            let Some(branch) = branch else { return Ok(()) };
            let repository = open(&branch).await?;
            let removed = repository.remove(WorktreeKind::Debate, &branch.session, Removal::Folder).await;
            removed.map_err(|error| error.to_string())
        })
    }
}

async fn open(branch: &Branch) -> Result<Repository, String> {
    Repository::open(Path::new(&branch.repository)).await.map_err(|error| error.to_string())
}

async fn worktree(branch: &Branch) -> Result<Worktree, String> {
    open(branch).await?.worktree(WorktreeKind::Debate, &branch.session, None).await.map_err(|error| error.to_string())
}
