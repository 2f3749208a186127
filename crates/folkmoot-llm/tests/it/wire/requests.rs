//! What each vendor is sent.

use folkmoot_llm::{
    Message, Model, ModelRequest, Schema, Speaker,
    provider::{Ollama, OpenAi},
};
use serde_json::{Value, json};
use wiremock::{
    Mock, MockServer, ResponseTemplate,
    matchers::{method, path},
};

use super::{
    rules,
    vendor::{ALL, KEY, Vendor, endpoint, hello},
};
use crate::server::{Server, Step, head};

/// Everything that can be asked.
fn full() -> ModelRequest {
    let message = |speaker, text: &str| Message { speaker, text: text.to_owned() };
    ModelRequest {
        system: Some("Be brief.".to_owned()),
        messages: vec![
            message(Speaker::User, "Is it?"),
            message(Speaker::Assistant, "It is."),
            message(Speaker::User, "Sure?"),
        ],
        schema: Some(Schema { name: "verdict".to_owned(), schema: shape() }),
        max_tokens: 77,
        temperature: Some(0.5),
        seed: Some(u64::MAX),
        idempotency_key: Some("call-1".to_owned()),
        cue: None,
    }
}

fn shape() -> Value {
    json!({ "type": "object", "properties": { "ok": { "type": "boolean" } }, "required": ["ok"], "additionalProperties": false })
}

fn expected(vendor: Vendor) -> Value {
    let said = json!([
        { "role": "user", "content": "Is it?" },
        { "role": "assistant", "content": "It is." },
        { "role": "user", "content": "Sure?" },
    ]);
    let with_system =
        || [vec![json!({ "role": "system", "content": "Be brief." })], said.as_array().unwrap().clone()].concat();
    match vendor {
        Vendor::OpenAi => json!({
            "model": "m-1", "messages": with_system(), "stream": true, "stream_options": { "include_usage": true },
            "max_tokens": 77, "temperature": 0.5, "seed": u64::MAX,
            "response_format": {
                "type": "json_schema", "json_schema": { "name": "verdict", "schema": shape(), "strict": true },
            },
        }),
        Vendor::Anthropic => json!({
            "model": "m-1", "max_tokens": 77, "system": "Be brief.", "messages": said, "stream": true, "temperature": 0.5,
            "tools": [{
                "name": "verdict", "description": "Gives the answer. Call it once, with all of the answer.",
                "input_schema": shape(),
            }],
            "tool_choice": { "type": "tool", "name": "verdict", "disable_parallel_tool_use": true },
        }),
        Vendor::Gemini => json!({
            "systemInstruction": { "parts": [{ "text": "Be brief." }] },
            "contents": [
                { "role": "user", "parts": [{ "text": "Is it?" }] },
                { "role": "model", "parts": [{ "text": "It is." }] },
                { "role": "user", "parts": [{ "text": "Sure?" }] },
            ],
            "generationConfig": {
                "maxOutputTokens": 77, "temperature": 0.5, "seed": 0x7fff_ffff, "responseMimeType": "application/json",
                "responseJsonSchema": shape(),
            },
        }),
        Vendor::Ollama => json!({
            "model": "m-1", "messages": with_system(), "stream": true, "format": shape(),
            "options": { "num_predict": 77, "temperature": 0.5, "seed": 0x7fff_ffff },
        }),
    }
}

#[tokio::test]
async fn every_vendor_is_asked_in_its_own_words() {
    for vendor in ALL {
        let server =
            Server::play(vec![Step::Send(head(vendor.content_type())), Step::Send(vendor.whole().into())]).await;
        // Anthropic's tool is not used here, so that its answer to this is empty; what was asked is
        // what counts.
        let _ = vendor.connect(endpoint(&server.url)).ask(&full(), &mut ()).await;
        let asked = server.asked();
        let (head, body) = asked[0].split_once("\r\n\r\n").unwrap();
        let body: Value = serde_json::from_str(body).unwrap();
        assert_eq!(body, expected(vendor), "{vendor:?}");
        let taken = match vendor {
            Vendor::OpenAi => rules::openai(&body),
            Vendor::Anthropic => rules::anthropic(&body),
            Vendor::Gemini => rules::gemini(&body),
            Vendor::Ollama => rules::ollama(&body),
        };
        assert_eq!(taken, Ok(()), "{vendor:?}");
        let query = if vendor == Vendor::Gemini { "?alt=sse" } else { "" };
        assert_eq!(head.lines().next(), Some(format!("POST {}{query} HTTP/1.1", vendor.path()).as_str()));
        let head = head.to_lowercase();
        let has = |line: &str| head.lines().any(|found| found == line.to_lowercase());
        assert!(has("content-type: application/json"), "{head}");
        assert!(has(&format!("user-agent: folkmoot/{}", env!("CARGO_PKG_VERSION"))), "{head}");
        assert_eq!(
            has(&format!("authorization: Bearer {KEY}")),
            matches!(vendor, Vendor::OpenAi | Vendor::Ollama),
            "{head}"
        );
        assert_eq!(has(&format!("x-api-key: {KEY}")), vendor == Vendor::Anthropic, "{head}");
        assert_eq!(has("anthropic-version: 2023-06-01"), vendor == Vendor::Anthropic, "{head}");
        assert_eq!(has(&format!("x-goog-api-key: {KEY}")), vendor == Vendor::Gemini, "{head}");
        assert_eq!(has("idempotency-key: call-1"), matches!(vendor, Vendor::OpenAi | Vendor::Anthropic), "{head}");
        assert_eq!(head.matches(KEY).count(), 1, "{vendor:?} shows its key once: {head}");
    }
}

