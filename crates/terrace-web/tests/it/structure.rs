//! The structure of all pages, on which assistive technology and the security policy rely.

use std::collections::BTreeSet;

use serde_json::json;
use terrace_core::documentation::DocumentationKind;
use terrace_core::search::SearchKind;
use terrace_web::Site;
use terrace_web::comparison::{Comparison, modules};
use terrace_web::pages::{Searched, Start, search, start};

use crate::fixtures;
use crate::fixtures::module::view_of;
use crate::html::{Element, Html};
use crate::pages::{self, VPC, compared, module_page, searched};

#[test]
fn every_page_is_valid_html_without_inline_styles_and_scripts() {
    let is_inline = |it: &Element| {
        let mut names = it.attributes.keys();
        names.any(|name| name == "style" || name.starts_with("on"))
            || it.name == "style"
            || (it.name == "script" && it.attribute("src").is_empty())
    };
    for (name, page) in pages::parsed_pages() {
        assert_eq!(page.errors, [] as [String; 0], "{name}");
        let inline = page.elements.iter().find(|it| is_inline(it));
        assert!(inline.is_none(), "{name}: {}", inline.unwrap().name);
    }
}

#[test]
fn every_page_has_one_main_unique_ids_and_headings_that_skip_no_level() {
    for (name, page) in pages::parsed_pages() {
        for single in ["main", "h1"] {
            assert_eq!(page.named(single).count(), 1, "{name}");
        }
        let mut ids = BTreeSet::new();
        let of_elements = page.elements.iter().map(|it| it.attribute("id"));
        for id in of_elements.filter(|id| !id.is_empty()) {
            assert!(ids.insert(id), "{name}: {id}");
        }
        assert!(ids.contains("page-content"), "{name}");
        let labels = page.named("label").map(|it| it.attribute("for"));
        for label in labels.filter(|id| !id.is_empty()) {
            assert!(ids.contains(label), "{name}: {label}");
        }
        let mut last = 0;
        for element in &page.elements {
            let level = match element.name.as_bytes() {
                [b'h', level @ b'1'..=b'6'] => level - b'0',
                _ => continue,
            };
            assert!(level <= last + 1, "{name}: {}", element.text);
            last = level;
        }
    }
}

#[test]
fn only_existing_pages_of_a_public_registry_are_indexed() {
    const CANONICAL: &str = "<link rel=\"canonical\" href=\"https://registry.example.com/\">";
    let [public, private] =
        [fixtures::site(), fixtures::private_site()].map(|site| start(&site, &Start::default()));
    let missing = pages::named("not-found").to_owned();
    for (page, shown, hidden) in [
        (public, &[CANONICAL, "og:title"][..], "noindex"),
        (private, &["noindex"], "\"og:"),
        (missing, &["noindex"], CANONICAL),
    ] {
        assert!(shown.iter().all(|it| page.contains(it)), "{page}");
        assert!(!page.contains(hidden), "{hidden}: {page}");
    }
}

#[test]
fn the_form_of_a_search_has_every_kind_of_result_and_the_chosen_one() {
    let kinds = |kind| {
        let words = Searched {
            kind,
            ..searched("a", None)
        };
        let page = Html::parse(&search(&fixtures::site(), &words));
        let kinds = page.named("option").map(|it| {
            let value = it.attribute("value").to_owned();
            (value, it.attributes.contains_key("selected"))
        });
        kinds.collect::<Vec<_>>()
    };
    for (value, _) in kinds("").iter().skip(1) {
        assert!(value.parse::<SearchKind>().is_ok(), "{value}");
    }
    for kind in DocumentationKind::ALL.map(DocumentationKind::as_str) {
        let is_found = kind.parse::<SearchKind>().is_ok();
        let is_offered = kinds("").iter().any(|(value, _)| value == kind);
        assert_eq!(is_offered, is_found, "{kind}");
    }
    for (kind, expected) in [
        ("", ""),
        ("resource", "resources"),
        ("data-sources", "data-sources"),
    ] {
        let kinds = kinds(kind);
        let mut chosen = kinds.iter().filter(|(_, is_chosen)| *is_chosen);
        let values: Vec<&str> = chosen.by_ref().map(|(value, _)| value.as_str()).collect();
        assert_eq!(values, [expected]);
    }
}

#[test]
fn the_logo_of_an_operator_replaces_that_of_terrace() {
    let site = Site {
        logo: Some("data:image/svg+xml;base64,AA==".to_owned()),
        ..fixtures::site()
    };
    let page = Html::parse(&start(&site, &Start::default()));
    let shown = page.named("img").next().unwrap().attribute("src");
    assert_eq!(Some(shown), site.logo.as_deref());
}

#[test]
fn the_mark_of_a_job_names_the_host_that_vouches_for_it() {
    let public = fixtures::site();
    let without_issuers = Site {
        issuers: Vec::new(),
        ..fixtures::site()
    };
    for (site, job) in [(public, "a verified job"), (without_issuers, "a job")] {
        let page = Html::parse(&module_page(&site, VPC, "5.2.0", |_| ()));
        let mut marks = page.named("span").map(|it| it.text.as_str());
        let mark = marks.find(|it| it.starts_with("Published by"));
        let expected = format!("Published by {job} of token.actions.githubusercontent.com");
        assert_eq!(mark, Some(&*expected));
    }
}

#[test]
fn a_comparison_is_reduced_to_what_may_break_and_claims_nothing_about_names_alone() {
    let view = |name: &str| view_of(json!({ "inputs": [{ "name": name, "default": "1" }] }));
    let changed = modules(&view("gone"), &view("added"));
    let page = |differences: &Comparison, is_only_breaking| {
        compared(VPC, Some(differences), is_only_breaking)
    };
    let (all, breaking) = (page(&changed, false), page(&changed, true));
    for link in [
        "1.0.0#page-input-gone",
        "2.0.0#page-input-added",
        "1.0.0...2.0.0?only=breaking",
    ] {
        assert!(all.contains(link), "{all}");
    }
    let is_reduced = breaking.contains("gone") && !breaking.contains("added</");
    assert!(is_reduced, "{breaking}");

    let claim = "needs a change of configurations";
    let mut harmless = changed;
    harmless.sections[0].changes.retain(|it| !it.is_breaking);
    assert!(page(&harmless, false).contains(claim));
    harmless.compares_names = true;
    assert!(!page(&harmless, false).contains(claim));
}
