//! Messages of clients of the Model Context Protocol.

use serde_json::{Value, json};

use super::registry::{Registry, Response, Sent};

/// The newest revision.
pub const REVISION: &str = "2026-07-28";

/// Returns the names of all tools.
pub fn tool_names(registry: &Registry) -> Vec<String> {
    let listed = registry.send(&request("tools/list", json!({}))).found();
    let tools = listed["result"]["tools"].as_array().unwrap().iter();
    tools
        .map(|tool| tool["name"].as_str().unwrap().to_owned())
        .collect()
}

/// Returns a request with this body, and no headers of the protocol.
pub fn post(path: &str, body: impl Into<Vec<u8>>) -> Sent {
    Sent::new("POST", path)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body(body)
}

/// Returns a request of the newest revision, with its headers.
pub fn request(method: &str, mut params: Value) -> Sent {
    let name = params.get("name").or_else(|| params.get("uri"));
    let name = name.and_then(Value::as_str).map(str::to_owned);
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": REVISION,
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let sent = post("/mcp", body.to_string())
        .header("mcp-protocol-version", REVISION)
        .header("mcp-method", method);
    match name {
        Some(name) => sent.header("mcp-name", &name),
        None => sent,
    }
}

/// Returns a request of an older revision.
pub fn older(revision: Option<&str>, method: &str, params: &Value) -> Sent {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let sent = post("/mcp", body.to_string());
    match revision {
        Some(revision) => sent.header("mcp-protocol-version", revision),
        None => sent,
    }
}

/// Returns the call of a tool.
pub fn tool(name: &str, arguments: &Value) -> Sent {
    request(
        "tools/call",
        json!({ "name": name, "arguments": arguments }),
    )
}

/// Returns the structured contents of a successful call.
#[track_caller]
pub fn structured(response: &Response) -> Value {
    let message = response.json();
    assert_eq!(response.status, 200, "{message}");
    assert_eq!(message["result"]["isError"], false, "{message}");
    message["result"]["structuredContent"].clone()
}

/// Returns the error of a call that the assistant reads.
#[track_caller]
pub fn tool_error(response: &Response) -> String {
    let message = response.json();
    assert_eq!(response.status, 200, "{message}");
    assert_eq!(message["result"]["isError"], true, "{message}");
    let text = &message["result"]["content"][0]["text"];
    text.as_str().unwrap().to_owned()
}
