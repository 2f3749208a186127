//! Servers of others: real processes and real HTTP, well behaved and not.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Child, Stdio},
    sync::Arc,
    time::{Duration, Instant},
};

use crate::process::python;
use folkmoot_tools::{
    Mcp, ToolErrorCode, Toolbox,
    mcp::{KeySource, McpErrorKind, McpLimits, McpServerConfig, Reach},
};
use serde_json::{Value, json};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/mcp/server.py");

fn limits() -> McpLimits {
    McpLimits {
        connect: Duration::from_secs(20),
        call: Duration::from_secs(20),
        message_bytes: 100_000,
        flood_bytes: 1_000_000,
        ..McpLimits::default()
    }
}

fn stdio(habit: &[&str]) -> McpServerConfig {
    let command = [python(), "-IS", SERVER, "stdio"].iter().chain(habit).map(|part| (*part).to_owned()).collect();
    let environment = BTreeMap::from([("GREETING".to_owned(), "hello".to_owned())]);
    let folder = PathBuf::from("/");
    let (name, reach) = ("test".to_owned(), Reach::Stdio { command, environment, folder });
    McpServerConfig { name, reach, limits: limits(), for_agents: false }
}

async fn toolbox(server: McpServerConfig) -> Toolbox {
    let mcp = Mcp::connect(server).await.unwrap();
    let mut tools = Toolbox::default();
    for tool in mcp.tools() {
        tools.add(Arc::clone(tool)).unwrap();
    }
    tools
}

async fn call(tools: &Toolbox, tool: &str, arguments: Value) -> Result<Value, (ToolErrorCode, String)> {
    let begun = Instant::now();
    let call = tools.call(&format!("mcp/test/{tool}"), arguments).await;
    assert!(begun.elapsed() < Duration::from_secs(60), "{tool} took {:?}", begun.elapsed());
    call.result.map_err(|error| (error.code, error.detail))
}

fn contains(result: Result<Value, (ToolErrorCode, String)>, code: ToolErrorCode, part: &str) {
    let (got, detail) = result.unwrap_err();
    assert!(got == code && detail.contains(part), "{got}: {detail}");
}

#[tokio::test]
async fn tools_of_a_server_are_called_and_their_results_are_json() {
    let tools = toolbox(stdio(&[])).await;
    assert_eq!(call(&tools, "echo", json!({ "text": "hi" })).await, Ok(json!("hi")));
    assert_eq!(call(&tools, "add", json!({ "a": 1, "b": 2 })).await, Ok(json!({ "total": 3 })));
    let picture = json!({ "type": "image", "media_type": "image/png", "base64_bytes": 4 });
    assert_eq!(call(&tools, "mixed", json!({})).await, Ok(json!(["a picture:", picture])));
    assert_eq!(call(&tools, "garbage", json!({})).await, Ok(json!("after the garbage")));
    contains(call(&tools, "fail", json!({})).await, ToolErrorCode::Failed, "the disk is full");
    contains(call(&tools, "echo", json!({})).await, ToolErrorCode::InvalidArguments, "\"text\" is a required property");
    contains(call(&tools, "add", json!({ "a": "x", "b": 1 })).await, ToolErrorCode::InvalidArguments, "at /a");
}

#[tokio::test]
async fn calls_at_the_same_time_get_each_their_own_answer() {
    let tools = toolbox(stdio(&[])).await;
    let calls = (0..50).map(|n| {
        let tools = &tools;
        async move { (n, call(tools, "echo", json!({ "text": format!("{n}") })).await) }
    });
    for (n, result) in futures_util::future::join_all(calls).await {
        assert_eq!(result, Ok(json!(format!("{n}"))));
    }
}

#[tokio::test]
async fn a_server_that_knows_no_handshake_is_discovered() {
    let tools = toolbox(stdio(&["modern"])).await;
    assert_eq!(call(&tools, "echo", json!({ "text": "hi" })).await, Ok(json!("hi")));
}

#[tokio::test]
async fn what_a_server_offers_is_checked_cleaned_and_cut() {
    let mcp = Mcp::connect(stdio(&[])).await.unwrap();
    let echo = mcp.tools().iter().find(|tool| tool.name() == "mcp/test/echo").unwrap();
    assert_eq!(echo.description(), "Says it again.[31m");
    let add = mcp.tools().iter().find(|tool| tool.name() == "mcp/test/add").unwrap();
    assert!(add.description().len() < 2200 && add.description().ends_with("[cut: 2048 of 6000 bytes]"));
    let [broken, remote, words, twice] = mcp.warnings() else { panic!("{:?}", mcp.warnings()) };
    assert!(broken.starts_with("`broken` is left out: the schema of its arguments cannot be used"), "{broken}");
    assert!(remote.starts_with("`remote` is left out: the schema of its arguments cannot be used"), "{remote}");
    assert!(words.starts_with("`two words` is left out: a name has"), "{words}");
    assert_eq!(twice, "`mcp/test/echo` is offered twice; the second is left out");

    let many = Mcp::connect(stdio(&["many"])).await.unwrap();
    assert_eq!((many.tools().len(), many.warnings().len()), (128, 1));
    let pages = Mcp::connect(stdio(&["pages"])).await.unwrap();
    assert_eq!(pages.tools().len(), 0, "pages that follow on themselves end");
}

