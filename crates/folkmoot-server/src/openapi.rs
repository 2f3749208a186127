//! The OpenAPI document.

use axum::{http::header, response::IntoResponse};
use utoipa::openapi::{
    InfoBuilder, OpenApi, OpenApiBuilder,
    security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme},
    tag::TagBuilder,
};

/// The document that `/openapi.json` serves.
pub fn document() -> OpenApi {
    crate::routes::with_document().1
}

pub(crate) fn preamble() -> OpenApi {
    let info = InfoBuilder::new()
        .title("Folkmoot")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("Agents debate, people decide: gates that hold until somebody who may decide has decided."))
        .build();
    // In the order in which somebody new wants to read them.
    let tags = [
        ("gates", "Requests for a decision, which hold until somebody decides."),
        ("questions", "What agents ask of people."),
        ("clearance", "Whether an agent may work."),
        ("halts", "Stopping agents."),
        ("runs", "What is executed, step by step."),
        ("feed", "All that happens, as it happens."),
        ("audit", "The log, and whether it is whole."),
        ("tokens", "Who may do what."),
        ("operations", "Health and figures."),
    ];
    let tag = |(name, description): (&str, &str)| TagBuilder::new().name(name).description(Some(description)).build();
    let mut document = OpenApiBuilder::new()
        .info(info)
        .tags(Some(tags.map(tag)))
        .security(Some([SecurityRequirement::new("token", [] as [&str; 0])]))
        .build();
    let scheme = SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).build());
    document.components.get_or_insert_default().security_schemes.insert("token".to_owned(), scheme.into());
    document
}

pub(crate) async fn serve(document: String) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], document)
}
