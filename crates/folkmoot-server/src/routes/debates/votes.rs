//! `GET /v1/debates/{id}/votes`

use axum::{Json, extract::State};
use folkmoot_api::wire::{DebateVote, DebateVotes, Decimal, Problem};
use folkmoot_debate::DebateEvent;

use crate::{app::App, auth::PageReader, debates, error::ApiError, extract::RunPath};

/// Shows how the agents of a debate voted
///
/// Each vote of each round, those that do not count too; and what they came to, once it is over.
#[utoipa::path(get, path = "/v1/debates/{id}/votes", operation_id = "debate_votes", tag = "debates", params(("id" = String, Path)),
    responses((status = 200, body = DebateVotes), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn votes(
    State(app): State<App>,
    PageReader(who): PageReader,
    RunPath(id): RunPath,
) -> Result<Json<DebateVotes>, ApiError> {
    let run = debates::run(&app.engine, &who.principal, &id).await?;
    let mut votes = Vec::new();
    let told = debates::told(&app.engine, &who.principal, &id, |event, told| {
        if let DebateEvent::Vote { voter, round, ranking, confidence, refused } = told {
            let confidence = Decimal::from(confidence).0;
            votes.push(DebateVote { round, voter, ranking, confidence, refused, at: event.fact.at });
        }
    });
    told.await?;
    let verdict = debates::debated(&app.engine, &run).await?.map(|debated| debated.verdict.into());
    Ok(Json(DebateVotes { votes, verdict }))
}
