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

#[test]
fn only_openais_own_server_is_told_of_completion_tokens() {
    let request = Request::new("Hello");
    let limits = |is_theirs| {
        let body = body(&request, "m", is_theirs);
        (body["max_tokens"].clone(), body["max_completion_tokens"].clone())
    };
    assert_eq!(limits(true), (Value::Null, json!(request.max_tokens)));
    assert_eq!(limits(false), (json!(request.max_tokens), Value::Null));
    for (url, expected) in [
        (OpenAi::BASE_URL, true),
        ("https://eu.api.openai.com/v1", true),
        ("https://api.openai.com.example.org/v1", false),
        ("https://not-api.openai.com/v1", false),
        ("http://127.0.0.1:8080/v1?x=api.openai.com", false),
    ] {
        assert_eq!(is_theirs(url), expected, "{url}");
    }
}
