//! The OpenAPI document.

use std::collections::BTreeSet;

use axum::{http::header, response::IntoResponse};
use folkmoot_api::wire;
use utoipa::{
    Number, PartialSchema, ToSchema,
    openapi::{
        InfoBuilder, KnownFormat, ObjectBuilder, OpenApi, OpenApiBuilder, PathItem, Ref, RefOr, Required, Schema,
        SchemaFormat, Type,
        path::{Operation, Parameter, ParameterBuilder, ParameterIn},
        schema::{AdditionalProperties, SchemaType},
        security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme},
        tag::TagBuilder,
    },
};

use crate::extract::KEY_CHARS_MAX;

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
        ("debates", "Several agents answer, attack each other's answers, execute what can be executed, and vote."),
        ("plans", "Plans in iterations, with gates before the first and after every few."),
        ("planner", "The same, in another wire format: one approval after another."),
        ("feed", "All that happens, as it happens."),
        ("audit", "The log, and whether it is whole."),
        ("artifacts", "Erasing what was shown."),
        ("webhooks", "Who is told of what, and what became of it."),
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
    let components = document.components.get_or_insert_default();
    components.security_schemes.insert("token".to_owned(), scheme.into());
    // In the feed it is inside a text, where no reference reaches it.
    components.schemas.insert(wire::Event::name().into_owned(), wire::Event::schema());
    document
}

/// What holds for every operation, so that none of them has to say it, and none can forget it.
pub(crate) fn complete(document: &mut OpenApi) {
    let schemas = document.components.as_mut().map(|components| &mut components.schemas);
    let mut required = BTreeSet::new();
    for (name, schema) in schemas.into_iter().flatten() {
        bound(schema);
        if let RefOr::T(Schema::Object(object)) = schema
            && !object.required.is_empty()
        {
            required.insert(format!("#/components/schemas/{name}"));
        }
    }
    for operation in document.paths.paths.values_mut().flat_map(operations) {
        let parameters = operation.parameters.get_or_insert_default();
        for parameter in parameters.iter_mut() {
            if let RefOr::T(Parameter { schema: Some(schema), .. }) = parameter {
                bound(schema);
                not_null(schema);
            }
        }
        if let Some(RefOr::T(body)) = &mut operation.request_body {
            parameters.push(RefOr::T(idempotency_key()));
            // No body is an empty object, so one that says nothing can be left out.
            let says = |content: &RefOr<utoipa::openapi::Content>| match content {
                RefOr::T(utoipa::openapi::Content { schema: Some(RefOr::Ref(Ref { ref_location, .. })), .. }) => {
                    required.contains(ref_location)
                }
                _ => true,
            };
            body.required = Some(if body.content.values().any(says) { Required::True } else { Required::False });
        }
        operation.parameters = operation.parameters.take().filter(|parameters| !parameters.is_empty());
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    [get, put, post, delete, patch].into_iter().flatten()
}

fn idempotency_key() -> Parameter {
    let key = ObjectBuilder::new()
        .schema_type(Type::String)
        // Space around a header's value is not part of it.
        .pattern(Some("^[!-~]([ -~]*[!-~])?$"))
        .min_length(Some(1))
        .max_length(Some(KEY_CHARS_MAX));
    ParameterBuilder::new()
        .name("Idempotency-Key")
        .parameter_in(ParameterIn::Header)
        .required(Required::False)
        .description(Some("Recognises a repetition for seven days"))
        .schema(Some(key))
        .build()
}

/// `int32` and `int64` with a minimum are unsigned here, and reach twice as far as their format
/// says.
fn bound(schema: &mut RefOr<Schema>) {
    let RefOr::T(schema) = schema else { return };
    match schema {
        Schema::Object(object) => {
            let unsigned = match &object.format {
                Some(SchemaFormat::KnownFormat(KnownFormat::Int32)) => Some(("uint32", u32::MAX as usize)),
                Some(SchemaFormat::KnownFormat(KnownFormat::Int64)) => Some(("uint64", usize::MAX)),
                _ => None,
            };
            if let Some((format, largest)) = unsigned.filter(|_| object.minimum.is_some()) {
                object.format = Some(SchemaFormat::Custom(format.to_owned()));
                object.maximum.get_or_insert(Number::UInt(largest));
            }
            object.properties.values_mut().for_each(bound);
            if let Some(AdditionalProperties::RefOr(more)) = object.additional_properties.as_deref_mut() {
                bound(more);
            }
        }
        Schema::Array(array) => {
            if let utoipa::openapi::schema::ArrayItems::RefOrSchema(items) = &mut array.items {
                bound(items);
            }
        }
        Schema::OneOf(either) => either.items.iter_mut().for_each(bound),
        Schema::AllOf(all) => all.items.iter_mut().for_each(bound),
        Schema::AnyOf(any) => any.items.iter_mut().for_each(bound),
        _ => {}
    }
}

/// What is left out of an address or of the headers is not there; `null` would be a word.
fn not_null(schema: &mut RefOr<Schema>) {
    if let RefOr::T(Schema::Object(object)) = schema
        && let SchemaType::Array(types) = &mut object.schema_type
    {
        types.retain(|each| *each != Type::Null);
        if let [only] = types.as_slice() {
            object.schema_type = SchemaType::Type(only.clone());
        }
    }
}

pub(crate) async fn serve(document: String) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], document)
}
