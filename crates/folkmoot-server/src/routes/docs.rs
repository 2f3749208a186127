//! `/docs`: a page with every operation and type of the OpenAPI document. It has no scripts, and
//! loads nothing from elsewhere.

use std::sync::LazyLock;

use axum::{
    Router,
    http::header,
    response::{IntoResponse, Redirect},
    routing::get,
};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::{Map, Value};

use crate::{app::App, openapi};

const POLICY: &str =
    "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Made when it is first asked for, so that no start waits for it.
static PAGE: LazyLock<String> =
    LazyLock::new(|| page(&serde_json::to_value(openapi::document()).unwrap_or_default()).into_string());

/// Not part of the documented API.
pub(crate) fn router() -> Router<App> {
    Router::new()
        // Until there is a page to start from.
        .route("/", get(|| async { Redirect::temporary("/docs") }))
        .route("/docs/", get(|| async { Redirect::permanent("/docs") }))
        .route("/docs", get(|| async { file("text/html; charset=utf-8", &PAGE) }))
        .route("/docs/style.css", get(|| async { file("text/css", include_str!("docs/style.css")) }))
}

fn file(media_type: &'static str, content: &'static str) -> impl IntoResponse {
    let headers = [
        (header::CONTENT_TYPE, media_type),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        // Another version of the server has another page.
        (header::CACHE_CONTROL, "no-cache"),
    ];
    (headers, content)
}

fn page(document: &Value) -> Markup {
    let tags = document["tags"].as_array().into_iter().flatten();
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Folkmoot: the API" }
                link rel="stylesheet" href="/docs/style.css";
            }
            body {
                header {
                    h1 { "Folkmoot " small { (text(&document["info"]["version"])) } }
                    p { (prose(&document["info"]["description"])) }
                    p {
                        "Send " code { "Authorization: Bearer TOKEN" } " with each request. "
                        (prose(&document["components"]["securitySchemes"]["token"]["description"]))
                        " " a href="/openapi.json" { "openapi.json" } " is this page for programs."
                    }
                    nav {
                        @for tag in tags.clone() {
                            a href=(format!("#{}", text(&tag["name"]))) { (text(&tag["name"])) } " "
                        }
                        a href="#types" { "types" }
                    }
                }
                main {
                    @for tag in tags {
                        section id=(text(&tag["name"])) {
                            h2 { (text(&tag["name"])) }
                            p { (prose(&tag["description"])) }
                            @for (path, method, operation) in operations(document, &tag["name"]) {
                                (operation_details(path, method, operation))
                            }
                        }
                    }
                    section id="types" {
                        h2 { "types" }
                        @for (name, schema) in members(&document["components"]["schemas"]) {
                            (type_details(name, schema))
                        }
                    }
                }
            }
        }
    }
}

fn operations<'a>(document: &'a Value, tag: &Value) -> impl Iterator<Item = (&'a str, &'a str, &'a Value)> {
    let all = members(&document["paths"])
        .flat_map(|(path, methods)| members(methods).map(move |(method, operation)| (path, method, operation)));
    all.filter(move |(_, _, operation)| operation["tags"][0] == *tag)
}

fn operation_details(path: &str, method: &str, operation: &Value) -> Markup {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let body = &operation["requestBody"];
    html! {
        details id=(text(&operation["operationId"])) {
            summary { code { b { (method.to_uppercase()) } " " (path) } " " (text(&operation["summary"])) }
            p { (prose(&operation["description"])) }
            table {
                @for parameter in parameters {
                    tr {
                        td { code { (text(&parameter["name"])) } }
                        td { (text(&parameter["in"])) @if parameter["required"] == true { ", required" } }
                        td { (type_of(&parameter["schema"])) }
                        td { (prose(&parameter["description"])) }
                    }
                }
                @for (media_type, content) in members(&body["content"]) {
                    tr {
                        td { "body" }
                        td { (media_type) @if body["required"] == true { ", required" } }
                        td { (type_of(&content["schema"])) }
                        td { (prose(&body["description"])) }
                    }
                }
                @for (status, response) in members(&operation["responses"]) {
                    tr {
                        td { "answer " (status) }
                        @match members(&response["content"]).next() {
                            Some((media_type, content)) => {
                                td { (media_type) }
                                td { (type_of(&content["schema"])) }
                            }
                            None => { td {} td {} }
                        }
                        td { (prose(&response["description"])) }
                    }
                }
            }
        }
    }
}

fn type_details(name: &str, schema: &Value) -> Markup {
    let is_required = |name: &str| schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name));
    html! {
        details id=(format!("type-{name}")) {
            summary { code { (name) } }
            p { (prose(&schema["description"])) }
            @if schema["properties"].is_object() {
                table {
                    @for (field, property) in members(&schema["properties"]) {
                        tr {
                            td { code { (field) } }
                            td { @if is_required(field) { "required" } }
                            td { (type_of(property)) }
                            td { (prose(description(property))) }
                        }
                    }
                }
            } @else {
                p { (type_of(schema)) }
            }
            @if let Some(example) = schema.get("example") {
                pre { (serde_json::to_string_pretty(example).unwrap_or_default()) }
            }
        }
    }
}

/// A schema in a few words, with links to the types that it names.
fn type_of(schema: &Value) -> Markup {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return html! { a href=(format!("#type-{name}")) { (name) } };
    }
    if let Some(words) = schema["enum"].as_array() {
        return html! { @for (n, word) in words.iter().enumerate() { @if n > 0 { ", " } code { (text(word)) } } };
    }
    for (several, between) in [("oneOf", " or "), ("allOf", " and ")] {
        if let Some(all) = schema[several].as_array() {
            return html! { @for (n, one) in all.iter().enumerate() { @if n > 0 { (between) } (type_of(one)) } };
        }
    }
    let words: Vec<&str> = match &schema["type"] {
        Value::Array(words) => words.iter().map(text).collect(),
        word => vec![text(word)],
    };
    html! {
        (words.join(" or "))
        @if let Some(items) = schema.get("items") { " of " (type_of(items)) }
        @if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
            " of " (type_of(values))
        }
    }
}

/// A description, which stands in an alternative where the property may be null.
fn description(property: &Value) -> &Value {
    let inner = property["oneOf"].as_array().into_iter().flatten().find(|one| one.get("description").is_some());
    property.get("description").or(inner.map(|inner| &inner["description"])).unwrap_or(&Value::Null)
}

/// Text in which backquotes mark code.
fn prose(value: &Value) -> Markup {
    let parts = text(value).split('`').enumerate().map(|(n, part)| match n % 2 {
        0 => html! { (part) },
        _ => html! { code { (part) } },
    });
    PreEscaped(parts.map(PreEscaped::into_string).collect())
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flat_map(Map::iter).map(|(name, value)| (name.as_str(), value))
}
