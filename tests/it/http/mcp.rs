//! The Model Context Protocol over HTTP: messages, revisions and errors.

use serde_json::{Value, json};

use crate::support::ModuleFixture;
use crate::support::Registry;
use crate::support::documentation::{Documentation, path_of};
use crate::support::mcp::{TOOLS, call, older, post, request, tool, tool_error};
use crate::support::registry::{Sent, unique};

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
    let listed = registry.send(&request("tools/list", json!({}))).expect(200);
    let tools = listed.json()["result"]["tools"].clone();
    let names: Vec<_> = tools
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["name"].clone())
        .collect();
    assert_eq!(names, TOOLS);
    let again = registry.send(&request("tools/list", json!({})));
    assert_eq!(again.text(), listed.text());
}

#[test]
fn an_older_client_initializes_without_a_session() {
    let registry = Registry::start();
    let revision = "2025-11-25";
    let params = json!({
        "protocolVersion": revision,
        "capabilities": {},
        "clientInfo": { "name": "test", "version": "1" },
    });
    let answer = registry
        .send(&older(None, "initialize", &params))
        .expect(200);
    assert_eq!(answer.header("mcp-session-id"), None);
    let result = answer.json()["result"].clone();
    assert_eq!(result["protocolVersion"], revision);
    assert_eq!(result["serverInfo"]["name"], "terrace");
    assert!(result.get("resultType").is_none());
    let body = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    let accepted = registry.send(&post("/mcp", body)).expect(202);
    assert_eq!(accepted.text(), "");
    for header in [None, Some(revision)] {
        let pong = registry
            .send(&older(header, "ping", &json!({})))
            .expect(200);
        assert_eq!(pong.json()["result"], json!({}));
        // A session of another server is ignored.
        let listed = older(header, "tools/list", &json!({})).header("mcp-session-id", "x");
        let listed = registry.send(&listed).expect(200).json();
        assert_eq!(
            listed["result"]["tools"].as_array().unwrap().len(),
            TOOLS.len()
        );
    }
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
    let huge = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{}"}}"#,
        "x".repeat(70_000)
    );
    for (sent, status, code) in [
        (
            post("/mcp", ping).header("origin", "https://stranger.example"),
            403,
            -32600,
        ),
        (post("/mcp", ping).header("origin", "null"), 403, -32600),
        (Sent::new("POST", "/mcp").body(ping), 415, -32600),
        (post("/mcp", huge.clone()), 413, -32600),
        (post("/mcp", ""), 400, -32700),
        (post("/mcp", "{"), 400, -32700),
        (post("/mcp", [0xff, 0xfe, 0x00]), 400, -32700),
        (post("/mcp", format!("[{ping}]")), 400, -32600),
        (
            post("/mcp", r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
            400,
            -32600,
        ),
        (older(Some("1999-01-01"), "ping", &json!({})), 400, -32022),
        (
            older(Some("2026-07-28"), "tools/list", &json!({})),
            400,
            -32020,
        ),
        (
            request("tools/list", json!({})).header("mcp-method", "ping"),
            400,
            -32020,
        ),
        (request("prompts/list", json!({})), 404, -32601),
        (request("ping", json!({})), 404, -32601),
        (older(None, "prompts/list", &json!({})), 200, -32601),
        (
            request("tools/call", json!({ "name": "publish" })),
            200,
            -32602,
        ),
        (
            request("resources/read", json!({ "uri": "file:///etc/passwd" })),
            200,
            -32602,
        ),
        (
            older(None, "resources/read", &json!({ "uri": "x" })),
            200,
            -32002,
        ),
    ] {
        let mut sent = sent;
        // The last value of a header replaces the others.
        let last = sent.headers.pop();
        if let Some((name, value)) = last {
            sent.headers.retain(|(known, _)| *known != name);
            sent.headers.push((name, value));
        }
        let what = format!(
            "{:?} {:?}",
            sent.headers,
            sent.body.as_ref().map(|it| it.len())
        );
        let response = registry.send(&sent);
        assert_eq!(response.status, status, "{what}: {}", response.text());
        let message = response.json();
        assert_eq!(message["error"]["code"], code, "{what}: {message}");
        assert!(message["error"]["message"].as_str().unwrap().len() > 10);
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
fn a_page_of_this_registry_may_send_requests() {
    let registry = Registry::start();
    let sent = request("tools/list", json!({})).header("origin", &registry.origin());
    registry.send(&sent).expect(200);
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
    let metadata = registry.get(&format!("/{path}")).expect(200).json();
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

#[test]
fn a_published_module_is_described_with_the_code_that_calls_it() {
    let registry = Registry::start();
    let namespace = unique("mcp");
    let module = ModuleFixture::of(&namespace, "1.2.0");
    module.publish(&registry);
    let address = format!("{namespace}/vpc/aws");
    let head = json!({ "schema": 1, "contents": { "module": { "root": {
        "readme": "# A network\n",
        "inputs": [
            { "name": "cidr", "type": "string", "description": "The range." },
            { "name": "tags", "type": "map(string)", "default": "{}" },
        ],
        "outputs": [{ "name": "id" }],
    } } } });
    Documentation::of_head(&head)
        .add(&registry, &path_of("modules", &address, "1.2.0"))
        .expect(201);
    let answer = call(&registry, "get_module", &json!({ "address": address }));
    let snippet = answer["snippet"].as_str().unwrap();
    let origin = registry.origin();
    let (_, host) = origin.split_once("://").unwrap();
    let source = format!("{host}/{address}");
    assert_eq!(answer["source"], source.as_str());
    assert!(
        snippet.contains(&format!("source  = \"{source}\"")),
        "{snippet}"
    );
    assert!(snippet.contains("version = \"~> 1.2\""), "{snippet}");
    assert!(snippet.contains("cidr = \"\" # string"), "{snippet}");
    assert_eq!(answer["inputs"][0]["name"], "cidr");
    assert_eq!(answer["inputs"][0]["is_required"], true);
    assert_eq!(answer["documents"], json!([{ "document": "readme" }]));
    let read = call(&registry, "get_docs", &json!({ "address": source }));
    assert_eq!(read["text"], "# A network\n");
    let uri = format!("terrace:///modules/{address}/latest/docs/readme");
    let resource = registry
        .send(&request("resources/read", json!({ "uri": uri })))
        .json();
    let contents = &resource["result"]["contents"][0];
    assert_eq!(contents["text"], "# A network\n");
    assert_eq!(contents["uri"], uri.as_str());
    assert_eq!(contents["mimeType"], "text/markdown");
    let versions = call(&registry, "list_versions", &json!({ "address": address }));
    assert_eq!(versions["latest"], "1.2.0");
    assert_eq!(versions["versions"][0]["is_documented"], true);
}

#[test]
fn an_assistant_reads_why_a_call_fails() {
    let registry = Registry::start();
    for (name, arguments, message) in [
        ("search", json!({}), "the argument query is missing"),
        (
            "get_module",
            json!({ "address": "acme/none-such/aws" }),
            "this registry has no module acme/none-such/aws",
        ),
        (
            "get_module",
            json!({ "address": "acme/vpc/aws", "version": ">= 1" }),
            "constraints are not resolved",
        ),
        (
            "get_docs",
            json!({ "address": "acme/none-such", "version": "1.0.0" }),
            "this registry has no version 1.0.0 of provider acme/none-such",
        ),
        (
            "list_versions",
            json!({ "address": "a b" }),
            "the address of a package",
        ),
    ] {
        let error = tool_error(&registry.send(&tool(name, &arguments)));
        assert!(error.contains(message), "{name} {arguments}: {error}");
    }
}

/// The number of malformed requests: in memory, and over a network, where each of them takes some milliseconds.
const MALFORMED: [u64; 2] = [10_000, 500];

#[test]
fn no_malformed_request_makes_the_registry_fail() {
    let registry = Registry::start();
    let [in_memory, over_network] = MALFORMED;
    let requests = match registry.server() {
        Some(_) => over_network,
        None => in_memory,
    };
    let pieces = [
        "{",
        "}",
        "[",
        "]",
        ":",
        ",",
        "\"jsonrpc\":\"2.0\"",
        "\"id\":1",
        "\"id\":null",
        "\"method\":\"tools/call\"",
        "\"method\":\"resources/read\"",
        "\"params\":{\"name\":\"get_docs\",\"arguments\":{\"address\":\"acme/vpc/aws\",\"offset\":-1}}",
        "\"params\":{\"uri\":\"terrace:///modules/a/b/c/latest/docs/readme?offset=99999999999\"}",
        "\"\\ud800\"",
        "\u{0}",
        "é",
        "1e999",
        "null",
    ];
    let headers = [
        None,
        Some("2026-07-28"),
        Some("2025-11-25"),
        Some("1999-01-01"),
        Some("é"),
        Some(""),
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |bound: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % bound
    };
    let mut refused = 0;
    for at in 0..requests {
        let count = next(12);
        let mut body: String = (0..count).map(|_| pieces[next(pieces.len())]).collect();
        // A third of the bodies are whole messages.
        if at % 3 == 0 {
            body = format!(
                "{{\"jsonrpc\":\"2.0\",\"id\":1,{},{}}}",
                pieces[9 + next(2)],
                pieces[11 + next(2)]
            );
        }
        let mut sent = post("/mcp", body.clone());
        if let Some(header) = headers[next(headers.len())].filter(|it| it.is_ascii()) {
            sent = sent.header("mcp-protocol-version", header);
        }
        let response = registry.send(&sent);
        assert!(
            response.status < 500,
            "{} {body}: {}",
            response.status,
            response.text()
        );
        let message: Value = response.json();
        let is_error = message.get("error").is_some() || message["result"]["isError"] == true;
        assert!(is_error || response.status == 200, "{body}: {message}");
        refused += u64::from(is_error);
    }
    assert!(refused > requests / 2, "{refused}");
}
