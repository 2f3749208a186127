//! The actions on a question, and the rows that each needs.

use super::{NewQuestion, Question, Reply, TypeDefaults, ask, ask::shown_contents, close, fetch, timer};
use crate::{
    Actor, Commit, QuestionId,
    clearance::Others,
    judge::{Case, RefusedWith},
    quota::Quota,
};

/// An action on a question.
#[derive(Clone, Debug)]
pub enum Action {
    Ask {
        new_question: Box<NewQuestion>,
        /// The configured defaults of questions of this type.
        defaults: TypeDefaults,
    },
    /// Answers, denies, skips or cancels a question.
    Close(Reply),
    /// The asker of a denied question has fetched the denial, or a reviewer or admin releases the
    /// asker from it.
    Fetch {
        question: QuestionId,
        /// Why the asker is released.
        reason: String,
    },
    /// A question's timer is due.
    TimerDue { question: QuestionId },
}

/// The rows of questions that were found.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    pub question: Option<Question>,
    /// Whether other holds are on the same targets.
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
            // A fetch by somebody who did not ask releases the asker.
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
