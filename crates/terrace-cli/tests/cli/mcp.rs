//! `terrace mcp`.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value, json};

use super::support::http::Response;
use super::support::registry::{Fault, Registry};
use super::support::{TOKEN, assert_has, assert_lacks, terrace};

/// Answers the next message with this text.
fn answer(registry: &Registry, status: u16, text: impl Into<Vec<u8>>) {
    let response = Response::new(status, text);
    registry.fail("POST", "/mcp", Fault::Answer(response));
}

/// Sends lines to the program until it ends, and returns its lines.
fn exchange(registry: &Registry, lines: &[String]) -> Vec<Value> {
    let mut command = terrace(&["mcp", "--retries", "0"]);
    command
        .env("TERRACE_URL", registry.url())
        .env("TERRACE_TOKEN", TOKEN);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(lines.join("\n").as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{stderr}");
    assert_lacks!(stdout, TOKEN);
    assert_lacks!(stderr, TOKEN);
    stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn message(id: u32, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

#[test]
fn a_message_is_passed_on_with_the_token_and_the_headers_that_repeat_it() {
    let registry = Registry::start();
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
    let params = json!({ "name": "sé", "_meta": meta });
    let expected = json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
    for (header, value) in [
        ("authorization", &*format!("Bearer {TOKEN}")),
        ("mcp-name", "=?base64?c8Op?="),
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
    ] {
        answer(&registry, 200, expected.to_string());
        let answers = exchange(&registry, &[message(1, "tools/call", &params)]);
        assert_eq!(answers, std::slice::from_ref(&expected));
        assert_eq!(registry.headers(header), [value]);
    }
}

#[test]
fn the_revision_of_initialize_is_that_of_later_messages() {
    let registry = Registry::start();
    answer(
        &registry,
        200,
        r#"{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25"}}"#,
    );
    answer(&registry, 202, "");
    answer(&registry, 200, r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
    let lines = [
        message(1, "initialize", &json!({ "protocolVersion": "2025-11-25" })),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#
            .to_owned(),
        String::new(),
        message(2, "ping", &json!({})),
    ];
    let answers = exchange(&registry, &lines);
    assert_eq!(answers.len(), 2, "{answers:?}");
    let revisions = registry.headers("mcp-protocol-version");
    assert_eq!(revisions, ["2025-11-25", "2025-11-25"]);
}

#[test]
fn a_request_is_answered_even_if_the_registry_does_not() {
    let registry = Registry::start();
    let error = |code| format!(r#"{{"jsonrpc":"2.0","error":{{"code":{code},"message":"no"}}}}"#);
    answer(&registry, 400, error(-32022));
    answer(&registry, 401, r#"{"errors":["this token is revoked"]}"#);
    answer(&registry, 200, "<html>");
    answer(&registry, 400, error(-32700));
    let ping = |id| message(id, "ping", &json!({}));
    let lines = [ping(1), ping(2), ping(3), "{".to_owned()];
    let answers = exchange(&registry, &lines);
    let codes: Vec<_> = answers
        .iter()
        .map(|it| it["error"]["code"].clone())
        .collect();
    assert_eq!(codes, [-32022, -32603, -32603, -32700]);
    let ids: Vec<_> = answers.iter().map(|it| it["id"].clone()).collect();
    assert_eq!(ids, [json!(1), json!(2), json!(3), Value::Null]);
    let text = answers[1]["error"]["message"].as_str().unwrap();
    assert_has!(text, "this token is revoked");
    assert_has!(answers[2].to_string(), "is it a Terrace registry");
}
