//! Answering, denying, skipping and cancelling questions, and fetching a denial.

use folkmoot_core::{
    Action, Question,
    question::{Closing, Status},
};
use folkmoot_store::Error;

use crate::{Caller, Engine};

impl Engine {
    /// Closes a question. Of any number of simultaneous answers exactly one is recorded.
    pub async fn close_question(&self, caller: Caller, closing: Closing) -> Result<Question, Error> {
        self.execute_on_question(caller, Action::Close(closing)).await
    }

    /// Takes note that the caller has been shown a denial, if it is the one that asked: it is not held by it any more.
    pub async fn fetch(&self, caller: impl Into<Caller>, question: &Question) -> Result<(), Error> {
        let caller = caller.into();
        let unheard =
            question.closure().is_some_and(|closure| closure.status == Status::Denied && closure.fetched_at.is_none());
        if !unheard || !question.is_asked_by(&caller.principal) {
            return Ok(());
        }
        let action = Action::Fetch { question: question.id.clone() };
        self.execute_on_question(caller, action).await.map(drop)
    }
}
