//! Answers that come piece by piece, and those that go wrong on the way.

use std::time::Duration;

use folkmoot_llm::{
    FailureKind, Finish, ModelAnswer, ModelFailure, ModelRequest, Schema, TokenUsage, provider::Endpoint,
};
use futures_util::future::join_all;
use proptest::{collection::vec, prelude::*, test_runner::TestRunner};
use serde_json::json;

use super::vendor::{ALL, KEY, TEXT, Vendor, ask, endpoint, hello};
use crate::server::{Server, Step, chunk, chunked_head, head};

/// Asks `vendor` at a server that sends `steps` after a good head.
async fn heard(vendor: Vendor, steps: Vec<Step>) -> (Result<ModelAnswer, ModelFailure>, Vec<String>) {
    let head = Step::Send(head(vendor.content_type()));
    heard_by(vendor, [vec![head], steps].concat(), |endpoint| endpoint).await
}

async fn heard_by(
    vendor: Vendor,
    script: Vec<Step>,
    change: impl FnOnce(Endpoint) -> Endpoint,
) -> (Result<ModelAnswer, ModelFailure>, Vec<String>) {
    let server = Server::play(script).await;
    ask(vendor, change(endpoint(&server.url)), &hello()).await
}

fn send(text: impl Into<Vec<u8>>) -> Step {
    Step::Send(text.into())
}

fn kind(result: Result<ModelAnswer, ModelFailure>) -> Option<FailureKind> {
    result.err().map(|failure| failure.kind)
}

/// Each vendor, at a server that does what `steps` says after a good head, fails so.
async fn all_fail(expected: FailureKind, steps: impl Fn(Vendor) -> Vec<Step>) {
    join_all(ALL.map(|vendor| {
        let steps = steps(vendor);
        async move {
            let (result, _) = heard(vendor, steps).await;
            assert_eq!(kind(result.clone()), Some(expected), "{vendor:?}: {result:?}");
        }
    }))
    .await;
}

fn must_be_good(vendor: Vendor, answer: &ModelAnswer) {
    assert_eq!(answer.text, TEXT);
    assert_eq!(answer.finish, Finish::Stop);
    let cached_tokens = if vendor == Vendor::Ollama { 0 } else { 4 };
    assert_eq!(answer.usage, TokenUsage { input_tokens: 12, cached_tokens, output_tokens: 5, estimated: false });
    assert_eq!((answer.provider.as_str(), answer.model.as_str()), ("test", "m-1"));
    assert_eq!(answer.version.as_deref(), Some("m-1-2025"));
}

#[tokio::test]
async fn every_vendor_is_heard_piece_by_piece() {
    for vendor in ALL {
        let (result, pieces) = heard(vendor, vec![send(vendor.events().concat())]).await;
        must_be_good(vendor, &result.unwrap());
        assert_eq!(pieces, ["Grüße, ", "Welt 🌍!"], "{vendor:?}");
    }
}

/// As llama.cpp's server does.
#[tokio::test]
async fn a_server_that_hangs_up_behind_its_answer_without_a_word_is_asked_again() {
    for vendor in ALL {
        let events = chunk(vendor.events().concat().as_bytes());
        let answer = [chunked_head(vendor.content_type()), events, chunk(b"")].concat();
        let server = Server::play(vec![Step::Send(answer), Step::Wait(Duration::from_millis(20))]).await;
        let model = vendor.connect(endpoint(&server.url));
        for _ in 0..3 {
            must_be_good(vendor, &model.ask(&hello(), &mut ()).await.unwrap());
        }
    }
}

#[tokio::test]
async fn a_piece_is_heard_before_the_next_is_written() {
    for vendor in ALL {
        let server =
            Server::play(vec![Step::Send(head(vendor.content_type())), send(vendor.piece("first")), Step::Hang]).await;
        let (told, mut hears) = tokio::sync::mpsc::unbounded_channel();
        let model = vendor.connect(endpoint(&server.url));
        let request = hello();
        let mut hear = move |piece: &str| told.send(piece.to_owned()).unwrap();
        tokio::select! {
            answer = model.ask(&request, &mut hear) => panic!("{vendor:?}: {answer:?}"),
            piece = hears.recv() => assert_eq!(piece.as_deref(), Some("first")),
        }
    }
}

