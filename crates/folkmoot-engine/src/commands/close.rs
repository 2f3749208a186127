//! Answering, denying, skipping and cancelling questions, and acknowledging a denial.

use folkmoot_core::{
    Question, QuestionId,
    question::{self, Reply},
};
use folkmoot_store::Error;

use crate::{Caller, Engine};

impl Engine {
    /// Closes a question. Of any number of simultaneous answers exactly one is recorded.
    pub async fn close_question(&self, caller: Caller, reply: Reply) -> Result<Question, Error> {
        self.execute_on_question(caller, question::Action::Close(reply)).await
    }

    /// Acknowledges a denial for its asker, which is then no longer held. A reviewer or admin can
    /// release the asker in the same way.
    pub async fn acknowledge(&self, caller: Caller, question: QuestionId, reason: String) -> Result<Question, Error> {
        self.execute_on_question(caller, question::Action::Fetch { question, reason }).await
    }
}