#[tokio::test]
async fn a_server_that_dies_or_floods_is_given_up_and_started_again_at_the_next_call() {
    let tools = toolbox(stdio(&[])).await;
    contains(call(&tools, "die", json!({})).await, ToolErrorCode::Failed, "ended during the call");
    assert_eq!(call(&tools, "echo", json!({ "text": "again" })).await, Ok(json!("again")));
    contains(
        call(&tools, "flood", json!({})).await,
        ToolErrorCode::TooLarge,
        "more than 1000000 bytes without answering",
    );
    contains(call(&tools, "huge", json!({})).await, ToolErrorCode::TooLarge, "a message of more than 100000 bytes");
    contains(call(&tools, "chatter", json!({})).await, ToolErrorCode::TooLarge, "without answering");
    assert_eq!(call(&tools, "echo", json!({ "text": "again" })).await, Ok(json!("again")));
}

#[tokio::test]
async fn a_server_that_dies_again_and_again_is_left_alone() {
    let tools =
        toolbox(McpServerConfig { limits: McpLimits { reconnects_per_minute: 2, ..limits() }, ..stdio(&[]) }).await;
    for _ in 0..3 {
        contains(call(&tools, "die", json!({})).await, ToolErrorCode::Failed, "ended during the call");
    }
    contains(call(&tools, "echo", json!({ "text": "x" })).await, ToolErrorCode::Missing, "left alone for a while");
}

#[tokio::test]
async fn a_call_that_is_never_answered_ends_and_the_next_is_not_held_up() {
    let server = McpServerConfig { limits: McpLimits { call: Duration::from_secs(1), ..limits() }, ..stdio(&[]) };
    let tools = toolbox(server).await;
    contains(call(&tools, "sleep", json!({})).await, ToolErrorCode::TimedOut, "did not answer within 1s");
    assert_eq!(call(&tools, "echo", json!({ "text": "x" })).await, Ok(json!("x")));

    // The same when it is the toolbox that has no patience.
    let mut tools = toolbox(stdio(&[])).await;
    tools.timeout = Duration::from_millis(500);
    contains(call(&tools, "sleep", json!({})).await, ToolErrorCode::TimedOut, "did not end within 500ms");
    tools.timeout = Duration::from_secs(20);
    assert_eq!(call(&tools, "echo", json!({ "text": "x" })).await, Ok(json!("x")));
}

#[tokio::test]
async fn a_tool_that_changed_since_it_was_offered_is_not_called() {
    let tools = toolbox(stdio(&[])).await;
    assert_eq!(call(&tools, "change", json!({})).await, Ok(json!("changed")));
    contains(
        call(&tools, "echo", json!({ "text": "x" })).await,
        ToolErrorCode::Missing,
        "has changed since the server offered it",
    );
    assert_eq!(call(&tools, "add", json!({ "a": 1, "b": 1 })).await, Ok(json!({ "total": 2 })), "the others are");
    assert_eq!(call(&tools, "vanish", json!({})).await, Ok(json!("changed")));
    contains(call(&tools, "echo", json!({ "text": "x" })).await, ToolErrorCode::Missing, "no longer has");
}

