//! Whatever a server of others says, it is connected or refused.

use std::{collections::BTreeMap, time::Duration};

use folkmoot_mangle::check_process;
use folkmoot_tools::{
    Mcp,
    mcp::{McpLimits, McpServerConfig, Reach},
};

/// What a good server answers to being introduced to and to being asked for its tools.
const GOOD: &str = concat!(
    r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-03-26","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"hello"}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"echo","description":"Echoes","inputSchema":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}]}}"#,
    "\n",
);

/// Says its first line to the first question, and all the others to the next.
fn says(bytes: &[u8], folder: &std::path::Path, patience: Duration) -> McpServerConfig {
    std::fs::write(folder.join("says"), bytes).unwrap();
    let limits = McpLimits {
        connect: patience,
        call: patience,
        message_bytes: 100_000,
        flood_bytes: 1_000_000,
        ..McpLimits::default()
    };
    // It waits for what it is asked, since what answers no question is passed over.
    let script = "read a; sed -n 1p says; read a; read a; sed 1d says; sleep 0.2";
    let command = ["sh", "-c", script].map(str::to_owned).to_vec();
    let reach = Reach::Stdio { command, environment: BTreeMap::new(), folder: folder.to_owned() };
    McpServerConfig { name: "test".to_owned(), reach, limits, for_agents: false }
}

#[test]
fn anything_that_an_mcp_server_says_is_taken_or_refused() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let connected = runtime.block_on(Mcp::connect(says(GOOD.as_bytes(), folder.path(), Duration::from_secs(20))));
    assert_eq!(connected.unwrap().tools().len(), 1, "unspoiled it connects");
    check_process("what MCP servers say", &[GOOD], |bytes| {
        runtime.block_on(async {
            if let Ok(mcp) = Mcp::connect(says(bytes, folder.path(), Duration::from_millis(300))).await {
                assert!(mcp.tools().len() <= 100);
            }
        });
    });
}
