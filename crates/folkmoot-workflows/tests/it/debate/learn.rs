//! What one debate learned reaches the next, and provenance shows it.

use std::sync::{Arc, Mutex};

use folkmoot_engine::{Engine, EngineSettings, JournalQuery, Workflows};
use folkmoot_llm::{
    Embedder, FailureKind, Hear, Model, ModelAnswer, ModelFailure, ModelRequest, Prompts, Rehearsal, budget::Budget,
};
use folkmoot_tools::jail::ProgramLanguage;
use folkmoot_workflows::{
    Voice, Voices,
    debate::{DebateConfig, Debater, Preset},
};
use futures_util::future::BoxFuture;

use super::{
    CODE, debating,
    recorded::Recorded,
    replay::{hold, you},
};
use crate::voices::{One, PROMPTS};

/// The rehearsal, and all that it was asked.
#[derive(Debug, Default)]
struct Heard(Mutex<Vec<String>>);

impl Model for Heard {
    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        hear: &'a mut dyn Hear,
    ) -> BoxFuture<'a, Result<ModelAnswer, ModelFailure>> {
        self.0.lock().unwrap().push(request.messages[0].text.clone());
        // It plays a model: what the rehearsal itself says teaches no model.
        Box::pin(async move { Ok(ModelAnswer { provider: "one".to_owned(), ..Rehearsal.ask(request, hear).await? }) })
    }
}

impl Heard {
    fn lessons(&self) -> Vec<String> {
        let heard = std::mem::take(&mut *self.0.lock().unwrap());
        heard.into_iter().filter(|prompt| prompt.contains("An earlier debate taught this.")).collect()
    }
}

#[tokio::test]
async fn a_lesson_of_one_debate_is_in_the_prompts_of_the_next_and_provenance_says_whence() {
    let folder = tempfile::tempdir().unwrap();
    let heard = Arc::new(Heard::default());
    let model: Arc<dyn Model> = heard.clone();
    let debater = Debater { voices: Arc::new(One(model)), effects: Arc::new(Recorded) };
    let settings = EngineSettings { workflows: debater.join(Workflows::new()), ..EngineSettings::default() };
    let engine = Engine::on_file(folder.path().join("moot.db"), settings).await.unwrap();

    let first = hold(&engine, &debating(Preset::Full, CODE, 5)).await;
    assert_eq!(heard.lessons(), Vec::<String>::new(), "there is nothing to learn from yet");

    // Of another task, nothing of it is of use.
    let other = "Should the office have a second coffee machine?";
    hold(&engine, &debating(Preset::Full, other, 3)).await;
    assert_eq!(heard.lessons(), Vec::<String>::new());

    // Whoever wants none gets none.
    hold(&engine, &DebateConfig { lessons: false, ..debating(Preset::Full, CODE, 5) }).await;
    assert_eq!(heard.lessons(), Vec::<String>::new());

    let again = hold(&engine, &debating(Preset::Full, CODE, 5)).await;
    assert!(!heard.lessons().is_empty(), "the lesson is shown to those who write");
    let events = engine.events_of_run(&you(), &again, 0, 1_000).await.unwrap();
    let shown = events.iter().find(|event| event.fact.kind == "debate.lessons_shown").expect("it is in the log");
    assert!(shown.fact.payload.contains(first.as_str()), "{}", shown.fact.payload);
    let query =
        JournalQuery { run: again, after: None, limit: 1, key: Some("lessons".parse().unwrap()), results: true };
    assert_eq!(engine.journal(&you(), query).await.unwrap().len(), 1, "what was known is recorded");
    engine.close().await;
}

/// Somebody who knows what is about time, in whatever words, or who cannot be asked.
#[derive(Clone, Copy, Debug)]
enum Meaning {
    Known,
    Unreachable,
}

impl Embedder for Meaning {
    fn embed<'a>(&'a self, texts: &'a [String]) -> BoxFuture<'a, Result<Vec<Vec<f32>>, ModelFailure>> {
        let is_about_time = |text: &String| text.contains("duration") || text.contains("took");
        let vector = |text: &String| if is_about_time(text) { vec![1.0, 0.2] } else { vec![-0.2, 1.0] };
        Box::pin(std::future::ready(match self {
            Meaning::Known => Ok(texts.iter().map(vector).collect()),
            Meaning::Unreachable => Err(ModelFailure::new("meaning", FailureKind::Unreachable, "nobody is there")),
        }))
    }
}

/// One who can be asked, and somebody who knows meanings, if there is one just now.
#[derive(Debug)]
struct Knowing(Arc<Heard>, Mutex<Option<Meaning>>);

