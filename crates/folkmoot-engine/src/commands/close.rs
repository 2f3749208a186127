//! Answering, denying, skipping and cancelling questions, and acknowledging a denial.

use folkmoot_core::{Action, Question, QuestionId, question::Closing};
use folkmoot_store::Error;

use crate::{Caller, Engine};

impl Engine {
    /// Closes a question. Of any number of simultaneous answers exactly one is recorded.
    pub async fn close_question(&self, caller: Caller, closing: Closing) -> Result<Question, Error> {
        self.execute_on_question(caller, Action::Close(closing)).await
    }

    /// Takes note that the caller has heard a denial, if it is the one that asked: it is not held
    /// by it any more. Whoever decides releases the asker from it.
    pub async fn acknowledge(&self, caller: Caller, question: QuestionId, reason: String) -> Result<Question, Error> {
        self.execute_on_question(caller, Action::Fetch { question, reason }).await
    }
}
