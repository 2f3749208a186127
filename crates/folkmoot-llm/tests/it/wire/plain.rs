//! Servers that answer at once with something other than an answer.

use folkmoot_llm::{
    FailureKind, Model, ModelFailure,
    provider::{Anthropic, Endpoint, Gemini, OpenAi},
};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers::method};

use super::vendor::{ALL, KEY, Vendor, ask, endpoint, hello};

async fn serving(response: ResponseTemplate) -> MockServer {
    let server = MockServer::start().await;
    Mock::given(method("POST")).respond_with(response).mount(&server).await;
    server
}

/// How `vendor` fails at a server that answers with `response`.
async fn failure(vendor: Vendor, response: ResponseTemplate) -> ModelFailure {
    let server = serving(response).await;
    let (result, pieces) = ask(vendor, endpoint(&server.uri()), &hello()).await;
    assert_eq!(pieces, [""; 0], "{vendor:?}");
    assert_eq!(server.received_requests().await.unwrap().len(), 1, "{vendor:?} asks once");
    result.unwrap_err()
}

#[tokio::test]
async fn a_status_is_a_kind_of_failure() {
    for (status, kind) in [
        (400, FailureKind::Refused),
        (401, FailureKind::Unauthorised),
        (402, FailureKind::NoCredit),
        (403, FailureKind::Unauthorised),
        (404, FailureKind::Refused),
        (408, FailureKind::TimedOut),
        (413, FailureKind::Refused),
        (422, FailureKind::Refused),
        (429, FailureKind::RateLimited),
        (500, FailureKind::Unavailable),
        (501, FailureKind::Refused),
        (502, FailureKind::Unavailable),
        (503, FailureKind::Unavailable),
        (504, FailureKind::Unavailable),
        (529, FailureKind::Unavailable),
    ] {
        let body = serde_json::json!({ "error": { "message": "no luck today", "code": status } });
        for vendor in ALL {
            let failure = failure(vendor, ResponseTemplate::new(status).set_body_json(&body)).await;
            assert_eq!(failure.kind, kind, "{vendor:?} {status}");
            assert!(failure.detail.contains("no luck today"), "{failure}");
            assert!(failure.detail.contains(&format!("status {status}")), "{failure}");
        }
    }
}

#[tokio::test]
async fn a_refusal_without_a_word_or_with_a_page_is_still_one() {
    for body in ["", "<html>\r\n<body>Bad \u{1b}[31mgateway\u{202e}</body>", "{\"error\": null}", "[]", "null", "{"] {
        for vendor in ALL {
            let failure = failure(vendor, ResponseTemplate::new(502).set_body_string(body)).await;
            assert_eq!(failure.kind, FailureKind::Unavailable, "{vendor:?} {body:?}");
            assert!(failure.detail.starts_with("status 502 Bad Gateway"), "{failure}");
            assert!(!failure.detail.contains('\u{202e}'), "{failure}");
        }
    }
}

#[tokio::test]
async fn a_vendor_says_in_three_forms_when_to_come_back() {
    let waits = |headers: &[(&'static str, &'static str)]| {
        let template = ResponseTemplate::new(429).set_body_string("slow down");
        headers.iter().fold(template, |template, (name, value)| template.insert_header(*name, *value))
    };
    let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
    for (headers, wait) in [
        (vec![("retry-after", "7")], Some(7000)),
        (vec![("retry-after", "60"), ("retry-after-ms", "1250")], Some(1250)),
        (vec![date, ("retry-after", "Sun, 06 Nov 1994 08:49:40 GMT")], Some(3000)),
        (vec![("retry-after", "later")], None),
        (vec![], None),
    ] {
        for vendor in ALL {
            let failure = failure(vendor, waits(&headers)).await;
            assert_eq!(
                (failure.kind, failure.retry_after_ms),
                (FailureKind::RateLimited, wait),
                "{vendor:?} {headers:?}"
            );
        }
    }
    // A server that is busy may say it too, and Gemini says it in the body.
    let busy = ResponseTemplate::new(503).insert_header("retry-after", "2");
    assert_eq!(failure(Vendor::Anthropic, busy).await.retry_after_ms, Some(2000));
    let body = r#"{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"31.5s"}]}}"#;
    let failure = failure(Vendor::Gemini, ResponseTemplate::new(429).set_body_string(body)).await;
    assert_eq!((failure.kind, failure.retry_after_ms), (FailureKind::RateLimited, Some(31_500)));
}

