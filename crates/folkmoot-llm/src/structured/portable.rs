//! Schemas in the form that vendors accept. Each vendor accepts a different subset of JSON Schema,
//! and refuses or ignores the rest. The full schema is checked when the answer is read.

use serde_json::{Map, Value, json};

/// The keywords that OpenAI, Gemini and Ollama all accept. Lengths and patterns of strings are not
/// among them: OpenAI refuses lengths, Gemini supports neither, and local servers cannot build a
/// grammar of thirty thousand optional letters.
const TAKEN: [&str; 12] = [
    "type",
    "title",
    "description",
    "enum",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
];

/// OpenAI's limits on a strict schema.
const STRICT_DEPTH_MAX: usize = 10;
const STRICT_PROPERTIES_MAX: usize = 5_000;
const STRICT_ENUM_MAX: usize = 1_000;

/// The schema without keywords that a vendor refuses.
pub fn portable(schema: &Value) -> Value {
    let Value::Object(keywords) = schema else { return schema.clone() };
    let mut taken = Map::new();
    for (keyword, value) in keywords {
        match keyword.as_str() {
            "properties" | "$defs" | "definitions" => drop(taken.insert(keyword.clone(), each(value))),
            "items" | "additionalProperties" => drop(taken.insert(keyword.clone(), portable(value))),
            "anyOf" | "oneOf" => drop(taken.insert("anyOf".to_owned(), list(value))),
            "const" => drop(taken.insert("enum".to_owned(), json!([value]))),
            "$ref" => drop(taken.insert(keyword.clone(), value.clone())),
            other if TAKEN.contains(&other) => drop(taken.insert(keyword.clone(), value.clone())),
            _ => {}
        }
    }
    if let (None, Some(kind)) = (taken.get("type"), taken.get("enum").and_then(type_of_all)) {
        taken.insert("type".to_owned(), kind);
    }
    Value::Object(taken)
}

fn each(schemas: &Value) -> Value {
    match schemas {
        Value::Object(named) => named.iter().map(|(name, schema)| (name.clone(), portable(schema))).collect(),
        other => other.clone(),
    }
}

fn list(schemas: &Value) -> Value {
    match schemas {
        Value::Array(schemas) => schemas.iter().map(portable).collect(),
        other => other.clone(),
    }
}

/// The type of these values, or several if they differ.
fn type_of_all(values: &Value) -> Option<Value> {
    let mut kinds: Vec<&str> = values.as_array()?.iter().map(kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    match kinds[..] {
        [] => None,
        [only] => Some(only.into()),
        _ => Some(kinds.into()),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A portable schema in OpenAI's strict form, if possible: every object is closed, every property
/// required, and optional ones nullable. [`without_nulls`] reads an answer to it.
pub fn strict(schema: &Value) -> Option<Value> {
    let is_object = schema.get("type").is_some_and(|kind| kind == "object");
    let mut counted = SchemaSize::default();
    let strict = is_object.then(|| closed(schema, 0, &mut counted)).flatten()?;
    (counted.properties <= STRICT_PROPERTIES_MAX && counted.enums <= STRICT_ENUM_MAX).then_some(strict)
}

#[derive(Default)]
struct SchemaSize {
    properties: usize,
    enums: usize,
}

fn closed(schema: &Value, depth: usize, counted: &mut SchemaSize) -> Option<Value> {
    let keywords = schema.as_object()?;
    if depth > STRICT_DEPTH_MAX {
        return None;
    }
    let mut strict = keywords.clone();
    for name in ["$defs", "definitions"] {
        if let Some(Value::Object(parts)) = keywords.get(name) {
            let closed: Option<Map<String, Value>> =
                parts.iter().map(|(name, part)| Some((name.clone(), closed(part, depth + 1, counted)?))).collect();
            strict.insert(name.to_owned(), Value::Object(closed?));
        }
    }
    if let Some(values) = keywords.get("enum").and_then(Value::as_array) {
        counted.enums += values.len();
    }
    if let Some(Value::Array(parts)) = keywords.get("anyOf") {
        let parts: Option<Vec<Value>> = parts.iter().map(|part| closed(part, depth, counted)).collect();
        strict.insert("anyOf".to_owned(), parts?.into());
        return Some(Value::Object(strict));
    }
    if keywords.contains_key("$ref") {
        return Some(Value::Object(strict));
    }
    match keywords.get("type")? {
        Value::String(kind) if kind == "object" => object(strict, depth, counted),
        Value::String(kind) if kind == "array" => {
            strict.insert("items".to_owned(), closed(keywords.get("items")?, depth + 1, counted)?);
            Some(Value::Object(strict))
        }
        // A nullable object or list would need its parts described; no schema of ours has one.
        Value::Array(kinds) if kinds.iter().any(|kind| kind == "object" || kind == "array") => None,
        _ => Some(Value::Object(strict)),
    }
}

fn object(mut strict: Map<String, Value>, depth: usize, counted: &mut SchemaSize) -> Option<Value> {
    let is_open = !matches!(strict.get("additionalProperties"), None | Some(Value::Bool(false)));
    let properties = strict.get("properties").and_then(Value::as_object).cloned();
    // Closing an object without properties would make it always empty.
    let properties = match (properties, strict.get("additionalProperties")) {
        _ if is_open => return None,
        (Some(properties), _) => properties,
        (None, Some(_)) => Map::new(),
        (None, None) => return None,
    };
    counted.properties += properties.len();
    let required: Vec<Value> = strict.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let mut all = Map::new();
    for (name, schema) in &properties {
        let inner = closed(schema, depth + 1, counted)?;
        let is_required = required.iter().any(|required| required == name);
        all.insert(name.clone(), if is_required { inner } else { nullable(inner) });
    }
    strict.insert("required".to_owned(), all.keys().cloned().collect::<Vec<_>>().into());
    strict.insert("properties".to_owned(), Value::Object(all));
    strict.insert("additionalProperties".to_owned(), false.into());
    Some(Value::Object(strict))
}

fn nullable(schema: Value) -> Value {
    let nothing = json!({ "type": "null" });
    match schema {
        Value::Object(mut keywords) => match keywords.get_mut("anyOf") {
            Some(Value::Array(parts)) => {
                if !parts.contains(&nothing) {
                    parts.push(nothing);
                }
                Value::Object(keywords)
            }
            _ => json!({ "anyOf": [Value::Object(keywords), nothing] }),
        },
        other => other,
    }
}

/// Removes the nulls that stand for absent properties.
pub fn without_nulls(schema: &Value, value: &mut Value) {
    for part in schema.get("anyOf").and_then(Value::as_array).into_iter().flatten() {
        without_nulls(part, value);
    }
    match value {
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                items.iter_mut().for_each(|item| without_nulls(schema, item));
            }
        }
        Value::Object(members) => {
            let required = schema.get("required").and_then(Value::as_array);
            let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|required| required == name));
            let Some(properties) = schema.get("properties").and_then(Value::as_object) else { return };
            members.retain(|name, value| !value.is_null() || is_required(name) || !properties.contains_key(name));
            for (name, value) in members.iter_mut() {
                if let Some(schema) = properties.get(name) {
                    without_nulls(schema, value);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests;
