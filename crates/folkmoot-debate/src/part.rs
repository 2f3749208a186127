//! What an agent is asked for in a turn, and what it is told beside the answers of others.

use folkmoot_core::vocabulary;

vocabulary! {
    /// What a turn is for. A phase has one or several of them.
    pub enum TurnPart {
        /// Asks what is unclear.
        Clarify = "clarify",
        /// Answers what was asked.
        ClarifyAnswer = "clarify_answer",
        /// Divides the work.
        Plan = "plan",
        /// Writes an answer that only its author sees.
        Draft = "draft",
        /// Says why something failed.
        Reflect = "reflect",
        /// Mends one's own draft.
        Refine = "refine",
        /// Gives an answer.
        Proposal = "proposal",
        /// Changes it, for a reason, or leaves it.
        Revise = "revise",
        /// Says what is wrong with answers.
        Critique = "critique",
        /// Scores answers.
        Review = "review",
        /// Makes the best answer better.
        Optimization = "optimization",
        /// Breaks an answer.
        Attack = "attack",
        /// Mends it.
        Defence = "defence",
        /// Ranks answers.
        Ballot = "ballot",
        /// Says yes or no to the only one.
        Endorse = "endorse",
    }
}

impl TurnPart {
    /// Whether it gives an answer to the topic, which others then judge.
    pub const fn is_an_answer(self) -> bool {
        use TurnPart::*;
        matches!(self, Draft | Refine | Proposal | Revise | Optimization | Defence)
    }
}

vocabulary! {
    /// The kind of a note that an agent is given beside the answers of others.
    pub enum NoteKind {
        /// What a person said at a gate.
        Guidance = "guidance",
        /// What was unclear and was answered.
        Clarification = "clarification",
        /// The plan that all follow.
        Plan = "plan",
        /// What an earlier debate taught.
        Lesson = "lesson",
        /// Its own answer until now.
        Own = "own",
        /// What was said against answers.
        Point = "point",
        /// An attack that is known.
        Finding = "finding",
        /// What it thought about an earlier failure.
        Reflection = "reflection",
        /// What was executed.
        Result = "result",
        /// What is asked.
        Question = "question",
    }
}
