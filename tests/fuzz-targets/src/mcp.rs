//! Messages of the Model Context Protocol, the arguments of its tools, and the URIs of its resources.

use terrace_core::http::reply::{Body, Reply};
use terrace_core::mcp::reply::refused;
use terrace_core::mcp::{
    DocumentResource, Incoming, McpHead, Operation, ToolCall, mcp_name_header, receive,
};
use terrace_core::model::own_hosts::OwnHosts;

use crate::text;

/// Receives a message: three headers, one per line, and then the body.
pub fn mcp(data: &[u8]) {
    let Some(all) = text(data) else { return };
    let mut lines = all.splitn(4, '\n');
    let mut next = || lines.next().filter(|line| !line.is_empty());
    let head = McpHead {
        revision: next(),
        method: next(),
        name: next(),
    };
    let body = next().unwrap_or_default();
    match receive(&head, body.as_bytes()) {
        Ok(Incoming::Notification) => {}
        Ok(Incoming::Request(request)) => use_operation(request.operation),
        Err(refusal) => {
            let reply: Reply<()> = refused(&refusal);
            assert!(reply.status < 500, "{refusal:?}");
            let Body::Text(text) = reply.body else {
                panic!("a refusal has a body")
            };
            let message: serde_json::Value = serde_json::from_str(&text).expect("JSON");
            assert!(message["error"]["code"].is_i64(), "{text}");
        }
    }
}

fn use_operation(operation: Operation) {
    let own = OwnHosts::new("https://registry.example.com", &[]);
    match operation {
        Operation::CallTool(tool, arguments) => {
            if let Err(error) = ToolCall::parse(tool, arguments.as_deref(), &own) {
                assert!(!error.is_empty());
            }
        }
        Operation::ReadResource(uri) => {
            assert!(mcp_name_header(&uri).is_ascii());
            if let Ok(resource) = DocumentResource::parse(&uri, &own) {
                let written = resource.to_string();
                assert_eq!(
                    DocumentResource::parse(&written, &own),
                    Ok(resource),
                    "{uri}"
                );
            }
        }
        _ => {}
    }
}