#[tokio::test]
async fn an_answer_is_the_same_however_the_network_cuts_it() {
    join_all(ALL.map(|vendor| async move {
        let body = vendor.events().concat();
        let whole = heard(vendor, vec![send(body.clone())]).await;
        for size in [1, 2, 3, 7, 64] {
            let chunks: Vec<u8> = body.as_bytes().chunks(size).flat_map(chunk).chain(chunk(b"")).collect();
            let script = vec![Step::Send(chunked_head(vendor.content_type())), Step::Send(chunks)];
            let (result, pieces) = heard_by(vendor, script, |endpoint| endpoint).await;
            must_be_good(vendor, &result.unwrap());
            assert_eq!(pieces, whole.1, "{vendor:?} in chunks of {size}");
        }
    }))
    .await;
}

#[tokio::test]
async fn an_answer_cut_off_between_two_events_is_truncated() {
    join_all(ALL.map(|vendor| async move {
        let events = vendor.events();
        for kept in 0..=events.len() {
            let (result, _) = heard(vendor, vec![send(events[..kept].concat())]).await;
            if kept < vendor.events_needed() {
                assert_eq!(kind(result), Some(FailureKind::Truncated), "{vendor:?} after {kept} events");
            } else {
                assert_eq!(result.unwrap().text, TEXT, "{vendor:?} after {kept} events");
            }
        }
    }))
    .await;
}

#[tokio::test]
async fn an_answer_cut_off_anywhere_is_truncated() {
    join_all(ALL.map(|vendor| async move {
        let events = vendor.events();
        let needed = events[..vendor.events_needed()].concat().trim_end().len();
        let body = events.concat().into_bytes();
        let emoji = events.concat().find("Welt").unwrap() + "Welt ".len();
        // Within the emoji (or its escape), and at a sample of all other places.
        for at in (emoji..emoji + 4).chain((0..needed).step_by(41)).chain([needed - 1]) {
            let (result, _) = heard(vendor, vec![send(&body[..at])]).await;
            assert_eq!(kind(result.clone()), Some(FailureKind::Truncated), "{vendor:?} cut at {at}: {result:?}");
        }
        assert_eq!(heard(vendor, vec![send(&body[..needed])]).await.0.unwrap().text, TEXT, "{vendor:?}");
    }))
    .await;
}

#[tokio::test]
async fn a_connection_that_breaks_is_a_truncated_answer() {
    all_fail(FailureKind::Truncated, |vendor| {
        vec![send(vendor.piece("half")), Step::Wait(Duration::from_millis(50)), Step::Reset]
    })
    .await;
    // A chunk that promises more than comes.
    for vendor in ALL {
        let piece = vendor.piece("half");
        let short = [chunked_head(vendor.content_type()), chunk(piece.as_bytes()), b"fff\r\nda".to_vec()].concat();
        let (result, _) = heard_by(vendor, vec![Step::Send(short)], |endpoint| endpoint).await;
        assert_eq!(kind(result), Some(FailureKind::Truncated), "{vendor:?}");
    }
}

#[tokio::test]
async fn a_broken_farewell_does_not_spoil_a_complete_answer() {
    join_all(ALL.map(|vendor| async move {
        let complete = vendor.events()[..vendor.events_needed()].concat();
        for last in [Step::Reset, Step::Hang] {
            let script = vec![
                Step::Send(head(vendor.content_type())),
                send(complete.clone()),
                Step::Wait(Duration::from_millis(50)),
                last.clone(),
            ];
            let impatient = |endpoint| Endpoint { silence: Duration::from_millis(300), ..endpoint };
            let (result, _) = heard_by(vendor, script, impatient).await;
            assert_eq!(result.unwrap().text, TEXT, "{vendor:?} {last:?}");
        }
    }))
    .await;
}

#[tokio::test]
async fn a_connection_that_ends_without_an_answer_is_unreachable() {
    for last in [Step::Reset, Step::Wait(Duration::ZERO)] {
        for vendor in ALL {
            let (result, _) = heard_by(vendor, vec![last.clone()], |endpoint| endpoint).await;
            assert_eq!(kind(result), Some(FailureKind::Unreachable), "{vendor:?} {last:?}");
        }
    }
}

