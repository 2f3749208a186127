//! Every schema that debates and plans send, sent to fakes of the vendors that refuse what the
//! vendors refuse.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
};

use folkmoot_llm::{
    Model, ModelRequest,
    provider::{Anthropic, Endpoint, Gemini, Ollama, OpenAi},
};
use serde_json::Value;

#[path = "../../../folkmoot-llm/tests/it/wire/rules.rs"]
mod rules;

/// A vendor of all four wire formats, which answers 400 to what the real one refuses, and else with
/// a word.
fn vendor() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = answer(stream);
        }
    });
    url
}

fn answer(stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first)?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        match line.trim().to_ascii_lowercase().split_once(':') {
            Some(("content-length", value)) => length = value.trim().parse().unwrap_or(0),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let (checked, good) = match first.split(' ').nth(1).unwrap_or_default() {
        "/chat/completions" => {
            (rules::openai(&body), r#"{"choices":[{"index":0,"message":{"content":"ok"},"finish_reason":"stop"}]}"#)
        }
        "/v1/messages" => (
            rules::anthropic(&body),
            r#"{"type":"message","content":[{"type":"text","text":"ok"},{"type":"tool_use","id":"t","name":"n","input":{}}],"stop_reason":"end_turn"}"#,
        ),
        "/api/chat" => (rules::ollama(&body), r#"{"message":{"content":"ok"},"done":true,"done_reason":"stop"}"#),
        path if path.starts_with("/v1beta/") => {
            (rules::gemini(&body), r#"{"candidates":[{"content":{"parts":[{"text":"ok"}]},"finishReason":"STOP"}]}"#)
        }
        other => (Err(format!("nobody is at {other}")), ""),
    };
    let (status, text) = match checked {
        Ok(()) => ("200 OK", good.to_owned()),
        Err(why) => ("400 Bad Request", serde_json::json!({ "error": { "message": why } }).to_string()),
    };
    let length = text.len();
    write!(
        &stream,
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{text}"
    )
}

/// Asks all vendors for one of each sort of request, and says which was refused, and why.
pub fn refused(requests: impl IntoIterator<Item = ModelRequest>) -> (Vec<String>, usize) {
    let mut sorts: BTreeMap<String, ModelRequest> = BTreeMap::new();
    for request in requests {
        let schema = request.schema.as_ref().map(|schema| format!("{} {}", schema.name, schema.schema));
        let turns = request.messages.len();
        sorts.entry(format!("{turns} {}", schema.unwrap_or_default())).or_insert(request);
    }
    let url = vendor();
    let endpoint = || Endpoint::new("fake", &url);
    let vendors: [(&str, Box<dyn Model>); 4] = [
        ("openai", Box::new(OpenAi::new(endpoint(), Some("m".to_owned())).unwrap())),
        ("anthropic", Box::new(Anthropic::new(endpoint(), "m").unwrap())),
        ("gemini", Box::new(Gemini::new(endpoint(), "m").unwrap())),
        ("ollama", Box::new(Ollama::new(endpoint(), Some("m".to_owned())).unwrap())),
    ];
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut refused = Vec::new();
    for (sort, request) in &sorts {
        for (name, model) in &vendors {
            if let Err(failure) = runtime.block_on(model.ask(request, &mut ())) {
                refused.push(format!("{name}: {failure}: {}", sort.chars().take(300).collect::<String>()));
            }
        }
    }
    (refused, sorts.len())
}

#[test]
fn a_fake_refuses_what_openai_refuses() {
    let wrong = [
        serde_json::json!({ "type": "object", "additionalProperties": false, "required": ["a"], "properties": { "a": { "enum": ["x"] } } }),
        serde_json::json!({ "type": "object", "additionalProperties": false, "required": [], "properties": { "a": { "type": "string" } } }),
        serde_json::json!({ "type": "object", "required": ["a"], "properties": { "a": { "type": "string" } } }),
        serde_json::json!({ "type": "object", "additionalProperties": false, "required": ["a"], "properties": { "a": { "type": "string", "minLength": 1 } } }),
    ];
    for schema in wrong {
        let format = serde_json::json!({ "name": "s", "strict": true, "schema": schema });
        let body = serde_json::json!({ "model": "m", "messages": [{ "role": "user", "content": "x" }],
            "response_format": { "type": "json_schema", "json_schema": format } });
        assert!(rules::openai(&body).is_err(), "{body}");
    }
}
