//! Correcting a lesson.

use folkmoot_core::{Action, Principal, Refusal, debate::record::Correction};
use folkmoot_store::{Error, LessonQuery, LessonView};

use crate::{Caller, Engine};

impl Engine {
    /// Has a lesson say something else from now on. Its debate must be over.
    pub async fn correct_lesson(
        &self,
        caller: Caller,
        id: &str,
        text: String,
        reason: String,
    ) -> Result<LessonView, Error> {
        let by = caller.principal.clone();
        let lesson = self.lesson(&by, id).await?.lesson;
        self.execute(caller, Action::CorrectLesson(Box::new(Correction { lesson, text, reason }))).await?;
        self.lesson(&by, id).await
    }

    async fn lesson(&self, by: &Principal, id: &str) -> Result<LessonView, Error> {
        let query = LessonQuery { id: Some(id.to_owned()), limit: 1, ..LessonQuery::default() };
        let found = self.lessons(by, query).await?.pop();
        Ok(found.ok_or_else(|| Refusal::UnknownLesson { lesson: id.to_owned() })?)
    }
}
