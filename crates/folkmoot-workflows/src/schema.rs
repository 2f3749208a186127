//! JSON Schemas of the answers that models are asked for, made from the Rust types that read them.

use schemars::{JsonSchema, Schema, generate::SchemaSettings, transform::RecursiveTransform};
use serde_json::Value;

/// Keywords that schemars writes for people and for code generators. A model does not need them,
/// and they would cost tokens.
const NOT_SENT: [&str; 4] = ["title", "description", "default", "format"];

/// The schema of an answer, without references, because not every vendor follows them.
pub(crate) fn schema_of<A: JsonSchema>() -> Schema {
    let shorten = RecursiveTransform(|schema: &mut Schema| NOT_SENT.iter().for_each(|name| drop(schema.remove(*name))));
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.with_transform(shorten).into_generator().into_root_schema_for::<A>()
}

/// Sets a keyword of the part of a schema that a JSON pointer names.
pub(crate) fn set(schema: &mut Schema, pointer: &str, keyword: &str, value: impl Into<Value>) {
    let part = schema.pointer_mut(pointer).and_then(Value::as_object_mut);
    part.expect("the pointer names a part of this type's schema").insert(keyword.to_owned(), value.into());
}

/// Removes a property of an object, so that it cannot be answered.
pub(crate) fn remove_property(schema: &mut Schema, name: &str) {
    let properties = schema.pointer_mut("/properties").and_then(Value::as_object_mut);
    properties.expect("an answer is an object").remove(name);
    let required = schema.pointer_mut("/required").and_then(Value::as_array_mut);
    required.expect("an answer has required properties").retain(|required| required != name);
}
