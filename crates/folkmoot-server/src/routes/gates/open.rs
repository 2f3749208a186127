//! `POST /v1/gates`

use axum::{
    Json,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use folkmoot_api::wire::{self, OpenGate, Problem};
use folkmoot_core::{
    Phase,
    gate::{GateKind, NewGate, Risk},
};
use folkmoot_engine::OpenRequest;

use super::artifact;
use crate::{app::App, error::ApiError, extract::AuthenticatedCall, notify, observe};

/// Opens a gate
///
/// Its run cannot pass until somebody who may decide has decided. With a `dedupe_key`, your pending
/// gate with the same request, for the same run, is returned instead (200).
#[utoipa::path(post, path = "/v1/gates", tag = "gates", request_body = OpenGate,
    responses((status = 201, body = wire::Gate), (status = 200, body = wire::Gate), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn open(State(app): State<App>, call: AuthenticatedCall<OpenGate>) -> Result<Response, ApiError> {
    let AuthenticatedCall { caller, body } = call;
    let texts: Vec<String> = body.artifacts.iter().map(|artifact| artifact.content.clone()).collect();
    let summary = body.summary.clone();
    notify::must_be_channels(&app, "notification_channels", &body.notification_channels).await?;
    let opened = app.engine.open(caller, request(&app, body)).await?;
    observe::gate(&opened.gate.id);
    let location = format!("/v1/gates/{}", opened.gate.id);
    let mut shown = wire::Gate::new(opened.gate, Some(summary));
    for (artifact, content) in shown.artifacts.iter_mut().zip(texts) {
        artifact.content = Some(content);
    }
    let status = if opened.existing { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, [(header::LOCATION, location)], Json(shown)).into_response())
}

fn request(app: &App, body: OpenGate) -> OpenRequest {
    let custom = || "custom".parse::<Phase>().expect("a plain word is a phase");
    let phase = body.phase.unwrap_or_else(custom);
    let new_gate = NewGate {
        id: app.engine.new_gate_id(body.run_id.as_ref(), &phase),
        run_id: body.run_id,
        session_id: body.session_id,
        title: body.title,
        summary: body.summary,
        phase,
        kind: body.kind.unwrap_or(GateKind::Custom),
        risk: body.risk.unwrap_or(Risk::Medium),
        artifacts: Vec::new(),
        allowed: body.allowed,
        timeout: body.timeout_ms,
        on_timeout: body.on_timeout,
        reviewers: body.reviewers,
        quorum: body.quorum,
        reject_quorum: body.reject_quorum,
        self_review: body.self_review,
        dedupe_key: body.dedupe_key,
        notification_channels: body.notification_channels,
        on_behalf_of: body.on_behalf_of,
    };
    OpenRequest { new_gate, artifacts: body.artifacts.into_iter().map(artifact).collect() }
}
