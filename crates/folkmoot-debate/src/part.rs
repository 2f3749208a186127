//! What an agent is asked for in a turn, and the notes that it is given besides the answers of
//! others.

use folkmoot_core::vocabulary;

vocabulary! {
    /// What a turn is for. A phase has turns of one or several parts.
    pub enum TurnPart {
        /// Asks about what is unclear.
        Clarify = "clarify",
        /// Answers what was asked about.
        ClarifyAnswer = "clarify_answer",
        /// Divides the work.
        Plan = "plan",
        /// Writes an answer that only its author sees.
        Draft = "draft",
        /// Says why something failed.
        Reflect = "reflect",
        /// Repairs the agent's own draft.
        Refine = "refine",
        /// Gives an answer.
        Proposal = "proposal",
        /// Changes the agent's own answer for a reason, or leaves it.
        Revise = "revise",
        /// Says what is wrong with answers.
        Critique = "critique",
        /// Scores answers.
        Review = "review",
        /// Improves the best answer.
        Optimization = "optimization",
        /// Tries to break an answer.
        Attack = "attack",
        /// Repairs an answer that was attacked.
        Defence = "defence",
        /// Ranks answers.
        Ballot = "ballot",
        /// Says yes or no to the only answer.
        Endorse = "endorse",
    }
}

impl TurnPart {
    /// Whether it produces an answer to the topic, which others then judge.
    pub const fn is_an_answer(self) -> bool {
        use TurnPart::*;
        matches!(self, Draft | Refine | Proposal | Revise | Optimization | Defence)
    }
}

vocabulary! {
    /// The kind of a note that an agent is given besides the answers of others.
    pub enum NoteKind {
        /// What a person said at a gate.
        Guidance = "guidance",
        /// A point that was unclear, with its answer.
        Clarification = "clarification",
        /// The plan that all agents follow.
        Plan = "plan",
        /// What an earlier debate taught.
        Lesson = "lesson",
        /// The answer that the agent is to improve or defend, usually its own.
        Own = "own",
        /// A criticism of an answer.
        Point = "point",
        /// A known attack.
        Finding = "finding",
        /// What the agent concluded from an earlier failure.
        Reflection = "reflection",
        /// The result of an execution.
        Result = "result",
        /// A question to answer.
        Question = "question",
    }
}
