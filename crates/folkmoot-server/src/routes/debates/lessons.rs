//! `GET /v1/lessons`, `PATCH /v1/lessons/{id}`

use axum::{Json, extract::State};
use folkmoot_api::wire::{CorrectLesson, DebateLesson, DebateLessonList, Decimal, Problem};
use folkmoot_debate::record::{LessonQuery, LessonView};
use folkmoot_workflows::debate::records;

use crate::{
    app::App,
    auth::PageReader,
    error::ApiError,
    extract::{AuthenticatedCall, PathText},
};

const LIMIT: u32 = 1_000;

/// Lists lessons
///
/// What debates learnt and later ones may be shown, the newest first. Agents see those of their own
/// debates. An admin corrects one with `PATCH /v1/lessons/{id}`, and removes one by erasing its
/// text: `DELETE /v1/artifacts/{digest}`.
#[utoipa::path(get, path = "/v1/lessons", operation_id = "list_lessons", tag = "debates",
    responses((status = 200, body = DebateLessonList), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn lessons(
    State(app): State<App>,
    PageReader(who): PageReader,
) -> Result<Json<DebateLessonList>, ApiError> {
    let query = LessonQuery { limit: LIMIT, ..LessonQuery::default() };
    let lessons = records::lessons(&app.engine, &who.principal, query).await?.into_iter().map(shown).collect();
    Ok(Json(DebateLessonList { lessons }))
}

/// Corrects a lesson
///
/// Later debates are shown the new text. Admins can, with a reason, once the lesson's debate is
/// over. The log records who did and why, and the digests of both texts; the old text is kept until
/// somebody erases it.
#[utoipa::path(patch, path = "/v1/lessons/{id}", operation_id = "correct_lesson", tag = "debates",
    params(("id" = String, Path, description = "The lesson's id")), request_body = CorrectLesson,
    responses((status = 200, body = DebateLesson), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn correct(
    State(app): State<App>,
    PathText(id): PathText,
    AuthenticatedCall { caller, body }: AuthenticatedCall<CorrectLesson>,
) -> Result<Json<DebateLesson>, ApiError> {
    Ok(Json(shown(records::correct_lesson(&app.engine, caller, &id, body.lesson, body.reason).await?)))
}

fn shown(lesson: LessonView) -> DebateLesson {
    DebateLesson {
        id: lesson.id,
        debate_id: lesson.run_id,
        domain: lesson.domain.to_string(),
        language: lesson.language,
        root_cause: lesson.root_cause,
        lesson: lesson.lesson,
        digest: lesson.digest,
        confidence: Decimal::from(lesson.confidence).0,
        tags: lesson.tags,
        created_at: lesson.at,
    }
}
