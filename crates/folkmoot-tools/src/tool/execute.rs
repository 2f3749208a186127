//! Runs a piece of code in the jail.

use futures_util::{FutureExt, future::BoxFuture};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Tool, ToolError, parsed, printed};
use crate::{
    jail::{Execution, Jail, JobEnd, JobReport, Program, ProgramLanguage},
    testing,
};

/// How much of each output is returned; both must fit into a result.
const STDOUT_BYTES: usize = 16 * 1024;
const STDERR_BYTES: usize = 8 * 1024;
/// The longest code and input.
const CODE_BYTES_MAX: usize = testing::CODE_BYTES_MAX;

#[derive(Clone, Debug)]
pub struct ExecuteTool {
    jail: Jail,
}

impl ExecuteTool {
    pub const NAME: &str = "execute";

    pub fn new(jail: Jail) -> Self {
        Self { jail }
    }

    async fn run(&self, arguments: Value) -> Result<Value, ToolError> {
        #[derive(Deserialize)]
        struct Arguments {
            language: String,
            code: String,
            #[serde(default)]
            stdin: String,
        }
        let Arguments { language, code, stdin } = parsed(arguments)?;
        let program = Program { stdin: stdin.into_bytes(), ..Program::new(ProgramLanguage::named(&language)?, code) };
        Ok(match self.jail.execute(program).await? {
            Execution::NotCompiled(report) => told("not_compiled", &report),
            Execution::Ran(report) => told(ended(report.end), &report),
        })
    }
}

fn told(end: &str, report: &JobReport) -> Value {
    let (code, signal, limit) = match report.end {
        JobEnd::Exited(code) => (Some(code), None, None),
        JobEnd::Signalled(signal) => (None, Some(signal), None),
        JobEnd::Limited(limit) => (None, None, Some(limit)),
    };
    let ms = |time: std::time::Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    let told = json!({
        "end": end, "exit_code": code, "signal": signal, "limit": limit,
        "stdout": printed::beginning(&report.stdout, STDOUT_BYTES),
        "stderr": printed::end(&report.stderr, STDERR_BYTES),
        "wall_ms": ms(report.wall), "cpu_ms": ms(report.cpu), "peak_memory_bytes": report.peak_memory_bytes,
    });
    super::without_nulls(told)
}

pub(super) fn ended(end: JobEnd) -> &'static str {
    match end {
        JobEnd::Exited(_) => "exited",
        JobEnd::Signalled(_) => "signalled",
        JobEnd::Limited(_) => "limited",
    }
}

impl Tool for ExecuteTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Runs a program of one file in a sandbox without a network, and tells how it ended, what it printed, how long it took and \
         how much memory it had. It passed only if `end` is `exited` and `exit_code` is 0."
    }

    fn arguments(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "language": { "enum": ProgramLanguage::WORDS },
                "code": { "type": "string", "minLength": 1, "maxLength": CODE_BYTES_MAX },
                "stdin": { "type": "string", "maxLength": CODE_BYTES_MAX, "description": "what it can read" },
            },
            "required": ["language", "code"],
            "additionalProperties": false,
        })
    }

    fn call(&self, arguments: Value) -> BoxFuture<'_, Result<Value, ToolError>> {
        self.run(arguments).boxed()
    }
}
