//! Requests that no regular client sends. Each gets a 4xx with a reason, never a 5xx and never no response.

use serde_json::{Value, json};

use crate::support::fixtures::{Signer, add_key, sha256, tar_gz_of, upload, zip_of};
use crate::support::raw;
use crate::support::registry::{Sent, unique};
use crate::support::{ModuleFixture, ProviderFixture, Registry, Response};

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

/// Sends each row, one hostile request; `at_least` keeps the table from shrinking unnoticed.
fn refuse_all(rows: Vec<(String, Sent)>, at_least: usize) {
    let registry = Registry::start();
    assert!(rows.len() >= at_least, "{} rows", rows.len());
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
    refuse_all(rows.collect(), 45);
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
        "///",
        "/v1",
        "/v1/",
        "/v1/providers/",
        "/v1/modules/",
        "/v1/modules/search/",
        "/v1/modules/-acme",
        "/v1/modules/acme/vpc/aws/latest",
        "/api",
        "/api/",
        "/api/v1",
        "/api/v2/search",
        "/api/v1/search/",
        "/api/v1/search/x",
        "/api/v1/token/",
        "/api/v1/token/x",
        "/api/v1/tokens",
        "/api/v1/namespaces/",
        "/api/v1/namespaces/a.b",
        "/api/v1/namespaces/a/b",
        "/api/v1/namespaces/a.b/c/d",
        "/api/v1/namespaces/%61cme",
        "/api/v1/providers/acme",
        "/api/v1/providers/acme/widget/",
        "/api/v1/providers/acme/widget/newest",
        "/api/v1/providers/acme/widget/1.0.0/doc",
        "/api/v1/providers/acme/widget/1.0.0/docs/",
        "/api/v1/providers/acme/widget/1.0.0/docs/index",
        "/api/v1/providers/acme/widget/1.0.0/docs/resources/..%2f",
        "/api/v1/providers/acme/widget/1.0.0/docs/resources/.hidden",
        "/api/v1/modules/acme/vpc/aws/1.0.0/docs/examples/a/b/c",
        "/api/v1/modules/acme/vpc/aws/1.0.0/docs/resources/a",
        "/api/v1/mirror/registry/acme/widget",
        "/api/v1/mirror/a.b:443/acme/widget",
        "/v1/providers//widget/versions",
        "/v1/providers/acme//versions",
        "/v1/providers/acme/widget",
        "/v1/providers/acme/widget/",
        "/v1/providers/acme/widget/versions/",
        "/v1/providers/acme/widget/versions/x",
        "/v1/providers/acme/widget%2fversions",
        "/v1/providers/acme%00/widget/versions",
        "/v1/providers/%ff%fe/widget/versions",
        "/v1/providers/%c0%ae%c0%ae/widget/versions",
        "/v1/providers/acme/wid%67et/versions",
        "/v1/providers/acme/widget/1.0.0/download/linux",
        "/v1/providers/acme/widget/1.0.0/download/linux/amd64/",
        "/v1/providers/acme/widget/1.0.0/download//amd64",
        "/v1/providers/acme/widget/1.0.0/download/LINUX/amd64",
        "/v1/providers/acme/widget/1.0.0/download/linux/../amd64",
        "/v1/providers/acme/widget/%2e%2e%2f/download/linux/amd64",
        "/v1/providers/acme/widget/latest/download/linux/amd64",
        "/v1/providers/acme/widget/1.0.0%0d%0aX:1/download/linux/amd64",
        "/v1/providers/acme/terraform-provider-x/versions",
        "/v1/modules/acme/vpc/aws",
        "/v1/modules/acme/vpc/AWS/versions",
        "/v1/modules/acme/vpc/a-b/versions",
        "/v1/modules/acme/vpc/aws/1.0.0/downloads",
        "/v1/modules/acme/v/versions",
        "/v1/modules/-acme/vpc/aws/versions",
        "/v1/modules/acme/vpc/aws/1.0.0/download/x",
        "/archives",
        "/archives/",
        "/archives/x",
        "/archives/1/2/3",
        "/archives/0/0/0.zip",
        "/archives/../releases/providers",
        "/archives/1800000000/%00/x.zip",
        "/releases/providers/hosted/acme/widget/1.0.0",
        "/changes/providers/hosted/acme/widget",
        "/keys/acme",
        "/.well-known/",
        "/.well-known/terraform.json/",
        "/.well-known/TERRAFORM.JSON",
        "/.env",
        "/.git/config",
        "/index.php",
        "/wp-login.php",
        "/%",
        "/%zz",
        "/%00",
        "/admin",
        "/admin/",
        "/admin/v1",
        "/admin/v2/providers/acme/widget/1.0.0",
        "/admin/v1/keys/acme",
        "/admin/v1/providers/acme/widget/documentation",
        "/admin/v1/providers/acme/widget/1.0.0/documentation/x",
        "/admin/v1/modules/acme/vpc/aws/documentation",
        "/admin/v1/documentation/x",
        long.as_str(),
        deep.as_str(),
        long_name.as_str(),
        long_version.as_str(),
    ];
    refuse_all(
        paths
            .iter()
            .map(|path| ((*path).chars().take(100).collect(), Sent::new("GET", path)))
            .collect(),
        60,
    );
}

