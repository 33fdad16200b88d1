//! Requests that no regular client sends. Each gets a 4xx with a reason, never a 5xx and never no response.

use crate::support::fixtures::{Signer, add_key};
use crate::support::raw;
use crate::support::registry::Sent;
use crate::support::{ProviderFixture, Registry, Response};

const PROVIDER: &str = "/admin/v1/providers/acme/widget/1.0.0";
const MODULE: &str = "/admin/v1/modules/acme/vpc/aws/1.0.0";
const DOCUMENTATION: &str = "/admin/v1/modules/acme/vpc/aws/1.0.0/documentation";
const KEYS: &str = "/admin/v1/namespaces/acme/keys";
const LIST: &str = "/v1/providers/acme/widget/versions";
const DISCOVERY: &str = "/.well-known/terraform.json";

/// Asserts a 4xx, with a reason unless the response comes from a server in front of the registry.
#[track_caller]
fn assert_refused(what: &str, response: &Response) {
    assert!(
        (400..500).contains(&response.status),
        "{what}: {} {}",
        response.status,
        response.text()
    );
    let content_type = response.header("content-type").unwrap_or_default();
    if content_type == "application/json" {
        assert!(!response.errors().is_empty(), "{what}");
    }
    if response.header("cache-control").is_some() {
        assert_eq!(response.header("cache-control"), Some("no-store"), "{what}");
    }
}

/// Sends each row, one hostile request.
fn refuse_all(rows: impl Iterator<Item = (String, Sent)>) {
    let registry = Registry::start();
    for (what, sent) in rows {
        assert_refused(&what, &registry.send(&sent));
    }
    registry.get(DISCOVERY).expect(200);
}

#[test]
fn odd_methods_are_refused() {
    let methods = [
        "POST", "PATCH", "OPTIONS", "PROPFIND", "MKCOL", "PURGE", "LOCK", "REPORT",
    ];
    let paths = [DISCOVERY, LIST, PROVIDER, MODULE, DOCUMENTATION, KEYS, "/"];
    let rows = methods.iter().flat_map(|method| {
        paths
            .iter()
            .map(move |path| (format!("{method} {path}"), Sent::new(method, path)))
    });
    refuse_all(rows);
}

#[test]
fn odd_paths_are_refused() {
    let long = format!("/{}", "a".repeat(8_000));
    let deep = "/a".repeat(2_000);
    let long_name = format!("/v1/providers/{}/widget/versions", "a".repeat(64));
    let long_version = format!(
        "/v1/providers/acme/widget/1.0.0-{}/download/linux/amd64",
        "a".repeat(200)
    );
    let paths = [
        "//",
        "/api/v1/namespaces/%61cme",
        "/api/v1/providers/acme/widget/1.0.0/docs/resources/..%2f",
        "/api/v1/mirror/a.b:443/acme/widget",
        "/v1/providers//widget/versions",
        "/v1/providers/acme/widget%2fversions",
        "/v1/providers/acme%00/widget/versions",
        "/v1/providers/%ff%fe/widget/versions",
        "/v1/providers/%c0%ae%c0%ae/widget/versions",
        "/v1/providers/acme/wid%67et/versions",
        "/v1/providers/acme/widget/1.0.0/download//amd64",
        "/v1/providers/acme/widget/1.0.0/download/linux/../amd64",
        "/v1/providers/acme/widget/%2e%2e%2f/download/linux/amd64",
        "/v1/providers/acme/widget/1.0.0%0d%0aX:1/download/linux/amd64",
        "/archives/0/0/0.zip",
        "/archives/../releases/providers",
        "/archives/1800000000/%00/x.zip",
        "/releases/providers/hosted/acme/widget/1.0.0",
        "/keys/acme",
        "/.env",
        "/%",
        "/%zz",
        "/%00",
        long.as_str(),
        deep.as_str(),
        long_name.as_str(),
        long_version.as_str(),
    ];
    let shown = |path: &str| path.chars().take(100).collect();
    refuse_all(
        paths
            .iter()
            .map(|path| (shown(path), Sent::new("GET", path))),
    );
}

#[test]
fn odd_parameters_of_lists_are_refused() {
    let registry = Registry::start();
    let long = format!("/api/v1/search?q={}", "a".repeat(201));
    let many = format!("/api/v1/search?q={}", "a+".repeat(11));
    for path in [
        "/api/v1/search",
        "/api/v1/search?q=",
        "/api/v1/search?q=+-_/",
        "/api/v1/search?q=%ff",
        "/api/v1/search?q=a&q=b",
        "/api/v1/search?q=a&kind=package",
        "/api/v1/search?q=a&kind=guide",
        "/api/v1/search?q=a&namespace=a.b",
        "/api/v1/search?q=a&namespace=../b",
        "/api/v1/search?q=a&limit=0",
        "/api/v1/search?q=a&limit=101",
        "/api/v1/search?q=a&limit=-1",
        "/api/v1/search?q=a&after=1",
        long.as_str(),
        many.as_str(),
        "/api/v1/namespaces?limit=many",
        "/api/v1/namespaces/acme?kind=resource",
        "/v1/modules?limit=1000",
        "/v1/modules?offset=10001",
        "/v1/modules?verified=maybe",
        "/v1/modules/search",
        "/v1/providers?offset=x",
    ] {
        registry.get(path).refuses(400, "");
    }
}

