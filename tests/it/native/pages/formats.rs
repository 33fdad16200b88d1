//! The formats between which a client chooses.

use crate::native::api::packages::published;
use crate::support::Registry;
use crate::support::described::README;
use crate::support::people::LOGIN;
use crate::support::registry::{Response, Sent};

const DOCUMENT: &str = "/providers/acme/widget/1.1.0/docs/resources/widget";
const MODULE: &str = "/modules/acme/vpc/aws/1.1.0";
const MARKDOWN: &str = "text/markdown; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";

fn accepting(registry: &Registry, path: &str, accept: &str) -> Response {
    let sent = Sent::new("GET", path).header("accept", accept);
    registry.send(&sent).expect(200)
}

#[test]
fn a_page_with_a_text_is_sent_in_the_format_that_the_client_prefers() {
    let (_, registry) = published(&[]);
    for path in [DOCUMENT, MODULE] {
        for (accept, content_type) in [
            ("text/markdown", MARKDOWN),
            ("text/markdown;q=0.1, text/html", HTML),
            ("*/*", HTML),
            ("", HTML),
        ] {
            let response = accepting(&registry, path, accept);
            let sent = response.header("content-type");
            assert_eq!(sent, Some(content_type), "{path} {accept}");
            assert_eq!(response.header("vary"), Some("accept"), "{path} {accept}");
        }
    }
    let response = accepting(&registry, MODULE, "text/markdown");
    assert_eq!(response.text(), README);
}

#[test]
fn an_unchanged_page_and_one_for_readers_name_all_headers_that_they_depend_on() {
    let (_, registry) = published(&[]);
    for path in [DOCUMENT, MODULE] {
        for accept in ["text/markdown", "text/html"] {
            let response = accepting(&registry, path, accept);
            let etag = response.header("etag").unwrap().to_owned();
            let sent = Sent::new("GET", path)
                .header("accept", accept)
                .header("if-none-match", &etag);
            let response = registry.send(&sent).expect(304);
            assert_eq!(response.header("vary"), Some("accept"), "{path} {accept}");
        }
    }
    let vars = [&LOGIN[..], &[("TERRACE_ACCESS_EXCEPT", "secret")]].concat();
    let (_, registry) = published(&vars);
    let response = accepting(&registry, DOCUMENT, "text/markdown");
    assert_eq!(response.header("vary"), Some("accept, cookie"));
    // The Markdown at its own path does not depend on the header.
    let response = accepting(&registry, &format!("{DOCUMENT}.md"), "text/markdown");
    assert_eq!(response.header("vary"), Some("cookie"));
}