#[test]
fn odd_parameters_of_lists_are_refused_with_the_rule() {
    let registry = Registry::start();
    let long = format!("/api/v1/search?q={}", "a".repeat(201));
    let many = format!("/api/v1/search?q={}", "a+".repeat(11));
    for (path, rule) in [
        ("/api/v1/search", "no words"),
        ("/api/v1/search?q=", "no words"),
        ("/api/v1/search?q=+-_/", "no words"),
        ("/api/v1/search?q=%ff", "not UTF-8"),
        ("/api/v1/search?q=a&q=b", "more than once"),
        ("/api/v1/search?q=a&kind=package", "none of module"),
        ("/api/v1/search?q=a&kind=guide", "none of module"),
        (
            "/api/v1/search?q=a&namespace=a.b",
            "a hostname and a namespace",
        ),
        (
            "/api/v1/search?q=a&namespace=../b",
            "a hostname and a namespace",
        ),
        ("/api/v1/search?q=a&limit=0", "from 1 to 100"),
        ("/api/v1/search?q=a&limit=101", "from 1 to 100"),
        ("/api/v1/search?q=a&limit=-1", "from 1 to 100"),
        ("/api/v1/search?q=a&after=1", "not a cursor"),
        (&long, "at most 200"),
        (&many, "at most 10"),
        ("/api/v1/namespaces?limit=many", "from 1 to 100"),
        (
            "/api/v1/namespaces/acme?kind=resource",
            "module or provider",
        ),
        ("/v1/modules?limit=1000", "from 1 to 100"),
        ("/v1/modules?offset=10001", "from 0 to 10000"),
        ("/v1/modules?verified=maybe", "true or false"),
        ("/v1/modules/search", "no words"),
        ("/v1/providers?offset=x", "from 0 to 10000"),
    ] {
        let response = registry.get(path).expect(400);
        assert!(
            response.errors().contains(rule),
            "{path}: {}",
            response.errors()
        );
    }
}

