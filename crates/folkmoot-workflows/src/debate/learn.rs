//! Lessons: those of earlier debates that a debate shows its agents, and those that it leaves to
//! later ones.

use folkmoot_core::RecordView;
use folkmoot_debate::{
    DebateEvent,
    lesson::{self, LESSONS_TOLD, Lesson, LessonOrigin, LessonSearch},
    record::{DebateRecord, LessonQuery, LessonRecord, LessonView, uuid},
};
use folkmoot_engine::{Ctx, Failure};
use folkmoot_llm::rehearsal;
use serde_json::json;

use super::{DebateContext, state::DebateState, tell};

/// At most this many lessons are considered, the newest.
const LESSONS_MAX: u32 = 1_000;
/// At most this many lessons are compared by meaning, because the text of each must be sent.
const EMBEDDED_MAX: usize = 100;
/// Lessons at least this close in meaning are shown.
const CLOSE: f32 = 0.5;

impl DebateContext {
    /// Finds lessons of earlier debates of the same initiator, for all agents that write answers.
    pub(super) async fn recall(&self, ctx: &Ctx, state: &mut DebateState) -> Result<(), Failure> {
        if !self.config.lessons {
            return Ok(());
        }
        // What the rehearsal model learned is no experience for real models, and the other way
        // round. If both speak in a debate, neither is shown lessons.
        let rehearsed = self.is_rehearsed();
        if rehearsed && !self.providers().iter().all(|provider| is_rehearsal(provider)) {
            return Ok(());
        }
        // Lessons of all domains are considered: the domain is only a guess, so the words decide.
        let query = LessonQuery { rehearsed: Some(rehearsed), limit: LESSONS_MAX, ..LessonQuery::default() };
        let known = ctx.records("lessons", query.into()).await?;
        let question = LessonSearch {
            topic: &self.config.topic,
            domain: self.domain,
            language: self.config.language.map(|language| language.word()),
            now: state.began,
        };
        let mut known = known.into_iter().map(remembered).collect::<Result<Vec<Lesson>, Failure>>()?;
        known.retain(|lesson| question.fits(lesson));
        if known.is_empty() {
            return Ok(());
        }
        state.lessons = match self.close(ctx, &known).await? {
            Some(ids) => ids.iter().filter_map(|id| known.iter().find(|lesson| lesson.id == *id)).cloned().collect(),
            None => lesson::relevant(&known, question).into_iter().cloned().collect(),
        };
        if state.lessons.is_empty() {
            return Ok(());
        }
        let lessons = state.lessons.iter().map(|lesson| (lesson.id.clone(), lesson.debate.to_string())).collect();
        tell(ctx, "lessons shown", DebateEvent::LessonsShown { lessons }).await
    }

    /// The ids of the lessons that are close to the topic in meaning. `None` if there is no
    /// embedder or it fails; then words decide.
    async fn close(&self, ctx: &Ctx, known: &[Lesson]) -> Result<Option<Vec<String>>, Failure> {
        let said = |lesson: &Lesson| format!("{} {} {}", lesson.tags.join(" "), lesson.root_cause, lesson.text);
        let newest = || known.iter().take(EMBEDDED_MAX);
        let texts: Vec<String> = std::iter::once(self.config.topic.clone()).chain(newest().map(said)).collect();
        let ids: Vec<String> = newest().map(|lesson| lesson.id.clone()).collect();
        let (embedder, input) = (self.embedder.clone(), json!({ "texts": texts }));
        // This is a step even without an embedder: after a restart there may be one, and a replay
        // must not ask it.
        let work = move || {
            let (embedder, texts, ids) = (embedder.clone(), texts.clone(), ids.clone());
            async move {
                let Some(embedder) = embedder else { return Ok(None) };
                // A provider may have no model for embeddings, which shows only now.
                let Ok(vectors) = embedder.embed(&texts).await else { return Ok(None) };
                let Some((topic, lessons)) = vectors.split_first() else { return Ok(None) };
                let mut close: Vec<(f32, String)> = lessons
                    .iter()
                    .map(|lesson| cosine(topic, lesson))
                    .zip(ids)
                    .filter(|(close, _)| *close >= CLOSE)
                    .collect();
                close.sort_by(|one, two| two.0.total_cmp(&one.0).then_with(|| one.1.cmp(&two.1)));
                Ok(Some(close.into_iter().take(LESSONS_TOLD).map(|(_, id)| id).collect::<Vec<String>>()))
            }
        };
        ctx.step("lessons close", work).input(&input).await
    }

    fn is_rehearsed(&self) -> bool {
        self.providers().iter().any(|provider| is_rehearsal(provider))
    }

    /// The lessons of this debate, for later ones.
    pub(super) fn learned(&self, ctx: &Ctx, state: &DebateState) -> Vec<DebateRecord> {
        if !self.config.lessons {
            return Vec::new();
        }
        let origin = LessonOrigin {
            debate: ctx.run_id(),
            topic: &self.config.topic,
            domain: self.domain,
            language: self.config.language.map(|language| language.word()),
            now: state.began,
        };
        let new = lesson::new_ones(&state.lessons, lesson::extract(state.memory.episodes(), origin));
        let learned = |lesson: Lesson| {
            DebateRecord::Lesson(LessonRecord {
                id: uuid(&[ctx.run_id().as_str(), &lesson.id]),
                domain: lesson.domain,
                language: lesson.language,
                root_cause: lesson.root_cause,
                lesson: lesson.text,
                confidence: lesson.confidence,
                tags: lesson.tags,
                rehearsed: self.is_rehearsed(),
            })
        };
        new.into_iter().map(learned).collect()
    }
}

fn is_rehearsal(provider: &str) -> bool {
    provider.split('/').next() == Some(rehearsal::NAME)
}

fn remembered(known: RecordView) -> Result<Lesson, Failure> {
    let known = LessonView::try_from(known)?;
    Ok(Lesson {
        id: known.id,
        domain: known.domain,
        language: known.language,
        root_cause: known.root_cause.unwrap_or_default(),
        text: known.lesson,
        confidence: known.confidence,
        tags: known.tags,
        debate: known.run_id,
        episodes: Vec::new(),
        learned_at: known.at,
    })
}

fn cosine(one: &[f32], two: &[f32]) -> f32 {
    let product = |one: &[f32], two: &[f32]| one.iter().zip(two).map(|(one, two)| one * two).sum::<f32>();
    let length = (product(one, one) * product(two, two)).sqrt();
    if length > 0.0 { product(one, two) / length } else { 0.0 }
}
