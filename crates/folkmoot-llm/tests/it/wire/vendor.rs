//! The vendors, with what each sends when all is well, written from their documentation.

use std::time::Duration;

use folkmoot_llm::{
    Hear, Model, ModelAnswer, ModelFailure, ModelRequest,
    outbound::Secret,
    provider::{Anthropic, Endpoint, Gemini, Ollama, OpenAi},
};

/// A key that would be noticed anywhere.
pub const KEY: &str = "sk-live-4f1c9d2e7b6a5830-do-not-print-me";
/// What every transcript says.
pub const TEXT: &str = "Grüße, Welt 🌍!";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vendor {
    OpenAi,
    Anthropic,
    Gemini,
    Ollama,
}

pub const ALL: [Vendor; 4] = [Vendor::OpenAi, Vendor::Anthropic, Vendor::Gemini, Vendor::Ollama];

impl Vendor {
    pub fn connect(self, endpoint: Endpoint) -> Box<dyn Model> {
        match self {
            Vendor::OpenAi => Box::new(OpenAi::new(endpoint, Some("m-1".to_owned())).unwrap()),
            Vendor::Anthropic => Box::new(Anthropic::new(endpoint, "m-1").unwrap()),
            Vendor::Gemini => Box::new(Gemini::new(endpoint, "m-1").unwrap()),
            Vendor::Ollama => Box::new(Ollama::new(endpoint, Some("m-1".to_owned())).unwrap()),
        }
    }

