//! What a debate's trail is made of: the sorts of things that happen in it.

use folkmoot_core::vocabulary;

vocabulary! {
    /// A sort of thing that happened in a debate.
    pub enum Provenance {
        /// A model was asked something, or a person was.
        PromptSent = "prompt_sent",
        /// It answered.
        ResponseReceived = "response_received",
        /// A tool was called, tests were executed, or a project's own commands were.
        ToolCalled = "tool_called",
        /// An agent voted.
        VoteCast = "vote_cast",
        /// A gate was decided.
        GateDecision = "gate_decision",
        /// An agent thought about why it failed.
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
        /// It is over.
        DebateCompleted = "debate_completed",
        /// Something went wrong: a contribution that does not count, a model that is silent, a run
        /// that failed.
        ErrorOccurred = "error_occurred",
        /// It goes by something else from now on.
        ConfigChanged = "config_changed",
    }
}
