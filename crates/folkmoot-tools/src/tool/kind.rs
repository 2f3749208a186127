//! Which tools belong to which kind.

use std::collections::BTreeSet;

use folkmoot_debate::agent::ToolKind;

use super::{ExecuteTool, FormatTool, GitTool, ProjectCommandTool, RunTestsTool, SearchTool};
use crate::lsp::DiagnosticsTool;

const EXECUTE: &str = ExecuteTool::NAME;
const PROJECT: &str = ProjectCommandTool::NAME;

/// The tools of a kind, the most suitable first. Never empty.
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

/// The tools of several kinds.
pub fn serving_all(kinds: &[ToolKind]) -> BTreeSet<&'static str> {
    kinds.iter().flat_map(|kind| serving(*kind)).copied().collect()
}
