use std::sync::atomic::{AtomicBool, Ordering};

use super::*;

/// Does what its arguments say.
#[derive(Debug, Default)]
struct Obedient {
    dropped: Arc<AtomicBool>,
}

struct Flag(Arc<AtomicBool>);

impl Drop for Flag {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Tool for Obedient {
    fn name(&self) -> &str {
        "obedient"
    }
    fn description(&self) -> &str {
        "Does what it is told."
    }
    fn arguments(&self) -> Value {
        json!({
            "type": "object",
            "properties": { "do": { "enum": ["echo", "fail", "panic", "panic_later", "hang", "text", "list"] }, "size": { "type": "integer" } },
            "required": ["do"],
        })
    }
    fn call(&self, arguments: Value) -> BoxFuture<'_, Result<Value, ToolError>> {
        let size = arguments["size"].as_u64().unwrap_or(0) as usize;
        match arguments["do"].as_str().unwrap() {
            "panic" => panic!("out of ideas"),
            "panic_later" => async { panic!("out of {}", "ideas") }.boxed(),
            "fail" => async { Err(ToolError::failed("no luck\u{7}")) }.boxed(),
            "hang" => {
                let flag = Flag(Arc::clone(&self.dropped));
                async move {
                    let _flag = flag;
                    std::future::pending().await
                }
                .boxed()
            }
            "text" => async move { Ok(json!("ä".repeat(size))) }.boxed(),
            "list" => async move { Ok(json!(vec![0; size])) }.boxed(),
            _ => async move { Ok(arguments) }.boxed(),
        }
    }
}

fn toolbox() -> Toolbox {
    let mut tools = Toolbox { timeout: Duration::from_millis(50), result_bytes: 100, ..Toolbox::default() };
    tools.add(Arc::new(Obedient::default())).unwrap();
    tools
}

async fn check(arguments: Value, expected: Result<Value, (ToolErrorCode, &str)>) {
    let call = toolbox().call("obedient", arguments.clone()).await;
    let expected = expected.map_err(|(code, detail)| ToolError::new(code, detail));
    assert_eq!(call.result, expected, "{arguments}");
    assert_eq!((call.tool.as_str(), &call.arguments), ("obedient", &arguments), "recorded as it came");
}