#[tokio::test]
async fn silence_is_not_waited_for_longer_than_allowed() {
    let impatient =
        |endpoint| Endpoint { silence: Duration::from_millis(200), timeout: Duration::from_secs(60), ..endpoint };
    join_all(ALL.map(|vendor| async move {
        let head = Step::Send(head(vendor.content_type()));
        let piece = send(vendor.piece("half"));
        let half_a_piece = send(&vendor.piece("half").as_bytes()[..20]);
        for script in [
            vec![Step::Hang],
            vec![send("HTTP/1.1 200 OK\r\ncontent-"), Step::Hang],
            vec![head.clone(), Step::Hang],
            vec![head.clone(), piece, Step::Hang],
            vec![head, half_a_piece, Step::Hang],
        ] {
            let (result, _) = heard_by(vendor, script.clone(), impatient).await;
            let failure = result.unwrap_err();
            assert_eq!(failure.kind, FailureKind::TimedOut, "{vendor:?} {script:?}");
            assert_eq!(failure.detail, "silent for 200ms: the longest silence that is waited for");
        }
    }))
    .await;
}

#[tokio::test]
async fn an_answer_that_drips_is_ended_by_the_whole_time() {
    join_all(ALL.map(|vendor| async move {
        for drop in [vendor.piece("."), " ".to_owned(), ": ping\n\n".to_owned()] {
            if vendor == Vendor::Ollama && drop.starts_with(':') {
                continue;
            }
            let script = vec![
                Step::Send(head(vendor.content_type())),
                Step::Forever(drop.clone().into_bytes(), Duration::from_millis(30)),
            ];
            let short = |endpoint| Endpoint { timeout: Duration::from_millis(400), ..endpoint };
            let (result, _) = heard_by(vendor, script, short).await;
            let failure = result.unwrap_err();
            assert_eq!(failure.kind, FailureKind::TimedOut, "{vendor:?} {drop:?}");
            assert_eq!(failure.detail, "not finished after 400ms: the longest that an answer may take");
        }
    }))
    .await;
}

#[tokio::test]
async fn an_endless_answer_is_too_large() {
    let forever = |text: String| vec![Step::Forever(text.into_bytes(), Duration::ZERO)];
    all_fail(FailureKind::TooLarge, |vendor| forever(vendor.piece("again and again ").repeat(20))).await;
    // One event, or one line, that never ends.
    all_fail(FailureKind::TooLarge, |_| forever("data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx".repeat(50))).await;
    all_fail(FailureKind::TooLarge, |_| forever("[\"x\",".repeat(500))).await;
}

#[tokio::test]
async fn an_answer_may_be_as_long_as_allowed_and_not_longer() {
    for vendor in ALL {
        let said = |length: usize| vendor.piece(&"ü".repeat(length / 2)) + &vendor.end(vendor.stop());
        let (result, _) = heard(vendor, vec![send(said(10_000))]).await;
        assert_eq!(result.unwrap().text.len(), 10_000, "{vendor:?}");
        let (result, pieces) = heard(vendor, vec![send(said(10_002))]).await;
        assert_eq!(kind(result), Some(FailureKind::TooLarge), "{vendor:?}");
        assert_eq!(pieces, [""; 0]);
    }
}

#[tokio::test]
async fn endless_headers_are_malformed() {
    for vendor in ALL {
        let script = vec![
            send("HTTP/1.1 200 OK\r\n"),
            Step::Forever(b"x-y: zzzzzzzzzzzzzzzzzzz\r\n".repeat(100), Duration::ZERO),
        ];
        let (result, _) = heard_by(vendor, script, |endpoint| endpoint).await;
        assert_eq!(kind(result), Some(FailureKind::Malformed), "{vendor:?}");
    }
}

#[tokio::test]
async fn of_an_endless_refusal_only_the_beginning_is_read() {
    for vendor in ALL {
        let busy = "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n\r\nBusy. ";
        let script = vec![send(busy), Step::Forever(b"Very busy. ".repeat(1000), Duration::ZERO)];
        let forever = |endpoint| Endpoint { timeout: Duration::from_secs(60), ..endpoint };
        let failure = heard_by(vendor, script, forever).await.0.unwrap_err();
        assert_eq!(failure.kind, FailureKind::Unavailable, "{vendor:?}");
        assert!(failure.detail.starts_with("status 503 Service Unavailable: Busy. Very busy."), "{failure}");
    }
}

