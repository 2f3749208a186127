use super::*;

#[test]
fn only_openais_own_server_is_told_of_completion_tokens() {
    let request = ModelRequest::new("Hello");
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
