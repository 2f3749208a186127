//! Searches passages in a folder.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use futures_util::{FutureExt, future::BoxFuture};
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{Tool, ToolError, parsed};
use crate::{
    foreign,
    retrieval::{Index, RetrievalError, RetrievalLimits},
};

/// The default and maximum number of passages.
const LIMIT: usize = 8;
const LIMIT_MAX: usize = 20;
/// How much text is returned in total, and of one passage.
const TEXT_BYTES: usize = 32 * 1024;
const TEXT_BYTES_OF_ONE: usize = 8 * 1024;

/// Searches a folder. The index is updated before each search, so that new text is found.
#[derive(Clone, Debug)]
pub struct SearchTool {
    folder: PathBuf,
    index: Arc<Mutex<Index>>,
}

impl SearchTool {
    pub const NAME: &str = "search";

    /// Uses an index in memory.
    ///
    /// # Errors
    /// If the index cannot be created.
    pub fn new(folder: impl Into<PathBuf>) -> Result<Self, RetrievalError> {
        Ok(Self { folder: folder.into(), index: Arc::new(Mutex::new(Index::in_memory()?)) })
    }

    async fn run(&self, arguments: Value) -> Result<Value, ToolError> {
        #[derive(Deserialize)]
        struct Arguments {
            query: String,
            limit: Option<usize>,
        }
        let Arguments { query, limit } = parsed(arguments)?;
        let limit = limit.unwrap_or(LIMIT).clamp(1, LIMIT_MAX);
        let (folder, index) = (self.folder.clone(), Arc::clone(&self.index));
        let found = tokio::task::spawn_blocking(move || {
            let mut index = index.lock();
            let indexed = index.update(&folder, &RetrievalLimits::default())?;
            Ok::<_, RetrievalError>((index.search(&query, limit)?, indexed))
        });
        let found = found.await.map_err(|error| ToolError::failed(error.to_string()))?;
        let (hits, indexed) = found.map_err(|error| ToolError::failed(error.to_string()))?;
        let text_bytes = (TEXT_BYTES / hits.len().max(1)).min(TEXT_BYTES_OF_ONE);
        let hits = hits.iter().map(|hit| {
            let text = foreign::text(&hit.text, text_bytes);
            json!({ "path": hit.path, "first_line": hit.lines.0, "last_line": hit.lines.1, "text": text })
        });
        let mut left_out = BTreeMap::<&str, usize>::new();
        for skipped in &indexed.skipped {
            *left_out.entry(skipped.reason.word()).or_default() += 1;
        }
        // Report what was not searched.
        let hits: Vec<Value> = hits.collect();
        Ok(json!({ "hits": hits, "files_searched": indexed.files, "left_out": left_out }))
    }
}

impl Tool for SearchTool {
    fn name(&self) -> &str {
        Self::NAME
    }

    fn description(&self) -> &str {
        "Finds passages of the project's files by their words, the best first, with path and lines. Words that begin like those of the \
         query count too; nothing in it is an operator. `left_out` counts what was not looked at, and why."
    }

    fn arguments(&self) -> Value {
        json!({
            "type": "object",
            "properties": {
                "query": { "type": "string", "minLength": 1, "maxLength": 1000 },
                "limit": { "type": "integer", "minimum": 1, "maximum": LIMIT_MAX },
            },
            "required": ["query"],
            "additionalProperties": false,
        })
    }

    fn call(&self, arguments: Value) -> BoxFuture<'_, Result<Value, ToolError>> {
        self.run(arguments).boxed()
    }
}
