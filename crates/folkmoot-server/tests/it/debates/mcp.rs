//! The operator's MCP tools in debates: a real server on standard input and output, and a model
//! that wants to call its tools.

use folkmoot_server::workflows::equipment::McpServer;

use super::*;
use crate::node::Setting;

/// Offers `look`, which is marked read-only, and `write`, which is not. Writes down each call.
const SERVER: &str = r#"
import json, sys
TOOLS = [
    {"name": "look", "description": "Looks.", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "write", "description": "Writes.", "inputSchema": {"type": "object"}},
]
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    result = {}
    if asked["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "test", "version": "1"}}
    elif asked["method"] == "tools/list":
        result = {"tools": TOOLS}
    elif asked["method"] == "tools/call":
        with open(sys.argv[1], "a") as log:
            log.write(asked["params"]["name"] + "\n")
        result = {"content": [{"type": "text", "text": "done"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"#;

/// Calls each tool that it is told of, one after the other, and then answers.
const MODEL: &str = r#"
import json, sys
prompt = sys.stdin.read()
for tool in ["mcp/files/look", "mcp/files/write"]:
    if tool in prompt and f'"tool":"{tool}"' not in prompt:
        print(json.dumps({"tool": tool, "arguments": {}}))
        break
else:
    answer = {"summary": "Yes.", "position": "yes", "confidence": 0.5}
    print(json.dumps({"answer": answer} if "You can call tools" in prompt else answer))
"#;

/// A node with the MCP server, and the file in which that writes down its calls.
async fn node(agents: bool) -> (Node, std::path::PathBuf) {
    let data = tempfile::tempdir().unwrap();
    let log = data.path().join("calls");
    let python = |code: &str| ["python3", "-I", "-S", "-c", code].map(str::to_owned).to_vec();
    let command = [python(SERVER), vec![log.to_str().unwrap().to_owned()]].concat();
    let server = McpServer { command, agents, ..McpServer::default() };
    let model = serde_json::from_value(json!({ "kind": "command", "command": python(MODEL) })).unwrap();
    let setting = Setting {
        mcp: [("files".to_owned(), server)].into(),
        provider: Some(("scripted".to_owned(), model)),
        ..Setting::default()
    };
    (Node::on(data, setting).await, log)
}

fn team() -> Value {
    json!({ "tool_calls_max": 4, "agents": [
        { "id": "ann", "role": "proposer", "provider": "scripted" },
        { "id": "ben", "role": "critic", "provider": "rehearsal" },
        { "id": "cleo", "role": "moderator", "provider": "rehearsal" },
    ] })
}

fn calls(log: &std::path::Path) -> Vec<String> {
    std::fs::read_to_string(log).unwrap_or_default().lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_agents_debate_reaches_no_mcp_tool_unless_the_entry_allows_agents() {
    let (node, log) = node(false).await;
    let id = start(&node, team()).await;
    assert_eq!(over(&node, &id).await["status"], "completed");
    assert_eq!(calls(&log), [""; 0]);
    let asked = ok(node.get(ALICE, &format!("/v1/debates/{id}/audit?type=prompt_sent&agent=ann&limit=500")).await);
    assert!(!asked["entries"].as_array().unwrap().is_empty() && !asked.to_string().contains("mcp/files"), "{asked:#}");
    assert_eq!(ok(node.get(ALICE, &format!("/v1/debates/{id}/gates")).await)["gates"], json!([]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_is_not_marked_read_only_waits_for_a_person_and_is_called_once() {
    for (agents, who, verb) in [(false, "bob", "approve"), (true, AGENT, "approve"), (false, "bob", "reject")] {
        let (node, log) = node(agents).await;
        let id = start_as(&node, who, team()).await;
        let gate = waits(&node, &id, "").await;
        assert_eq!(calls(&log), ["look"], "the read-only one needs nobody");
        let path = format!("/v1/gates/{gate}");
        let shown = ok(node.get(ALICE, &path).await);
        assert_eq!((&shown["kind"], &shown["title"]), (&json!("tool"), &json!("ann wants to call mcp/files/write")));
        assert_eq!(node.post(AGENT, &format!("{path}/{verb}"), json!({ "reason": "x" })).await.status, 403);
        ok(node.post(ALICE, &format!("{path}/{verb}"), json!({ "reason": "it is fine" })).await);
        assert_eq!(over(&node, &id).await["status"], "completed");
        let expected: &[&str] = if verb == "approve" { &["look", "write"] } else { &["look"] };
        assert_eq!(calls(&log), expected, "{who}, {verb}");
        node.verifies().await;
    }
}