/// Returns bodies that are invalid for every route that takes JSON.
fn odd_bodies() -> Vec<(String, Vec<u8>)> {
    let deep = "[".repeat(100_000);
    let deep_object = "{\"a\":".repeat(50_000);
    let many_keys = format!(
        "{{{}}}",
        (0..20_000)
            .map(|n| format!("\"k{n}\":1"))
            .collect::<Vec<_>>()
            .join(",")
    );
    let texts: [&[u8]; 14] = [
        b"",
        b"{",
        b"[]",
        b"null",
        b"{} {}",
        b"\xff\xfe",
        b"{\"a\":\"\xff\"}",
        b"\0\0\0\0",
        b"\xef\xbb\xbf{}",
        b"{\"archive\":{\"size\":1e400}}",
        b"PK\x03\x04",
        deep.as_bytes(),
        deep_object.as_bytes(),
        many_keys.as_bytes(),
    ];
    let shown = |text: &[u8]| String::from_utf8_lossy(text).chars().take(40).collect();
    let texts = texts.into_iter();
    texts.map(|text| (shown(text), text.to_vec())).collect()
}

#[test]
fn odd_json_is_refused() {
    let registry = Registry::start();
    for path in [PROVIDER, MODULE, DOCUMENTATION] {
        for (what, body) in odd_bodies() {
            let response = registry.admin("PUT", path, Some(&body));
            assert_refused(&format!("{path} {what}"), &response);
        }
    }
}

#[test]
fn a_namespace_in_upper_case_is_the_same_namespace() {
    let registry = Registry::start();
    let fixture = ProviderFixture::new("1.0.0");
    add_key(
        &registry,
        &fixture.namespace.to_uppercase(),
        Signer::usual(),
    );
    fixture.upload(&registry);
    let path = fixture
        .admin_path()
        .replace("widget", "Widget")
        .replace(&fixture.namespace, &fixture.namespace.to_uppercase());
    registry.put(&path, &fixture.description()).expect(201);
}

#[test]
fn odd_headers_do_not_fail_a_request() {
    let registry = Registry::start();
    let long = "x".repeat(7_000);
    let tags = "\"a\",".repeat(1_500);
    for (name, value) in [
        ("authorization", "\u{e9}\u{e9}"),
        ("authorization", "Bearer \u{e9}"),
        ("if-none-match", "\u{e9}"),
        ("if-none-match", ","),
        ("if-none-match", long.as_str()),
        ("if-none-match", tags.as_str()),
        ("accept", "\u{e9}"),
        ("range", "bytes=5-1"),
        ("content-type", "\u{e9}"),
        ("cookie", long.as_str()),
        ("user-agent", "Terraform/1.11.4 (caf\u{e9})"),
    ] {
        let response = registry.send(&Sent::new("GET", DISCOVERY).header(name, value));
        assert_eq!(response.status, 200, "{name}: {value:.40}");
        let response = registry.send(&Sent::new("GET", KEYS).header(name, value));
        assert_refused(&format!("{name}: {value:.40}"), &response);
        let response = registry.send(&Sent::new("GET", LIST).header(name, value));
        assert_refused(&format!("{name}: {value:.40}"), &response);
    }
}

/// Sends requests that only a raw socket can send. A server in front may close the connection instead.
#[test]
fn malformed_http_is_refused_or_disconnected() {
    let registry = Registry::start();
    let Some(server) = registry.server() else {
        return; // There is no wire in memory.
    };
    let token = registry.token().to_owned();
    let host = format!("host: {}\r\nconnection: close\r\n", server.authority);
    let admin = format!("{host}authorization: Bearer {token}\r\n");
    let huge_path = format!("GET /{} HTTP/1.1\r\n{host}\r\n", "a".repeat(64 * 1024));
    let rows: Vec<(&str, Vec<u8>)> = vec![
        ("a NUL in the path", format!("GET /v1/\0 HTTP/1.1\r\n{host}\r\n").into_bytes()),
        ("bytes that are not UTF-8", [b"GET /v1/\xff\xfe HTTP/1.1\r\n".as_slice(), host.as_bytes(), b"\r\n"].concat()),
        ("a path of 64 KB", huge_path.into_bytes()),
        ("no method", format!("/v1 HTTP/1.1\r\n{host}\r\n").into_bytes()),
        ("no version", b"GET /v1\r\n\r\n".to_vec()),
        ("a length that is not a number", format!("PUT {MODULE} HTTP/1.1\r\n{admin}content-length: x\r\n\r\n").into_bytes()),
        ("a negative length", format!("PUT {MODULE} HTTP/1.1\r\n{admin}content-length: -1\r\n\r\n").into_bytes()),
        ("a huge length", format!("PUT {MODULE} HTTP/1.1\r\n{admin}content-length: 99999999999\r\n\r\n").into_bytes()),
        ("two lengths", format!("PUT {MODULE} HTTP/1.1\r\n{admin}content-length: 1\r\ncontent-length: 2\r\n\r\nx").into_bytes()),
        ("a length and chunks", format!("PUT {MODULE} HTTP/1.1\r\n{admin}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n").into_bytes()),
        ("chunks without a length", format!("PUT {MODULE} HTTP/1.1\r\n{admin}transfer-encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n").into_bytes()),
        ("a header without a colon", format!("GET {LIST} HTTP/1.1\r\n{host}nonsense\r\n\r\n").into_bytes()),
        ("a header that is not ASCII", [format!("GET {KEYS} HTTP/1.1\r\n{host}authorization: Bearer ").as_bytes(), b"\xff\xfe\r\n\r\n"].concat()),
        ("TRACE", format!("TRACE {DISCOVERY} HTTP/1.1\r\n{host}\r\n").into_bytes()),
    ];
    for (what, bytes) in rows {
        if let Some(response) = raw::exchange(server, &bytes, b"", false) {
            assert_refused(what, &response);
        }
        registry.get(DISCOVERY).expect(200);
    }
}
