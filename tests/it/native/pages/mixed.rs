//! Pages of a registry in which some packages are public and others are not.

use super::{as_reader, opened};
use crate::native::api::packages::published;
use crate::support::Registry;
use crate::support::people::LOGIN;

const PAGES: [&str; 3] = [
    "/providers/acme/widget/1.1.0",
    "/modules/acme/vpc/aws/1.1.0",
    "/providers/acme/widget/1.1.0/docs/resources/widget",
];

fn registry(vars: &[(&str, &str)]) -> Registry {
    published(&[&LOGIN[..], vars].concat()).1
}

#[test]
fn the_pages_of_a_private_package_in_a_public_registry_are_private() {
    let registry = registry(&[("TERRACE_ACCESS_EXCEPT", "acme")]);
    for path in PAGES {
        let page = as_reader(&registry, path).expect(200).text();
        assert!(page.contains("content=\"noindex\""), "{path}: {page}");
        for public in ["rel=\"canonical\"", "og:title"] {
            assert!(!page.contains(public), "{path}: {page}");
        }
    }
    for path in &PAGES[..2] {
        let page = as_reader(&registry, path).expect(200).text();
        for private in ["Sign in once with", "oci_credentials"] {
            assert!(page.contains(private), "{path}: {page}");
        }
    }
}

#[test]
fn the_pages_of_a_public_package_in_a_private_registry_are_public() {
    let vars = [
        ("TERRACE_ACCESS", "private"),
        ("TERRACE_ACCESS_EXCEPT", "acme"),
    ];
    let registry = registry(&vars);
    for path in PAGES {
        let page = registry.send(&opened(path)).expect(200).text();
        assert!(page.contains("rel=\"canonical\""), "{path}: {page}");
        for private in [
            "content=\"noindex\"",
            "Sign in once with",
            "oci_credentials",
        ] {
            assert!(!page.contains(private), "{path}: {page}");
        }
    }
}

#[test]
fn crawlers_are_kept_out_only_if_no_package_is_public() {
    let robots = |vars: &[(&str, &str)]| {
        let registry = registry(vars);
        let text = registry.get("/robots.txt").expect(200).text();
        (text, registry.origin())
    };
    let private = ("TERRACE_ACCESS", "private");
    let except = ("TERRACE_ACCESS_EXCEPT", "acme");
    assert_eq!(robots(&[private]).0, "User-agent: *\nDisallow: /\n");
    for vars in [&[private, except][..], &[except], &[]] {
        let (text, origin) = robots(vars);
        assert!(text.starts_with("User-agent: *\n"), "{text}");
        let sitemap = format!("\nSitemap: {origin}/sitemap.xml\n");
        assert!(
            !text.contains("Disallow: /\n") && text.contains(&sitemap),
            "{text}"
        );
    }
}