#[tokio::test]
async fn every_end_of_a_call_is_recorded() {
    use ToolErrorCode::*;
    check(json!({ "do": "echo", "size": 3 }), Ok(json!({ "do": "echo", "size": 3 }))).await;
    check(json!({ "do": "fail" }), Err((Failed, "no luck"))).await;
    check(json!({ "do": "panic" }), Err((Failed, "`obedient` broke down: out of ideas"))).await;
    check(json!({ "do": "panic_later" }), Err((Failed, "`obedient` broke down: out of ideas"))).await;
    check(json!({ "do": "hang" }), Err((TimedOut, "`obedient` did not end within 50ms"))).await;
    check(json!({ "do": "text", "size": 49 }), Ok(json!("ä".repeat(49)))).await;
    check(json!({ "do": "text", "size": 60 }), Ok(json!(format!("{}… [cut: 100 of 120 bytes]", "ä".repeat(50))))).await;
    check(
        json!({ "do": "list", "size": 60 }),
        Err((TooLarge, "the result of `obedient` is 121 bytes long, and may be 100; ask for less")),
    )
    .await;
    check(
        json!({ "size": "big" }),
        Err((
            InvalidArguments,
            "the arguments do not fit `obedient`: \"do\" is a required property; at /size: \"big\" is not of type \"integer\"",
        )),
    )
    .await;
    let unknown = toolbox().call("sudo\n", json!({})).await;
    assert_eq!(unknown.result, Err(ToolError::new(UnknownTool, "no tool `sudo`; there are obedient")));
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_ended() {
    let tool = Arc::new(Obedient::default());
    let mut tools = Toolbox::default();
    tools.add(Arc::clone(&tool) as _).unwrap();
    let mut call = Box::pin(tools.call("obedient", json!({ "do": "hang" })));
    assert!(call.as_mut().now_or_never().is_none());
    assert!(!tool.dropped.load(Ordering::SeqCst));
    drop(call);
    assert!(tool.dropped.load(Ordering::SeqCst));
}

#[derive(Debug)]
struct Named(&'static str, Value);

impl Tool for Named {
    fn name(&self) -> &str {
        self.0
    }
    fn description(&self) -> &str {
        "One\nline."
    }
    fn arguments(&self) -> Value {
        self.1.clone()
    }
    fn call(&self, _: Value) -> BoxFuture<'_, Result<Value, ToolError>> {
        async { Ok(Value::Null) }.boxed()
    }
}

fn add(tools: &mut Toolbox, name: &'static str, schema: Value) -> Result<(), String> {
    tools.add(Arc::new(Named(name, schema))).map_err(|error| error.to_string())
}

#[test]
fn a_tool_needs_a_name_of_its_own_and_a_schema_that_can_be_used() {
    let mut tools = Toolbox::default();
    assert_eq!(add(&mut tools, "git/diff", json!({})), Ok(()));
    let refused = |result: Result<(), String>, part: &str| {
        let error = result.unwrap_err();
        assert!(error.contains(part), "{error}");
    };
    refused(add(&mut tools, "git/diff", json!({})), "there is a tool `git/diff` already");
    refused(add(&mut tools, "", json!({})), "cannot be the name");
    refused(add(&mut tools, "a b", json!({})), "cannot be the name");
    refused(add(&mut tools, "a", json!(true)), "it is no object");
    refused(add(&mut tools, "b", json!({ "type": "sentence" })), "cannot be used");
    refused(add(&mut tools, "c", json!({ "$ref": "https://example.com/schema.json" })), "cannot be used");
    refused(add(&mut tools, "d", json!({ "$ref": "file:///etc/passwd" })), "cannot be used");
    refused(add(&mut tools, "e", json!({ "pattern": "(" })), "cannot be used");
    refused(add(&mut tools, "f", json!({ "description": "x".repeat(schema::SCHEMA_BYTES_MAX) })), "bytes long");
    let deep = (0..100).fold(json!({}), |inner, _| json!({ "not": inner }));
    refused(add(&mut tools, "g", deep), "nested");
    assert_eq!(tools.names().collect::<Vec<_>>(), ["git/diff"]);
}

#[tokio::test]
async fn schemas_that_go_round_in_circles_or_match_for_ever_do_not_hold_us_up() {
    for schema in [
        json!({ "$ref": "#" }),
        json!({ "allOf": [{ "$ref": "#" }] }),
        json!({ "$ref": "#/$defs/a", "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/a" } } }),
        json!({ "type": "object", "properties": { "a": { "pattern": "^(a|aa)+(?!b)$" } } }),
        json!({ "type": "object", "properties": { "a": { "pattern": "^(a+)+$" } } }),
    ] {
        let mut tools = Toolbox::default();
        let begun = Instant::now();
        if add(&mut tools, "a", schema.clone()).is_ok() {
            tools.call("a", json!({ "a": "a".repeat(40) + "!" })).await;
        }
        assert!(begun.elapsed() < Duration::from_secs(2), "{schema}");
    }
}

#[test]
fn tools_are_described_in_the_order_of_their_names_one_to_a_line() {
    let mut tools = Toolbox::default();
    for name in ["b", "a", "c"] {
        add(&mut tools, name, json!({ "type": "object" })).unwrap();
    }
    let only = tools.only(["c", "a"]).unwrap();
    assert_eq!(
        only.describe(),
        "{\"arguments\":{\"type\":\"object\"},\"description\":\"One\\nline.\",\"name\":\"a\"}\n\
         {\"arguments\":{\"type\":\"object\"},\"description\":\"One\\nline.\",\"name\":\"c\"}\n"
    );
    assert_eq!(tools.only(["a", "z"]).unwrap_err().detail, "no tool `z`; there are a, b, c");
    assert!(tools.only([]).unwrap().is_empty());
}

#[test]
fn a_schema_that_nobody_finishes_checking_is_no_tools() {
    let parts: serde_json::Map<String, Value> = (0..40)
        .map(|part| {
            let next = json!({ "$ref": format!("#/$defs/p{}", part + 1) });
            (format!("p{part}"), json!({ "anyOf": [next, next] }))
        })
        .chain([("p40".to_owned(), json!({ "type": "string" }))])
        .collect();
    let why = schema::compile(&json!({ "$ref": "#/$defs/p0", "$defs": parts })).unwrap_err();
    assert_eq!(why, "with its references followed, it has more than 100000 parts");
    let again = json!({ "properties": { "a": { "$ref": "#" } } });
    let twice = schema::compile(&json!({ "anyOf": [again, again] })).unwrap();
    let deep = (0..60).fold(json!({}), |inner, _| json!({ "a": inner }));
    assert!(schema::check(&twice, &deep).unwrap_err().contains("nested too deep"));
}
