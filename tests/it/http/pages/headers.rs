//! Texts of publishers and of requests, which must not reach the headers of a response.

use serde_json::json;

use crate::support::documentation::{Documentation, member, path_of};
use crate::support::registry::{Response, Sent};
use crate::support::{ModuleFixture, ProviderFixture, Registry};

/// A word in every hostile text. No name of a package contains it.
const MARK: &str = "injected";

/// All headers of pages, of their redirects and of the files around them. Servers add the ones in the second line.
const HEADERS: [&str; 17] = [
    "cache-control",
    "content-disposition",
    "content-security-policy",
    "content-type",
    "cross-origin-opener-policy",
    "cross-origin-resource-policy",
    "etag",
    "location",
    "referrer-policy",
    "retry-after",
    "vary",
    "x-content-type-options",
    "x-frame-options",
    "connection",
    "content-length",
    "date",
    "transfer-encoding",
];

/// Texts that would begin a header, end a quoted value, or name a file.
fn hostile_texts() -> Vec<String> {
    [
        "a\r\nset-cookie: injected=1",
        "a\nlocation: https://injected.example/",
        "a\u{85}set-cookie: injected=1",
        "a\u{2028}set-cookie: injected=1",
        "\"; filename=\"injected.html",
        "<https://injected.example/>; rel=\"canonical\"",
        "a\u{0}\u{1b}injected",
    ]
    .map(str::to_owned)
    .to_vec()
}

#[track_caller]
fn assert_clean(what: &str, response: &Response) {
    assert!(response.status < 500, "{what}: {}", response.status);
    for (name, value) in &response.headers {
        assert!(HEADERS.contains(&name.as_str()), "{what}: {name}: {value}");
        assert!(!value.contains(MARK), "{what}: {name}: {value}");
        let is_printable = value.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        assert!(is_printable, "{what}: {name}: {value:?}");
    }
}

/// Returns the documentation of a provider with this text in every field that takes one.
fn of_provider(text: &str) -> Documentation {
    let page = member(text.as_bytes());
    let place = json!({ "offset": 0, "length": page.len(), "size": text.len() });
    let details = json!({ "pages": [{
        "kind": "resources", "name": "widget", "title": text, "subcategory": text, "description": text, "member": place,
    }] });
    let head = json!({ "schema": 1, "contents": { "provider": details }, "notes": [text] });
    Documentation::of_members(member(head.to_string().as_bytes()), &[page])
}

#[test]
fn no_text_of_a_publisher_reaches_a_header() {
    let registry = Registry::start();
    let mut accepted = 0;
    for text in hostile_texts() {
        let (provider, module) = (ProviderFixture::new("1.0.0"), ModuleFixture::new("1.0.0"));
        provider.publish(&registry);
        module.publish(&registry);
        let address = provider.path().replace("/v1/providers/", "");
        let documented = [
            (path_of("providers", &address, "1.0.0"), of_provider(&text)),
            (
                path_of("modules", &module.address, "1.0.0"),
                Documentation::of_module(&text),
            ),
        ];
        for (path, documentation) in documented {
            let answer = documentation.add(&registry, &path);
            assert!(matches!(answer.status, 201 | 422), "{}", answer.text());
            accepted += usize::from(answer.status == 201);
        }
        let (provider, module) = (
            format!("/providers/{address}"),
            format!("/modules/{}", module.address),
        );
        for path in [
            provider.clone(),
            format!("{provider}/1.0.0"),
            format!("{provider}/1.0.0/docs/resources/widget"),
            format!("{provider}/1.0.0/docs/resources/widget.md"),
            format!("{provider}/feed.atom"),
            format!("{module}/1.0.0"),
            format!("{module}/1.0.0/readme.md"),
            format!("{module}/feed.atom"),
            format!("/badges{module}/version.svg"),
            format!("/search?q={}", address.replace('/', "+")),
        ] {
            assert_clean(&path, &registry.get(&path));
        }
    }
    // Each is a text of a provider, and of a module.
    assert_eq!(accepted, hostile_texts().len() * 2);
}

#[test]
fn no_text_of_a_request_reaches_a_header() {
    let registry = Registry::start();
    let texts = [
        "%0d%0aset-cookie:%20injected=1",
        "%0alocation:https://injected.example",
        "%E5%98%8A%E5%98%8Dset-cookie:injected=1",
        "%00injected",
        "%22;injected=%22",
        "%c2%85injected",
        "//injected.example",
        "%2f%2finjected.example",
        "https://injected.example/",
        "\\injected.example",
    ];
    for text in texts {
        for path in [
            format!("/search?q={text}&kind={text}&namespace={text}&after={text}"),
            format!("/browse/modules?after={text}"),
            format!("/namespaces/{text}"),
            format!("/namespaces/{text}/feed.atom"),
            format!("/modules/acme/{text}/aws"),
            format!("/modules/acme/vpc/aws/{text}"),
            format!("/modules/acme/vpc/aws/compare?from={text}&to={text}"),
            format!("/providers/acme/widget/latest/docs/resources/{text}"),
            format!("/badges/providers/acme/{text}/version.svg"),
            format!("/_assets/{text}"),
            format!("/sign-in?to={text}"),
            format!("/{text}"),
        ] {
            for accept in ["text/html", "*/*"] {
                let sent = Sent::new("GET", &path).header("accept", accept);
                assert_clean(&path, &registry.send(&sent));
            }
        }
    }
}
