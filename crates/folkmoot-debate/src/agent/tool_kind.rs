//! The kinds of tools that agents work with.

use folkmoot_core::vocabulary;

vocabulary! {
    /// A kind of tool. The crate `folkmoot-tools` says which real tools serve it.
    pub enum ToolKind {
        /// Runs code in the jail.
        CodeExecutor = "code_executor",
        /// Formats code.
        Formatter = "formatter",
        /// Finds faults in code without running it.
        StaticAnalyzer = "static_analyzer",
        /// Shows where time and memory go.
        Profiler = "profiler",
        /// Measures performance and compares measurements.
        Benchmark = "benchmark",
        /// Looks for known vulnerabilities.
        SecurityScanner = "security_scanner",
        /// Runs code with unexpected input.
        Fuzzer = "fuzzer",
        /// Reads and writes documents.
        Documentation = "documentation",
        /// Builds code and reports what does not build.
        Compiler = "compiler",
        /// Runs tests and reports which failed.
        TestRunner = "test_runner",
        /// Criteria, each scored from 0 to 1.
        ScoringRubric = "scoring_rubric",
        /// Numbers about code and runs.
        Metrics = "metrics",
        /// Definitions, references and diagnostics of a language server.
        Lsp = "lsp",
        /// Components, their dependencies and their interfaces.
        DesignAnalysis = "design_analysis",
        /// Finds passages in known texts.
        Retrieval = "retrieval",
        /// History, differences and blame.
        Git = "git",
    }
}
