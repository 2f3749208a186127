//! A debate, replayed: what came of it, against what is recorded.

use folkmoot_api::wire::{DebateReplay, Fault, ReplayDiffers};
use folkmoot_core::{
    Principal, RunId,
    run::{Ending, RunOutcome},
};
use folkmoot_engine::{Error, Failure, ReplayOutcome, ReplayReport};
use folkmoot_workflows::debate::DebateOutcome;

use super::{debated, held, run};
use crate::app::App;

/// Where the record of a debate ends that waits, or was ended while it did.
const WAITED: &str = "what it waits for";
/// Keys of a record that are named where they were not asked for.
const NAMED_MAX: usize = 3;

/// Replays a debate that `principal` may know of.
pub(crate) async fn replay(app: &App, principal: &Principal, id: &RunId) -> Result<DebateReplay, Error> {
    run(&app.engine, principal, id).await?;
    let debate = held(app, principal, id).await?;
    let recorded = debated(&app.engine, &debate.run).await?;
    let ReplayReport { replayed, calls, unused } = {
        let _one_of_few = app.replaying.acquire().await.expect("nobody closes it");
        app.engine.replay(principal, id, &app.replays).await?
    };
    let came = came(replayed, debate.run.ending(), recorded, &unused);
    Ok(DebateReplay {
        id: debate.view.id,
        status: debate.view.status,
        same: came.same,
        verdict: came.debated.map(|debated| debated.verdict.into()),
        fault: came.failure.map(|Failure { code, message, .. }| Fault { code, message }),
        calls: calls as u64,
        differs: came.differs,
        until: came.until,
        waiting_at: debate.waiting_at,
    })
}

#[derive(Default)]
struct ReplayComparison {
    same: bool,
    debated: Option<DebateOutcome>,
    failure: Option<Failure>,
    differs: Option<ReplayDiffers>,
    until: Option<String>,
}

fn came(
    replayed: ReplayOutcome,
    ending: Option<&Ending>,
    recorded: Option<DebateOutcome>,
    unused: &[String],
) -> ReplayComparison {
    let completed = ending.is_some_and(|ending| ending.outcome == RunOutcome::Completed);
    match replayed {
        ReplayOutcome::Ended(Ok(output)) => {
            let debated: Option<DebateOutcome> = serde_json::from_str(&output).ok();
            let differs = match (completed, debated == recorded, unused) {
                (true, true, []) => None,
                (true, true, unused) => Some(not_asked(unused)),
                // Its end was not recorded: the server ended between the last call and that.
                (false, _, _) if ending.is_none() => None,
                _ => Some(otherwise("it ends with another verdict, answer or code than the one recorded")),
            };
            ReplayComparison { same: completed && differs.is_none(), debated, differs, ..ReplayComparison::default() }
        }
        // Its gates and questions ended with it.
        ReplayOutcome::Ended(Err(_)) if ending.is_some_and(|ending| ending.outcome == RunOutcome::Cancelled) => {
            ReplayComparison { until: Some(WAITED.to_owned()), ..ReplayComparison::default() }
        }
        ReplayOutcome::Ended(Err(failure)) => {
            let as_before = |ending: &Ending| ending.outcome == RunOutcome::Failed && ending.code == failure.code;
            let same = ending.is_some_and(as_before);
            let differs = (!same).then(|| otherwise(&format!("it fails ({failure}), which is not what is recorded")));
            ReplayComparison { same, failure: Some(failure), differs, ..ReplayComparison::default() }
        }
        ReplayOutcome::Differs { code, why, at } => {
            ReplayComparison { differs: Some(ReplayDiffers { code, why, turn: at }), ..ReplayComparison::default() }
        }
        ReplayOutcome::Recorded { until } if completed => {
            let why = "it comes to a call that is not in the record, and the debate did without".to_owned();
            ReplayComparison {
                differs: Some(ReplayDiffers { code: "not_recorded".to_owned(), why, turn: until }),
                ..ReplayComparison::default()
            }
        }
        ReplayOutcome::Recorded { until } => {
            ReplayComparison { until: Some(until.unwrap_or_default()), ..ReplayComparison::default() }
        }
        ReplayOutcome::Waits if completed => ReplayComparison {
            differs: Some(otherwise("it waits for something, and the debate did not")),
            ..ReplayComparison::default()
        },
        ReplayOutcome::Waits => ReplayComparison { until: Some(WAITED.to_owned()), ..ReplayComparison::default() },
    }
}

fn otherwise(why: &str) -> ReplayDiffers {
    ReplayDiffers { code: "verdict".to_owned(), why: why.to_owned(), turn: None }
}

fn not_asked(unused: &[String]) -> ReplayDiffers {
    let some = unused.iter().take(NAMED_MAX).map(String::as_str).collect::<Vec<_>>().join(", ");
    let why = format!("{} calls are recorded that it does not make: {some}", unused.len());
    ReplayDiffers { code: "not_asked".to_owned(), why, turn: unused.first().cloned() }
}
