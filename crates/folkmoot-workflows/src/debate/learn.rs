//! What a debate learns from earlier ones, and leaves to later ones.

use folkmoot_core::{
    debate::{
        Told,
        lesson::{self, Lesson, Origin, Question},
        record::{Learned, Record, uuid},
    },
};
use folkmoot_engine::{Ctx, Failure};

use super::{room::Room, state::State, tell};

impl Room {
    /// Lessons of earlier debates of whoever started this one, for all who write here.
    pub(super) async fn recall(&self, ctx: &Ctx, state: &mut State) -> Result<(), Failure> {
        if !self.debating.lessons {
            return Ok(());
        }
        let known: Vec<Lesson> = ctx.lessons("lessons").await?;
        let question = Question {
            topic: &self.debating.topic,
            domain: self.domain,
            language: self.debating.language.map(|language| language.word()),
            now: state.began,
        };
        state.lessons = lesson::relevant(&known, question).into_iter().cloned().collect();
        if state.lessons.is_empty() {
            return Ok(());
        }
        let lessons = state.lessons.iter().map(|lesson| (lesson.id.clone(), lesson.debate.to_string())).collect();
        tell(ctx, "lessons shown", Told::LessonsShown { lessons }).await
    }

    /// What is worth knowing next time.
    pub(super) fn learned(&self, ctx: &Ctx, state: &State) -> Vec<Record> {
        if !self.debating.lessons {
            return Vec::new();
        }
        let origin = Origin {
            debate: ctx.run_id(),
            domain: self.domain,
            language: self.debating.language.map(|language| language.word()),
            now: state.began,
        };
        let new = lesson::new_ones(&state.lessons, lesson::extract(state.memory.episodes(), origin));
        let learned = |lesson: Lesson| {
            Record::Lesson(Learned {
                id: uuid(&[ctx.run_id().as_str(), &lesson.id]),
                domain: lesson.domain,
                language: lesson.language,
                root_cause: lesson.root_cause,
                lesson: lesson.text,
                confidence: lesson.confidence,
                tags: Vec::new(),
            })
        };
        new.into_iter().map(learned).collect()
    }
}
