use super::*;

#[test]
fn a_schema_is_strict_if_all_of_its_objects_are() {
    let closed =
        json!({ "type": "object", "properties": { "a": {} }, "required": ["a"], "additionalProperties": false });
    let open = json!({ "type": "object", "properties": { "a": {} }, "required": ["a"] });
    let optional = json!({ "type": "object", "properties": { "a": {} }, "additionalProperties": false });
    assert!(is_strict(&closed));
    assert!(!is_strict(&open));
    assert!(!is_strict(&optional));
    let within = |inner: &Value| {
        json!({
            "type": "object", "required": ["list", "properties"], "additionalProperties": false,
            "properties": { "list": { "type": "array", "items": { "anyOf": [inner, { "type": "null" }] } }, "properties": {} },
            "$defs": { "type": inner },
        })
    };
    assert!(is_strict(&within(&closed)));
    assert!(!is_strict(&within(&open)));
    // Values are no schemas.
    assert!(is_strict(&json!({ "enum": [{ "type": "object" }] })));
}
