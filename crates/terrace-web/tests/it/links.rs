//! The links of all pages.

use std::collections::BTreeSet;

use terrace_core::api::route::{PageRoute, Route};
use terrace_web::assets::Assets;

use crate::html::{Element, Html};
use crate::pages;

/// Returns the targets of an element's links.
fn targets(element: &Element) -> Vec<String> {
    let attributes = ["href", "src", "action"].iter();
    let targets = attributes.map(|name| element.attribute(name).to_owned());
    targets.filter(|it| !it.is_empty()).collect()
}

#[test]
fn every_internal_link_of_every_page_is_a_route() {
    let assets = Assets::new(None);
    let mut checked = 0;
    for (name, html) in pages::all() {
        for target in Html::parse(&html).elements.iter().flat_map(targets) {
            if !target.starts_with('/') {
                continue;
            }
            let path = target.split(['?', '#']).next().unwrap();
            checked += 1;
            if path.starts_with("/api/v1/") {
                continue;
            }
            match page_of(path) {
                Some(PageRoute::Asset(file)) => {
                    assert!(
                        assets.file(&file).is_some_and(|(_, is_current)| is_current),
                        "{name}: {path}"
                    );
                }
                Some(PageRoute::Unknown | PageRoute::Moved(_)) | None => panic!("{name}: {path}"),
                Some(route) => assert_eq!(route.to_string(), path, "{name}: canonical"),
            }
        }
    }
    assert!(checked > 1_000, "{checked}");
}

#[test]
fn every_link_into_a_page_has_its_target() {
    for (name, html) in pages::all() {
        let page = Html::parse(&html);
        let ids: BTreeSet<&str> = page.elements.iter().map(|it| it.attribute("id")).collect();
        for link in page.named("a") {
            if let Some(id) = link.attribute("href").strip_prefix('#') {
                assert!(ids.contains(id), "{name}: #{id}");
            }
        }
    }
}

#[test]
fn pages_load_nothing_from_other_hosts() {
    for (name, html) in pages::all() {
        for element in Html::parse(&html).elements {
            let is_loaded = matches!(element.name.as_str(), "script" | "img")
                || (element.name == "link"
                    && matches!(element.attribute("rel"), "stylesheet" | "icon"));
            for target in targets(&element) {
                assert!(
                    !is_loaded || target.starts_with("/_assets/"),
                    "{name}: {target}"
                );
            }
        }
    }
}

#[test]
fn a_link_to_another_host_does_not_vouch_for_it() {
    let mut external = 0;
    for (name, html) in pages::all() {
        for link in Html::parse(&html).named("a") {
            if link.attribute("href").contains("://") {
                external += 1;
                let rel = link.attribute("rel");
                assert!(
                    rel.contains("nofollow") && rel.contains("noopener"),
                    "{name}: {rel}"
                );
            }
        }
    }
    assert!(external > 10, "{external}");
}

fn page_of(path: &str) -> Option<PageRoute> {
    match Route::parse(path) {
        Ok(Route::Page(page)) => Some(page),
        _ => None,
    }
}
