//! Which tools serve which sort of tool.

use std::collections::BTreeSet;

use folkmoot_core::agent::ToolKind;

use super::{ExecuteTool, FormatTool, GitTool, ProjectCommandTool, RunTestsTool, SearchTool};
use crate::lsp::DiagnosticsTool;

const EXECUTE: &str = ExecuteTool::NAME;
const PROJECT: &str = ProjectCommandTool::NAME;

/// The names of the tools that serve a sort of tool, the most fitting first. Never none.
pub fn serving(kind: ToolKind) -> &'static [&'static str] {
    match kind {
        ToolKind::CodeExecutor => &[EXECUTE],
        ToolKind::Formatter => &[FormatTool::NAME],
        ToolKind::StaticAnalyzer => &[PROJECT, DiagnosticsTool::NAME],
        ToolKind::Profiler
        | ToolKind::Benchmark
        | ToolKind::SecurityScanner
        | ToolKind::Fuzzer
        | ToolKind::Compiler => &[EXECUTE, PROJECT],
        ToolKind::TestRunner => &[RunTestsTool::NAME, PROJECT],
        ToolKind::ScoringRubric | ToolKind::Metrics => &[RunTestsTool::NAME],
        ToolKind::Documentation | ToolKind::DesignAnalysis | ToolKind::Retrieval => &[SearchTool::NAME],
        ToolKind::Git => &GitTool::NAMES,
        ToolKind::Lsp => &[DiagnosticsTool::NAME],
    }
}

/// The names of all tools that serve some sorts.
pub fn serving_all(kinds: &[ToolKind]) -> BTreeSet<&'static str> {
    kinds.iter().flat_map(|kind| serving(*kind)).copied().collect()
}
