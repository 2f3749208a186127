//! What agents work with.

use folkmoot_core::vocabulary;

vocabulary! {
    /// A sort of tool. Which real tools are of it, if any, is the project's to say.
    pub enum ToolKind {
        /// Runs code in the jail.
        CodeExecutor = "code_executor",
        /// Lays code out.
        Formatter = "formatter",
        /// Reads code for faults, without running it.
        StaticAnalyzer = "static_analyzer",
        /// Says where time and memory go.
        Profiler = "profiler",
        /// Measures the same thing twice.
        Benchmark = "benchmark",
        /// Looks for known vulnerabilities.
        SecurityScanner = "security_scanner",
        /// Feeds code what nobody thought of.
        Fuzzer = "fuzzer",
        /// Reads and writes documents.
        Documentation = "documentation",
        /// Builds, and says what does not.
        Compiler = "compiler",
        /// Runs tests, and says which failed.
        TestRunner = "test_runner",
        /// Criteria, each scored from 0 to 1.
        ScoringRubric = "scoring_rubric",
        /// Numbers about code and runs.
        Metrics = "metrics",
        /// Definitions, references and diagnostics of a language server.
        Lsp = "lsp",
        /// Components, their dependencies and their interfaces.
        DesignAnalysis = "design_analysis",
        /// Finds passages in what is known.
        Retrieval = "retrieval",
        /// History, differences and blame.
        Git = "git",
    }
}
