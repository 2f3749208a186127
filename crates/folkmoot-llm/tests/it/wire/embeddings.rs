//! Vectors, from the vendors that have them.

use folkmoot_llm::{
    Embedder, FailureKind,
    provider::{Gemini, Ollama, OpenAi},
};
use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, ResponseTemplate, matchers::path};

use super::vendor::{Vendor, endpoint};

const THOSE: [Vendor; 3] = [Vendor::OpenAi, Vendor::Gemini, Vendor::Ollama];

fn connect(vendor: Vendor, url: &str) -> Box<dyn Embedder> {
    match vendor {
        Vendor::OpenAi => Box::new(OpenAi::new(endpoint(url), Some("e-1".to_owned())).unwrap()),
        Vendor::Gemini => Box::new(Gemini::new(endpoint(url), "e-1").unwrap()),
        Vendor::Ollama => Box::new(Ollama::new(endpoint(url), Some("e-1".to_owned())).unwrap()),
        Vendor::Anthropic => unreachable!("it has none"),
    }
}

fn place(vendor: Vendor) -> &'static str {
    match vendor {
        Vendor::OpenAi => "/embeddings",
        Vendor::Gemini => "/v1beta/models/e-1:batchEmbedContents",
        _ => "/api/embed",
    }
}

/// The texts that a request holds.
fn texts(vendor: Vendor, request: &Request) -> Vec<String> {
    let body: Value = request.body_json().unwrap();
    let items = if vendor == Vendor::Gemini { &body["requests"] } else { &body["input"] };
    let text = |item: &Value| match vendor {
        Vendor::Gemini => {
            assert_eq!(item["model"], "models/e-1");
            item["content"]["parts"][0]["text"].clone()
        }
        _ => item.clone(),
    };
    items.as_array().unwrap().iter().map(|item| text(item).as_str().unwrap().to_owned()).collect()
}

/// The vendor's answer with these vectors.
fn answer(vendor: Vendor, vectors: &[Value]) -> Value {
    match vendor {
        // Not in order, which it need not be.
        Vendor::OpenAi => {
            let items = vectors.iter().enumerate().rev();
            json!({ "data": items.map(|(at, vector)| json!({ "index": at, "embedding": vector })).collect::<Vec<_>>() })
        }
        Vendor::Gemini => json!({ "embeddings": vectors.iter().map(|v| json!({ "values": v })).collect::<Vec<_>>() }),
        _ => json!({ "model": "e-1", "embeddings": vectors }),
    }
}

#[tokio::test]
async fn each_text_gets_its_own_vector() {
    for vendor in THOSE {
        let server = MockServer::start().await;
        let reply = move |request: &Request| {
            let vectors: Vec<Value> = texts(vendor, request).iter().map(|text| json!([text.len(), 0.25])).collect();
            ResponseTemplate::new(200).set_body_json(answer(vendor, &vectors))
        };
        Mock::given(path(place(vendor))).respond_with(reply).mount(&server).await;
        let embedder = connect(vendor, &server.uri());
        // More than go in one request.
        let texts: Vec<String> = (0..150).map(|length| "x".repeat(length)).collect();
        let vectors = embedder.embed(&texts).await.unwrap();
        let expected: Vec<Vec<f32>> = (0..150u8).map(|length| vec![f32::from(length), 0.25]).collect();
        assert_eq!(vectors, expected, "{vendor:?}");
        assert_eq!(server.received_requests().await.unwrap().len(), 3);
        assert_eq!(embedder.embed(&[]).await.unwrap(), Vec::<Vec<f32>>::new());
    }
}

#[tokio::test]
async fn vectors_that_do_not_fit_are_malformed() {
    for vendor in THOSE {
        for vectors in [
            vec![],
            vec![json!([1.0])],
            vec![json!([1.0]), json!([1.0]), json!([1.0])],
            vec![json!([1.0]), json!([1.0, 2.0])],
            vec![json!([]), json!([])],
            vec![json!([1.0]), json!([1e300])],
            vec![json!([1.0]), json!([null])],
            vec![json!([1.0]), json!(["1.0"])],
            vec![json!([1.0]), json!("AACAPw==")],
        ] {
            let server = MockServer::start().await;
            let body = answer(vendor, &vectors);
            Mock::given(path(place(vendor)))
                .respond_with(ResponseTemplate::new(200).set_body_json(&body))
                .mount(&server)
                .await;
            let result = connect(vendor, &server.uri()).embed(&["a".to_owned(), "b".to_owned()]).await;
            assert_eq!(result.map_err(|failure| failure.kind), Err(FailureKind::Malformed), "{vendor:?} {body}");
        }
    }
    for numbers in [[0, 0], [1, 2]] {
        let server = MockServer::start().await;
        let body = json!({ "data": numbers.map(|index| json!({ "index": index, "embedding": [1.0] })) });
        Mock::given(path("/embeddings"))
            .respond_with(ResponseTemplate::new(200).set_body_json(&body))
            .mount(&server)
            .await;
        let result = connect(Vendor::OpenAi, &server.uri()).embed(&["a".to_owned(), "b".to_owned()]).await;
        assert_eq!(result.map_err(|failure| failure.kind), Err(FailureKind::Malformed), "{body}");
    }
}

#[tokio::test]
async fn embedding_fails_as_asking_does() {
    for vendor in THOSE {
        for (response, kind) in [
            (ResponseTemplate::new(429).insert_header("retry-after", "3"), FailureKind::RateLimited),
            (ResponseTemplate::new(500), FailureKind::Unavailable),
            (ResponseTemplate::new(200).set_body_string("[".repeat(1024 * 1024)), FailureKind::TooLarge),
            (ResponseTemplate::new(200).set_body_string("{\"data\""), FailureKind::Malformed),
        ] {
            let server = MockServer::start().await;
            Mock::given(path(place(vendor))).respond_with(response).mount(&server).await;
            let failure = connect(vendor, &server.uri()).embed(&["a".to_owned()]).await.unwrap_err();
            assert_eq!(failure.kind, kind, "{vendor:?}");
            assert_eq!(failure.retry_after_ms.is_some(), kind == FailureKind::RateLimited);
        }
    }
}
