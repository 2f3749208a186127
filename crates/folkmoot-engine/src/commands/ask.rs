//! Asking questions.

use folkmoot_core::{
    Question, QuestionId,
    question::{self, NewQuestion},
};
use folkmoot_store::Error;

use crate::{Caller, Engine};

impl Engine {
    pub fn new_question_id(&self) -> QuestionId {
        QuestionId::new(self.now(), self.0.host.random() as u64)
    }

    /// Asks a question. On return, the agents that it halts are no longer cleared on this node.
    pub async fn ask(&self, caller: Caller, new_question: NewQuestion) -> Result<Question, Error> {
        let defaults = self.0.questions.defaults(new_question.question_type);
        let text = new_question.text.clone();
        let question = self
            .execute_on_question(caller, question::Action::Ask { new_question: Box::new(new_question), defaults })
            .await?;
        self.0.gate_cache.put_text(question.text, text);
        self.0.deadlines.consider(question.due);
        Ok(question)
    }
}
