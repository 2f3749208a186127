//! A workflow with everything in it gives the same outcome wherever it is crashed.

use std::time::Duration;

use folkmoot_core::question::QuestionType;
use folkmoot_engine::{
    Ask, Ctx, Failure, GateRequest, Retry, Workflows,
    sim::{self, Crash, Effects, Scenario},
};

/// 30 steps in 4 parallel branches, two gates and a question.
pub fn sample(effects: &Effects) -> Workflows {
    let effects = effects.clone();
    let workflow = move |ctx: Ctx, count: u32| {
        let effects = effects.clone();
        async move {
            let plan = ctx.gate("plan", GateRequest::new("Build it?")).await?;
            if !plan.may_proceed() {
                return Err(Failure::new("refused", plan.decision.reason));
            }
            let built = ctx.join("build", 0..4_u32, |ctx, branch| {
                let effects = effects.clone();
                async move {
                    let mut sum = 0;
                    for n in 0..7_u32 {
                        let (key, effects) = (format!("part-{n}"), effects.clone());
                        let name = format!("build.{}/{key}", branch + 1);
                        let step = ctx.step(key, move || effects.give(name.clone(), branch * 100 + n));
                        sum += if n % 3 == 0 { step.once().await? } else { step.await? };
                    }
                    ctx.sleep("rest", Duration::from_secs(u64::from(branch) * 40)).await?;
                    Ok(sum)
                }
            });
            let built = built.await?;
            let ask = Ask::new(QuestionType::Decision, "Which colour?").options(["red", "blue"]);
            let colour: String = ctx.ask("colour", ask).await?.get()?;
            let shipped = ctx.gate("ship", GateRequest::new(format!("Ship {built:?} in {colour}?"))).await?;
            let effects = effects.clone();
            let ship = ctx.step("ship-it", move || effects.happen("ship-it")).once();
            ship.await?;
            let extra = ctx.step("count", move || async move { Ok(count + 1) });
            Ok((built, colour, shipped.may_proceed(), extra.await?))
        }
    };
    Workflows::new().with("sample@1", workflow)
}

fn scenario() -> Scenario {
    let effects = Effects::default();
    Scenario::new(sample(&effects), "sample@1", 41).effects(effects)
}

#[test]
fn nothing_is_done_twice_wherever_it_crashes() {
    let calm = sim::simulate(&scenario(), Crash::Never);
    assert_eq!(
        calm.outcome.unwrap(),
        serde_json::json!([[21, 721, 1421, 2121], "red", true, 42]),
        "the sample gives what it should"
    );
    assert_eq!(calm.effects.len(), 29);
    assert!(calm.effects.values().all(|count| *count == 1));
    let storms = sim::crash_everywhere(scenario);
    let asked = storms.iter().filter(|storm| !storm.in_flight.is_empty()).count();
    assert!(asked > 20, "only {asked} crashes met a step in flight");
}

#[test]
fn a_step_that_fails_is_tried_again_as_often_as_it_may() {
    let effects = Effects::default();
    let happening = effects.clone();
    let workflow = move |ctx: Ctx, (): ()| {
        let happening = happening.clone();
        async move {
            let flaky = ctx.step("flaky", move || {
                let happening = happening.clone();
                async move {
                    happening.happen("flaky").await?;
                    match happening.count("flaky") {
                        n if n < 3 => Err(Failure::new("busy", format!("attempt {n}"))),
                        n => Ok(n),
                    }
                }
            });
            flaky.retry(Retry::times(5)).await
        }
    };
    let workflows = Workflows::new().with("flaky@1", workflow);
    let report = sim::simulate(&Scenario::new(workflows, "flaky@1", ()).effects(effects), Crash::Never);
    assert_eq!(report.outcome.unwrap(), serde_json::json!(3));
}
