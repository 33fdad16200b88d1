//! Messages of clients: the era of a request, its headers, and every error of the specification.

use serde_json::{Value, json};

use super::reply::{Answered, accepted, refused};
use super::{Incoming, McpError, McpHead, McpRequest, Operation, Revision, Tool, receive};
use crate::http::reply::{Body, Reply};
use crate::model::package::Package;

const META: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;

/// The headers of a request of the newest revision.
fn head<'a>(method: &'a str, name: Option<&'a str>) -> McpHead<'a> {
    McpHead {
        revision: Some("2026-07-28"),
        method: Some(method),
        name,
    }
}

fn legacy(revision: Option<&str>) -> McpHead<'_> {
    McpHead {
        revision,
        ..McpHead::default()
    }
}

fn request(method: &str, params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{{params}}}}}"#)
}

fn operation(head: McpHead<'_>, body: &str) -> (Revision, Operation) {
    match receive(&head, body.as_bytes()) {
        Ok(Incoming::Request(McpRequest {
            id,
            revision,
            operation,
        })) => {
            assert_eq!(id.as_json(), "7");
            (revision, operation)
        }
        other => panic!("{body}: {other:?}"),
    }
}

fn error(head: McpHead<'_>, body: &str) -> McpError {
    match receive(&head, body.as_bytes()) {
        Err(refusal) => refusal.error,
        other => panic!("{body}: {other:?}"),
    }
}

