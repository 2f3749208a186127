//! JSON Schemas from outside: compiled once, without fetching anything, and without patterns that
//! run for ever.

use std::io;

use folkmoot_llm::structured::Bounds;
use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

/// Larger ones are mistakes or attacks.
pub const SCHEMA_BYTES_MAX: usize = 64 * 1024;
/// The deepest schema.
const DEPTH_MAX: usize = 64;
/// How many problems are reported.
const FAULTS_MAX: usize = 5;

#[derive(Debug)]
pub struct CompiledSchema {
    fits: Validator,
    bounds: Bounds,
}

/// Compiles a schema, or says what is wrong with it.
pub fn compile(schema: &Value) -> Result<CompiledSchema, String> {
    if !schema.is_object() {
        return Err("it is no object".to_owned());
    }
    let bytes = json_bytes(schema);
    if bytes > SCHEMA_BYTES_MAX {
        return Err(format!("it is {bytes} bytes long, and may be {SCHEMA_BYTES_MAX}"));
    }
    if depth(schema) > DEPTH_MAX {
        return Err(format!("it is nested more than {DEPTH_MAX} deep"));
    }
    let bounds = Bounds::of(schema).map_err(|why| crate::foreign::line(&why, 500))?;
    let patterns = PatternOptions::fancy_regex().backtrack_limit(100_000).size_limit(1 << 20).dfa_size_limit(1 << 20);
    jsonschema::options()
        .offline()
        .with_pattern_options(patterns)
        .build(schema)
        .map(|fits| CompiledSchema { fits, bounds })
        .map_err(|error| crate::foreign::line(&error.to_string(), 500))
}

/// Checks a value, and says what does not fit and where.
pub fn check(schema: &CompiledSchema, value: &Value) -> Result<(), String> {
    schema.bounds.check(value)?;
    let faults: Vec<String> = schema
        .fits
        .iter_errors(value)
        .take(FAULTS_MAX)
        .map(|error| {
            let at = error.instance_path().to_string();
            let what = crate::foreign::line(&error.to_string(), 300);
            if at.is_empty() { what } else { format!("at {at}: {what}") }
        })
        .collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
}

/// The length of a value as JSON, without writing it.
pub(crate) fn json_bytes(value: &Value) -> usize {
    struct SchemaCount(usize);
    impl io::Write for SchemaCount {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut count = SchemaCount(0);
    serde_json::to_writer(&mut count, value).expect("counting does not fail");
    count.0
}

fn depth(value: &Value) -> usize {
    // Parsed JSON is at most 128 levels deep, so this does not overflow the stack.
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 0,
    }
}