#[tokio::test]
async fn a_key_that_is_not_accepted_is_named_by_its_place_and_never_shown() {
    for vendor in ALL {
        for echo in [
            format!(r#"{{"error":{{"message":"Incorrect API key provided: {KEY}. Find yours on our pages."}}}}"#),
            format!("{} {KEY}", "x".repeat(280)),
            format!(r#"{{"error":{{"message":"{KEY}\u0000{KEY}"}}}}"#),
        ] {
            let failure = failure(vendor, ResponseTemplate::new(401).set_body_string(echo)).await;
            assert_eq!(failure.kind, FailureKind::Unauthorised, "{vendor:?}");
            assert!(
                failure.detail.starts_with("The key from TEST_KEY is not accepted: set another. status 401"),
                "{failure}"
            );
            assert!(!failure.detail.contains(&KEY[..12]), "{failure}");
        }
    }
    let server = serving(ResponseTemplate::new(401)).await;
    let model = OpenAi::new(Endpoint::new("test", server.uri()), Some("m-1".to_owned())).unwrap();
    let failure = model.ask(&hello(), &mut ()).await.unwrap_err();
    assert_eq!(failure.detail, "No key is known for test: set one. status 401 Unauthorized");
}

#[tokio::test]
async fn what_a_status_cannot_tell_is_read_from_the_body() {
    let quota = r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    assert_eq!(
        failure(Vendor::OpenAi, ResponseTemplate::new(429).set_body_string(quota)).await.kind,
        FailureKind::NoCredit
    );
    let credit = r#"{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the API."}}"#;
    for (vendor, status, body) in [(Vendor::Anthropic, 400, credit), (Vendor::OpenAi, 402, "")] {
        let failure = failure(vendor, ResponseTemplate::new(status).set_body_string(body)).await;
        assert_eq!(failure.kind, FailureKind::NoCredit, "{failure}");
    }
    let key = r#"[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}]"#;
    let failure = failure(Vendor::Gemini, ResponseTemplate::new(400).set_body_string(key)).await;
    assert_eq!(failure.kind, FailureKind::Unauthorised);
    assert!(failure.detail.ends_with("API key not valid."), "{failure}");
}

#[tokio::test]
async fn no_redirect_is_followed() {
    let elsewhere = serving(ResponseTemplate::new(200)).await;
    for status in [301, 302, 303, 307, 308] {
        for vendor in ALL {
            let place = format!("{}/?key={KEY}", elsewhere.uri());
            let failure = failure(vendor, ResponseTemplate::new(status).insert_header("location", place)).await;
            assert_eq!(failure.kind, FailureKind::Misconfigured, "{vendor:?} {status}");
            assert!(failure.detail.contains("set the base URL to where it answers"), "{failure}");
        }
    }
    assert_eq!(elsewhere.received_requests().await.unwrap().len(), 0);
}

#[tokio::test]
async fn a_good_status_with_something_else_is_malformed() {
    for (content_type, body) in [
        ("application/json", r#"{"hello":"world"}"#),
        ("application/json", "[1]"),
        ("text/html", "<!doctype html><title>Sign in</title>"),
        ("text/plain", "OK"),
        ("application/octet-stream", "\u{0}\u{1}\u{2}"),
    ] {
        for vendor in ALL {
            let failure = failure(vendor, ResponseTemplate::new(200).set_body_raw(body, content_type)).await;
            assert_eq!(failure.kind, FailureKind::Malformed, "{vendor:?} {body}: {failure}");
        }
    }
}

#[tokio::test]
async fn an_answer_of_nothing_is_truncated() {
    for status in [200, 204] {
        for vendor in ALL {
            assert_eq!(failure(vendor, ResponseTemplate::new(status)).await.kind, FailureKind::Truncated, "{vendor:?}");
        }
    }
}

#[tokio::test]
async fn a_wrong_content_type_does_not_spoil_a_good_answer() {
    for vendor in ALL {
        let server = serving(ResponseTemplate::new(200).set_body_raw(vendor.events().concat(), "text/plain")).await;
        ask(vendor, endpoint(&server.uri()), &hello()).await.0.unwrap();
    }
}

#[tokio::test]
async fn ten_megabytes_are_too_large_wherever_they_are() {
    let long = "x".repeat(10 * 1024 * 1024);
    for vendor in ALL {
        let stream = vendor.piece("#").replace('#', &long);
        let failure = failure(vendor, ResponseTemplate::new(200).set_body_string(stream)).await;
        assert_eq!(failure.kind, FailureKind::TooLarge, "{vendor:?}");
    }
    let whole = format!(r#"{{"choices":[{{"message":{{"content":"{long}"}}}}]}}"#);
    let too_large = failure(Vendor::OpenAi, ResponseTemplate::new(200).set_body_string(whole)).await;
    assert_eq!(too_large.kind, FailureKind::TooLarge);
    // Of a refusal only the beginning is read.
    let refused = failure(Vendor::OpenAi, ResponseTemplate::new(500).set_body_string(&long)).await;
    assert_eq!(refused.kind, FailureKind::Unavailable);
}

#[tokio::test]
async fn nobody_at_the_address_is_unreachable() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for url in [format!("http://{free}"), "http://no-such-host.invalid".to_owned(), format!("https://{free}")] {
        for vendor in ALL {
            let failure = ask(vendor, endpoint(&url), &hello()).await.0.unwrap_err();
            assert_eq!(failure.kind, FailureKind::Unreachable, "{vendor:?} {url}: {failure}");
        }
    }
    // TLS with somebody who does not speak it.
    let plain = serving(ResponseTemplate::new(200)).await;
    let url = plain.uri().replace("http:", "https:");
    let failure = ask(Vendor::OpenAi, endpoint(&url), &hello()).await.0.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Unreachable, "{failure}");
}

#[test]
fn an_address_that_cannot_be_asked_is_refused_at_once() {
    let refused = |url: &str| OpenAi::new(endpoint(url), None).map(drop).unwrap_err();
    for url in ["", "localhost:8080", "ftp://localhost", "http://", "unix:/socket"] {
        let failure = refused(url);
        assert_eq!(failure.kind, FailureKind::Misconfigured, "{url}");
        assert!(failure.detail.contains("is no base URL"), "{failure}");
    }
    for url in [
        format!("http://user:{KEY}@localhost"),
        format!("http://{KEY}@localhost"),
        format!("http://localhost/?key={KEY}"),
    ] {
        let failure = refused(&url);
        assert_eq!(failure.kind, FailureKind::Misconfigured);
        assert!(
            !failure.detail.contains(KEY) && failure.detail.contains("must have no user, password or query"),
            "{failure}"
        );
    }
    for model in ["", "a b", "../secret", "m?alt=json", "m#"] {
        let failure = Gemini::new(endpoint("http://localhost"), model).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Misconfigured, "{model}");
    }
}

#[tokio::test]
async fn a_request_that_cannot_be_made_is_misconfigured() {
    let server = serving(ResponseTemplate::new(200)).await;
    let model = Anthropic::new(endpoint(&server.uri()), "m-1").unwrap();
    let mut request = hello();
    request.idempotency_key = Some("two\nlines".to_owned());
    assert_eq!(model.ask(&request, &mut ()).await.unwrap_err().kind, FailureKind::Misconfigured);
    let mut request = hello();
    request.schema =
        Some(folkmoot_llm::Schema { name: "list".to_owned(), schema: serde_json::json!({ "type": "array" }) });
    assert_eq!(model.ask(&request, &mut ()).await.unwrap_err().kind, FailureKind::Misconfigured);
    assert_eq!(server.received_requests().await.unwrap().len(), 0);
}

#[test]
fn no_proxy_stands_between_us_and_a_server_on_this_machine() {
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "wire::streams::every_vendor_is_heard_piece_by_piece"]);
    for proxy in ["http_proxy", "HTTP_PROXY", "ALL_PROXY"] {
        again.env(proxy, "http://127.0.0.1:1");
    }
    let ended = again.env_remove("NO_PROXY").env_remove("no_proxy").output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && said.contains("1 passed"), "{said}");
}
