//! The types of events that Folkmoot itself tells.

vocabulary! {
    /// The kinds of events that the core appends. Workflows append events with nouns of their own.
    pub enum EventKind {
        /// A gate was opened.
        GateOpened = "gate.opened",
        /// Its content changed.
        GateAmended = "gate.amended",
        /// Somebody voted.
        GateVote = "gate.vote",
        /// It got more time.
        GateExtended = "gate.extended",
        /// Its deadline comes nearer.
        GateReminded = "gate.reminded",
        /// Others are asked too.
        GateEscalated = "gate.escalated",
        /// It was decided, or timed out.
        GateDecided = "gate.decided",
        /// Somebody tried what they may not.
        GateRefused = "gate.refused",
        /// A question was asked.
        QuestionAsked = "question.asked",
        /// It still waits.
        QuestionReminded = "question.reminded",
        /// It was answered.
        QuestionAnswered = "question.answered",
        /// It was answered with no.
        QuestionDenied = "question.denied",
        /// It goes on without an answer.
        QuestionSkipped = "question.skipped",
        /// It was taken back.
        QuestionCancelled = "question.cancelled",
        /// Its time ran out.
        QuestionExpired = "question.expired",
        /// Its asker knows that it was denied.
        QuestionFetched = "question.fetched",
        /// Somebody tried what they may not.
        QuestionRefused = "question.refused",
        /// An operator halts somebody.
        HaltRaised = "halt.raised",
        /// No longer.
        HaltLifted = "halt.lifted",
        /// Somebody tried what they may not.
        HaltRefused = "halt.refused",
        /// An agent may not work.
        AgentHalted = "agent.halted",
        /// It may again.
        AgentResumed = "agent.resumed",
        /// A session may not go on.
        SessionHalted = "session.halted",
        /// It may again.
        SessionResumed = "session.resumed",
        /// Nobody may work.
        SystemHalted = "system.halted",
        /// They may again.
        SystemResumed = "system.resumed",
        /// A run began.
        RunStarted = "run.started",
        /// A node executes it.
        RunClaimed = "run.claimed",
        /// It waits for somebody.
        RunParked = "run.parked",
        /// It cannot go on until somebody looks at it.
        RunStopped = "run.stopped",
        /// It goes on.
        RunResumed = "run.resumed",
        /// Somebody wants it to go on.
        RunReopened = "run.reopened",
        /// It is over.
        RunEnded = "run.ended",
        /// Something of it is done.
        StepRecorded = "step.recorded",
        /// Somebody has a token.
        TokenCreated = "token.created",
        /// No longer.
        TokenRevoked = "token.revoked",
        /// Somebody is told of events.
        WebhookCreated = "webhook.created",
        /// Otherwise than before.
        WebhookChanged = "webhook.changed",
        /// No longer.
        WebhookRemoved = "webhook.removed",
        /// Somebody could not be told.
        DeliveryDied = "delivery.died",
        /// They are to be told again.
        DeliveryResent = "delivery.resent",
        /// Content was erased.
        ArtifactErased = "artifact.erased",
    }
}

/// Kept for later.
const RESERVED: &str = "log";

impl EventKind {
    /// The nouns of which only Folkmoot itself tells.
    pub(crate) fn nouns() -> impl Iterator<Item = &'static str> {
        Self::WORDS.iter().filter_map(|word| word.split('.').next()).chain([RESERVED])
    }

    /// Whether only Folkmoot itself tells such events.
    pub(crate) fn is_ours(kind: &str) -> bool {
        kind.split('.').next().is_some_and(|noun| Self::nouns().any(|ours| ours == noun))
    }
}
