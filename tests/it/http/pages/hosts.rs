//! Requests that name another host than the one of the registry.
//!
//! A platform in front of the registry passes only requests for the registry's hostnames; a program in front of it may
//! pass the header `Host` of a request unchanged.

use crate::support::registry::{Response, Sent};
use crate::support::{ModuleFixture, Registry};

const EVIL: &str = "evil.example";

/// Headers by which some servers let a request name another host or URL.
const OVERRIDES: [(&str, &str); 6] = [
    ("x-forwarded-host", EVIL),
    ("x-forwarded-proto", "evil.example://"),
    ("x-forwarded-prefix", "//evil.example"),
    ("x-original-url", "https://evil.example/"),
    ("x-rewrite-url", "//evil.example/"),
    ("forwarded", "host=evil.example;proto=https"),
];

/// Returns the paths of a page of each kind, of which those of a published module come first.
fn paths(module: &ModuleFixture) -> Vec<String> {
    let package = format!("/modules/{}", module.address);
    let mut paths = vec![
        package.clone(),
        format!("{package}/1.0.0"),
        format!("{package}/versions"),
        format!("{package}/feed.atom"),
        format!("/badges{package}/version.svg"),
    ];
    let shared = [
        "/",
        "/browse/modules",
        "/search?q=x",
        "/robots.txt",
        "/sitemap.xml",
        "/opensearch.xml",
        "/feed.atom",
        "/sign-in",
        "/nothing/here",
        "/modules/ACME!/x/y",
        "/module/acme/vpc/aws",
        "/.well-known/terraform.json",
    ];
    paths.extend(shared.map(str::to_owned));
    paths
}

#[track_caller]
fn assert_names_no_other_host(what: &str, response: &Response) {
    assert!(!response.text().contains(EVIL), "{what}");
    for (name, value) in &response.headers {
        assert!(!value.contains(EVIL), "{what}: {name}: {value}");
    }
}

fn get(path: &str) -> Sent {
    Sent::new("GET", path).header("accept", "text/html")
}

/// Returns the parts of a response that its request decides.
fn parts(response: &Response) -> (u16, Option<&str>, Option<&str>, &[u8]) {
    let header = |name| response.header(name);
    (
        response.status,
        header("etag"),
        header("location"),
        &response.body,
    )
}

#[test]
fn a_header_that_names_another_host_changes_no_answer() {
    let (registry, module) = (Registry::start(), ModuleFixture::new("1.0.0"));
    module.publish(&registry);
    for (at, path) in paths(&module).iter().enumerate() {
        let plain = registry.send(&get(path));
        for (name, value) in OVERRIDES {
            let response = registry.send(&get(path).header(name, value));
            assert_names_no_other_host(&format!("{path} {name}"), &response);
            // Other tests may publish meanwhile, and change the lists of a registry that they share.
            if at < 5 {
                assert_eq!(parts(&response), parts(&plain), "{path} {name}");
            }
        }
    }
}

#[test]
fn a_target_with_another_host_is_refused_or_counts_as_its_path() {
    let registry = Registry::start();
    let Some(server) = registry.server() else {
        return; // There is no wire in memory.
    };
    let host = format!("host: {}\r\nconnection: close\r\n\r\n", server.authority);
    for target in [
        "http://evil.example/",
        "https://evil.example/robots.txt",
        "http://a:b@evil.example/",
    ] {
        let head = format!("GET {target} HTTP/1.1\r\n{host}");
        let response = crate::support::raw::exchange(server, head.as_bytes(), b"", false);
        if let Some(response) = response {
            assert_names_no_other_host(target, &response);
        }
    }
}

/// A cache in front of the registry may know pages by their paths alone.
#[test]
fn no_answer_that_is_cached_without_revalidation_depends_on_the_host() {
    let (registry, module) = (Registry::start(), ModuleFixture::new("1.0.0"));
    module.publish(&registry);
    let (mut cached, mut revalidated) = (0, 0);
    for path in paths(&module) {
        let (own, other) = (
            registry.send(&get(&path)),
            registry.send(&get(&path).header("host", EVIL)),
        );
        match other.header("cache-control").unwrap_or_default() {
            "no-store" => {}
            "no-cache" if other.text().contains(EVIL) => {
                assert_ne!(other.header("etag"), own.header("etag"), "{path}");
                revalidated += 1;
            }
            "no-cache" => {}
            _ => {
                assert_names_no_other_host(&path, &other);
                assert_eq!(parts(&other), parts(&own), "{path}");
                cached += 1;
            }
        }
    }
    assert!(cached >= 2 && revalidated >= 5, "{cached} {revalidated}");
}

/// Servers in front of the registry refuse most of these.
#[test]
fn a_host_that_is_no_hostname_is_refused_or_escaped() {
    let (registry, module) = (Registry::start(), ModuleFixture::new("1.0.0"));
    module.publish(&registry);
    let hosts = [
        "\"><script>alert(1)</script>",
        "'><img src=x onerror=alert(1)>",
        "a.example]]><script>alert(1)</script>",
        "a.example\" onload=alert(1) x=\"",
        "a.example\u{202e}",
        "a.example:99999",
        "user@a.example",
        "a.example/path?query#fragment",
        "",
    ];
    for host in hosts {
        for path in paths(&module) {
            let what = format!("{host} {path}");
            let response = registry.send(&get(&path).header("host", host));
            // A server in front of the registry sends no such header.
            let is_own = response.header("x-content-type-options").is_some();
            assert!(
                !is_own || response.status < 500,
                "{what}: {}",
                response.status
            );
            let text = response.text();
            let is_markup = response
                .header("content-type")
                .is_some_and(|it| it.starts_with("text/html") || it.contains("xml"));
            if is_own && is_markup {
                for tag in ["<script>", "<img src=x", "\" onload="] {
                    assert!(!text.contains(tag), "{what}: {text}");
                }
            }
        }
    }
}
