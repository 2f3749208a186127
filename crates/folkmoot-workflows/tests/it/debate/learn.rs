//! What one debate learned reaches the next, and provenance shows it.

use std::sync::{Arc, Mutex};

use folkmoot_engine::{Engine, JournalQuery, Settings, Workflows};
use folkmoot_llm::{Answer, Failure, Hear, Model, Rehearsal, Request};
use folkmoot_workflows::debate::{Debater, Debating, Preset};
use futures_util::future::BoxFuture;

use super::{
    CODE, debating,
    recorded::Recorded,
    replay::{hold, you},
};
use crate::voices::One;

/// The rehearsal, and all that it was asked.
#[derive(Debug, Default)]
struct Heard(Mutex<Vec<String>>);

impl Model for Heard {
    fn ask<'a>(&'a self, request: &'a Request, hear: &'a mut dyn Hear) -> BoxFuture<'a, Result<Answer, Failure>> {
        self.0.lock().unwrap().push(request.messages[0].text.clone());
        Rehearsal.ask(request, hear)
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
    let debater = Debater { voices: Arc::new(One(model)), hands: Arc::new(Recorded) };
    let settings = Settings { workflows: debater.join(Workflows::new()), ..Settings::default() };
    let engine = Engine::on_file(folder.path().join("moot.db"), settings).await.unwrap();

    let first = hold(&engine, &debating(Preset::Full, CODE, 5)).await;
    assert_eq!(heard.lessons(), Vec::<String>::new(), "there is nothing to learn from yet");

    // Of another task, nothing of it is of use.
    let other = "Should the office have a second coffee machine?";
    hold(&engine, &debating(Preset::Full, other, 3)).await;
    assert_eq!(heard.lessons(), Vec::<String>::new());

    // Whoever wants none gets none.
    hold(&engine, &Debating { lessons: false, ..debating(Preset::Full, CODE, 5) }).await;
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
