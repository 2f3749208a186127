//! `GET /v1/lessons`

use axum::{Json, extract::State};
use folkmoot_api::wire::{DebateLesson, DebateLessonList, Decimal, Problem};
use folkmoot_store::{LessonQuery, LessonView};

use crate::{app::App, auth::Authenticated, error::ApiError};

const LIMIT: u32 = 1_000;

/// Lists lessons
///
/// What debates learnt and later ones may be shown, the newest first. Agents see those of their own debates. An admin removes one by
/// erasing its text: `DELETE /v1/artifacts/{digest}`.
#[utoipa::path(get, path = "/v1/lessons", operation_id = "list_lessons", tag = "debates",
    responses((status = 200, body = DebateLessonList), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn lessons(State(app): State<App>, who: Authenticated) -> Result<Json<DebateLessonList>, ApiError> {
    let query = LessonQuery { limit: LIMIT, ..LessonQuery::default() };
    let lessons = app.engine.lessons(&who.principal, query).await?.into_iter().map(shown).collect();
    Ok(Json(DebateLessonList { lessons }))
}

fn shown(LessonView { lesson, root_cause, text }: LessonView) -> DebateLesson {
    DebateLesson {
        id: lesson.id,
        debate_id: lesson.run_id,
        domain: lesson.domain.to_string(),
        language: lesson.language,
        root_cause,
        lesson: text,
        digest: lesson.lesson,
        confidence: Decimal::from(lesson.confidence).0,
        tags: lesson.tags,
        created_at: lesson.at,
    }
}
