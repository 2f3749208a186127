//! What can be wanted of a question, and the rows that it takes.

use super::{NewQuestion, Question, Reply, TypeDefaults, ask, ask::shown_contents, close, fetch, timer};
use crate::{
    Actor, Commit, QuestionId,
    clearance::Others,
    judge::{Case, RefusedWith},
    quota::Quota,
};

/// What can be wanted of a question.
#[derive(Clone, Debug)]
pub enum Action {
    Ask {
        new_question: Box<NewQuestion>,
        /// What configuration says of questions of this type.
        defaults: TypeDefaults,
    },
    /// Answers, denies, skips or cancels a question.
    Close(Reply),
    /// The asker of a denied question has heard it, or somebody who decides releases the asker from
    /// it.
    Fetch {
        question: QuestionId,
        /// Why it is released.
        reason: String,
    },
    /// A question's timer is due.
    TimerDue { question: QuestionId },
}

/// The rows of questions that were there.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    pub question: Option<Question>,
    /// What else holds the same agent, session and everyone.
    pub others: Others,
}

impl Action {
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Action::Ask { .. } => "question.ask",
            Action::Close(_) => "question.close",
            Action::Fetch { .. } => "question.fetch",
            Action::TimerDue { .. } => "question.timer_due",
        }
    }

    pub(crate) fn is_personal(&self) -> bool {
        match self {
            // Whoever did not ask releases a denial by fetching it.
            Action::Close(_) | Action::Fetch { .. } => true,
            // An agent asks with its own token.
            Action::Ask { .. } => false,
            // Only Folkmoot itself does this.
            Action::TimerDue { .. } => false,
        }
    }

    pub(crate) fn needs<'a>(&'a self, by: &'a Actor, quota: &Quota) -> crate::Needs<'a> {
        let mut needs = crate::Needs::default();
        match self {
            Action::Ask { new_question, .. } => {
                needs.usage = quota.of_questions(by);
                needs.run.id = new_question.run_id.as_ref();
                needs.contents = shown_contents(new_question);
                needs.principals = new_question.agent_id.iter().cloned().collect();
            }
            Action::Close(Reply { question, .. }) | Action::Fetch { question, .. } | Action::TimerDue { question } => {
                needs.question = Some(question)
            }
        }
        needs
    }

    pub(crate) fn judge(&self, case: &Case<'_>, loaded: crate::Loaded) -> Result<Commit, RefusedWith> {
        match self {
            Action::Ask { new_question, defaults } => ask::judge(case, new_question, defaults, &loaded),
            Action::Close(reply) => close::judge(case, reply, loaded.question),
            Action::Fetch { question, reason } => fetch::judge(case, question, reason, loaded.question),
            Action::TimerDue { question } => Ok(timer::judge(case, question, loaded.question)),
        }
    }
}
