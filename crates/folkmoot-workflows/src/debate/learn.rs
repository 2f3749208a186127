//! What a debate learns from earlier ones, and leaves to later ones.

use folkmoot_core::debate::{
    Told,
    lesson::{self, Lesson, Origin, Question},
    record::{Learned, Record, Remembered, uuid},
};
use folkmoot_engine::{Ctx, Failure};

use super::{room::Room, state::State, tell};

/// The most that are looked at, the newest.
const LESSONS_MAX: u32 = 1_000;

impl Room {
    /// Lessons of earlier debates of whoever started this one, for all who write here.
    pub(super) async fn recall(&self, ctx: &Ctx, state: &mut State) -> Result<(), Failure> {
        if !self.debating.lessons {
            return Ok(());
        }
        // Of all domains: what a task is about is a guess, and its words decide.
        let known: Vec<Lesson> = ctx.lessons("lessons", None, LESSONS_MAX).await?.into_iter().map(remembered).collect();
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
            topic: &self.debating.topic,
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
                tags: lesson.tags,
            })
        };
        new.into_iter().map(learned).collect()
    }
}

fn remembered(known: Remembered) -> Lesson {
    let Remembered { debate, at, learned } = known;
    Lesson {
        id: learned.id,
        domain: learned.domain,
        language: learned.language,
        root_cause: learned.root_cause,
        text: learned.lesson,
        confidence: learned.confidence,
        tags: learned.tags,
        debate,
        episodes: Vec::new(),
        learned_at: at,
    }
}
