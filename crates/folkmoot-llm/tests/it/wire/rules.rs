//! What vendors refuse, written from their documentation and from what they are seen to answer.
//! Fake vendors ask this before they answer, so that no test passes with what a real one answers
//! with 400. It shares no code with what makes the requests.

use serde_json::Value;

/// Why OpenAI would refuse this body of a chat completion.
pub fn openai(body: &Value) -> Result<(), String> {
    must_have(body, &["model", "messages"])?;
    said(body["messages"].as_array(), |message| message["content"].as_str())?;
    let Some(format) = body.get("response_format") else { return Ok(()) };
    if format["type"] != "json_schema" {
        return Err(format!("response_format.type is {}", format["type"]));
    }
    let named = &format["json_schema"];
    name(&named["name"])?;
    if named["strict"] != true {
        return Ok(());
    }
    let schema = &named["schema"];
    if schema["type"] != "object" {
        return Err("a strict schema must be an object at its root".to_owned());
    }
    let mut counted = Counted::default();
    strict(schema, "$", 0, &mut counted)?;
    match counted {
        Counted { properties: ..=5_000, enums: ..=1_000, letters: ..=120_000 } => Ok(()),
        _ => Err("the schema is larger than a strict one may be".to_owned()),
    }
}

/// Why Anthropic would refuse this body of a message.
pub fn anthropic(body: &Value) -> Result<(), String> {
    must_have(body, &["model", "messages", "max_tokens"])?;
    said(body["messages"].as_array(), |message| message["content"].as_str())?;
    let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    if messages.first().is_none_or(|first| first["role"] != "user") {
        return Err("the first message must be the user's".to_owned());
    }
    for tool in body.get("tools").and_then(Value::as_array).into_iter().flatten() {
        name(&tool["name"])?;
        let schema = &tool["input_schema"];
        if schema["type"] != "object" {
            return Err("tools.0.input_schema.type must be object".to_owned());
        }
        if let Some(union) = ["anyOf", "oneOf", "allOf"].iter().find(|union| schema.get(union).is_some()) {
            return Err(format!("tools.0.input_schema has {union} at its top level"));
        }
    }
    Ok(())
}

/// Why Gemini would refuse this body, or ignore a part of it.
pub fn gemini(body: &Value) -> Result<(), String> {
    must_have(body, &["contents"])?;
    said(body["contents"].as_array(), |content| content["parts"][0]["text"].as_str())?;
    let generation = &body["generationConfig"];
    let Some(schema) = generation.get("responseJsonSchema") else { return Ok(()) };
    if generation["responseMimeType"] != "application/json" {
        return Err("a schema needs responseMimeType application/json".to_owned());
    }
    known(
        schema,
        "$",
        &[
            "$id",
            "$defs",
            "$ref",
            "$anchor",
            "type",
            "format",
            "title",
            "description",
            "enum",
            "items",
            "prefixItems",
            "minItems",
            "maxItems",
            "minimum",
            "maximum",
            "anyOf",
            "oneOf",
            "properties",
            "additionalProperties",
            "required",
            "propertyOrdering",
        ],
    )
}

/// Why Ollama would refuse this body: what its grammar cannot be made of.
pub fn ollama(body: &Value) -> Result<(), String> {
    must_have(body, &["model", "messages"])?;
    said(body["messages"].as_array(), |message| message["content"].as_str())?;
    let Some(schema) = body.get("format") else { return Ok(()) };
    known(
        schema,
        "$",
        &[
            "$defs",
            "definitions",
            "$ref",
            "type",
            "format",
            "title",
            "description",
            "enum",
            "const",
            "items",
            "prefixItems",
            "minItems",
            "maxItems",
            "minimum",
            "maximum",
            "anyOf",
            "oneOf",
            "properties",
            "additionalProperties",
            "required",
        ],
    )
}

fn must_have(body: &Value, fields: &[&str]) -> Result<(), String> {
    match fields.iter().find(|field| body.get(field).is_none()) {
        Some(field) => Err(format!("{field} is missing")),
        None => Ok(()),
    }
}

/// Nobody takes a message without words.
fn said<'a>(messages: Option<&'a Vec<Value>>, text: impl Fn(&'a Value) -> Option<&'a str>) -> Result<(), String> {
    match messages.map(Vec::as_slice).unwrap_or_default() {
        [] => Err("there are no messages".to_owned()),
        some => match some.iter().position(|message| text(message).is_none_or(|text| text.trim().is_empty())) {
            Some(at) => Err(format!("message {at} is empty")),
            None => Ok(()),
        },
    }
}

