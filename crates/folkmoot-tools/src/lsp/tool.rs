//! Diagnostics as a tool.

use std::path::{Path, PathBuf};

use futures_util::{FutureExt, future::BoxFuture};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Lsp, LspError, LspLanguage, LspRequest, within};
use crate::tool::{Tool, ToolError, ToolErrorCode, parsed};

#[derive(Clone, Debug)]
pub struct DiagnosticsTool {
    root: PathBuf,
    lsp: Lsp,
}

/// The largest file that is asked about.
const FILE_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Deserialize)]
struct Arguments {
    path: String,
    text: Option<String>,
}

impl DiagnosticsTool {
    pub const NAME: &str = "lsp_diagnostics";

    pub fn new(root: impl Into<PathBuf>, lsp: Lsp) -> Self {
        Self { root: root.into(), lsp }
    }

    async fn run(&self, arguments: Value) -> Result<Value, ToolError> {
        let Arguments { path, text } = parsed(arguments)?;
        let path = Path::new(&path);
        let language = LspLanguage::of(path).ok_or_else(|| {
            let known = LspLanguage::WORDS.join(", ");
            ToolError::new(
                ToolErrorCode::InvalidArguments,
                format!("its name tells no language that is known here: {known}"),
            )
        })?;
        let text = match text {
            Some(text) => text,
            None => self.read(path).await?,
        };
        let server = self.lsp.server(language).await.map_err(told)?;
        let question = LspRequest { server: &server, root: &self.root, file: path, language, text: &text };
        let diagnosis = self.lsp.diagnostics(&question).await.map_err(told)?;
        serde_json::to_value(diagnosis).map_err(|error| ToolError::failed(error.to_string()))
    }

    async fn read(&self, path: &Path) -> Result<String, ToolError> {
        let missing = |why: String| ToolError::new(ToolErrorCode::Missing, why);
        let root =
            self.root.canonicalize().map_err(|error| missing(format!("the project's folder is gone: {error}")))?;
        let file = within(&root, path).map_err(told)?;
        let about =
            tokio::fs::metadata(&file).await.map_err(|error| missing(format!("{}: {error}", path.display())))?;
        if !about.is_file() {
            return Err(missing(format!("{} is no file", path.display())));
        }
        if about.len() > FILE_BYTES_MAX {
            let why = format!("{} is {} bytes long, and may be {FILE_BYTES_MAX}", path.display(), about.len());
            return Err(ToolError::new(ToolErrorCode::TooLarge, why));
        }
        let text = tokio::fs::read_to_string(&file).await;
        text.map_err(|error| missing(format!("{} cannot be read: {error}", path.display())))
    }
}

fn told(error: LspError) -> ToolError {
    let code = match &error {
        LspError::NoJail(_) | LspError::Missing(_) => ToolErrorCode::Missing,
        LspError::Invalid(_) => ToolErrorCode::InvalidArguments,
        LspError::TimedOut { .. } => ToolErrorCode::TimedOut,
        LspError::TooLarge(_) => ToolErrorCode::TooLarge,
        LspError::Ended { .. } | LspError::Failed(_) | LspError::Malformed(_) | LspError::Refused(_) => {
            ToolErrorCode::Failed
        }
    };
    ToolError::new(code, error.to_string())
}

impl Tool for DiagnosticsTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "What the language server finds wrong with a file: errors and warnings with line and column. With `text`, as if the file \
         contained that."
    }

    fn arguments(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": { "type": "string", "description": "the file, relative to the project's folder" },
                "text": { "type": "string", "description": "what to check instead of what is in the file" },
            },
            "required": ["path"],
            "additionalProperties": false,
        })
    }

    fn call(&self, arguments: Value) -> BoxFuture<'_, Result<Value, ToolError>> {
        self.run(arguments).boxed()
    }
}
