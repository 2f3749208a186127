use super::*;

#[test]
fn what_a_vendor_refuses_is_left_out_and_types_stand_beside_choices() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "required": ["a"],
        "properties": {
            "a": { "enum": ["x", "y"] }, "b": { "type": "string", "minLength": 1, "maxLength": 9, "pattern": "^x$" },
            "c": { "const": 1 }, "minLength": { "oneOf": [{ "enum": [1, null] }] },
        },
    });
    let expected = json!({
        "type": "object", "required": ["a"],
        "properties": {
            "a": { "type": "string", "enum": ["x", "y"] }, "b": { "type": "string" },
            "c": { "type": "integer", "enum": [1] },
            "minLength": { "anyOf": [{ "type": ["integer", "null"], "enum": [1, null] }] },
        },
    });
    assert_eq!(portable(&schema), expected);
}

#[test]
fn what_is_optional_is_null_on_the_wire_and_absent_in_the_answer() {
    let schema = json!({
        "type": "object", "required": ["name"], "properties": {
            "name": { "type": "string" }, "note": { "type": "string" },
            "list": { "type": "array", "items": { "type": "object", "properties": { "x": { "type": "integer" } } } },
        },
    });
    let strict = strict(&schema).unwrap();
    assert_eq!(strict["required"], json!(["list", "name", "note"]));
    assert_eq!(strict["properties"]["note"], json!({ "anyOf": [{ "type": "string" }, { "type": "null" }] }));
    let mut answer = json!({ "name": "n", "note": null, "list": [{ "x": null }] });
    without_nulls(&schema, &mut answer);
    assert_eq!(answer, json!({ "name": "n", "list": [{}] }));
}

#[test]
fn a_schema_that_cannot_be_strict_is_not_called_so() {
    let object = |inner: Value| json!({ "type": "object", "properties": { "a": inner } });
    assert!(strict(&object(json!({ "type": "string" }))).is_some());
    for inner in [
        json!({}),
        json!({ "type": "object" }),
        json!({ "type": "array" }),
        json!({ "type": "object", "additionalProperties": { "type": "string" } }),
        json!({ "type": ["object", "null"] }),
        json!({ "type": "string", "enum": (0..1001).map(|n| n.to_string()).collect::<Vec<_>>() }),
    ] {
        assert_eq!(strict(&object(inner.clone())), None, "{inner}");
    }
    assert_eq!(strict(&json!({ "type": "array", "items": { "type": "string" } })), None, "an answer is an object");
    let deep = (0..20).fold(json!({ "type": "string" }), |inner, _| object(inner));
    assert_eq!(strict(&deep), None);
}