#[tokio::test]
async fn what_is_not_the_vendors_format_is_malformed() {
    all_fail(FailureKind::Malformed, |vendor| vec![send(vendor.framed("{nonsense"))]).await;
    all_fail(FailureKind::Malformed, |vendor| vec![send(vendor.framed("[1, 2]"))]).await;
    all_fail(FailureKind::Malformed, |vendor| vec![send(vendor.framed("\"hello\""))]).await;
    all_fail(FailureKind::Malformed, |_| vec![send("<html><body>Welcome</body></html>\n")]).await;
    all_fail(FailureKind::Malformed, |_| vec![send("Hello!\n")]).await;
    all_fail(FailureKind::Malformed, |vendor| {
        let (left, right) = vendor.piece("#").split_once('#').map(|(l, r)| (l.to_owned(), r.to_owned())).unwrap();
        vec![send([left.as_bytes(), b"\xff\xc3", right.as_bytes()].concat())]
    })
    .await;
    all_fail(FailureKind::Malformed, |vendor| vec![send(vendor.piece("x") + &vendor.end("who_knows"))]).await;
    all_fail(FailureKind::Malformed, |vendor| vec![send(vendor.framed(&"[".repeat(5000)))]).await;
}

#[tokio::test]
async fn an_answer_without_a_word_is_empty() {
    all_fail(FailureKind::Empty, |vendor| vec![send(vendor.end(vendor.stop()))]).await;
    all_fail(FailureKind::Empty, |vendor| vec![send(vendor.piece(" \n\t ") + &vendor.end(vendor.stop()))]).await;
    for vendor in ALL {
        let (result, _) = heard(vendor, vec![send(vendor.end(vendor.length()))]).await;
        let detail = "reached the longest answer without a word: a model that reasons needs more max_tokens";
        assert_eq!(result, Err(ModelFailure::new("test", FailureKind::Empty, detail)), "{vendor:?}");
    }
}

#[tokio::test]
async fn an_answer_that_reached_its_limit_says_so() {
    for vendor in ALL {
        let (result, _) = heard(vendor, vec![send(vendor.piece("Once upon a") + &vendor.end(vendor.length()))]).await;
        let answer = result.unwrap();
        assert_eq!((answer.text.as_str(), answer.finish), ("Once upon a", Finish::Length), "{vendor:?}");
    }
}