impl Voices for Knowing {
    fn choose(&self, _: Option<String>) -> BoxFuture<'_, Result<String, folkmoot_engine::Failure>> {
        Box::pin(async { Ok("knowing".to_owned()) })
    }

    fn voice(&self, _: &str) -> Result<Voice, folkmoot_engine::Failure> {
        let model: Arc<dyn Model> = self.0.clone();
        Ok(Voice { model, price: None, max_tokens: folkmoot_llm::request::MAX_TOKENS })
    }

    fn embedder(&self, _: &str) -> Option<Arc<dyn Embedder>> {
        let known = (*self.1.lock().unwrap())?;
        Some(Arc::new(known))
    }

    fn prompts(&self) -> Result<Arc<Prompts>, folkmoot_engine::Failure> {
        Ok(Arc::clone(&PROMPTS))
    }

    fn budget(&self) -> Budget {
        Budget::default()
    }
}

#[tokio::test]
async fn a_lesson_is_found_by_what_it_means_where_somebody_can_tell() {
    let folder = tempfile::tempdir().unwrap();
    let heard = Arc::new(Heard::default());
    let voices = Arc::new(Knowing(heard.clone(), Mutex::default()));
    let debater = Debater { voices: voices.clone(), effects: Arc::new(Recorded) };
    let settings = EngineSettings { workflows: debater.join(Workflows::new()), ..EngineSettings::default() };
    let engine = Engine::on_file(folder.path().join("moot.db"), settings).await.unwrap();
    hold(&engine, &debating(Preset::Full, CODE, 5)).await;
    heard.lessons();

    let alike = debating(Preset::Quick, "How should people tell how long something took?", 3);
    let in_rust = DebateConfig { language: Some(ProgramLanguage::Rust), ..alike.clone() };
    let other = debating(Preset::Quick, "Should the office have a second coffee machine?", 3);
    let same = debating(Preset::Quick, CODE, 3);
    for (meaning, asked, expected) in [
        (None, &alike, false),
        (Some(Meaning::Known), &alike, true),
        (Some(Meaning::Known), &other, false),
        // What was learned about another language does not hold here, however close it is.
        (Some(Meaning::Known), &in_rust, false),
        // Where nobody can tell, words decide.
        (Some(Meaning::Unreachable), &alike, false),
        (Some(Meaning::Unreachable), &same, true),
    ] {
        *voices.1.lock().unwrap() = meaning;
        hold(&engine, asked).await;
        assert_eq!(!heard.lessons().is_empty(), expected, "{meaning:?}, {}", asked.topic);
    }
    engine.close().await;
}

/// Says what the rehearsal says, under the name by which it was asked for.
#[derive(Debug)]
struct Both(Arc<Heard>);

impl Voices for Both {
    fn choose(&self, named: Option<String>) -> BoxFuture<'_, Result<String, folkmoot_engine::Failure>> {
        Box::pin(async { Ok(named.unwrap_or_default()) })
    }

    fn voice(&self, name: &str) -> Result<Voice, folkmoot_engine::Failure> {
        let model: Arc<dyn Model> = if name == "rehearsal" { Arc::new(Rehearsal) } else { self.0.clone() };
        Ok(Voice { model, price: None, max_tokens: folkmoot_llm::request::MAX_TOKENS })
    }

    fn prompts(&self) -> Result<Arc<Prompts>, folkmoot_engine::Failure> {
        Ok(Arc::clone(&PROMPTS))
    }

    fn budget(&self) -> Budget {
        Budget::default()
    }
}

#[tokio::test]
async fn what_was_rehearsed_teaches_no_model() {
    let folder = tempfile::tempdir().unwrap();
    let heard = Arc::new(Heard::default());
    let debater = Debater { voices: Arc::new(Both(heard.clone())), effects: Arc::new(Recorded) };
    let settings = EngineSettings { workflows: debater.join(Workflows::new()), ..EngineSettings::default() };
    let engine = Engine::on_file(folder.path().join("moot.db"), settings).await.unwrap();
    let asked =
        |provider: &str| DebateConfig { provider: Some(provider.to_owned()), ..debating(Preset::Full, CODE, 5) };
    hold(&engine, &asked("rehearsal")).await;
    hold(&engine, &asked("one")).await;
    assert_eq!(heard.lessons(), Vec::<String>::new(), "the only lessons were rehearsed");
    hold(&engine, &asked("one")).await;
    assert!(!heard.lessons().is_empty(), "what a model learnt is shown to models");
}
