//! The tools of the agents of one run, made from the equipment of the server.
//!
//! ```text
//! Equipment (jail, MCP) + a folder or worktree ─▶ Workbench ─toolbox(an agent's kinds)─▶ Toolbox
//! ```

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use folkmoot_core::Role;
use folkmoot_debate::agent::ToolKind;
use folkmoot_tools::{
    Jail, JailLimits, Mcp, Profile, Repository, Tool, Toolbox, Worktree, git, lsp,
    tool::{CommitRange, ExecuteTool, FormatTool, ProjectCommandTool, RunTestsTool, SearchTool, serving_all},
};
use futures_util::future::join_all;

use crate::Equipment;

/// How long one call may take: as long as a project's command, plus a little to report its result.
const CALL_MAX: Duration = Duration::from_secs(630);

/// What agents work on.
#[derive(Clone, Debug)]
pub enum Site {
    /// A folder of the user. It is read, and the project's commands run in it. Whether it is in a
    /// git repository is detected.
    Folder(PathBuf),
    /// The worktree of a run.
    Worktree(Box<Worktree>),
}

impl Site {
    fn folder(&self) -> &Path {
        match self {
            Self::Folder(folder) => folder,
            Self::Worktree(worktree) => worktree.folder(),
        }
    }
}

/// All tools of a run. Connections to MCP servers end when it and its toolboxes are dropped.
#[derive(Clone, Debug)]
pub struct Workbench {
    tools: Toolbox,
    /// What was configured or looked for and is missing, and why.
    pub missing: Vec<String>,
}

impl Workbench {
    /// Collects the tools. What is missing is noted in `missing`, and the rest works nevertheless:
    /// without a jail no tool executes anything, and each says so when it is called. A role that
    /// decides gets all MCP servers; other roles get only those whose configuration allows it.
    pub async fn new(equipment: &Equipment, site: Option<&Site>, role: Role) -> Self {
        let mut tools = Toolbox::default();
        tools.timeout = CALL_MAX;
        let mut bench = Self { tools, missing: Vec::new() };
        let jail = equipment.jail().await;
        bench.add(ExecuteTool::new(jail.clone()));
        bench.add(RunTestsTool::new(jail.clone()));
        bench.add(FormatTool::new(jail.clone()));
        if let Some(site) = site {
            bench.add_site(jail, site).await;
        }
        let servers = equipment.mcp.iter().filter(|server| server.for_agents || role.decides());
        let connected = servers.map(|server| Mcp::connect(server.clone()));
        for connected in join_all(connected).await {
            match connected {
                Ok(mcp) => mcp.tools().iter().for_each(|tool| bench.add_shared(Arc::clone(tool))),
                Err(error) => bench.missing.push(error.to_string()),
            }
        }
        bench
    }

    async fn add_site(&mut self, jail: &Jail, site: &Site) {
        let folder = site.folder();
        self.add(ProjectCommandTool::new(jail.clone(), folder, JailLimits::of(Profile::Project)));
        self.add(lsp::DiagnosticsTool::new(folder, lsp::Lsp::new(jail.clone())));
        match SearchTool::new(folder) {
            Ok(search) => self.add(search),
            Err(error) => self.missing.push(format!("search: {error}")),
        }
        match commit_range(site).await {
            Ok(range) => range.tools().into_iter().for_each(|tool| self.add(tool)),
            Err(error) => self.missing.push(format!("git: {error}")),
        }
    }

    fn add(&mut self, tool: impl Tool + 'static) {
        self.add_shared(Arc::new(tool));
    }

    fn add_shared(&mut self, tool: Arc<dyn Tool>) {
        if let Err(error) = self.tools.add(tool) {
            self.missing.push(error.to_string());
        }
    }

    /// The tools of an agent: those of its kinds, and those of all MCP servers. Missing tools are
    /// not included: without a folder there is nothing to search.
    pub fn toolbox(&self, kinds: &[ToolKind]) -> Toolbox {
        let serving = serving_all(kinds);
        let own = self.tools.names().filter(|name| serving.contains(name) || name.starts_with("mcp/"));
        self.tools.only(own).expect("these are names of its own tools")
    }
}

async fn commit_range(site: &Site) -> Result<CommitRange, git::GitError> {
    match site {
        Site::Worktree(worktree) => Ok(CommitRange::of_worktree(worktree)),
        Site::Folder(folder) => Ok(CommitRange::of_repository(Repository::open(folder).await?, "HEAD~1", "HEAD")),
    }
}