fn name(name: &Value) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match name.as_str() {
        Some(name) if (1..=64).contains(&name.len()) && name.chars().all(is_plain) => Ok(()),
        _ => Err(format!("{name} is no name: letters, digits, _ and -, at most 64")),
    }
}

#[derive(Default)]
struct Counted {
    properties: usize,
    enums: usize,
    letters: usize,
}

fn strict(schema: &Value, at: &str, depth: usize, counted: &mut Counted) -> Result<(), String> {
    let fields = schema.as_object().ok_or_else(|| format!("{at} is no schema"))?;
    let taken = [
        "type",
        "title",
        "description",
        "enum",
        "const",
        "anyOf",
        "properties",
        "required",
        "additionalProperties",
        "items",
        "minItems",
        "maxItems",
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "pattern",
        "format",
        "$ref",
        "$defs",
    ];
    if let Some(keyword) = fields.keys().find(|keyword| !taken.contains(&keyword.as_str())) {
        return Err(format!("In context={at}, '{keyword}' is not permitted"));
    }
    if depth > 10 {
        return Err(format!("{at} is more than 10 levels deep"));
    }
    for (name, part) in fields.get("$defs").and_then(Value::as_object).into_iter().flatten() {
        strict(part, &format!("{at}.$defs.{name}"), depth, counted)?;
    }
    if let Some(parts) = fields.get("anyOf").and_then(Value::as_array) {
        return parts
            .iter()
            .enumerate()
            .try_for_each(|(n, part)| strict(part, &format!("{at}.anyOf.{n}"), depth, counted));
    }
    if fields.contains_key("$ref") {
        return Ok(());
    }
    let kind = fields.get("type").ok_or_else(|| format!("In context={at}, schema must have a 'type' key"))?;
    if let Some(values) = fields.get("enum").and_then(Value::as_array) {
        counted.enums += values.len();
        let letters: usize = values.iter().filter_map(Value::as_str).map(str::len).sum();
        counted.letters += letters;
        if values.is_empty() || (values.len() > 250 && letters > 15_000) {
            return Err(format!("{at}: the enum is empty or too large"));
        }
    }
    if kind == "array" {
        let items = fields.get("items").ok_or_else(|| format!("In context={at}, array schema missing items"))?;
        return strict(items, &format!("{at}.items"), depth + 1, counted);
    }
    if kind != "object" {
        return Ok(());
    }
    if fields.get("additionalProperties") != Some(&Value::Bool(false)) {
        return Err(format!("In context={at}, 'additionalProperties' is required to be supplied and to be false"));
    }
    let properties = fields.get("properties").and_then(Value::as_object);
    let required = fields.get("required").and_then(Value::as_array);
    for (name, part) in properties.into_iter().flatten() {
        counted.properties += 1;
        counted.letters += name.len();
        if !required.is_some_and(|required| required.iter().any(|required| required == name)) {
            return Err(format!("In context={at}, 'required' must include every key in properties. Missing '{name}'"));
        }
        strict(part, &format!("{at}.{name}"), depth + 1, counted)?;
    }
    Ok(())
}

/// Only these keywords, and a type wherever there is a choice.
fn known(schema: &Value, at: &str, keywords: &[&str]) -> Result<(), String> {
    let Some(fields) = schema.as_object() else { return Ok(()) };
    if let Some(keyword) = fields.keys().find(|keyword| !keywords.contains(&keyword.as_str())) {
        return Err(format!("{at}: unknown name {keyword:?}"));
    }
    if fields.contains_key("enum") && !fields.contains_key("type") {
        return Err(format!("{at}: an enum needs a type"));
    }
    for (keyword, value) in fields {
        let at = format!("{at}.{keyword}");
        match (keyword.as_str(), value) {
            ("properties" | "$defs" | "definitions", Value::Object(parts)) => {
                parts.iter().try_for_each(|(name, part)| known(part, &format!("{at}.{name}"), keywords))?;
            }
            ("anyOf" | "oneOf" | "prefixItems", Value::Array(parts)) => {
                parts.iter().try_for_each(|part| known(part, &at, keywords))?;
            }
            ("items" | "additionalProperties", part) => known(part, &at, keywords)?,
            _ => {}
        }
    }
    Ok(())
}
