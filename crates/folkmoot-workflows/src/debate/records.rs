//! Reads the records of debates.

use std::collections::BTreeMap;

use folkmoot_core::{
    Name, Principal, RecordQuery, RecordView, Refusal, RunId,
    record::Correction,
    run::{RunKind, RunSummary},
    text,
};
use folkmoot_debate::record::{
    DebateView, LessonQuery, LessonView, LineQuery, LineView, SessionView, TurnQuery, TurnView, VersionQuery,
    VersionView, session_query, turn_query,
};
use folkmoot_engine::{Caller, Engine, Error, Page, RunSummaryQuery};

/// One debate, if `principal` may see it. Agents see their own.
pub async fn debate(engine: &Engine, principal: &Principal, id: &RunId) -> Result<DebateView, Error> {
    let query = RunSummaryQuery { id: Some(id.clone()), limit: 1, ..RunSummaryQuery::default() };
    let found = debates(engine, principal, query).await?.items.pop();
    Ok(found.ok_or_else(|| Refusal::UnknownRun { run: id.clone() })?)
}

/// A page of the debates that `principal` may see, whatever kind of runs `query` asks for.
pub async fn debates(
    engine: &Engine,
    principal: &Principal,
    query: RunSummaryQuery,
) -> Result<Page<DebateView>, Error> {
    let query = RunSummaryQuery { kind: Some(RunKind::Debate), ..query };
    let Page { items, next } = engine.run_summaries(principal, query).await?;
    let said = match items.as_slice() {
        [] => Vec::new(),
        runs => read(engine, principal, session_query(runs.iter().map(|run| run.id.clone()).collect())).await?,
    };
    let mut said: BTreeMap<RunId, SessionView> =
        said.into_iter().map(|session: SessionView| (session.run_id.clone(), session)).collect();
    let of_run = |run: RunSummary| {
        let session = said.remove(&run.id);
        DebateView::new(run, session)
    };
    Ok(Page { items: items.into_iter().map(of_run).collect(), next })
}

/// Turns of a debate that `principal` may see.
pub async fn turns(engine: &Engine, principal: &Principal, query: TurnQuery) -> Result<Vec<TurnView>, Error> {
    debate(engine, principal, &query.debate).await?;
    read(engine, principal, query.into()).await
}

/// One turn of a debate that `principal` may see; `None` if the debate has no such turn.
pub async fn turn(engine: &Engine, principal: &Principal, id: &RunId, turn: &str) -> Result<Option<TurnView>, Error> {
    debate(engine, principal, id).await?;
    Ok(read(engine, principal, turn_query(id.clone(), vec![turn.to_owned()])).await?.pop())
}

/// Versions of the code of a debate that `principal` may see.
pub async fn versions(engine: &Engine, principal: &Principal, query: VersionQuery) -> Result<Vec<VersionView>, Error> {
    let id = query.debate.clone();
    debate(engine, principal, &id).await?;
    let mut versions: Vec<VersionView> = read(engine, principal, query.into()).await?;
    let mut ids: Vec<String> = versions.iter().filter_map(|version| version.turn_id.clone()).collect();
    ids.sort();
    ids.dedup();
    if !ids.is_empty() {
        let turns: Vec<TurnView> = read(engine, principal, turn_query(id, ids)).await?;
        let authors: BTreeMap<String, Name> = turns.into_iter().map(|turn| (turn.id, turn.agent_id)).collect();
        for version in &mut versions {
            version.author = version.turn_id.as_ref().and_then(|turn| authors.get(turn).cloned());
        }
    }
    Ok(versions)
}

/// Log lines of a debate that `principal` may see.
pub async fn lines(engine: &Engine, principal: &Principal, query: LineQuery) -> Result<Vec<LineView>, Error> {
    debate(engine, principal, &query.debate).await?;
    read(engine, principal, query.into()).await
}

/// The newest lessons of debates that `principal` may see.
pub async fn lessons(engine: &Engine, principal: &Principal, query: LessonQuery) -> Result<Vec<LessonView>, Error> {
    read(engine, principal, query.into()).await
}

/// Replaces the text of a lesson. Its debate must be over.
pub async fn correct_lesson(
    engine: &Engine,
    caller: Caller,
    id: &str,
    lesson: String,
    reason: String,
) -> Result<LessonView, Error> {
    text::check_filled("lesson", &lesson, text::REASON_BYTES_MAX)?;
    let by = caller.principal.clone();
    let record = lesson_record(engine, &by, id).await?.record;
    let correction = Correction { record, name: "lesson".to_owned(), text: lesson, reason };
    engine.correct_record(caller, correction).await?;
    typed(lesson_record(engine, &by, id).await?)
}

async fn lesson_record(engine: &Engine, by: &Principal, id: &str) -> Result<RecordView, Error> {
    let query = LessonQuery { id: Some(id.to_owned()), limit: 1, ..LessonQuery::default() };
    let found = engine.records(by, query.into()).await?.pop();
    Ok(found.ok_or_else(|| Refusal::UnknownLesson { lesson: id.to_owned() })?)
}

async fn read<T>(engine: &Engine, principal: &Principal, query: RecordQuery) -> Result<Vec<T>, Error>
where
    T: TryFrom<RecordView, Error = serde_json::Error>,
{
    engine.records(principal, query).await?.into_iter().map(typed).collect()
}

fn typed<T: TryFrom<RecordView, Error = serde_json::Error>>(view: RecordView) -> Result<T, Error> {
    let named = format!("{} {}", view.record.collection, view.record.id);
    T::try_from(view).map_err(|error| Error::Unreadable(format!("{named}: {error}")))
}
