//! Formats code.

use futures_util::{FutureExt, future::BoxFuture};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Tool, ToolError, ToolErrorCode, parsed};
use crate::{
    format::{self, FormatError, FormatLanguage},
    jail::Jail,
};

/// The result is about as long and must fit.
const CODE_BYTES_MAX: usize = 40 * 1024;

#[derive(Clone, Debug)]
pub struct FormatTool {
    jail: Jail,
}

impl FormatTool {
    pub const NAME: &str = "format";

    pub fn new(jail: Jail) -> Self {
        Self { jail }
    }

    async fn run(&self, arguments: Value) -> Result<Value, ToolError> {
        #[derive(Deserialize)]
        struct Arguments {
            language: FormatLanguage,
            code: String,
        }
        let Arguments { language, code } = parsed(arguments)?;
        let formatted = format::format(&self.jail, language, &code).await?;
        Ok(json!({ "changed": formatted != code, "code": formatted }))
    }
}

impl From<FormatError> for ToolError {
    fn from(error: FormatError) -> Self {
        match error {
            FormatError::Missing(why) => Self::new(ToolErrorCode::Missing, why),
            FormatError::Refused { .. } => Self::new(ToolErrorCode::InvalidArguments, error.to_string()),
            FormatError::Jail(error) => error.into(),
        }
    }
}

impl Tool for FormatTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Lays code out as the formatter of its language does (rustfmt, black or ruff, prettier, gofmt, shfmt), and gives it back. Code \
         that cannot be read as that language is an error."
    }

    fn arguments(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "language": { "enum": FormatLanguage::WORDS },
                "code": { "type": "string", "maxLength": CODE_BYTES_MAX },
            },
            "required": ["language", "code"],
            "additionalProperties": false,
        })
    }

    fn call(&self, arguments: Value) -> BoxFuture<'_, Result<Value, ToolError>> {
        self.run(arguments).boxed()
    }
}
