//! `/docs`: interactive API documentation inside the binary. Nothing is loaded from elsewhere.

use std::sync::{Arc, LazyLock};

use axum::{
    Router,
    http::{HeaderMap, HeaderName, StatusCode, header},
    response::{IntoResponse, Redirect, Response},
    routing::get,
};
use utoipa_swagger_ui::Config;

use crate::{app::App, error::ApiError, extract::PathText};

/// Scripts and requests only from this server. Inline styles are allowed, because Swagger UI uses
/// some.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static CONFIG: LazyLock<Arc<Config<'static>>> = LazyLock::new(|| {
    let config = Config::from("/openapi.json")
        .use_base_layout()
        .deep_linking(true)
        // Forget a pasted token with the page.
        .persist_authorization(false)
        .display_request_duration(true)
        .filter(true)
        .default_models_expand_depth(-1)
        // The default validator would send the document to its makers.
        .validator_url("none");
    Arc::new(config)
});

/// Not part of the documented API.
pub(crate) fn router() -> Router<App> {
    Router::new()
        .route("/docs", get(|| async { Redirect::permanent("/docs/") }))
        .route("/docs/", get(|| serve("index.html")))
        .route("/docs/{*file}", get(|PathText(file): PathText| async move { serve(&file).await }))
}

async fn serve(file: &str) -> Response {
    let found = match utoipa_swagger_ui::serve(file, CONFIG.clone()) {
        Ok(found) => found,
        Err(error) => {
            tracing::error!("/docs cannot be shown: {error}");
            return ApiError::internal().into_response();
        }
    };
    let Some(found) = found else { return super::unknown().await.into_response() };
    let mut headers = HeaderMap::new();
    let mut set = |name: HeaderName, value: &str| headers.extend(value.parse().ok().map(|value| (name, value)));
    set(header::CONTENT_TYPE, &found.content_type);
    set(header::CONTENT_SECURITY_POLICY, POLICY);
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    set(header::REFERRER_POLICY, "no-referrer");
    // Another version of the server may have other files.
    set(header::CACHE_CONTROL, "no-cache");
    if found.gzpipped {
        set(header::CONTENT_ENCODING, "gzip");
    }
    let mut bytes = found.bytes.into_owned();
    if let Ok(page) = std::str::from_utf8(&bytes)
        && file == "index.html"
    {
        bytes = page.replace("<title>Swagger UI</title>", "<title>Folkmoot: the API</title>").into_bytes();
    }
    (StatusCode::OK, headers, bytes).into_response()
}
