//! The kinds of entries in the audit trail of a debate.

use folkmoot_core::vocabulary;

vocabulary! {
    /// A sort of thing that happened in a debate.
    pub enum Provenance {
        /// A model or a person was asked something.
        PromptSent = "prompt_sent",
        /// The model or person answered.
        ResponseReceived = "response_received",
        /// A tool was called, tests were executed, or commands of the project were run.
        ToolCalled = "tool_called",
        /// An agent voted.
        VoteCast = "vote_cast",
        /// A gate was decided.
        GateDecision = "gate_decision",
        /// An agent reflected on why it failed.
        ReflectionGenerated = "reflection_generated",
        /// A phase began.
        PhaseStarted = "phase_started",
        /// A phase is over.
        PhaseCompleted = "phase_completed",
        /// A round began.
        RoundStarted = "round_started",
        /// A round is over.
        RoundCompleted = "round_completed",
        /// The debate began.
        DebateStarted = "debate_started",
        /// The debate is over.
        DebateCompleted = "debate_completed",
        /// Something went wrong: a contribution does not count, a model does not answer, or a run
        /// failed.
        ErrorOccurred = "error_occurred",
        /// Something about how the debate is held changed.
        ConfigChanged = "config_changed",
    }
}
