//! `POST /v1/gates/{id}/approve`, `reject`, `adjust`, `pause`, and `decide` with the word in the
//! body.

use axum::{Json, extract::State};
use folkmoot_api::wire::{self, Decide, Problem};
use folkmoot_core::{GateId, gate::Choice};
use folkmoot_engine::Caller;

use crate::{
    app::App,
    error::ApiError,
    extract::{AuthenticatedCall, GatePath},
    view,
};

macro_rules! verbs {
    ($($(#[doc = $doc:literal])+ $verb:ident, $path:literal, $choice:ident, $example:tt;)+) => {
        $($(#[doc = $doc])+
        #[utoipa::path(post, path = $path, tag = "gates", params(("id" = String, Path)), request_body(content = wire::Verdict, example = json!($example)),
            responses((status = 200, body = wire::Gate), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
        pub(crate) async fn $verb(
            State(app): State<App>,
            GatePath(gate): GatePath,
            AuthenticatedCall { caller, body }: AuthenticatedCall<wire::Verdict>,
        ) -> Result<Json<wire::Gate>, ApiError> {
            say(&app, caller, gate, Choice::$choice, body).await
        })+
    };
}

verbs! {
    /// Approves a gate
    ///
    /// Of any number of simultaneous decisions exactly one is recorded; the others get 409 with the
    /// winner.
    approve, "/v1/gates/{id}/approve", Approve, {"reason": "the tests pass, and the change is small"};
    /// Rejects a gate
    ///
    /// With a reason.
    reject, "/v1/gates/{id}/reject", Reject, {"reason": "the tests fail"};
    /// Sends a gate back
    ///
    /// With feedback, or with an edited text.
    adjust, "/v1/gates/{id}/adjust", Adjust, {"feedback": "shorter, and without the second change"};
    /// Pauses at a checkpoint
    ///
    /// Accepts what was shown, and lets the run conclude.
    pause, "/v1/gates/{id}/pause", Pause, {"reason": "enough for today"};
}

/// Decides on a gate
///
/// As `approve`, `reject`, `adjust` and `pause`, with the choice in the body.
#[utoipa::path(post, path = "/v1/gates/{id}/decide", tag = "gates", params(("id" = String, Path)), request_body = Decide,
    responses((status = 200, body = wire::Gate), (status = "4XX", body = Problem, content_type = "application/problem+json")))]
pub(crate) async fn decide(
    State(app): State<App>,
    GatePath(gate): GatePath,
    AuthenticatedCall { caller, body }: AuthenticatedCall<Decide>,
) -> Result<Json<wire::Gate>, ApiError> {
    let (choice, review) = body.split();
    say(&app, caller, gate, choice, review).await
}

async fn say(
    app: &App,
    caller: Caller,
    gate: GateId,
    choice: Choice,
    body: wire::Verdict,
) -> Result<Json<wire::Gate>, ApiError> {
    let decided = app.engine.decide(caller, body.on(gate, choice)?).await?;
    Ok(Json(view::written(&app.engine, decided).await?))
}
