//! Limits the work of checking a value against a schema. A few hundred bytes are enough for a
//! schema that nobody can finish checking: parts that refer twice to a part that refers twice to a
//! part, and so on.

use std::collections::HashMap;

use serde_json::{Map, Value};

/// How many parts a schema may have with all references expanded.
const PARTS_MAX: usize = 100_000;
/// How deeply parts may be nested with all references expanded; the validator's stack grows with
/// it.
const DEPTH_MAX: usize = 128;
/// How often a recursive part may apply to one place in a value.
const TURNS_MAX: u64 = 100_000;

/// Keywords whose subschemas apply to the same place in a value.
const SAME_PLACE: [&str; 9] =
    ["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"];
/// Keywords whose subschemas apply to places inside it.
const WITHIN: [&str; 10] = [
    "items",
    "prefixItems",
    "additionalItems",
    "unevaluatedItems",
    "contains",
    "additionalProperties",
    "unevaluatedProperties",
    "patternProperties",
    "propertyNames",
    "contentSchema",
];
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
/// The addresses of the meta-schemas, which validators include.
const OF_SCHEMAS: [&str; 2] = ["http://json-schema.org/", "https://json-schema.org/"];

/// What limits the work of checking values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// How many ways lead a recursive part to the same place in a value.
    ways: u64,
}

impl Bounds {
    /// Expands every reference once, or says why the schema cannot be used.
    pub fn of(schema: &Value) -> Result<Self, String> {
        let mut names = HashMap::new();
        collect_names(schema, 0, &mut names)?;
        // A pattern may match the same place as a name.
        let by_name = !has_patterns(schema);
        let mut walk =
            SchemaWalk { root: schema, names, by_name, parts: 0, open: vec![("#", 0, 0)], back: HashMap::new() };
        walk.part(schema, &mut String::new(), 0)?;
        Ok(Self { ways: walk.back.values().copied().max().unwrap_or_default() })
    }

    /// Checks that a value is not nested too deeply.
    pub fn check(&self, value: &Value) -> Result<(), String> {
        let turns = self.ways.checked_pow(u32::try_from(depth(value)).unwrap_or(u32::MAX));
        match turns {
            Some(turns) if turns <= TURNS_MAX => Ok(()),
            _ if self.ways <= 1 => Ok(()),
            _ => Err(format!("it is nested too deep for a schema that contains itself in {} ways", self.ways)),
        }
    }
}

struct SchemaWalk<'a> {
    root: &'a Value,
    names: HashMap<&'a str, &'a Value>,
    by_name: bool,
    parts: usize,
    /// The references being expanded, with their depth in the value and their part.
    open: Vec<(&'a str, usize, usize)>,
    /// How often a reference that is being expanded was met again, and at which place.
    back: HashMap<(usize, String), u64>,
}

impl<'a> SchemaWalk<'a> {
    fn part(&mut self, part: &'a Value, place: &mut String, depth: usize) -> Result<(), String> {
        self.parts += 1;
        if self.parts > PARTS_MAX {
            return Err(format!("with its references followed, it has more than {PARTS_MAX} parts"));
        }
        if depth > DEPTH_MAX {
            return Err(format!("with its references followed, it is more than {DEPTH_MAX} deep"));
        }
        let Value::Object(fields) = part else { return Ok(()) };
        for (key, value) in fields {
            let key = key.as_str();
            if REFERENCES.contains(&key) {
                self.reference(value, place, depth)?;
            } else if SAME_PLACE.contains(&key) {
                self.parts_of(key, value, place, depth)?;
            } else if WITHIN.contains(&key) {
                let before = place.len();
                place.push_str("/*");
                self.parts_of(key, value, place, depth)?;
                place.truncate(before);
            } else if let ("properties", Value::Object(properties)) = (key, value) {
                self.properties(properties, place, depth)?;
            }
        }
        Ok(())
    }

    fn properties(&mut self, all: &'a Map<String, Value>, place: &mut String, depth: usize) -> Result<(), String> {
        for (name, part) in all {
            let before = place.len();
            place.push('/');
            if self.by_name {
                // Quoted, so that no name looks like a path of two.
                place.push_str(&format!("{name:?}"));
            } else {
                place.push('*');
            }
            self.part(part, place, depth + 1)?;
            place.truncate(before);
        }
        Ok(())
    }

    /// Expands one part, a list of parts, or named parts.
    fn parts_of(&mut self, key: &str, value: &'a Value, place: &mut String, depth: usize) -> Result<(), String> {
        match value {
            Value::Array(parts) => parts.iter().try_for_each(|part| self.part(part, place, depth + 1)),
            Value::Object(parts) if matches!(key, "patternProperties" | "dependentSchemas" | "dependencies") => {
                parts.values().try_for_each(|part| self.part(part, place, depth + 1))
            }
            part => self.part(part, place, depth + 1),
        }
    }

    fn reference(&mut self, to: &'a Value, place: &mut String, depth: usize) -> Result<(), String> {
        let Some(to) = to.as_str() else { return Ok(()) };
        let open = self.open.iter().find(|(open, ..)| *open == to);
        if let Some((_, from, part)) = open {
            *self.back.entry((*part, place.get(*from..).unwrap_or_default().to_owned())).or_default() += 1;
            return Ok(());
        }
        let Some(target) = self.target(to)? else { return Ok(()) };
        self.open.push((to, place.len(), self.parts));
        let followed = self.part(target, place, depth + 1);
        self.open.pop();
        followed
    }

    fn target(&self, to: &str) -> Result<Option<&'a Value>, String> {
        if OF_SCHEMAS.iter().any(|place| to.starts_with(place)) {
            return Ok(None);
        }
        let (document, fragment) = to.split_once('#').unwrap_or((to, ""));
        let document = match document {
            "" => Some(self.root),
            named => self.names.get(named).copied(),
        };
        let target = document.and_then(|document| match fragment {
            "" => Some(document),
            pointer if pointer.starts_with('/') => document.pointer(&unescaped(pointer)),
            name => self.names.get(name).copied(),
        });
        let shown: String = to.chars().take(120).collect();
        target.map(Some).ok_or_else(|| format!("it refers to {shown:?}, which is not in it"))
    }
}

/// Decodes percent escapes in a pointer.
fn unescaped(pointer: &str) -> String {
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let number = (*first == b'%').then(|| after.get(..2)).flatten();
        let number = number.and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(number.unwrap_or(*first));
        rest = if number.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Collects the anchors and ids of parts.
fn collect_names<'a>(value: &'a Value, depth: usize, names: &mut HashMap<&'a str, &'a Value>) -> Result<(), String> {
    if depth > 2 * DEPTH_MAX {
        return Err(format!("it is nested more than {} deep", 2 * DEPTH_MAX));
    }
    match value {
        Value::Object(fields) => {
            for key in ["$id", "id", "$anchor", "$dynamicAnchor"] {
                if let Some(name) = fields.get(key).and_then(Value::as_str) {
                    names.insert(name.trim_start_matches('#').trim_end_matches('#'), value);
                }
            }
            fields.values().try_for_each(|value| collect_names(value, depth + 1, names))
        }
        Value::Array(items) => items.iter().try_for_each(|value| collect_names(value, depth + 1, names)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
    }
}

fn has_patterns(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.contains_key("patternProperties") || fields.values().any(has_patterns),
        Value::Array(items) => items.iter().any(has_patterns),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn depth(value: &Value) -> usize {
    // Parsed JSON is at most 128 levels deep.
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}
