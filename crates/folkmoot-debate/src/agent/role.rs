//! The roles of agents, and the tools that each role works with.

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
        /// Improves an answer that is already right.
        Optimizer = "optimizer",
        /// Improves the structure and keeps the behaviour.
        Refactorer = "refactorer",
        /// Measures where time and memory go.
        PerformanceAnalyzer = "performance_analyzer",
        /// Keeps the debate on its question and sums it up.
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
        /// Repairs what the red team broke.
        BlueTeam = "blue_team",
        /// Explains why the debate decided as it did.
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
    /// The kinds of tools that an agent of this role works with by default.
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