#[test]
fn odd_admin_paths_are_refused_with_the_rule() {
    let registry = Registry::start();
    for (path, rule) in [
        (
            "/admin/v1/providers/acme/a_b/1.0.0",
            "letters, digits and dashes",
        ),
        ("/admin/v1/providers/search/widget/1.0.0", "reserved"),
        ("/admin/v1/modules/Search/vpc/aws/1.0.0", "reserved"),
        ("/admin/v1/providers/acme/-x/1.0.0", "start or end"),
        (
            "/admin/v1/providers/acme/terraform-provider-x/1.0.0",
            "terraform-provider-",
        ),
        ("/admin/v1/providers/acme/widget/v1.0.0", "leading"),
        ("/admin/v1/providers/acme/widget/1.0", "semantic version"),
        ("/admin/v1/modules/acme/vpc/AWS/1.0.0", "lower-case"),
        ("/admin/v1/modules/acme/v.pc/aws/1.0.0", "underscores"),
        ("/admin/v1/namespaces/a--b/keys", "two dashes"),
        ("/admin/v1/namespaces/acme/keys/xyz", "key"),
        (
            "/admin/v1/modules/acme/vpc/aws/1.0/documentation",
            "semantic version",
        ),
        (
            "/admin/v1/providers/acme/-x/1.0.0/documentation",
            "start or end",
        ),
        (
            "/admin/v1/mirror/nodot/acme/widget/1.0.0/documentation",
            "nodot",
        ),
    ] {
        let response = registry.admin("PUT", path, Some(b"{}")).expect(400);
        assert!(
            response.errors().contains(rule),
            "{path}: {}",
            response.text()
        );
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
    let texts: Vec<Vec<u8>> = vec![
        b"".to_vec(),
        b" ".to_vec(),
        b"{".to_vec(),
        b"}".to_vec(),
        b"[]".to_vec(),
        b"null".to_vec(),
        b"1".to_vec(),
        b"\"x\"".to_vec(),
        b"true".to_vec(),
        b"{}".to_vec(),
        b"{} {}".to_vec(),
        b"\xff\xfe".to_vec(),
        b"{\"a\":\"\xff\"}".to_vec(),
        b"\0\0\0\0".to_vec(),
        b"\xef\xbb\xbf{}".to_vec(),
        b"{\"archive\":null,\"packages\":null}".to_vec(),
        b"{\"archive\":[],\"packages\":{}}".to_vec(),
        b"{\"archive\":{\"size\":1e400}}".to_vec(),
        b"{\"archive\":{\"format\":1,\"sha256\":2,\"size\":\"3\"}}".to_vec(),
        b"NaN".to_vec(),
        b"<xml/>".to_vec(),
        b"a=b&c=d".to_vec(),
        b"PK\x03\x04".to_vec(),
        deep.into_bytes(),
        deep_object.into_bytes(),
        many_keys.into_bytes(),
    ];
    let shown = |text: &[u8]| String::from_utf8_lossy(text).chars().take(40).collect();
    texts.into_iter().map(|text| (shown(&text), text)).collect()
}

#[test]
fn odd_json_is_refused() {
    let registry = Registry::start();
    let mut count = 0;
    for path in [PROVIDER, MODULE, DOCUMENTATION] {
        for (what, body) in odd_bodies() {
            assert_refused(
                &format!("{path} {what}"),
                &registry.admin("PUT", path, Some(&body)),
            );
            count += 1;
        }
    }
    assert!(count >= 75);
}

/// Replaces one field of a valid description by an unusual value.
#[test]
fn odd_fields_are_refused() {
    let registry = Registry::start();
    let fixture = ProviderFixture::new("1.0.0");
    fixture.add_key(&registry);
    let odd: [Value; 9] = [
        json!(null),
        json!(-1),
        json!(1.5),
        json!(18_446_744_073_709_551_615u64),
        json!({}),
        json!([[]]),
        json!("\u{0}"),
        json!("a".repeat(70_000)),
        json!("../../etc/passwd"),
    ];
    let mut count = 0;
    for value in odd {
        for field in ["protocols", "shasums", "signature", "packages"] {
            let mut description = fixture.description();
            description[field] = value.clone();
            let response = registry.admin(
                "PUT",
                &fixture.admin_path(),
                Some(description.to_string().as_bytes()),
            );
            assert_refused(&format!("{field} {value:.60}"), &response);
            count += 1;
        }
        for field in ["os", "arch", "filename", "sha256", "size", "h1"] {
            if field == "h1" && value.is_null() {
                continue;
            }
            let mut description = fixture.description();
            description["packages"][0][field] = value.clone();
            let response = registry.admin(
                "PUT",
                &fixture.admin_path(),
                Some(description.to_string().as_bytes()),
            );
            assert_refused(&format!("packages.{field} {value:.60}"), &response);
            count += 1;
        }
    }
    assert!(count >= 85);
    registry
        .get(&format!("{}/versions", fixture.path()))
        .expect(404);
}

#[test]
fn too_many_packages_or_protocols_are_refused() {
    let registry = Registry::start();
    let fixture = ProviderFixture::new("1.0.0");
    let mut description = fixture.description();
    description["packages"] = (0..65)
        .map(|_| description["packages"][0].clone())
        .collect::<Vec<_>>()
        .into();
    let refused = |description: &Value| {
        let body = description.to_string();
        let response = registry.admin("PUT", &fixture.admin_path(), Some(body.as_bytes()));
        response.expect(422).errors()
    };
    assert!(refused(&description).contains("64"));
    let mut description = fixture.description();
    description["protocols"] = (0..100)
        .map(|n| format!("5.{n}"))
        .collect::<Vec<_>>()
        .into();
    assert!(refused(&description).contains("protocols"));
}

#[test]
fn odd_signatures_are_refused() {
    let registry = Registry::start();
    let fixture = ProviderFixture::new("1.0.0");
    fixture.add_key(&registry);
    let good = &fixture.signature;
    let flipped: Vec<u8> = good
        .iter()
        .enumerate()
        .map(|(at, byte)| {
            if at == good.len() - 5 {
                byte ^ 1
            } else {
                *byte
            }
        })
        .collect();
    for (what, signature) in [
        ("empty", Vec::new()),
        ("one byte", vec![0x88]),
        ("cut", good[..good.len() / 2].to_vec()),
        ("flipped", flipped),
        (
            "twice, once truncated",
            [good.as_slice(), &good[..10]].concat(),
        ),
        ("zeros", vec![0; 100]),
        ("a huge length", vec![0x88, 0xff, 0xff, 0xff, 0xff, 0xff]),
        ("a public key", Signer::usual().public_armor().into_bytes()),
        ("a zip", zip_of(&[("a", b"b")])),
    ] {
        let mut odd = fixture.clone();
        odd.signature = signature;
        assert_refused(what, &odd.put(&registry));
    }
}

#[test]
fn odd_keys_are_refused() {
    let registry = Registry::start();
    let path = format!("/admin/v1/namespaces/{}/keys", unique("h"));
    let good = Signer::usual().public_armor();
    let cut: String = good.chars().take(good.len() / 2).collect();
    let garbled: String = good
        .chars()
        .map(|c| if c == 'a' { 'b' } else { c })
        .collect();
    let private = good.replace("PUBLIC", "PRIVATE");
    for (what, body) in [
        ("cut", cut),
        ("garbled", garbled),
        ("labelled private", private),
        ("huge", "x".repeat(200_000)),
        (
            "only a header",
            "-----BEGIN PGP PUBLIC KEY BLOCK-----".to_owned(),
        ),
        ("html", "<html>".to_owned()),
    ] {
        assert_refused(what, &registry.admin("PUT", &path, Some(body.as_bytes())));
    }
}

/// Uploads an archive as a module and expects its publish to be refused.
fn refuse_module(registry: &Registry, what: &str, fixture: &ModuleFixture) {
    let answer = fixture.put(registry);
    if answer.status == 202 {
        upload(registry, &answer, &[&fixture.archive]);
        assert_refused(what, &fixture.put(registry));
    } else {
        assert_refused(what, &answer);
    }
}

#[test]
fn odd_archives_are_refused() {
    let registry = Registry::start();
    let main: (&str, &[u8]) = ("main.tf", b"# hostile");
    let good = zip_of(&[main]);
    let zip = |archive| ModuleFixture::new("1.0.0").with_zip(archive);
    let tar = |archive| ModuleFixture::new("1.0.0").with_tar_gz(archive);
    let mut count_lies = good.clone();
    let end = count_lies.len() - 22;
    count_lies[end + 10] = 0xff;
    let mut offset_lies = good.clone();
    offset_lies[end + 16] = 0xff;
    offset_lies[end + 19] = 0x7f;
    let mut size_lies = good.clone();
    size_lies[end + 12] = 0xff;
    let prepended = [b"MZ prepended".as_slice(), &good].concat();
    let mut gz_flipped = tar_gz_of(&[main]);
    let middle = gz_flipped.len() - 6;
    gz_flipped[middle] ^= 0xff;
    for (what, fixture) in [
        ("one byte", zip(vec![b'P'])),
        (
            "only an end record",
            zip(b"PK\x05\x06\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec()),
        ),
        ("count lies", zip(count_lies)),
        ("offset lies", zip(offset_lies)),
        ("size lies", zip(size_lies)),
        ("prepended", zip(prepended)),
        ("zeros", zip(vec![0; 4_096])),
        ("end marks only", zip(b"PK\x05\x06".repeat(1_000))),
        ("a backslash path", zip(zip_of(&[main, ("..\\evil", b"x")]))),
        ("a drive path", zip(zip_of(&[main, ("C:/evil", b"x")]))),
        (
            "a name of dots",
            zip(zip_of(&[main, ("a/../../evil", b"x")])),
        ),
        (
            "a control character",
            zip(zip_of(&[main, ("a\u{1b}[31m", b"x")])),
        ),
        (
            "gz of zeros",
            tar(vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0, 0]),
        ),
        ("gz checksum", tar(gz_flipped)),
        (
            "gz of text",
            tar({
                use std::io::Write as _;
                let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
                gz.write_all(&b"this is no tar ".repeat(1_000)).unwrap();
                gz.finish().unwrap()
            }),
        ),
        ("empty tar", tar(tar_gz_of(&[]))),
    ] {
        refuse_module(&registry, what, &fixture);
    }
}

#[test]
fn a_digest_in_upper_case_is_the_same_digest() {
    let registry = Registry::start();
    let fixture = ModuleFixture::new("1.0.0");
    fixture.publish(&registry);
    let mut description = fixture.description();
    description["archive"]["sha256"] = sha256(&fixture.archive).to_uppercase().into();
    registry
        .admin(
            "PUT",
            &fixture.admin_path(),
            Some(description.to_string().as_bytes()),
        )
        .expect(200);
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
    registry
        .admin(
            "PUT",
            &path,
            Some(fixture.description().to_string().as_bytes()),
        )
        .expect(201);
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
