//! The kinds of events that Folkmoot itself appends to the log.

vocabulary! {
    /// The kinds of events that the core appends. Workflows append events with nouns of their own.
    pub enum EventKind {
        GateOpened = "gate.opened",
        /// A gate's content changed.
        GateAmended = "gate.amended",
        /// Somebody voted on a gate, which stays pending.
        GateVote = "gate.vote",
        /// A gate got more time.
        GateExtended = "gate.extended",
        /// A gate is still pending, and its deadline comes nearer.
        GateReminded = "gate.reminded",
        /// A gate is still pending close to its deadline, or at it, and further channels are
        /// notified.
        GateEscalated = "gate.escalated",
        /// A gate was closed: decided, timed out or cancelled.
        GateDecided = "gate.decided",
        GateRefused = "gate.refused",
        QuestionAsked = "question.asked",
        /// A question is still open.
        QuestionReminded = "question.reminded",
        /// A question was answered.
        QuestionAnswered = "question.answered",
        /// A question was denied.
        QuestionDenied = "question.denied",
        /// Somebody closed a question without an answer.
        QuestionSkipped = "question.skipped",
        /// A question was withdrawn.
        QuestionCancelled = "question.cancelled",
        /// A question's timeout came before an answer.
        QuestionExpired = "question.expired",
        /// The asker of a denied question has fetched the denial, or was released from it.
        QuestionFetched = "question.fetched",
        QuestionRefused = "question.refused",
        HaltRaised = "halt.raised",
        HaltLifted = "halt.lifted",
        HaltRefused = "halt.refused",
        /// A hold was put on an agent.
        AgentHalted = "agent.halted",
        /// The last hold on an agent itself has ended.
        AgentResumed = "agent.resumed",
        /// A hold was put on a session.
        SessionHalted = "session.halted",
        /// The last hold on a session itself has ended.
        SessionResumed = "session.resumed",
        /// A hold was put on everyone.
        SystemHalted = "system.halted",
        /// The last hold on everyone has ended.
        SystemResumed = "system.resumed",
        RunStarted = "run.started",
        /// A node claimed a run for the first time.
        RunClaimed = "run.claimed",
        /// Every branch of a run waits, and no node works on it.
        RunParked = "run.parked",
        /// A run cannot go on until somebody looks at it.
        RunStopped = "run.stopped",
        /// A node claimed a run again.
        RunResumed = "run.resumed",
        /// Somebody resumed a run that had stopped or waited for a provider. No node has claimed it
        /// yet.
        RunReopened = "run.reopened",
        RunEnded = "run.ended",
        /// An entry of a run's journal was written.
        StepRecorded = "step.recorded",
        TokenCreated = "token.created",
        TokenRevoked = "token.revoked",
        WebhookCreated = "webhook.created",
        WebhookChanged = "webhook.changed",
        WebhookRemoved = "webhook.removed",
        /// A delivery is not tried any more.
        DeliveryDied = "delivery.died",
        /// An admin had a delivery sent again.
        DeliveryResent = "delivery.resent",
        /// An admin erased content.
        ArtifactErased = "artifact.erased",
    }
}

/// A noun that is reserved for later.
const RESERVED: &str = "log";

impl EventKind {
    /// The nouns that only Folkmoot's own events may have.
    pub(crate) fn nouns() -> impl Iterator<Item = &'static str> {
        Self::WORDS.iter().filter_map(|word| word.split('.').next()).chain([RESERVED])
    }

    /// Whether only Folkmoot itself may append events of this kind.
    pub(crate) fn is_ours(kind: &str) -> bool {
        kind.split('.').next().is_some_and(|noun| Self::nouns().any(|ours| ours == noun))
    }
}
