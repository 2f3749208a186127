//! The example, with the rehearsal in place of a model.

use std::sync::Arc;

use folkmoot_engine::sim::{self, Crash, Scenario};
use folkmoot_llm::{Prompts, Rehearsal, Replay, budget::Budget};

#[path = "../../examples/moot.rs"]
#[expect(dead_code, reason = "its main is for people")]
mod example;

use example::{Moot, Verdict, hold};

const TOPIC: &str = "Should a parser of durations take negative numbers?";

fn moot() -> Moot {
    Moot {
        model: Arc::new(Rehearsal),
        price: None,
        prompts: Arc::new(Prompts::embedded()),
        agents: 5,
        max_tokens: 200,
        budget: Budget::default(),
    }
}

#[tokio::test]
async fn a_moot_comes_to_a_verdict_and_to_the_same_from_its_journal() {
    let (verdict, results) = hold(moot(), TOPIC).await.unwrap();
    assert_eq!((verdict.unparsed, verdict.failed), (0, 0), "{verdict:?}");
    assert_eq!(verdict.votes.values().sum::<usize>(), 5, "{verdict:?}");
    let replay = Arc::new(Replay::from_journal(&results));
    assert_eq!(replay.left(), 10);
    let (again, _) = hold(Moot { model: replay.clone(), ..moot() }, TOPIC).await.unwrap();
    assert_eq!(again, verdict);
    assert_eq!(replay.left(), 0);
}

#[test]
fn a_moot_comes_to_the_same_verdict_wherever_it_crashes() {
    let scenario = || Scenario::new(Moot { agents: 3, ..moot() }.workflows(), "moot@1", TOPIC);
    let calm = sim::simulate(&scenario(), Crash::Never);
    let verdict: Verdict = serde_json::from_value(calm.outcome.unwrap()).unwrap();
    assert_eq!((verdict.unparsed, verdict.failed), (0, 0), "{verdict:?}");
    sim::crash_everywhere(scenario);
    sim::untold_everywhere(scenario);
}