fn json_of(reply: Reply<()>) -> Value {
    match reply.body {
        Body::Text(text) => serde_json::from_str(&text).unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_request_of_the_newest_revision_states_it_in_its_metadata() {
    for (method, name, params, expected) in [
        ("server/discover", None, "", Operation::Discover),
        ("tools/list", None, "", Operation::ListTools),
        (
            "tools/call",
            Some("search"),
            r#""name":"search","arguments":{"query":"vpc"},"#,
            Operation::CallTool(Tool::Search, Some(r#"{"query":"vpc"}"#.to_owned())),
        ),
        (
            "tools/call",
            Some("=?base64?c2VhcmNo?="),
            r#""name":"search","#,
            Operation::CallTool(Tool::Search, None),
        ),
        (
            "resources/read",
            Some("terrace:///x"),
            r#""uri":"terrace:///x","#,
            Operation::ReadResource("terrace:///x".to_owned()),
        ),
        ("resources/list", None, "", Operation::ListResources(None)),
        (
            "resources/list",
            None,
            r#""cursor":"modules/acme/vpc/aws","#,
            Operation::ListResources(Package::parse_key("modules/acme/vpc/aws")),
        ),
        (
            "resources/templates/list",
            None,
            "",
            Operation::ListTemplates,
        ),
    ] {
        let body = request(method, &format!("{params}{META}"));
        let found = operation(head(method, name), &body);
        assert_eq!(found, (Revision::July2026, expected));
    }
}

#[test]
fn a_request_of_an_older_revision_needs_no_metadata() {
    for header in [None, Some("2025-11-25")] {
        for (method, expected) in [
            ("ping", Operation::Ping),
            ("tools/list", Operation::ListTools),
        ] {
            let found = operation(legacy(header), &request(method, ""));
            assert_eq!(found, (Revision::November2025, expected));
        }
    }
}

#[test]
fn initialize_is_answered_with_the_newest_revision_that_has_it() {
    let answered = (Revision::November2025, Operation::Initialize);
    for requested in ["2025-11-25", "2025-06-18", "2026-07-28", "x"] {
        let params = format!(r#""protocolVersion":"{requested}","capabilities":{{}}"#);
        for header in [None, Some("2025-11-25")] {
            let found = operation(legacy(header), &request("initialize", &params));
            assert_eq!(found, answered);
        }
    }
}

#[test]
fn a_header_that_is_missing_or_differs_from_the_body_is_refused() {
    let list = request("tools/list", META);
    let call = request("tools/call", &format!(r#""name":"search",{META}"#));
    let read = request("resources/read", &format!(r#""uri":"a",{META}"#));
    let bare = request("tools/list", "");
    for (head, body) in [
        (legacy(None), &list),
        (legacy(Some("2026-07-28")), &list),
        (legacy(Some("2025-11-25")), &list),
        (head("tools/call", None), &list),
        (head("Tools/list", None), &list),
        (head("tools/list", None), &bare),
        (head("tools/call", None), &call),
        (head("tools/call", Some("get_docs")), &call),
        (head("tools/call", Some("=?base64?%?=")), &call),
        (head("tools/call", Some("")), &call),
        (head("resources/read", Some("b")), &read),
    ] {
        let error = error(head, body);
        assert_eq!(error.codes(), (-32020, 400), "{head:?} {body}");
    }
}

#[test]
fn an_unknown_revision_is_refused_with_those_that_are_known() {
    let meta = META.replace("2026-07-28", "2027-01-01");
    let unknown = McpHead {
        revision: Some("2027-01-01"),
        ..head("tools/list", None)
    };
    let bodies = [
        request("tools/list", &meta),
        request("tools/list", ""),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
    ];
    for body in bodies {
        let Err(refusal) = receive(&unknown, body.as_bytes()) else {
            panic!("{body}");
        };
        let reply: Reply<()> = refused(&refusal);
        assert_eq!(reply.status, 400);
        let error = json_of(reply)["error"].clone();
        assert_eq!(error["code"], -32022);
        assert_eq!(error["data"]["requested"], "2027-01-01");
        let supported = ["2026-07-28", "2025-11-25"];
        assert_eq!(error["data"]["supported"], json!(supported));
    }
}

#[test]
fn a_malformed_message_is_refused_with_its_code() {
    let deep = "[".repeat(500);
    let deep = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{deep}"#);
    let long = "x".repeat(200);
    let long = format!(r#"{{"jsonrpc":"2.0","id":"{long}","method":"ping"}}"#);
    for (code, bodies) in [
        (-32700, &["", "{", "\u{0}", "{} {}", &deep][..]),
        (
            -32600,
            &[
                "[]",
                r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#,
                "5",
                "null",
                r#""ping""#,
                "{}",
                r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#,
                r#"{"jsonrpc":"2.0","id":1}"#,
                r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
                r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#,
                r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
                r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#,
                r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":5}"#,
                &long,
            ],
        ),
        (
            -32602,
            &[
                r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":5}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":[]}}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":5}}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{"cursor":"x"}}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"resources/read"}"#,
            ],
        ),
    ] {
        for body in bodies {
            let error = error(legacy(None), body);
            assert_eq!(error.codes().0, code, "{body}: {error}");
            assert!(error.codes().1 < 500);
        }
    }
}

#[test]
fn an_unknown_method_is_not_found_by_clients_that_read_errors_from_other_statuses() {
    for method in ["x", "prompts/list", "ping", "logging/setLevel"] {
        let found = error(head(method, None), &request(method, META));
        assert_eq!(found.codes(), (-32601, 404), "{method}");
    }
    for method in ["x", "prompts/list", "server/discover", "logging/setLevel"] {
        let found = error(legacy(Some("2025-11-25")), &request(method, ""));
        assert_eq!(found.codes(), (-32601, 200), "{method}");
    }
    // The capabilities of the client are missing.
    let meta = META.replace("clientCapabilities", "other");
    let found = error(head("tools/list", None), &request("tools/list", &meta));
    assert_eq!(found.codes(), (-32602, 200));
}

#[test]
fn a_notification_is_accepted_without_an_answer() {
    for body in [
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#,
        r#"{"jsonrpc":"2.0","method":"x"}"#,
    ] {
        for revision in [None, Some("2025-11-25"), Some("2026-07-28")] {
            let found = receive(&legacy(revision), body.as_bytes());
            assert_eq!(found, Ok(Incoming::Notification));
        }
    }
    let reply: Reply<()> = accepted();
    assert_eq!((reply.status, reply.body), (202, Body::Empty));
}

#[test]
fn only_results_of_the_newest_revision_have_its_members() {
    let ping = br#"{"jsonrpc":"2.0","id":"a\"b","method":"ping"}"#;
    let Ok(Incoming::Request(McpRequest { id, .. })) = receive(&legacy(None), ping) else {
        panic!();
    };
    let answer = json!({ "text": "a \"quoted\"\nline \u{1f}é" });
    for (revision, is_stateless) in [(Revision::July2026, true), (Revision::November2025, false)] {
        let to = Answered {
            id: id.clone(),
            revision,
        };
        let replies: [Reply<()>; 6] = [
            to.discovered(),
            to.pong(),
            to.tools(),
            to.templates(),
            to.tool(&answer.to_string()),
            to.tool_error("\"x\"\n"),
        ];
        for reply in replies {
            assert_eq!(reply.status, 200);
            assert_eq!(reply.header("cache-control"), Some("no-store"));
            let message = json_of(reply);
            assert_eq!(message["jsonrpc"], "2.0");
            assert_eq!(message["id"], "a\"b");
            let result = &message["result"];
            assert_eq!(
                result.get("resultType").is_some(),
                is_stateless,
                "{message}"
            );
            let server = &result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"];
            assert_eq!(server == "terrace", is_stateless);
        }
        let cached = json_of(to.tools())["result"].get("ttlMs").is_some();
        assert_eq!(cached, is_stateless);
        // The text of an answer is its structured contents.
        let result = json_of(to.tool(&answer.to_string()))["result"].clone();
        assert_eq!(result["structuredContent"], answer);
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), answer);
        assert_eq!(result["isError"], false);
    }
}
