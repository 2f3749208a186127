//! Runs a project's own commands in the jail.

use std::path::PathBuf;

use futures_util::{FutureExt, future::BoxFuture};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Tool, ToolError, execute::ended, parsed, printed};
use crate::{
    jail::{Jail, JailLimits, JobEnd},
    project::{self, CommandResult, ProjectCheck, Purpose},
};

/// How much of the commands' output is returned.
const OUTPUT_BYTES: usize = 24 * 1024;

#[derive(Clone, Debug)]
pub struct ProjectCommandTool {
    jail: Jail,
    folder: PathBuf,
    limits: JailLimits,
}

impl ProjectCommandTool {
    pub const NAME: &str = "project_command";

    /// For the project in a folder.
    pub fn new(jail: Jail, folder: impl Into<PathBuf>, limits: JailLimits) -> Self {
        Self { jail, folder: folder.into(), limits }
    }

    async fn run(&self, arguments: Value) -> Result<Value, ToolError> {
        #[derive(Deserialize)]
        struct Arguments {
            purpose: Purpose,
        }
        let Arguments { purpose } = parsed(arguments)?;
        // Detected each time: an agent may have written a new command.
        let folder = self.folder.clone();
        let detected = tokio::task::spawn_blocking(move || project::detect(&folder)).await;
        let project = detected
            .map_err(|error| ToolError::failed(error.to_string()))?
            .map_err(|error| ToolError::failed(format!("the project's folder cannot be read: {error}")))?;
        let check = project::check(&self.jail, &self.folder, &project, purpose, &self.limits).await?;
        let passed = check.passed();
        Ok(match check {
            ProjectCheck::NoCommand => json!({ "outcome": "no_command", "passed": passed }),
            ProjectCheck::Unavailable(why) => json!({ "outcome": "unavailable", "passed": passed, "why": why }),
            ProjectCheck::Ran(results) => {
                let output_bytes = OUTPUT_BYTES / results.len().max(1);
                let commands: Vec<Value> = results.iter().map(|result| told(result, output_bytes)).collect();
                json!({ "outcome": "ran", "passed": passed, "commands": commands })
            }
        })
    }
}

fn told(result: &CommandResult, output_bytes: usize) -> Value {
    let (code, limit) = match result.end {
        JobEnd::Exited(code) => (Some(code), None),
        JobEnd::Signalled(_) => (None, None),
        JobEnd::Limited(limit) => (None, Some(limit)),
    };
    super::without_nulls(json!({
        "command": result.command.argv.join(" "), "folder": result.command.folder, "passed": result.passed,
        "end": ended(result.end), "exit_code": code, "limit": limit,
        "output": printed::end(result.output.as_bytes(), output_bytes),
        "wall_ms": u64::try_from(result.wall.as_millis()).unwrap_or(u64::MAX),
    }))
}

impl Tool for ProjectCommandTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Runs the project's own commands for a purpose (those of Cargo, npm, Go, Python or make) in a sandbox without a network, and \
         tells how they ended and what they printed last. Only `passed` is a pass: a project that has no such command has not passed."
    }

    fn arguments(&self) -> Value {
        json!({
            "type": "object",
            "properties": { "purpose": { "enum": Purpose::WORDS } },
            "required": ["purpose"],
            "additionalProperties": false,
        })
    }

    fn call(&self, arguments: Value) -> BoxFuture<'_, Result<Value, ToolError>> {
        self.run(arguments).boxed()
    }
}
