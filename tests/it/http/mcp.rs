//! The Model Context Protocol over HTTP: messages, revisions and errors.

use serde_json::json;

use crate::support::Registry;
use crate::support::mcp::{older, post, request, tool_names};
use crate::support::registry::Sent;

#[test]
fn the_newest_revision_needs_no_earlier_request() {
    let registry = Registry::start();
    let discovered = registry
        .send(&request("server/discover", json!({})))
        .expect(200);
    assert_eq!(discovered.header("content-type"), Some("application/json"));
    assert_eq!(discovered.header("cache-control"), Some("no-store"));
    assert_eq!(discovered.header("mcp-session-id"), None);
    let result = discovered.json()["result"].clone();
    assert_eq!(result["supportedVersions"][0], "2026-07-28");
    assert_eq!(result["resultType"], "complete");
    assert_eq!(result["cacheScope"], "public");
    // A page of this registry may send requests.
    let own = request("tools/list", json!({})).header("origin", &registry.origin());
    let listed = registry.send(&own).expect(200);
    let names = tool_names(&registry);
    assert_eq!((names.len(), names[0].as_str()), (10, "search"));
    let again = registry.send(&request("tools/list", json!({})));
    assert_eq!(again.text(), listed.text());
}

#[test]
fn other_methods_than_post_are_refused() {
    let registry = Registry::start();
    for path in ["/mcp", "/mcp/private"] {
        for method in ["GET", "HEAD", "DELETE", "PUT", "PATCH"] {
            let response = registry.send(&Sent::new(method, path)).expect(405);
            assert_eq!(response.header("allow"), Some("POST"), "{method} {path}");
        }
    }
    registry.send(&post("/mcp/", "{}")).expect(404);
    registry.send(&post("/mcp/other", "{}")).expect(404);
}

#[test]
fn a_request_is_refused_with_the_error_of_the_specification() {
    let registry = Registry::start();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let huge = "x".repeat(70_000);
    for (sent, status, code) in [
        (Sent::new("POST", "/mcp").body(ping), 415, -32600),
        (post("/mcp", huge.clone()), 413, -32600),
        (post("/mcp", [0xff, 0xfe, 0x00]), 400, -32700),
        (older(Some("1999-01-01"), "ping", &json!({})), 400, -32022),
        (request("prompts/list", json!({})), 404, -32601),
    ] {
        let refused = registry.send(&sent).expect(status);
        assert_eq!(refused.json()["error"]["code"], code);
    }
    for origin in ["https://stranger.example", "null"] {
        let foreign = post("/mcp", ping).header("origin", origin);
        registry.send(&foreign).expect(403);
    }
    // The length need not be declared.
    registry
        .send(&post("/mcp", "").unsized_body(ping))
        .expect(200);
    registry
        .send(&post("/mcp", "").unsized_body(huge))
        .expect(413);
}

#[test]
fn the_private_endpoint_and_its_metadata_lead_to_a_token() {
    let registry = Registry::start();
    let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let refused = registry.send(&post("/mcp/private", ping)).expect(401);
    let challenge = refused.header("www-authenticate").unwrap().to_owned();
    let (_, url) = challenge.split_once("resource_metadata=\"").unwrap();
    let (url, rest) = url.split_once('"').unwrap();
    assert_eq!(rest, ", scope=\"read\"");
    let path = url.split_once("://").unwrap().1.split_once('/').unwrap().1;
    let metadata = registry.read(&format!("/{path}"));
    let resource = metadata["resource"].as_str().unwrap();
    assert!(resource.ends_with("/mcp/private"), "{metadata}");
    assert_eq!(metadata["bearer_methods_supported"], json!(["header"]));
    assert_eq!(metadata["scopes_supported"], json!(["read"]));
    let known = post("/mcp/private", ping).bearing(registry.token());
    registry.send(&known).expect(200);
    let wrong = post("/mcp/private", ping).bearing("wrong");
    assert_eq!(
        registry.send(&wrong).expect(401).json()["error"]["code"],
        -32600
    );
}
