//! What earlier debates learnt.

use folkmoot_core::{
    Domain,
    debate::record::{LessonRecord, RememberedLesson},
};
use folkmoot_store::{LessonQuery, LessonView, Store};

use super::Ctx;
use crate::Failure;

impl Ctx {
    /// The newest lessons of debates of whoever started this run, as they were when this was first
    /// called. Nobody else's: a lesson is a model's words, and whoever chose that model would speak
    /// in other people's debates. What a rehearsal learnt is shown to rehearsals, and what models
    /// learnt to models.
    pub async fn lessons(
        &self,
        key: impl Into<String>,
        domain: Option<Domain>,
        rehearsed: bool,
        limit: u32,
    ) -> Result<Vec<RememberedLesson>, Failure> {
        let (engine, start) = (self.pass.engine.clone(), &self.pass.run.start);
        let initiated_by = Some(start.initiator.clone());
        let query = LessonQuery { id: None, domain, initiated_by, rehearsed: Some(rehearsed), limit };
        let read = move || {
            let (engine, query) = (engine.clone(), query.clone());
            async move {
                let found = engine.0.store.lessons(query).await;
                let found = found.map_err(|error| Failure::new("lessons", error.to_string()))?;
                Ok(found.into_iter().map(remembered).collect::<Vec<_>>())
            }
        };
        self.step(key, read).input(&(domain, limit)).await
    }
}

fn remembered(view: LessonView) -> RememberedLesson {
    let LessonView { lesson, root_cause, text } = view;
    RememberedLesson {
        debate: lesson.run_id,
        at: lesson.at,
        learned: LessonRecord {
            id: lesson.id,
            domain: lesson.domain,
            language: lesson.language,
            root_cause: root_cause.unwrap_or_default(),
            lesson: text,
            confidence: lesson.confidence,
            tags: lesson.tags,
        },
    }
}
