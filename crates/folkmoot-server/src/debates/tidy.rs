//! What a debate leaves in its repository when it is ended from outside: cancelled, or out of time.
//! It was dropped where it was, and could not remove its worktree itself.

use std::{collections::BTreeMap, path::Path, time::Duration};

use folkmoot_core::{
    Run,
    run::{self, RunEvent, RunKind, RunOutcome},
};
use folkmoot_debate::record::DebateStatus;
use folkmoot_engine::Error;
use folkmoot_engine::RunSummaryQuery;
use folkmoot_workflows::{
    debate::{Branch, records},
    tools::{Repository, git::WorktreeKind},
};

use super::{config_from_request::everything, debating};
use crate::app::App;

/// How many debates are read at once.
const DEBATES: u32 = 200;
/// How long after the database did not answer it is asked again.
const AGAIN: Duration = Duration::from_secs(1);
/// What was in flight when a debate ended is dropped, but may have made its worktree once more
/// before it was.
const ONCE_MORE: Duration = Duration::from_secs(1);

/// Removes the worktree of a debate that is over; its branch stays, with what was committed. Where
/// there is none nothing is done.
pub(crate) async fn tidy(app: &App, run: &Run) {
    if run.start.kind != RunKind::Debate {
        return;
    }
    let branch = match branch(app, run).await {
        Ok(branch) => branch,
        Err(error) => return tracing::warn!("what debate {} has left cannot be looked for: {error}", run.start.id),
    };
    if let Err(why) = app.effects.clean(run.start.id.to_string(), branch).await {
        tracing::warn!("what debate {} has left cannot be removed: {why}", run.start.id);
    }
}

async fn branch(app: &App, run: &Run) -> Result<Option<Branch>, Error> {
    let session = run.start.session_id.to_string();
    let repository = debating(&app.engine, run).await?.and_then(|given| given.repository);
    Ok(repository.map(|repository| Branch { repository, session }))
}

/// For as long as the server lives: what ended while none did, and then each debate as it ends.
pub(crate) async fn keep_tidy(app: App) {
    let (reader, mut epoch) = (everything(), app.engine.log_epoch());
    // Taken before the look, so that what ends during it is not missed.
    let mut position = loop {
        match app.engine.position().await {
            Ok(position) => break position,
            Err(error) => wait_after(&error).await,
        }
    };
    while let Err(error) = tidy_up(&app).await {
        wait_after(&error).await;
    }
    loop {
        let followed = tokio::select! {
            biased;
            // The position is of a log that is no more.
            Ok(()) = epoch.changed() => {
                position = app.engine.position().await.unwrap_or(position);
                continue;
            }
            followed = app.engine.follow(&reader, position) => followed,
        };
        let events = match followed {
            Ok((reached, events)) => {
                position = reached;
                events
            }
            Err(Error::Stopped(_)) => return,
            Err(error) => {
                wait_after(&error).await;
                continue;
            }
        };
        for event in events {
            // A debate that completes has removed it itself.
            let Ok(RunEvent::Ended { ending, .. }) = RunEvent::read(&event.fact) else { continue };
            if ending.outcome == RunOutcome::Completed {
                continue;
            }
            let Some(id) = run::of_stream(&event.fact.stream) else { continue };
            match app.engine.run(&everything(), &id).await {
                Ok(run) if run.start.kind == RunKind::Debate => drop(tokio::spawn(tidy_twice(app.clone(), run))),
                Ok(_) => {}
                Err(error) => tracing::warn!("run {id} cannot be looked at after its end: {error}"),
            }
        }
    }
}

async fn tidy_twice(app: App, run: Run) {
    tidy(&app, &run).await;
    if branch(&app, &run).await.is_ok_and(|branch| branch.is_some()) {
        tokio::time::sleep(ONCE_MORE).await;
        tidy(&app, &run).await;
    }
}

/// Debates that ended while the server could not remove what they left.
async fn tidy_up(app: &App) -> Result<(), Error> {
    let mut left: BTreeMap<String, BTreeMap<String, Run>> = BTreeMap::new();
    for status in [DebateStatus::Failed, DebateStatus::Cancelled] {
        let mut after = None;
        loop {
            let query = RunSummaryQuery { status: Some(status), after, limit: DEBATES, ..RunSummaryQuery::default() };
            let page = records::debates(&app.engine, &everything(), query).await?;
            for view in page.items {
                let run = app.engine.run(&everything(), &view.id).await?;
                if let Some(Branch { repository, session }) = branch(app, &run).await? {
                    left.entry(repository).or_default().insert(session, run);
                }
            }
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
    }
    for (repository, debates) in left {
        // It may be another node's, or gone.
        let Ok(opened) = Repository::open(Path::new(&repository)).await else { continue };
        let Ok(listed) = opened.list().await else { continue };
        for there in listed.iter().filter(|there| there.kind == WorktreeKind::Debate && there.folder.is_some()) {
            if let Some(run) = debates.get(&there.run) {
                tidy(app, run).await;
            }
        }
    }
    Ok(())
}

async fn wait_after(error: &Error) {
    tracing::warn!("what debates have left cannot be looked for just now: {error}");
    tokio::time::sleep(AGAIN).await;
}
