//! Fills a schema: with prepared material where it fits, otherwise with the simplest valid value.

use std::cell::Cell;

use serde_json::{Map, Value, json};

use crate::structured::SchemaValidator;

/// The maximum depth; a schema may be recursive.
const DEPTH_MAX: usize = 12;
/// The maximum number of values; a schema may refer to itself many times.
const VALUES_MAX: usize = 10_000;

pub(super) fn fill(schema: &Value, material: &Map<String, Value>) -> Value {
    Filling { root: schema, material, values: Cell::new(0) }.value(schema, 0)
}

/// A value for `part` of `schema`, as if it were the whole.
pub(super) fn part(schema: &Value, part: &Value, material: &Map<String, Value>) -> Value {
    Filling { root: schema, material, values: Cell::new(0) }.value(part, 0)
}

struct Filling<'a> {
    root: &'a Value,
    material: &'a Map<String, Value>,
    values: Cell<usize>,
}

impl Filling<'_> {
    fn value(&self, schema: &Value, depth: usize) -> Value {
        self.values.update(|values| values + 1);
        if depth > DEPTH_MAX || self.values.get() > VALUES_MAX {
            return Value::Null;
        }
        if let Some(target) =
            schema.get("$ref").and_then(Value::as_str).and_then(|place| self.root.pointer(place.strip_prefix('#')?))
        {
            return self.value(target, depth + 1);
        }
        if let Some(only) = schema.get("const") {
            return only.clone();
        }
        if let Some(first) = schema.get("enum").and_then(|words| words.get(0)) {
            return first.clone();
        }
        for either in ["oneOf", "anyOf", "allOf"] {
            if let Some(first) = schema.get(either).and_then(|schemas| schemas.get(0)) {
                return self.value(first, depth + 1);
            }
        }
        let word = match schema.get("type") {
            Some(Value::Array(words)) => words.first().and_then(Value::as_str),
            word => word.and_then(Value::as_str),
        };
        match word {
            Some("array") => self.list(schema, depth),
            Some("string") => json!(text(schema)),
            Some("integer" | "number") => number(schema),
            Some("boolean") => json!(false),
            Some("null") => Value::Null,
            _ => self.object(schema, depth),
        }
    }

    fn object(&self, schema: &Value, depth: usize) -> Value {
        let required: Vec<&str> =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        let mut filled = Map::new();
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let said = self.material.get(name).filter(|said| depth == 0 && self.fits(property, said));
            match said {
                Some(said) => filled.insert(name.clone(), said.clone()),
                None if required.contains(&name.as_str()) => {
                    filled.insert(name.clone(), self.value(property, depth + 1))
                }
                None => None,
            };
        }
        Value::Object(filled)
    }

    fn list(&self, schema: &Value, depth: usize) -> Value {
        let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or_default().min(100);
        let item = schema.get("items").cloned().unwrap_or_else(|| json!({ "type": "string" }));
        (0..least).map(|_| self.value(&item, depth + 1)).collect()
    }

    /// Whether a value fits a part of the schema. References are resolved in the whole schema.
    fn fits(&self, part: &Value, value: &Value) -> bool {
        let mut part = part.clone();
        if let (Some(part), Some(root)) = (part.as_object_mut(), self.root.as_object()) {
            for definitions in ["$defs", "definitions"] {
                if let Some(defined) = root.get(definitions) {
                    part.insert(definitions.to_owned(), defined.clone());
                }
            }
        }
        SchemaValidator::new(&part).is_ok_and(|shape| shape.check(value).is_ok())
    }
}

fn text(schema: &Value) -> String {
    let least = schema.get("minLength").and_then(Value::as_u64).unwrap_or_default().min(10_000);
    let text = "rehearsed ".repeat(usize::try_from(least).unwrap_or_default() / 10 + 1);
    let most = schema
        .get("maxLength")
        .and_then(Value::as_u64)
        .map_or(usize::MAX, |most| usize::try_from(most).unwrap_or(usize::MAX));
    text.trim_end().chars().take(most).collect()
}

fn number(schema: &Value) -> Value {
    let least = schema.get("minimum").or_else(|| schema.get("exclusiveMinimum"));
    match least {
        Some(least) if schema.get("minimum").is_some() => least.clone(),
        Some(least) => json!(least.as_f64().unwrap_or_default() + 1.0),
        None => schema.get("maximum").cloned().unwrap_or_else(|| json!(0)),
    }
}
