//! The routes. Each handler translates a request into one engine call, and the result into a
//! response.

pub(crate) mod artifacts;
pub(crate) mod audit;
pub(crate) mod clearance;
pub(crate) mod compat;
pub(crate) mod debates;
pub(crate) mod deliveries;
pub(crate) mod docs;
pub(crate) mod events;
pub(crate) mod gates;
pub(crate) mod halts;
pub(crate) mod health;
pub(crate) mod metrics;
pub(crate) mod models;
pub(crate) mod notify;
pub(crate) mod plans;
pub(crate) mod questions;
pub(crate) mod runs;
pub(crate) mod tokens;
pub(crate) mod webhooks;
pub(crate) mod ws;

use axum::{Router, http::StatusCode, middleware};
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{app::App, auth, error::ApiError, observe, openapi};

/// All routes, with the fallback.
pub(crate) fn router(app: App) -> Router {
    let (router, document) = with_document();
    let document = serde_json::to_string(&document).unwrap_or_default();
    router
        .route("/openapi.json", axum::routing::get(move || openapi::serve(document.clone())))
        .merge(docs::router())
        .fallback(unknown)
        .method_not_allowed_fallback(wrong_method)
        .layer(middleware::from_fn_with_state(app.clone(), auth::guard))
        .layer(middleware::from_fn_with_state(app.clone(), observe::request))
        .with_state(app)
}

/// The routes and their OpenAPI document.
pub(crate) fn with_document() -> (Router<App>, utoipa::openapi::OpenApi) {
    let (router, mut document) = OpenApiRouter::with_openapi(openapi::preamble())
        .routes(routes!(gates::open::open, gates::list::list))
        .routes(routes!(gates::wait::wait_many))
        .routes(routes!(gates::show::show, gates::amend::amend))
        .routes(routes!(gates::wait::wait))
        .routes(routes!(gates::decide::approve))
        .routes(routes!(gates::decide::reject))
        .routes(routes!(gates::decide::adjust))
        .routes(routes!(gates::decide::pause))
        .routes(routes!(gates::decide::decide))
        .routes(routes!(gates::extend::extend))
        .routes(routes!(gates::cancel::cancel))
        .routes(routes!(gates::receipt::receipt))
        .routes(routes!(gates::erase::erase))
        .routes(routes!(questions::ask::ask, questions::list::list))
        .routes(routes!(questions::show::show))
        .routes(routes!(questions::wait::wait))
        .routes(routes!(questions::acknowledge::acknowledge))
        .routes(routes!(questions::close::answer))
        .routes(routes!(questions::close::deny))
        .routes(routes!(questions::close::skip))
        .routes(routes!(questions::close::cancel))
        .routes(routes!(runs::start::start, runs::list::list))
        .routes(routes!(runs::show::show))
        .routes(routes!(runs::wait::wait))
        .routes(routes!(runs::journal::journal))
        .routes(routes!(runs::events::events))
        .routes(routes!(runs::cancel::cancel))
        .routes(routes!(runs::resume::resume))
        .routes(routes!(runs::end::end))
        .routes(routes!(runs::step::step))
        .routes(routes!(debates::start::start, debates::list::list))
        .routes(routes!(debates::show::show, debates::cancel::cancel))
        .routes(routes!(debates::status::status))
        .routes(routes!(debates::results::results))
        .routes(routes!(debates::turns::turns))
        .routes(routes!(debates::votes::votes))
        .routes(routes!(debates::code_versions::code_versions))
        .routes(routes!(debates::audit::audit))
        .routes(routes!(debates::lessons::lessons))
        .routes(routes!(debates::lessons::correct))
        .routes(routes!(debates::replay::replay))
        .routes(routes!(debates::gates::gates))
        .routes(routes!(debates::events::events))
        .routes(routes!(debates::decide::approve))
        .routes(routes!(debates::decide::reject))
        .routes(routes!(compat::debate_gates::list))
        .routes(routes!(compat::debate_gates::show))
        .routes(routes!(compat::debate_gates::approve))
        .routes(routes!(compat::debate_gates::reject))
        .routes(routes!(plans::start::start, plans::list::list))
        .routes(routes!(plans::show::show))
        .routes(routes!(plans::wait::wait))
        .routes(routes!(plans::events::events))
        .routes(routes!(plans::export::export))
        .routes(routes!(plans::export::entity))
        .routes(routes!(compat::plan::plan))
        .routes(routes!(compat::plan::state))
        .routes(routes!(compat::plan::approve))
        .routes(routes!(compat::plan::execute_plan))
        .routes(routes!(clearance::check))
        .routes(routes!(clearance::wait))
        .routes(routes!(halts::raise, halts::status))
        .routes(routes!(halts::lift, halts::show))
        .routes(routes!(events::events))
        .routes(routes!(ws::ws))
        .routes(routes!(compat::ws::ws))
        .routes(routes!(audit::page))
        .routes(routes!(audit::verify))
        .routes(routes!(audit::checkpoint))
        .routes(routes!(audit::key))
        .routes(routes!(artifacts::erase))
        .routes(routes!(tokens::create, tokens::list))
        .routes(routes!(tokens::revoke))
        .routes(routes!(webhooks::create, webhooks::list))
        .routes(routes!(webhooks::show, webhooks::change, webhooks::remove))
        .routes(routes!(webhooks::rotate))
        .routes(routes!(webhooks::test))
        .routes(routes!(deliveries::list))
        .routes(routes!(deliveries::show))
        .routes(routes!(deliveries::resend))
        .routes(routes!(notify::channels))
        .routes(routes!(notify::test))
        .routes(routes!(models::list))
        .routes(routes!(models::asked))
        .routes(routes!(health::alive))
        .routes(routes!(health::ready))
        .routes(routes!(metrics::metrics))
        .split_for_parts();
    openapi::complete(&mut document);
    (router, document)
}

async fn unknown() -> ApiError {
    let detail = "there is nothing at this address; /openapi.json lists what there is";
    ApiError::new(StatusCode::NOT_FOUND, "unknown_address", detail)
}

pub(crate) async fn wrong_method() -> ApiError {
    let detail = "this address does not take that method; /openapi.json lists those it takes";
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "wrong_method", detail)
}
