use std::{collections::BTreeMap, path::PathBuf};

use rmcp::model::{JsonRpcMessage, ServerJsonRpcMessage, ServerResult};

use super::*;
use crate::mcp::{McpLimits, Reach};

#[test]
fn parsers_of_any_list_of_tools_admit_or_warn() {
    let reach = Reach::Stdio { command: Vec::new(), environment: BTreeMap::new(), folder: PathBuf::new() };
    let server = McpServerConfig { name: "test".to_owned(), reach, limits: McpLimits::default(), for_agents: false };
    let keys = Keys::new(&BTreeMap::<String, String>::new());
    let admitted = |bytes: &[u8]| match serde_json::from_slice::<ServerJsonRpcMessage>(bytes) {
        Ok(JsonRpcMessage::Response(response)) => match response.result {
            ServerResult::ListToolsResult(listed) => admit(&server, &listed.tools, &keys).0,
            _ => Vec::new(),
        },
        _ => Vec::new(),
    };
    let samples = [
        r##"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"echo","description":"Echoes","inputSchema":{"type":"object","$defs":{"t":{"type":"string"}},"properties":{"text":{"$ref":"#/$defs/t"}},"required":["text"]}}],"nextCursor":"x"}}"##,
        r#"{"jsonrpc":"2.0","id":"a","error":{"code":-32600,"message":"no","data":{"why":[1]}}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":0.5}}"#,
    ];
    assert_eq!(admitted(samples[0].as_bytes()).len(), 1);
    folkmoot_mangle::check("what MCP servers offer", &samples, |bytes| {
        assert!(admitted(bytes).iter().all(|offer| offer.name.starts_with("mcp/test/")));
    });
}