#[tokio::test]
async fn a_server_sees_what_it_was_given_and_ends_with_its_whole_group() {
    let tools = toolbox(stdio(&[])).await;
    let looked = call(&tools, "look", json!({})).await.unwrap();
    let looked: Value = serde_json::from_str(looked.as_str().unwrap()).unwrap();
    let variables: Vec<&str> = looked["variables"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(variables.contains(&"GREETING") && !variables.contains(&"CARGO_PKG_NAME"), "{variables:?}");
    assert_eq!(looked["folder"], "/");

    let pids = call(&tools, "spawn", json!({})).await.unwrap();
    drop(tools);
    for pid in pids.as_str().unwrap().split(' ') {
        assert!(crate::process::is_gone(pid).await, "{pid} is still there");
    }
}

#[tokio::test]
async fn a_server_that_cannot_be_used_is_a_clear_error() {
    let connect = |server: McpServerConfig| async move {
        let begun = Instant::now();
        let error = Mcp::connect(server).await.unwrap_err();
        assert!(begun.elapsed() < Duration::from_secs(60), "{error} after {:?}", begun.elapsed());
        (error.kind, error.detail)
    };
    let with = |command: &[&str]| {
        let command = command.iter().map(|part| (*part).to_owned()).collect();
        McpServerConfig {
            reach: Reach::Stdio { command, environment: BTreeMap::new(), folder: PathBuf::from("/") },
            ..stdio(&[])
        }
    };
    use McpErrorKind::*;
    assert_eq!(
        connect(with(&["no-such-server"])).await,
        (Unreachable, "`no-such-server` is not installed, or not on PATH".to_owned())
    );
    let (kind, detail) = connect(stdio(&["exit"])).await;
    assert!(kind == Ended && detail.contains("no licence found"), "{kind}: {detail}");
    let hasty = McpLimits { connect: Duration::from_millis(300), ..limits() };
    let (kind, detail) = connect(McpServerConfig { limits: hasty, ..stdio(&["silent"]) }).await;
    assert!(kind == TimedOut && detail == "it was not ready within 300ms", "{kind}: {detail}");
    let (kind, detail) = connect(stdio(&["noise"])).await;
    assert!(kind == TooLarge, "{kind}: {detail}");
    let (kind, detail) = connect(stdio(&["nonsense"])).await;
    assert!(kind == Malformed, "{kind}: {detail}");
    let (kind, _) = connect(McpServerConfig { name: "Not A Name".to_owned(), ..stdio(&[]) }).await;
    assert_eq!(kind, Misconfigured);
}

/// The server as a process of the test, which ends with it.
struct Http {
    child: Child,
    port: u16,
}

impl Drop for Http {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Http {
    fn start() -> Self {
        let mut child =
            std::process::Command::new(python()).args(["-IS", SERVER, "http"]).stdout(Stdio::piped()).spawn().unwrap();
        let mut port = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut port).unwrap();
        Self { child, port: port.trim().parse().unwrap() }
    }

    fn at(&self, path: &str, key: Option<KeySource>) -> McpServerConfig {
        let url = format!("http://127.0.0.1:{}{path}", self.port);
        McpServerConfig { reach: Reach::Http { url, key }, ..stdio(&[]) }
    }
}

#[tokio::test]
async fn a_server_over_http_answers_with_json_or_events() {
    let http = Http::start();
    for path in ["/mcp", "/events"] {
        let tools = toolbox(http.at(path, None)).await;
        assert_eq!(call(&tools, "echo", json!({ "text": "hi" })).await, Ok(json!("hi")), "{path}");
        contains(call(&tools, "fail", json!({})).await, ToolErrorCode::Failed, "the disk is full");
    }
    let tools = toolbox(http.at("/mcp", None)).await;
    contains(call(&tools, "huge", json!({})).await, ToolErrorCode::TooLarge, "more than 100000 bytes");
    contains(call(&toolbox(http.at("/events", None)).await, "huge", json!({})).await, ToolErrorCode::TooLarge, "bytes");
    contains(call(&tools, "die", json!({})).await, ToolErrorCode::Failed, "the connection broke");
    contains(call(&tools, "echo", json!({ "text": "hi" })).await, ToolErrorCode::Failed, "`mcp/test/echo` failed");
}

#[tokio::test]
async fn a_server_over_http_that_cannot_be_used_is_a_clear_error() {
    let http = Http::start();
    let connect = |server: McpServerConfig| async move {
        let error = Mcp::connect(server).await.unwrap_err();
        (error.kind, error.detail)
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, "open-sesame\n").unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    assert!(Mcp::connect(http.at("/secret", Some(KeySource::File(file.clone())))).await.is_ok());
    use McpErrorKind::*;
    std::fs::write(&file, "guess").unwrap();
    let (kind, detail) = connect(http.at("/secret", Some(KeySource::File(file)))).await;
    assert!(kind == Unauthorised && !detail.contains("guess"), "{kind}: {detail}");
    let (kind, detail) = connect(http.at("/mcp", Some(KeySource::Variable("NOT_SET_ANYWHERE".to_owned())))).await;
    assert_eq!(
        (kind, detail.as_str()),
        (Misconfigured, "its key cannot be used: the environment has no NOT_SET_ANYWHERE: set it to the key")
    );
    let (kind, detail) = connect(http.at("/redirect", None)).await;
    assert!(kind == Malformed && detail.contains("307"), "redirects are not followed: {kind}: {detail}");
    let (kind, detail) = connect(http.at("/html", None)).await;
    assert!(kind == Malformed && detail.contains("<html>welcome"), "{kind}: {detail}");
    let at = |url: &str, key| McpServerConfig { reach: Reach::Http { url: url.to_owned(), key }, ..stdio(&[]) };
    let (kind, detail) = connect(at("http://127.0.0.1:1/mcp", None)).await;
    assert!(kind == Unreachable, "{kind}: {detail}");
    let (kind, detail) = connect(at("http://example.com/mcp", Some(KeySource::Variable("PATH".to_owned())))).await;
    assert_eq!((kind, detail.as_str()), (Misconfigured, "a key is sent over https only"));
    assert_eq!(connect(at("gopher://example.com/", None)).await.0, Misconfigured);
    assert_eq!(connect(at("not a url", None)).await.0, Misconfigured);
}

const KEY: &str = "tok/4f1c9d2e7b6a5830-do-not-print-me";

/// Each server tells everybody what it was given: in each way that one can.
async fn tells_nobody(refusals: Vec<McpServerConfig>, told: McpServerConfig) {
    let clean = |shown: &str| assert!(!shown.contains("4f1c9d2e") && !shown.contains("print-me"), "{shown}");
    for server in refusals {
        let error = Mcp::connect(server).await.unwrap_err();
        assert!(error.detail.contains('…'), "{error}");
        clean(&format!("{error} {error:?}"));
    }
    let mcp = Mcp::connect(told).await.unwrap();
    clean(&format!("{:?}", mcp.warnings()));
    assert_eq!(mcp.warnings().len(), 3, "{:?}", mcp.warnings());
    let mut tools = Toolbox::default();
    for tool in mcp.tools() {
        assert_eq!(tool.description(), "Logged in with ….");
        assert_eq!(tool.arguments()["description"], "with …");
        clean(&tool.arguments().to_string());
        tools.add(Arc::clone(tool)).unwrap();
    }
    let link = json!({ "type": "resource_link", "uri": "x:…", "name": "…" });
    assert_eq!(call(&tools, "tell", json!({})).await, Ok(json!(["it is …", link])));
    assert_eq!(call(&tools, "structure", json!({})).await, Ok(json!({ "…": ["<…>", 1] })));
    for tool in ["complain", "refuse"] {
        let (code, detail) = call(&tools, tool, json!({})).await.unwrap_err();
        assert!(code == ToolErrorCode::Failed && detail.contains('…'), "{detail}");
        clean(&detail);
    }
}

#[tokio::test]
async fn what_a_process_was_given_is_erased_from_all_that_it_says() {
    let given = |habit: &[&str]| {
        let mut server = stdio(habit);
        let Reach::Stdio { environment, .. } = &mut server.reach else { unreachable!() };
        environment.insert("TOKEN".to_owned(), KEY.to_owned());
        server
    };
    tells_nobody(vec![given(&["confess"]), given(&["refuse"]), given(&["unlisted"])], given(&[])).await;
}

#[tokio::test]
async fn the_key_of_a_server_over_http_is_erased_from_all_that_it_says() {
    let http = Http::start();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("key");
    std::fs::write(&file, KEY).unwrap();
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
    let at = |path: &str| http.at(path, Some(KeySource::File(file.clone())));
    tells_nobody(vec![at("/refuse"), at("/500"), at("/500-json"), at("/unlisted")], at("/told")).await;
}

#[tokio::test]
async fn a_list_that_follows_on_itself_ends_and_its_warnings_are_few_and_short() {
    let mcp = Mcp::connect(stdio(&["circle"])).await.unwrap();
    assert_eq!(mcp.tools().len(), 20);
    let warnings = mcp.warnings();
    assert!(warnings.len() <= 10 && warnings.iter().all(|warning| warning.len() <= 210), "{warnings:?}");
    assert!(warnings.last().unwrap().starts_with("and "), "{warnings:?}");
}

#[tokio::test]
async fn a_folder_that_is_missing_is_what_is_said_to_be_missing() {
    let mut server = stdio(&[]);
    let Reach::Stdio { folder, .. } = &mut server.reach else { unreachable!() };
    *folder = PathBuf::from("/no/such/folder");
    let error = Mcp::connect(server).await.unwrap_err();
    assert_eq!(error.detail, "its folder /no/such/folder does not exist: make it, or change `folder`");
}

#[tokio::test]
async fn no_proxy_stands_between_us_and_a_server_on_this_machine() {
    let mut again = std::process::Command::new(std::env::current_exe().unwrap());
    again.args(["--exact", "mcp::a_server_over_http_answers_with_json_or_events"]);
    for proxy in ["http_proxy", "HTTP_PROXY", "ALL_PROXY"] {
        again.env(proxy, "http://127.0.0.1:1");
    }
    let ended = again.env_remove("NO_PROXY").env_remove("no_proxy").output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(ended.status.success() && said.contains("1 passed"), "{said}");
}
