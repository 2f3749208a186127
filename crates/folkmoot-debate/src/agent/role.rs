//! What an agent is there for.

use super::{ToolKind, tool_kind::ToolKind::*};
use folkmoot_core::vocabulary;

vocabulary! {
    /// The roles of a debate. Their order decides where everything else is equal.
    pub enum AgentRole {
        /// Makes the first answer.
        Proposer = "proposer",
        /// Writes complete implementations.
        Generator = "generator",
        /// Finds what is wrong with an answer.
        Critic = "critic",
        /// Judges whether an answer does what was asked.
        Reviewer = "reviewer",
        /// Makes an answer that is right a better one.
        Optimizer = "optimizer",
        /// Improves the structure and keeps the behaviour.
        Refactorer = "refactorer",
        /// Measures where time and memory go.
        PerformanceAnalyzer = "performance_analyzer",
        /// Keeps the debate on its question, and sums it up.
        Moderator = "moderator",
        /// Judges how the parts fit together.
        Architect = "architect",
        /// Finds vulnerabilities.
        Security = "security",
        /// Writes tests that can fail.
        TestAgent = "test_agent",
        /// Checks claims against evidence.
        Validator = "validator",
        /// Breaks answers.
        RedTeam = "red_team",
        /// Mends what the red team broke.
        BlueTeam = "blue_team",
        /// Explains why it was decided so.
        Teacher = "teacher",
        /// Checks syntax, types and the build.
        Compiler = "compiler",
        /// Runs the code and reports what happened.
        Executor = "executor",
        /// Scores answers against a rubric.
        Judge = "judge",
        /// Turns a specification into code.
        Implementer = "implementer",
        /// Decomposes a system and writes its interfaces.
        Designer = "designer",
    }
}

impl AgentRole {
    /// The sorts of tools that the role works with first of all.
    pub const fn tools(self) -> &'static [ToolKind] {
        match self {
            AgentRole::Proposer => &[CodeExecutor, Retrieval],
            AgentRole::Generator => &[CodeExecutor, Formatter],
            AgentRole::Critic => &[CodeExecutor, StaticAnalyzer, Retrieval],
            AgentRole::Reviewer => &[StaticAnalyzer, TestRunner, Git],
            AgentRole::Optimizer => &[Profiler, Benchmark, TestRunner],
            AgentRole::Refactorer => &[Formatter, StaticAnalyzer, TestRunner],
            AgentRole::PerformanceAnalyzer => &[Profiler, Benchmark],
            AgentRole::Moderator => &[Metrics, Retrieval],
            AgentRole::Architect => &[Documentation, DesignAnalysis, Retrieval],
            AgentRole::Security => &[StaticAnalyzer, SecurityScanner, Fuzzer],
            AgentRole::TestAgent => &[CodeExecutor, Fuzzer, TestRunner],
            AgentRole::Validator => &[TestRunner, Metrics, Retrieval],
            AgentRole::RedTeam => &[CodeExecutor, SecurityScanner, Fuzzer],
            AgentRole::BlueTeam => &[CodeExecutor, SecurityScanner, TestRunner],
            AgentRole::Teacher => &[Documentation, Retrieval],
            AgentRole::Compiler => &[StaticAnalyzer, Compiler],
            AgentRole::Executor => &[CodeExecutor, TestRunner, Metrics],
            AgentRole::Judge => &[TestRunner, ScoringRubric, Metrics],
            AgentRole::Implementer => &[CodeExecutor, TestRunner, Lsp],
            AgentRole::Designer => &[Documentation, DesignAnalysis, Retrieval],
        }
    }
}
