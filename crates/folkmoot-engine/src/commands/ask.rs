//! Asking.

use folkmoot_core::{Action, Question, QuestionId, question::Asking};
use folkmoot_store::Error;

use crate::{Caller, Engine};

impl Engine {
    /// A new question's id.
    pub fn new_question_id(&self) -> QuestionId {
        QuestionId::new(self.now(), self.0.host.random() as u64)
    }

    /// Asks. When this returns, whom the question halts is not cleared on this node any more.
    pub async fn ask(&self, caller: Caller, asking: Asking) -> Result<Question, Error> {
        let usual = self.0.questions.usual(asking.question_type);
        let text = asking.text.clone();
        let question = self.execute_on_question(caller, Action::Ask { asking: Box::new(asking), usual }).await?;
        self.0.gate_cache.put_text(question.text, text);
        self.0.deadlines.consider(question.due);
        Ok(question)
    }
}
