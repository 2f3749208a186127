//! Drives one run: replays it, lets it work, and releases it when every branch waits.

use std::{
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use folkmoot_core::{
    Deadline, Name, Outcome, Run, RunId,
    journal::Fence,
    run::{self, Conclusion, ParkRequest, is_own_agent},
};
use folkmoot_store::{Error, JournalLine, JournalQuery, Store};
use futures_util::{
    FutureExt,
    task::{ArcWake, AtomicWaker, waker},
};
use tokio_util::sync::CancellationToken;

use super::panic_text;
use crate::{
    Ctx, Engine, Failure,
    ctx::{AGAIN, Pass, PassEnd, PassWatch, SPINS},
};

/// How many journal entries are read at once.
const LINES: u32 = 20_000;
/// A pause that ends this soon is waited for in memory, because parking the run would cost more.
const LINGER: Duration = Duration::from_secs(1);
/// The maximum number of polls without progress that the `Ctx` knows of. A workflow that is polled
/// more often wakes itself.
const IDLE_POLLS_MAX: u32 = 1_000;
/// How long a run waits if the store refuses to park it although nothing has woken it.
const NOT_YET: Duration = Duration::from_millis(20);

/// How [`stretch`] ended.
pub(super) enum Stretch {
    Ended(Result<String, Failure>),
    Panicked(String),
    PassEnded(PassEnd),
    /// Every branch waits.
    Idle,
}

pub(super) type GuardedFuture = Pin<Box<dyn Future<Output = std::thread::Result<Result<String, Failure>>> + Send>>;

/// Executes a claimed run until it ends, stops or waits. Dropping this future abandons the
/// execution where it is.
pub(super) async fn drive(engine: &Engine, run: Run, mut wakes: u64, gone: CancellationToken, watch: Arc<PassWatch>) {
    let time_left = run.start.limits.time_left(&run, engine.now());
    let Some((journal, input)) = load(engine, &run).await else { return };
    let pass = Arc::new(Pass::new(engine.clone(), run, journal, gone, watch));
    let run = &pass.run;
    let workflow = run.start.workflow.as_ref().expect("only runs of ours are claimed");
    let execution = engine.worker().workflows.execute(workflow, Ctx::new(pass.clone()), input);
    let execution = execution.expect("only runs of registered workflows are claimed");
    let mut execution: GuardedFuture = Box::pin(AssertUnwindSafe(execution).catch_unwind());
    let mut over = engine.0.host.sleep(time_left);
    loop {
        let stretch = tokio::select! {
            biased;
            stretch = stretch(&mut execution, &pass) => stretch,
            () = &mut over => Stretch::PassEnded(PassEnd::out_of_time(run)),
        };
        let action = match stretch {
            Stretch::Ended(Ok(output)) => end(run, Conclusion::Completed { output }),
            Stretch::Ended(Err(Failure { code, message, .. })) => end(run, Conclusion::Failed { code, message }),
            Stretch::PassEnded(end) => action(run, end),
            Stretch::Panicked(message) => stop(run, "panicked".to_owned(), message),
            Stretch::Idle if pass.waits_for_nothing() => stop(run, "stuck".to_owned(), STUCK.to_owned()),
            Stretch::Idle => run::Action::Park(ParkRequest {
                run: run.start.id.clone(),
                epoch: run.epoch,
                wakes,
                due: pass.due(),
                held: pass.held(),
                outages: pass.outages(),
                session_id: run.start.session_id.clone(),
            }),
        };
        let held = match &action {
            run::Action::Park(request) => request.held.clone(),
            _ => Vec::new(),
        };
        match pass.persist(action).await {
            Ok(Outcome::Awake(had)) => {
                if had == wakes {
                    // Nothing woke it. The store knows of a clearance of which this node has not
                    // heard yet.
                    engine.0.host.sleep(NOT_YET).await;
                }
                wakes = had;
                pass.look_again();
            }
            Ok(_) => {
                engine.0.deadlines.consider(pass.due());
                wake_if_released(engine, run, &held).await;
                return;
            }
            // The output cannot be stored.
            Err(refusal) => {
                let conclusion = Conclusion::Failed { code: refusal.code().to_owned(), message: refusal.to_string() };
                // Another refusal means that the run no longer belongs to this worker.
                let _ = pass.persist(end(run, conclusion)).await;
                return;
            }
        }
    }
}

/// Wakes a run that has just parked because of an operator's halt of all agents of one name, if
/// that halt was lifted meanwhile. The store cannot tell: to it, somebody's open question under the
/// same name holds the run too.
async fn wake_if_released(engine: &Engine, run: &Run, held: &[Name]) {
    for agent in held.iter().filter(|agent| !is_own_agent(agent, &run.start.id)) {
        if engine.is_cleared_in(run, agent).await {
            let woken = engine
                .execute_command(engine.system_command(run::Action::TimerDue { run: run.start.id.clone() }))
                .await;
            if let Err(error) = woken {
                tracing::warn!(run.id = %run.start.id, "run {}: cannot be woken just now: {error}", run.start.id);
            }
            return;
        }
    }
}

const STUCK: &str = "its workflow waits for something that is none of the Ctx's, which no replay could find again: await \
                     only steps, gates, questions, pauses, joins and other runs";

const WAKES_ITSELF: &str = "its workflow wakes itself again and again and waits for nothing, which is a defect of the workflow: \
                            await only steps, gates, questions, pauses, joins and other runs";

/// The command that follows from the end of a pass.
pub(super) fn action(run: &Run, pass_end: PassEnd) -> run::Action {
    match pass_end {
        PassEnd::Fail(conclusion) => end(run, conclusion),
        PassEnd::Stop { code, message, .. } => stop(run, code, message),
    }
}

fn end(run: &Run, conclusion: Conclusion) -> run::Action {
    run::Action::End { run: run.start.id.clone(), fence: Fence::Epoch(run.epoch), conclusion }
}

fn stop(run: &Run, code: String, message: String) -> run::Action {
    run::Action::Stop { run: run.start.id.clone(), epoch: run.epoch, code, message }
}

/// The journal and the input of the run; `None` if it no longer belongs to this worker.
async fn load(engine: &Engine, run: &Run) -> Option<(Vec<JournalLine>, Option<String>)> {
    loop {
        match read(engine, run).await {
            Ok(found) => return found,
            Err(Error::Stopped(_)) => return None,
            Err(error) => {
                let id = &run.start.id;
                tracing::warn!(run.id = %id, "run {id}: its journal cannot be read just now: {error}");
                engine.0.host.sleep(AGAIN).await;
            }
        }
    }
}

async fn read(engine: &Engine, run: &Run) -> Result<Option<(Vec<JournalLine>, Option<String>)>, Error> {
    // Events from before this worker registered the run did not reach it.
    let current = engine.0.store.run(&run.start.id).await?;
    if current.is_none_or(|current| current.epoch != run.epoch || current.ending().is_some()) {
        return Ok(None);
    }
    let parent = match &run.start.parent {
        Some(parent) => engine.0.store.run(parent).await?,
        None => None,
    };
    if parent.is_some_and(|parent| parent.ending().is_some()) {
        engine.end_child(&run.start.id).await?;
        return Ok(None);
    }
    Ok(Some((journal(engine, &run.start.id).await?, engine.recorded(run.start.input).await?)))
}

/// The whole journal of a run, with results.
pub(super) async fn journal(engine: &Engine, run: &RunId) -> Result<Vec<JournalLine>, Error> {
    let mut journal: Vec<JournalLine> = Vec::new();
    loop {
        let after = journal.last().map(|line| (line.entry.began_at, line.entry.key.clone()));
        let query = JournalQuery { run: run.clone(), after, limit: LINES, key: None, results: true };
        let page = engine.0.store.journal(query).await?;
        let whole = page.len() < LINES as usize;
        journal.extend(page);
        if whole {
            return Ok(journal);
        }
    }
}

/// Lets the workflow run until it ends, or until every branch waits for something.
pub(super) async fn stretch(execution: &mut GuardedFuture, pass: &Pass) -> Stretch {
    let bell = Arc::new(WakeFlag::default());
    let waker = waker(bell.clone());
    let mut idle_polls = 0;
    std::future::poll_fn(|context| {
        bell.driver.register(context.waker());
        bell.rung.store(false, Ordering::SeqCst);
        let before = pass.progress();
        let polled = pass.polls(|| execution.as_mut().poll(&mut Context::from_waker(&waker)));
        if let Some(end) = pass.ended() {
            return Poll::Ready(Stretch::PassEnded(end));
        }
        idle_polls = if pass.progress() == before { idle_polls + 1 } else { 0 };
        if polled.is_pending() && idle_polls > IDLE_POLLS_MAX {
            return Poll::Ready(Stretch::PassEnded(PassEnd::stop(SPINS, WAKES_ITSELF)));
        }
        match polled {
            Poll::Ready(Ok(result)) => Poll::Ready(Stretch::Ended(result)),
            Poll::Ready(Err(panic)) => Poll::Ready(Stretch::Panicked(panic_text(panic.as_ref()))),
            // The wake-up has also woken this future. It is polled again after others had their
            // turn.
            Poll::Pending if bell.rung.load(Ordering::SeqCst) => Poll::Pending,
            Poll::Pending if pass.is_idle() && !lingers(pass) => Poll::Ready(Stretch::Idle),
            Poll::Pending => Poll::Pending,
        }
    })
    .await
}

fn lingers(pass: &Pass) -> bool {
    match pass.due() {
        Deadline::At(due) => due < pass.engine.now().plus(LINGER),
        Deadline::Never => false,
    }
}

/// Records whether the workflow was woken while it was polled.
#[derive(Default)]
struct WakeFlag {
    rung: AtomicBool,
    driver: AtomicWaker,
}

impl ArcWake for WakeFlag {
    fn wake_by_ref(bell: &Arc<Self>) {
        bell.rung.store(true, Ordering::SeqCst);
        bell.driver.wake();
    }
}