#[tokio::test]
async fn where_nobody_counts_an_estimate_says_that_it_is_one() {
    for vendor in [Vendor::OpenAi, Vendor::Gemini, Vendor::Ollama] {
        let (result, _) = heard(vendor, vec![send(vendor.piece("Hello to you.") + &vendor.end(vendor.stop()))]).await;
        let expected = TokenUsage { input_tokens: 3, cached_tokens: 0, output_tokens: 4, estimated: true };
        assert_eq!(result.unwrap().usage, expected, "{vendor:?}");
    }
    // A count of nothing is none.
    let vendor = Vendor::OpenAi;
    let zero = vendor.framed(r#"{"choices":null,"usage":{"prompt_tokens":0,"completion_tokens":0}}"#);
    let (result, _) = heard(vendor, vec![send(vendor.piece("Hello to you.") + &vendor.end("stop") + &zero)]).await;
    assert!(result.unwrap().usage.estimated);
}

#[tokio::test]
async fn an_answer_that_is_withheld_is_no_answer() {
    let withheld = [
        (
            Vendor::OpenAi,
            Vendor::OpenAi.piece("Well, ") + &Vendor::OpenAi.end("content_filter"),
            "the answer was stopped by a content filter",
        ),
        (
            Vendor::OpenAi,
            Vendor::OpenAi.framed(r#"{"choices":[{"delta":{"refusal":"I'm sorry, "}}]}"#)
                + &Vendor::OpenAi.framed(r#"{"choices":[{"delta":{"refusal":"no."}}]}"#)
                + &Vendor::OpenAi.end("stop"),
            "refuses to answer: I'm sorry, no.",
        ),
        (Vendor::Anthropic, Vendor::Anthropic.end("refusal"), "the model refuses to answer"),
        (Vendor::Gemini, Vendor::Gemini.end("SAFETY"), "the answer was withheld: SAFETY"),
        (
            Vendor::Gemini,
            Vendor::Gemini.framed(r#"{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}"#),
            "the question was blocked: PROHIBITED_CONTENT",
        ),
    ];
    for (vendor, stream, detail) in withheld {
        let (result, _) = heard(vendor, vec![send(stream)]).await;
        assert_eq!(result, Err(ModelFailure::new("test", FailureKind::Withheld, detail)), "{vendor:?}");
    }
}

#[tokio::test]
async fn an_error_in_the_middle_of_an_answer_is_what_it_says() {
    let told = [
        (
            Vendor::OpenAi,
            r#"{"error":{"message":"busy","type":"server_error","code":null}}"#,
            FailureKind::Unavailable,
            "busy",
        ),
        (
            Vendor::OpenAi,
            r#"{"error":{"code":500,"message":"out of slots","type":"server_error"}}"#,
            FailureKind::Unavailable,
            "out of slots",
        ),
        (Vendor::OpenAi, r#"{"error":{"code":429,"message":"slow down"}}"#, FailureKind::RateLimited, "slow down"),
        (
            Vendor::OpenAi,
            r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#,
            FailureKind::Refused,
            "too long",
        ),
        (Vendor::OpenAi, r#"{"error":"broken"}"#, FailureKind::Unavailable, "broken"),
        (
            Vendor::Anthropic,
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            FailureKind::Unavailable,
            "Overloaded",
        ),
        (
            Vendor::Anthropic,
            r#"{"type":"error","error":{"type":"rate_limit_error","message":"Slow"}}"#,
            FailureKind::RateLimited,
            "Slow",
        ),
        (
            Vendor::Gemini,
            r#"{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}"#,
            FailureKind::Unavailable,
            "overloaded",
        ),
        (
            Vendor::Ollama,
            r#"{"error":"llama runner process has terminated"}"#,
            FailureKind::Unavailable,
            "llama runner process has terminated",
        ),
    ];
    for (vendor, message, kind, detail) in told {
        let (result, _) = heard(vendor, vec![send(vendor.piece("half") + &vendor.framed(message))]).await;
        assert_eq!(result, Err(ModelFailure::new("test", kind, detail)), "{vendor:?} {message}");
    }
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    for vendor in ALL {
        let (result, pieces) = heard(vendor, vec![send(vendor.whole())]).await;
        must_be_good(vendor, &result.unwrap());
        assert_eq!(pieces.concat(), TEXT, "{vendor:?}");
    }
    // Unless only half of it comes.
    all_fail(FailureKind::Truncated, |vendor| vec![send(&vendor.whole().as_bytes()[..vendor.whole().len() / 2])]).await;
    all_fail(FailureKind::Malformed, |_| vec![send(r#"{"hello": "world"}"#)]).await;
}

#[tokio::test]
async fn an_answer_that_repeats_the_key_is_shown_to_nobody() {
    for vendor in ALL {
        let (left, right) = KEY.split_at(17);
        let stream =
            vendor.piece("Your key is ") + &vendor.piece(left) + &vendor.piece(right) + &vendor.end(vendor.stop());
        let (result, pieces) = heard(vendor, vec![send(stream)]).await;
        assert_eq!(kind(result), Some(FailureKind::Withheld), "{vendor:?}");
        assert_eq!(pieces.concat(), "Your key is ", "{vendor:?}");
    }
}

#[tokio::test]
async fn of_a_key_that_comes_in_pieces_nobody_hears_a_character() {
    for vendor in ALL {
        let (most, last) = KEY.split_at(KEY.len() - 1);
        let stream = vendor.piece(&format!("It is {most}")) + &vendor.piece(last) + &vendor.end(vendor.stop());
        let (result, pieces) = heard(vendor, vec![send(stream)]).await;
        assert_eq!(kind(result), Some(FailureKind::Withheld), "{vendor:?}");
        assert_eq!(pieces, ["It is "], "{vendor:?}");
        let single: String = KEY.chars().map(|c| vendor.piece(&c.to_string())).collect();
        let (result, pieces) = heard(vendor, vec![send(single + &vendor.end(vendor.stop()))]).await;
        assert_eq!((kind(result), pieces), (Some(FailureKind::Withheld), Vec::new()), "{vendor:?}");
    }
}

#[tokio::test]
async fn what_only_begins_like_the_key_is_heard_as_soon_as_it_goes_on_otherwise() {
    for vendor in ALL {
        let begins = &KEY[..8];
        let stream = vendor.piece(&format!("is {begins}")) + &vendor.piece("ly, yes") + &vendor.end(vendor.stop());
        let (result, pieces) = heard(vendor, vec![send(stream)]).await;
        let text = format!("is {begins}ly, yes");
        // The last letter of all could begin another.
        assert_eq!((result.unwrap().text, pieces.concat()), (text.clone(), text), "{vendor:?}");
        assert_eq!(pieces[..2], ["is ".to_owned(), format!("{begins}ly, ye")], "{vendor:?}");
    }
}

#[tokio::test]
async fn a_structured_answer_of_anthropics_is_the_input_of_its_tool() {
    let vendor = Vendor::Anthropic;
    let schema = Schema { name: "verdict".to_owned(), schema: json!({ "type": "object" }) };
    let request = ModelRequest { schema: Some(schema), ..hello() };
    let stream: String = [
        r#"{"type":"message_start","message":{"model":"m-1-2025","content":[],"usage":{"input_tokens":10,"output_tokens":1}}}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"I shall use the tool."}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t_1","name":"verdict","input":{}}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":""}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"ok\":"}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":" true}"}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}"#,
        r#"{"type":"message_stop"}"#,
    ]
    .map(|message| vendor.framed(message))
    .concat();
    let whole = r#"{"type":"message","content":[{"type":"tool_use","input":{"ok":true}}],"stop_reason":"tool_use"}"#;
    for (body, text) in [(stream.as_str(), r#"{"ok": true}"#), (whole, r#"{"ok":true}"#)] {
        let server = Server::play(vec![Step::Send(head(vendor.content_type())), send(body)]).await;
        let (result, _) = ask(vendor, endpoint(&server.url), &request).await;
        let answer = result.unwrap();
        assert_eq!((answer.text.as_str(), answer.finish), (text, Finish::Stop));
    }
}

#[tokio::test]
async fn the_accents_of_openais_imitators_are_understood() {
    let vendor = Vendor::OpenAi;
    // Chunks without choices, an empty reason, reasoning beside the text, parts in place of a text,
    // a second choice.
    let stream = [
        r#"{"choices":null}"#,
        r#"{"id":"x","object":"ping"}"#,
        r#"{"choices":[{"delta":{"role":"assistant","content":null,"reasoning_content":"Hm."},"finish_reason":""}]}"#,
        r#"{"choices":[{"index":0,"delta":{"content":[{"type":"thinking","thinking":[]},{"type":"text","text":"Hel"}]}}]}"#,
        r#"{"choices":[{"index":1,"delta":{"content":"Bye"}},{"index":0,"delta":{"content":"lo"}}]}"#,
        r#"{"choices":[{"finish_reason":"stop"}]}"#,
    ]
    .map(|message| vendor.framed(message))
    .concat();
    let answer = heard(vendor, vec![send(stream)]).await.0.unwrap();
    assert_eq!((answer.text.as_str(), answer.version), ("Hello", None));
}

#[test]
fn any_bytes_as_an_answer_end_in_time_and_in_no_panic() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let mut runner = TestRunner::new(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) });
    let pieces = prop_oneof![
        any::<Vec<u8>>(),
        r#"data: [\{\}\[\]":,a-z0-9]{0,40}\n\n"#.prop_map(String::into_bytes),
        (0usize..4, 0usize..8).prop_map(|(vendor, at)| {
            let events = ALL[vendor].events();
            events[at % events.len()].clone().into_bytes()
        }),
    ];
    let streams = vec(pieces, 0..8).prop_map(|pieces| pieces.concat());
    runner
        .run(&(streams, 0usize..4), |(body, vendor)| {
            let (result, _) = runtime.block_on(heard(ALL[vendor], vec![Step::Send(body)]));
            if let Ok(answer) = result {
                prop_assert!(!answer.text.trim().is_empty());
            }
            Ok(())
        })
        .unwrap();
}

/// Some count in fractions, some in words, some not at all.
#[tokio::test]
async fn an_odd_count_spoils_no_answer() {
    let odd = ["10.0", "-3", r#""12""#, "null", "1000000001", "1e30", "99999999999999999999999", "[1]", "{}", "true"];
    join_all(ALL.map(|vendor| async move {
        let counts = match vendor {
            Vendor::OpenAi => [r#""prompt_tokens":12"#, r#""completion_tokens":5"#],
            Vendor::Anthropic => [r#""input_tokens":6"#, r#""output_tokens":5"#],
            Vendor::Gemini => [r#""promptTokenCount":12"#, r#""candidatesTokenCount":3"#],
            Vendor::Ollama => [r#""prompt_eval_count":12"#, r#""eval_count":5"#],
        };
        let good = vendor.events().concat();
        for (odd, count) in odd.iter().flat_map(|odd| counts.map(|count| (odd, count))) {
            assert!(good.contains(count));
            // What was thought is counted apart; without what was said it is all there is.
            let thought = r#","thoughtsTokenCount":2"#;
            let field = count.split(':').next().unwrap();
            let stream = good.replace(count, &format!("{field}:{odd}")).replace(thought, "");
            let (result, pieces) = heard(vendor, vec![send(stream)]).await;
            let answer = result.unwrap_or_else(|failure| panic!("{vendor:?} {field} {odd}: {failure}"));
            assert_eq!((answer.text.as_str(), pieces.concat().as_str()), (TEXT, TEXT));
            assert!(answer.usage.estimated, "{vendor:?} {field} {odd}: {:?}", answer.usage);
            assert!((2..100).contains(&answer.usage.total()), "{vendor:?} {field} {odd}: {:?}", answer.usage);
        }
        let odd_whole = match vendor {
            Vendor::OpenAi => vendor.framed(r#"{"choices":[],"usage":"many"}"#),
            Vendor::Anthropic => vendor.framed(r#"{"type":"message_start","message":{"usage":[1,2]}}"#),
            Vendor::Gemini => vendor.framed(r#"{"usageMetadata":7}"#),
            Vendor::Ollama => vendor.framed(r#"{"done":false,"eval_count":{"n":1}}"#),
        };
        let stream = odd_whole + &vendor.piece(TEXT) + &vendor.end(vendor.stop());
        let answer = heard(vendor, vec![send(stream)]).await.0.unwrap();
        assert!(answer.text == TEXT && answer.usage.estimated, "{vendor:?}: {:?}", answer.usage);
    }))
    .await;
}

#[tokio::test]
async fn an_odd_part_of_a_count_makes_the_whole_an_estimate() {
    let odd = |vendor: Vendor, from: &str, to: &str| {
        let stream = vendor.events().concat();
        assert!(stream.contains(from));
        heard(vendor, vec![send(stream.replace(from, to))])
    };
    let usage = odd(Vendor::Anthropic, r#""cache_creation_input_tokens":2"#, r#""cache_creation_input_tokens":-2"#);
    let usage = usage.await.0.unwrap().usage;
    assert!(usage.estimated && usage.input_tokens == 3, "{usage:?}");
    let usage = odd(Vendor::Anthropic, r#""cache_creation_input_tokens":2"#, r#""cache_creation_input_tokens":null"#);
    let usage = usage.await.0.unwrap().usage;
    assert_eq!(usage, TokenUsage { input_tokens: 10, cached_tokens: 4, output_tokens: 5, estimated: false });
    let usage = odd(Vendor::OpenAi, r#""cached_tokens":4"#, r#""cached_tokens":-4"#).await.0.unwrap().usage;
    assert_eq!(usage, TokenUsage { input_tokens: 12, cached_tokens: 0, output_tokens: 5, estimated: true });
    let usage = odd(Vendor::OpenAi, r#"{"cached_tokens":4}"#, r#""none""#).await.0.unwrap().usage;
    assert_eq!(usage, TokenUsage { input_tokens: 12, cached_tokens: 0, output_tokens: 5, estimated: false });
}
