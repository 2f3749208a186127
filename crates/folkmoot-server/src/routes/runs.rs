//! Runs: one file per verb.

pub(crate) mod cancel;
pub(crate) mod end;
pub(crate) mod events;
pub(crate) mod journal;
pub(crate) mod list;
pub(crate) mod resume;
pub(crate) mod show;
pub(crate) mod start;
pub(crate) mod step;
pub(crate) mod wait;

use folkmoot_api::wire::{self, WaitingAt};
use folkmoot_core::Run;
use folkmoot_engine::{Engine, Error};

/// A run as a verb returned it. Nothing is read, so nothing can fail after a write.
fn brief(engine: &Engine, run: Run) -> wire::Run {
    let halted_by = engine.halted_by(&run).iter().map(|hold| hold.id.as_str().to_owned()).collect();
    wire::Run { halted_by, ..wire::Run::new(run, engine.now()) }
}

/// A run with what it waits for and its output.
async fn shown(engine: &Engine, run: Run) -> Result<wire::Run, Error> {
    let at = engine.waiting_at(&run).await?;
    let waiting_at = WaitingAt {
        gates: at.gates.into_iter().map(|gate| gate.id).collect(),
        questions: at.questions.into_iter().map(|question| question.id).collect(),
        runs: at.runs.into_iter().map(|run| run.start.id).collect(),
        until: at.until,
        held: at.held,
    };
    let output = engine.output(&run).await?;
    Ok(brief(engine, run).waiting(waiting_at).giving(output))
}
