//! A debate that cannot go on where it is.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use folkmoot_core::{
    gate::{Choice, Review},
    run::RunState,
};
use folkmoot_debate::{WORKFLOW, agent::DebatePhase};
use folkmoot_engine::{Engine, EngineSettings, Failure, GateQuery, Workflows};
use folkmoot_llm::{Prompts, Rehearsal, budget::Budget};
use folkmoot_workflows::{
    Voice, Voices,
    debate::{DebateConfig, Debater, Preset},
};
use futures_util::future::BoxFuture;

use super::{debating, gates, recorded::Recorded, replay::you};
use crate::voices::PROMPTS;

/// How long one look lasts.
const LOOK: Duration = Duration::from_millis(20);

/// A voice whose key can be taken away.
#[derive(Debug, Default)]
struct Keyed {
    is_gone: AtomicBool,
}

impl Voices for Keyed {
    fn choose(&self, _: Option<String>) -> BoxFuture<'_, Result<String, Failure>> {
        Box::pin(async { Ok("keyed".to_owned()) })
    }

    fn voice(&self, name: &str) -> Result<Voice, Failure> {
        match self.is_gone.load(Ordering::SeqCst) {
            true => Err(Failure::new("error", format!("{name}: there is no such provider"))),
            false => {
                Ok(Voice { model: Arc::new(Rehearsal), price: None, max_tokens: folkmoot_llm::request::MAX_TOKENS })
            }
        }
    }

    fn prompts(&self) -> Result<Arc<Prompts>, Failure> {
        Ok(Arc::clone(&PROMPTS))
    }

    fn budget(&self) -> Budget {
        Budget::default()
    }
}

#[tokio::test]
async fn a_debate_whose_provider_is_gone_stops_and_goes_on_when_it_is_back() {
    let folder = tempfile::tempdir().unwrap();
    let voices = Arc::new(Keyed::default());
    let debater = Debater { voices: voices.clone(), effects: Arc::new(Recorded) };
    let settings = EngineSettings { workflows: debater.join(Workflows::new()), ..EngineSettings::default() };
    let engine = Engine::on_file(folder.path().join("moot.db"), settings).await.unwrap();
    let asked = DebateConfig {
        gates: gates(&[DebatePhase::Proposal]),
        ..debating(Preset::Quick, "Should we write tests first?", 3)
    };
    let id = engine.start_workflow(you(), WORKFLOW, &asked).await.unwrap().start.id;
    let gate = loop {
        engine.wait_for_end(&you(), &id, LOOK).await.unwrap();
        let query = GateQuery { run: Some(id.clone()), limit: 1, ..GateQuery::default() };
        if let Some(found) = engine.gates(&you(), query).await.unwrap().items.pop() {
            break found.gate;
        }
    };
    voices.is_gone.store(true, Ordering::SeqCst);
    engine.decide(you().into(), Review::on(&gate, Choice::Approve, "read")).await.unwrap();
    let (code, message) = loop {
        match engine.wait_for_end(&you(), &id, LOOK).await.unwrap().state {
            RunState::Stopped { code, message } => break (code, message),
            RunState::Ended(ending) => panic!("it ended: {ending:?}"),
            _ => {}
        }
    };
    assert_eq!(code, "not_equipped");
    assert_eq!(message, "keyed: there is no such provider. Mend that, and resume this run");

    voices.is_gone.store(false, Ordering::SeqCst);
    engine.resume_run(you().into(), id.clone()).await.unwrap();
    let ended = engine.wait_for_end(&you(), &id, Duration::from_secs(60)).await.unwrap();
    assert_eq!(ended.status().word(), "completed");
    engine.close().await;
}