#[tokio::test]
async fn an_answer_remembers_what_was_sent_to_the_byte() {
    for vendor in ALL {
        let server =
            Server::play(vec![Step::Send(head(vendor.content_type())), Step::Send(vendor.whole().into())]).await;
        let answer = vendor.connect(endpoint(&server.url)).ask(&hello(), &mut ()).await.unwrap();
        let asked = server.asked();
        let (_, body) = asked[0].split_once("\r\n\r\n").unwrap();
        assert_eq!(answer.sent, body, "{vendor:?}");
        assert!(!body.contains("null"), "{vendor:?} is not told what nobody said: {body}");
    }
}

#[tokio::test]
async fn an_address_may_have_the_version_or_not() {
    for (vendor, version) in
        [(Vendor::Anthropic, "/v1"), (Vendor::Gemini, "/v1beta/"), (Vendor::Ollama, "/api"), (Vendor::OpenAi, "/")]
    {
        let server =
            Server::play(vec![Step::Send(head(vendor.content_type())), Step::Send(vendor.whole().into())]).await;
        vendor.connect(endpoint(&format!("{}{version}", server.url))).ask(&hello(), &mut ()).await.unwrap();
        assert!(server.asked()[0].starts_with(&format!("POST {}", vendor.path())), "{vendor:?}");
    }
}

#[tokio::test]
async fn where_no_model_is_named_the_first_is_taken_and_remembered() {
    let server = MockServer::start().await;
    let list = json!({ "object": "list", "data": [{ "id": "first.gguf", "object": "model" }, { "id": "second" }] });
    let tags = json!({ "models": [{ "name": "first:latest", "size": 1 }, { "name": "second" }] });
    let get = |at: &'static str, body: Value| {
        Mock::given(method("GET")).and(path(at)).respond_with(ResponseTemplate::new(200).set_body_json(body)).expect(1)
    };
    get("/v1/models", list).mount(&server).await;
    get("/api/tags", tags).mount(&server).await;
    for (at, vendor) in [("/v1/chat/completions", Vendor::OpenAi), ("/api/chat", Vendor::Ollama)] {
        let response = ResponseTemplate::new(200).set_body_string(vendor.whole());
        Mock::given(method("POST")).and(path(at)).respond_with(response).mount(&server).await;
    }
    let openai = OpenAi::new(endpoint(&format!("{}/v1", server.uri())), None).unwrap();
    let ollama = Ollama::new(endpoint(&server.uri()), None).unwrap();
    for _ in 0..2 {
        let answer = openai.ask(&hello(), &mut ()).await.unwrap();
        assert_eq!(answer.model, "first.gguf");
        assert_eq!(serde_json::from_str::<Value>(&answer.sent).unwrap()["model"], "first.gguf");
        assert_eq!(ollama.ask(&hello(), &mut ()).await.unwrap().model, "first:latest");
    }
}

#[tokio::test]
async fn a_server_without_a_model_says_so_and_is_asked_again() {
    use folkmoot_llm::FailureKind;

    let server = MockServer::start().await;
    let answer = |status, body: &str| {
        Mock::given(method("GET")).respond_with(ResponseTemplate::new(status).set_body_string(body)).up_to_n_times(1)
    };
    answer(200, r#"{"data":[]}"#).mount(&server).await;
    answer(503, r#"{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}"#).mount(&server).await;
    answer(200, "{}").mount(&server).await;
    let model = OpenAi::new(endpoint(&server.uri()), None).unwrap();
    for kind in [FailureKind::Refused, FailureKind::Unavailable, FailureKind::Malformed] {
        assert_eq!(model.ask(&hello(), &mut ()).await.unwrap_err().kind, kind);
    }
}
