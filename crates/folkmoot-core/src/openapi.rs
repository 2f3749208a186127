//! How core's types look in an OpenAPI document. Compiled only with the feature `openapi`.

use utoipa::openapi::{
    ObjectBuilder,
    schema::{KnownFormat, OneOfBuilder, SchemaFormat, SchemaType, Type},
};
pub use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

/// Describes a type in an OpenAPI document: the lines of its description, and the schema of its
/// JSON. Without core's feature `openapi` it expands to nothing, whichever crate calls it.
#[macro_export]
macro_rules! openapi {
    ($type:ty, [$($line:literal),*], $schema:expr) => {
        impl $crate::openapi::PartialSchema for $type {
            fn schema() -> $crate::openapi::RefOr<$crate::openapi::Schema> {
                let lines: &[&str] = &[$($line.trim_ascii()),*];
                $schema.description(Some(lines.join("\n"))).into()
            }
        }

        impl $crate::openapi::ToSchema for $type {}
    };
}

/// A string that is one of these words.
pub fn one_of(words: &[&str]) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words.iter().copied()))
}

/// A string of 1 to `chars_max` characters that matches `pattern`.
pub fn text(pattern: &str, chars_max: usize) -> ObjectBuilder {
    let text = ObjectBuilder::new().schema_type(Type::String);
    text.pattern(Some(pattern)).min_length(Some(1)).max_length(Some(chars_max))
}

pub(crate) fn moment() -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).format(Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)))
}

pub(crate) fn moment_or_null() -> ObjectBuilder {
    moment().schema_type(SchemaType::from_iter([Type::String, Type::Null]))
}

pub(crate) fn millis_or_never() -> OneOfBuilder {
    let millis = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int64)))
        .minimum(Some(1))
        .maximum(Some(i64::MAX - 1));
    OneOfBuilder::new().item(millis).item(one_of(&["never"]))
}
