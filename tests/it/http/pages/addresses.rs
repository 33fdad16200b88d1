//! Addresses of pages with invalid parts.

use crate::support::Registry;
use crate::support::registry::Sent;

/// The types that browsers accept.
const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

/// Addresses, each with the invalid value as a page shows it, and the rule.
const INVALID: [[&str; 3]; 5] = [
    ["/modules/ACME!/x/y", "ACME!", "letters, digits"],
    ["/modules/acme/vpc/aws/one", "one", "version"],
    ["/modules/acme/v%20pc/aws", "v%20pc", "letters, digits"],
    ["/providers/a/b/compare/1.0.0...x", "x", "version"],
    ["/mirrored/registry/a/b", "registry", "whole domain name"],
];

#[test]
fn an_address_with_an_invalid_part_shows_a_browser_the_value_and_the_rule() {
    let registry = Registry::start();
    for [path, value, rule] in INVALID {
        let response = registry.send(&Sent::new("GET", path).header("accept", BROWSER));
        let response = response.expect(404);
        let content_type = response.header("content-type");
        assert_eq!(content_type, Some("text/html; charset=utf-8"), "{path}");
        assert_eq!(response.header("cache-control"), Some("no-store"), "{path}");
        let text = response.text();
        assert!(text.contains("This page does not exist"), "{path}: {text}");
        assert!(
            text.contains(value) && text.contains(rule),
            "{path}: {text}"
        );
        let sent = Sent::new("GET", path).header("accept", "*/*");
        let errors = registry.send(&sent).expect(404).errors();
        assert!(errors.contains(value), "{path}: {errors}");
        assert!(errors.contains(rule), "{path}: {errors}");
    }
    // An address of a protocol is answered with JSON to a browser as well.
    for path in [
        "/v1/modules/ACME!/x/y/versions",
        "/api/v1/providers/a/b/not-a-version",
        "/mirror/a.b/ACME!/x/index.json",
    ] {
        let response = registry.send(&Sent::new("GET", path).header("accept", BROWSER));
        assert!(!response.expect(404).errors().is_empty(), "{path}");
    }
}
