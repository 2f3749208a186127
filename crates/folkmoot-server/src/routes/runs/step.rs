//! `POST /v1/runs/{id}/steps`

use axum::{
    Json,
    extract::State,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use folkmoot_api::wire::{JournalEntry, Problem, RecordStep};
use folkmoot_core::{
    Digest, Refusal,
    journal::{EntryKind, EntryStatus, NewEntry, StepError, Write},
    text,
};
use folkmoot_engine::RecordedEntry;

use crate::{
    app::App,
    auth::SendPermit,
    error::ApiError,
    extract::{AuthenticatedCall, RunPath},
};

/// Records a step of a run that you execute
///
/// `begun` asks whether to do it. 201 means: do it now, and record the result. 200 returns the
/// recorded state: `done` with its result, `failed`, or `begun` by an earlier attempt of which
/// nobody knows whether it was done. A result never changes.
#[utoipa::path(post, path = "/v1/runs/{id}/steps", operation_id = "record_step", tag = "runs", request_body = RecordStep,
    params(("id" = String, Path)),
    responses((status = 201, body = JournalEntry), (status = 200, body = JournalEntry), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn step(
    State(app): State<App>,
    sending: SendPermit,
    RunPath(run): RunPath,
    AuthenticatedCall { caller, body }: AuthenticatedCall<RecordStep>,
) -> Result<Response, ApiError> {
    if let Some(kind) = body.kind.filter(|kind| !matches!(kind, EntryKind::Step | EntryKind::Once)) {
        return Err(Refusal::invalid("kind", format!("is {kind}; record step or once")).into());
    }
    let input = body.input.as_ref().map(|input| text::json("input", input)).transpose()?;
    let entry = NewEntry {
        key: body.key.clone(),
        kind: body.kind.unwrap_or(EntryKind::Step),
        ordinal: 0,
        input: input.map(|input| Digest::of(input.as_bytes())),
        agent_id: body.agent_id.clone(),
        began_at: app.engine.now(),
    };
    let write = write(body)?;
    let principal = caller.principal.clone();
    let given = match &write {
        Write::Done(result) => Some(result.clone()),
        _ => None,
    };
    let RecordedEntry { entry, is_new } = app.engine.record_step(caller, run, entry, write).await?;
    // What was just written is known; only earlier results must be read.
    let result = match given {
        Some(result) => Some(result),
        None if is_new => None,
        None => {
            sending.hold_page(&app, &principal).await;
            app.engine.result(&entry).await?
        }
    };
    let status = if is_new { StatusCode::CREATED } else { StatusCode::OK };
    Ok((status, Json(JournalEntry::new(entry, result, None))).into_response())
}

/// Fields that do not belong to the state are refused, because the caller means something else.
fn write(body: RecordStep) -> Result<Write, Refusal> {
    match (body.state, body.result, body.error) {
        (EntryStatus::Begun, None, None) => Ok(Write::Begin),
        (EntryStatus::Begun, ..) => Err(Refusal::invalid("state", "is begun, which takes no result and no error")),
        (EntryStatus::Done, result, None) => Ok(Write::Done(text::json("result", &result.unwrap_or_default())?)),
        (EntryStatus::Done, _, Some(_)) => Err(Refusal::invalid("state", "is done, which takes no error")),
        (EntryStatus::Failed, None, Some(error)) => Ok(Write::Failed(StepError::new(error.code, error.message))),
        (EntryStatus::Failed, _, None) => Err(Refusal::invalid("error", "is missing: say why the step failed")),
        (EntryStatus::Failed, Some(_), _) => Err(Refusal::invalid("state", "is failed, which takes no result")),
        (EntryStatus::Failing | EntryStatus::Waiting, ..) => {
            Err(Refusal::invalid("state", format!("is {}; record begun, done or failed", body.state)))
        }
    }
}
