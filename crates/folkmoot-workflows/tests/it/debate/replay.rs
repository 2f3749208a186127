//! Debates, replayed without any model.

use std::{fs, sync::Arc, time::Duration};

use folkmoot_core::{
    Principal, Role, RunId,
    gate::{Choice, GateStatus, Review},
};
use folkmoot_debate::{Phases, WORKFLOW, agent::DebatePhase};
use folkmoot_engine::{Engine, EngineSettings, Failure, GateQuery, ReplayOutcome, Workflows};
use folkmoot_llm::{Prompts, Rehearsal, budget::Budget};
use folkmoot_workflows::{
    Voice, Voices,
    debate::{DebateConfig, Debater, Preset},
};
use futures_util::future::BoxFuture;

use super::{CODE, debating, gates, recorded::Recorded};
use crate::voices::One;

/// Voices with other prompts.
#[derive(Debug)]
struct Otherwise(Arc<Prompts>);

impl Voices for Otherwise {
    fn choose(&self, named: Option<String>) -> BoxFuture<'_, Result<String, Failure>> {
        Box::pin(async move { Ok(named.unwrap_or_default()) })
    }
    fn voice(&self, _: &str) -> Result<Voice, Failure> {
        Ok(Voice { model: Arc::new(Rehearsal), price: None, max_tokens: folkmoot_llm::request::MAX_TOKENS })
    }
    fn prompts(&self) -> Result<Arc<Prompts>, Failure> {
        Ok(Arc::clone(&self.0))
    }
    fn budget(&self) -> Budget {
        Budget::default()
    }
}

pub(super) fn you() -> Principal {
    Principal::new("you".parse().unwrap(), Role::Admin)
}

/// Holds a debate to its end, and approves whatever is asked on the way.
pub(super) async fn hold(engine: &Engine, debating: &DebateConfig) -> RunId {
    let run = engine.start_workflow(you(), WORKFLOW, debating).await.unwrap().start.id;
    loop {
        let waited = engine.wait_for_end(&you(), &run, Duration::from_millis(100)).await.unwrap();
        if waited.ending().is_some() {
            return run;
        }
        let pending = engine
            .gates(
                &you(),
                GateQuery {
                    run: Some(run.clone()),
                    status: Some(GateStatus::Pending),
                    limit: 10,
                    ..GateQuery::default()
                },
            )
            .await
            .unwrap();
        for gate in pending.items {
            engine.decide(you().into(), Review::on(&gate.gate, Choice::Approve, "read")).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_debate_is_replayed_to_the_same_verdict_or_says_where_it_differs() {
    let folder = tempfile::tempdir().unwrap();
    let debater = Debater { voices: Arc::new(One(Arc::new(Rehearsal))), effects: Arc::new(Recorded) };
    let settings = EngineSettings { workflows: debater.join(Workflows::new()), ..EngineSettings::default() };
    let engine = Engine::on_file(folder.path().join("moot.db"), settings).await.unwrap();
    let full = DebateConfig {
        phases: Phases::only(DebatePhase::ALL),
        gates: gates(&[DebatePhase::Proposal, DebatePhase::Convergence]),
        ..debating(Preset::Full, CODE, 5)
    };
    let run = hold(&engine, &full).await;
    let ended = engine.run(&you(), &run).await.unwrap();
    let output = engine.output(&ended).await.unwrap().expect("it gave something");

    let same = Debater::replaying(Arc::new(One(Arc::new(Rehearsal)))).join(Workflows::new());
    let replay = engine.replay(&you(), &run, &same).await.unwrap();
    assert_eq!(replay.replayed, ReplayOutcome::Ended(Ok(output)));
    assert_eq!(replay.unused, Vec::<String>::new());
    assert!(replay.calls > 50, "{}", replay.calls);

    let prompts = tempfile::tempdir().unwrap();
    fs::create_dir(prompts.path().join("debate")).unwrap();
    let changed =
        include_str!("../../../../folkmoot-llm/prompts/debate/turn.md").replace("Now: criticise", "Now: praise");
    fs::write(prompts.path().join("debate/turn.md"), changed).unwrap();
    let other = Otherwise(Arc::new(Prompts::with_overrides(prompts.path()).unwrap()));
    let other = Debater::replaying(Arc::new(other)).join(Workflows::new());
    let replay = engine.replay(&you(), &run, &other).await.unwrap();
    let ReplayOutcome::Differs { code, why, at } = replay.replayed else { panic!("{replay:?}") };
    assert_eq!(code, "workflow_changed");
    assert!(why.contains("1/critique/"), "{why}");
    assert!(at.as_ref().is_some_and(|at| at.starts_with("1/critique/")), "{at:?}");
    engine.close().await;
}
