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

/// Where a token comes from.
const TOKENS: &str = "The first `folkmoot serve` writes two tokens to `tokens.json` in its data folder: yours and your \
                      agent's. `folkmoot token create` makes others.";

pub fn document() -> OpenApi {
    crate::routes::with_document().1
}

pub(crate) fn preamble() -> OpenApi {
    let info = InfoBuilder::new()
        .title("Folkmoot")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some("Agents debate, people decide: gates that hold until somebody who may decide has decided."))
        .build();
    // In the order in which a newcomer would read them.
    let tags = [
        ("gates", "Requests for a decision, which hold until somebody decides."),
        ("questions", "What agents ask of people."),
        ("clearance", "Whether an agent may work."),
        ("halts", "Stopping agents."),
        ("runs", "Work that is recorded step by step."),
        ("debates", "Several agents answer, criticise each other's answers, run the code in them, and vote."),
        ("plans", "Plans in iterations, with gates before the first and after every few."),
        ("planner", "Plans in another wire format: one approval after another."),
        ("feed", "All events, as they happen."),
        ("audit", "The log, and its verification."),
        ("artifacts", "Erasing content."),
        ("webhooks", "Notifications and their deliveries."),
        ("tokens", "Who may open gates and who may decide."),
        ("operations", "Health and metrics."),
    ];
    let tag = |(name, description): (&str, &str)| TagBuilder::new().name(name).description(Some(description)).build();
    let mut document = OpenApiBuilder::new()
        .info(info)
        .tags(Some(tags.map(tag)))
        .security(Some([SecurityRequirement::new("token", [] as [&str; 0])]))
        .build();
    let scheme =
        SecurityScheme::Http(HttpBuilder::new().scheme(HttpAuthScheme::Bearer).description(Some(TOKENS)).build());
    let components = document.components.get_or_insert_default();
    components.security_schemes.insert("token".to_owned(), scheme.into());
    // The feed refers to it only in a text, so it must be added explicitly.
    components.schemas.insert(wire::Event::name().into_owned(), wire::Event::schema());
    document
}

/// Adds what applies to every operation.
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
            // A missing body is an empty object, so such bodies are optional.
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
        // Surrounding space is not part of a header's value.
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

/// Unsigned integers exceed the range of the formats `int32` and `int64`.
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

/// An omitted parameter is absent; `null` would be a word.
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