    /// The path that is asked for an answer.
    pub fn path(self) -> &'static str {
        match self {
            Vendor::OpenAi => "/chat/completions",
            Vendor::Anthropic => "/v1/messages",
            Vendor::Gemini => "/v1beta/models/m-1:streamGenerateContent",
            Vendor::Ollama => "/api/chat",
        }
    }

    pub fn content_type(self) -> &'static str {
        match self {
            Vendor::Ollama => "application/x-ndjson",
            _ => "text/event-stream",
        }
    }

    /// One message in the vendor's frame.
    pub fn framed(self, message: &str) -> String {
        match self {
            Vendor::OpenAi => format!("data: {message}\n\n"),
            Vendor::Anthropic => {
                let name = message.split('"').nth(3).unwrap_or("message");
                format!("event: {name}\ndata: {message}\n\n")
            }
            Vendor::Gemini => format!("data: {message}\r\n\r\n"),
            Vendor::Ollama => format!("{message}\n"),
        }
    }

    /// The messages of a good answer, framed.
    pub fn events(self) -> Vec<String> {
        let messages: &[&str] = match self {
            Vendor::OpenAi => &[
                r#"{"id":"c-1","object":"chat.completion.chunk","created":1,"model":"m-1-2025","choices":[{"index":0,"delta":{"role":"assistant","content":"","refusal":null},"logprobs":null,"finish_reason":null}],"usage":null}"#,
                r#"{"id":"c-1","object":"chat.completion.chunk","created":1,"model":"m-1-2025","choices":[{"index":0,"delta":{"content":"Grüße, "},"finish_reason":null}],"usage":null}"#,
                r#"{"id":"c-1","object":"chat.completion.chunk","created":1,"model":"m-1-2025","choices":[{"index":0,"delta":{"content":"Welt \ud83c\udf0d!"},"finish_reason":null}],"usage":null}"#,
                r#"{"id":"c-1","object":"chat.completion.chunk","created":1,"model":"m-1-2025","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}"#,
                r#"{"id":"c-1","object":"chat.completion.chunk","created":1,"model":"m-1-2025","choices":[],"usage":{"prompt_tokens":12,"completion_tokens":5,"total_tokens":17,"prompt_tokens_details":{"cached_tokens":4}}}"#,
                "[DONE]",
            ],
            Vendor::Anthropic => &[
                r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m-1-2025","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":6,"cache_creation_input_tokens":2,"cache_read_input_tokens":4,"output_tokens":1}}}"#,
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
                r#"{"type":"ping"}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Grüße, "}}"#,
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Welt 🌍!"}}"#,
                r#"{"type":"content_block_stop","index":0}"#,
                r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":5}}"#,
                r#"{"type":"message_stop"}"#,
            ],
            Vendor::Gemini => &[
                r#"{"candidates":[{"content":{"parts":[{"text":"Let me think.","thought":true},{"text":"Grüße, "}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":12,"totalTokenCount":12},"modelVersion":"m-1-2025","responseId":"r-1"}"#,
                r#"{"candidates":[{"content":{"parts":[{"text":"Welt 🌍!"}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":12,"cachedContentTokenCount":4,"candidatesTokenCount":3,"thoughtsTokenCount":2,"totalTokenCount":17},"modelVersion":"m-1-2025","responseId":"r-1"}"#,
            ],
            Vendor::Ollama => &[
                r#"{"model":"m-1-2025","created_at":"2025-01-01T00:00:00Z","message":{"role":"assistant","content":"Grüße, "},"done":false}"#,
                r#"{"model":"m-1-2025","created_at":"2025-01-01T00:00:00Z","message":{"role":"assistant","content":"Welt 🌍!"},"done":false}"#,
                r#"{"model":"m-1-2025","created_at":"2025-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":1,"prompt_eval_count":12,"eval_count":5}"#,
            ],
        };
        messages.iter().map(|message| self.framed(message)).collect()
    }

    /// How many of the events must have come for the answer to be complete: all but a farewell and
    /// a count.
    pub fn events_needed(self) -> usize {
        match self {
            Vendor::OpenAi => 4,
            Vendor::Anthropic => 7,
            Vendor::Gemini => 2,
            Vendor::Ollama => 3,
        }
    }

    /// The next piece of a text, framed.
    pub fn piece(self, text: &str) -> String {
        let text = serde_json::Value::from(text);
        self.framed(&match self {
            Vendor::OpenAi => format!(r#"{{"choices":[{{"index":0,"delta":{{"content":{text}}}}}]}}"#),
            Vendor::Anthropic => {
                format!(r#"{{"type":"content_block_delta","index":0,"delta":{{"type":"text_delta","text":{text}}}}}"#)
            }
            Vendor::Gemini => format!(r#"{{"candidates":[{{"content":{{"parts":[{{"text":{text}}}]}}}}]}}"#),
            Vendor::Ollama => format!(r#"{{"message":{{"role":"assistant","content":{text}}},"done":false}}"#),
        })
    }

    /// The end of an answer for the vendor's own `reason`, framed.
    pub fn end(self, reason: &str) -> String {
        match self {
            Vendor::OpenAi => {
                self.framed(&format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#))
            }
            Vendor::Anthropic => {
                let delta = format!(
                    r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}},"usage":{{"output_tokens":5}}}}"#
                );
                self.framed(&delta) + &self.framed(r#"{"type":"message_stop"}"#)
            }
            Vendor::Gemini => self.framed(&format!(r#"{{"candidates":[{{"finishReason":"{reason}"}}]}}"#)),
            Vendor::Ollama => {
                self.framed(&format!(r#"{{"message":{{"content":""}},"done":true,"done_reason":"{reason}"}}"#))
            }
        }
    }

    pub fn stop(self) -> &'static str {
        match self {
            Vendor::OpenAi | Vendor::Ollama => "stop",
            Vendor::Anthropic => "end_turn",
            Vendor::Gemini => "STOP",
        }
    }

    pub fn length(self) -> &'static str {
        match self {
            Vendor::OpenAi | Vendor::Ollama => "length",
            Vendor::Anthropic => "max_tokens",
            Vendor::Gemini => "MAX_TOKENS",
        }
    }

    /// The same good answer from a server that does not stream.
    pub fn whole(self) -> &'static str {
        match self {
            Vendor::OpenAi => {
                r#"{"id":"c-1","object":"chat.completion","model":"m-1-2025","choices":[{"index":0,"message":{"role":"assistant","content":"Grüße, Welt 🌍!","refusal":null},"finish_reason":"stop"}],"usage":{"prompt_tokens":12,"completion_tokens":5,"total_tokens":17,"prompt_tokens_details":{"cached_tokens":4}}}"#
            }
            Vendor::Anthropic => {
                r#"{"id":"msg_1","type":"message","role":"assistant","model":"m-1-2025","content":[{"type":"text","text":"Grüße, Welt 🌍!"}],"stop_reason":"end_turn","usage":{"input_tokens":6,"cache_creation_input_tokens":2,"cache_read_input_tokens":4,"output_tokens":5}}"#
            }
            Vendor::Gemini => {
                r#"[{"candidates":[{"content":{"parts":[{"text":"Grüße, "}]}}],"modelVersion":"m-1-2025"},
                    {"candidates":[{"content":{"parts":[{"text":"Welt 🌍!"}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":12,"cachedContentTokenCount":4,"candidatesTokenCount":3,"thoughtsTokenCount":2}}]"#
            }
            Vendor::Ollama => {
                r#"{"model":"m-1-2025","message":{"role":"assistant","content":"Grüße, Welt 🌍!"},"done":true,"done_reason":"stop","prompt_eval_count":12,"eval_count":5}"#
            }
        }
    }
}

/// An endpoint whose limits fit a test.
pub fn endpoint(url: &str) -> Endpoint {
    Endpoint {
        key: Some(Secret::new(KEY, "TEST_KEY").unwrap()),
        timeout: Duration::from_millis(2000),
        silence: Duration::from_millis(1000),
        answer_bytes: 10_000,
        ..Endpoint::new("test", url)
    }
}

/// Longer than any limit of [`endpoint`], with room for a slow machine.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(6);

/// What was heard of an answer.
#[derive(Default)]
pub struct Heard(pub Vec<String>);

impl Hear for Heard {
    fn piece(&mut self, text: &str) {
        assert!(!text.is_empty(), "a piece that says nothing");
        self.0.push(text.to_owned());
    }
}

/// Asks once. However it ends, it ends in time, and the key is nowhere.
pub async fn ask(
    vendor: Vendor,
    endpoint: Endpoint,
    request: &ModelRequest,
) -> (Result<ModelAnswer, ModelFailure>, Vec<String>) {
    let model = vendor.connect(endpoint);
    let mut heard = Heard::default();
    let asked = tokio::time::timeout(ANSWER_TIMEOUT, model.ask(request, &mut heard)).await;
    let result = asked.unwrap_or_else(|_| panic!("{vendor:?} took longer than {ANSWER_TIMEOUT:?}"));
    let recorded = match &result {
        Ok(answer) => serde_json::to_string(answer).unwrap(),
        Err(failure) => {
            assert!(failure.detail.chars().count() <= 301, "{failure:?}");
            assert!(!failure.detail.is_empty() && !failure.detail.contains(char::is_control), "{failure:?}");
            assert_eq!(failure.provider, "test");
            format!("{failure} {}", serde_json::to_string(failure).unwrap())
        }
    };
    let shown = format!("{result:?} {model:?} {:?} {recorded}", heard.0);
    assert!(!shown.contains(KEY), "{vendor:?} shows its key: {shown}");
    (result, heard.0)
}

/// A request as most tests send it.
pub fn hello() -> ModelRequest {
    ModelRequest::new("Say hello.")
}
