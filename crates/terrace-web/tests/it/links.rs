//! The links of all pages.

use std::collections::BTreeSet;

use terrace_core::api::route::{PageRoute, Route};
use terrace_web::assets::Assets;

use crate::html::Element;
use crate::pages;

/// Returns the targets of an element's links.
fn targets(element: &Element) -> impl Iterator<Item = &str> {
    let targets = ["href", "src", "action"].map(|name| element.attribute(name));
    targets.into_iter().filter(|it| !it.is_empty())
}

#[test]
fn every_internal_link_of_every_page_is_a_route() {
    let assets = Assets::new(None);
    let mut checked = 0;
    for (name, page) in pages::parsed_pages() {
        for target in page.elements.iter().flat_map(targets) {
            let path = target.split(['?', '#']).next().unwrap();
            if !path.starts_with('/') {
                continue;
            }
            checked += 1;
            match Route::parse(path) {
                _ if path.starts_with("/api/v1/") => {}
                Ok(Route::Page(PageRoute::Asset(file))) => {
                    let is_current = assets.file(&file).is_some_and(|(_, is_current)| is_current);
                    assert!(is_current, "{name}: {path}");
                }
                Ok(Route::Page(page)) => {
                    let is_page = !matches!(page, PageRoute::Unknown | PageRoute::Moved(_));
                    assert!(is_page && page.to_string() == path, "{name}: {path}");
                }
                _ => panic!("{name}: {path}"),
            }
        }
    }
    assert!(checked > 1_000, "{checked}");
}

#[test]
fn pages_load_nothing_from_other_hosts_lead_to_their_parts_and_do_not_vouch_for_others() {
    let mut external = 0;
    for (name, page) in pages::parsed_pages() {
        let ids: BTreeSet<&str> = page.elements.iter().map(|it| it.attribute("id")).collect();
        for element in &page.elements {
            let is_loaded = matches!(element.name.as_str(), "script" | "img")
                || matches!(element.attribute("rel"), "stylesheet" | "icon");
            for target in targets(element) {
                let is_own = target.starts_with("/_assets/");
                assert!(!is_loaded || is_own, "{name}: {target}");
            }
        }
        for link in page.named("a") {
            let (target, rel) = (link.attribute("href"), link.attribute("rel"));
            if let Some(id) = target.strip_prefix('#') {
                assert!(ids.contains(id), "{name}: #{id}");
            } else if target.contains("://") {
                external += 1;
                let vouches = !rel.contains("nofollow") || !rel.contains("noopener");
                assert!(!vouches, "{name}: {target} {rel}");
            }
        }
    }
    assert!(external > 10, "{external}");
}
