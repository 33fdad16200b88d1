//! The structure of all pages, on which assistive technology and the security policy rely.

use std::collections::BTreeSet;

use serde_json::json;
use terrace_core::documentation::DocumentationKind;
use terrace_core::search::SearchKind;
use terrace_web::Site;
use terrace_web::comparison::{Comparison, modules};
use terrace_web::pages::{
    ComparedVersions, Release, Searched, Start, comparison, module, search, start,
};

use crate::html::Html;
use crate::{fixtures, pages};

#[test]
fn every_page_is_valid_html() {
    for (name, html) in pages::all() {
        let page = Html::parse(&html);
        assert_eq!(page.errors, [] as [String; 0], "{name}");
    }
}

#[test]
fn no_page_has_inline_styles_or_scripts() {
    for (name, html) in pages::all() {
        for element in Html::parse(&html).elements {
            let inline = element
                .attributes
                .keys()
                .find(|it| *it == "style" || it.starts_with("on"));
            assert_eq!(inline, None, "{name}: {}", element.name);
            assert_ne!(element.name, "style", "{name}");
            let is_inline = element.name == "script" && element.attribute("src").is_empty();
            assert!(!is_inline, "{name}");
        }
    }
}

#[test]
fn every_page_has_one_main_one_first_heading_and_unique_ids() {
    for (name, html) in pages::all() {
        let page = Html::parse(&html);
        assert_eq!(page.named("main").count(), 1, "{name}");
        assert_eq!(page.named("h1").count(), 1, "{name}");
        let mut ids = BTreeSet::new();
        for id in page
            .elements
            .iter()
            .map(|it| it.attribute("id"))
            .filter(|id| !id.is_empty())
        {
            assert!(ids.insert(id), "{name}: {id}");
        }
        assert!(ids.contains("page-content"), "{name}");
        for label in page
            .named("label")
            .map(|it| it.attribute("for"))
            .filter(|id| !id.is_empty())
        {
            assert!(ids.contains(label), "{name}: {label}");
        }
    }
}

#[test]
fn headings_of_every_page_skip_no_level() {
    for (name, html) in pages::all() {
        let mut last = 0;
        for element in Html::parse(&html).elements {
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
fn a_page_of_a_public_registry_has_a_canonical_link_and_one_of_a_private_registry_is_not_indexed() {
    let public = Html::parse(&start(&fixtures::site(), &Start::default()));
    let canonical = public
        .named("link")
        .find(|it| it.attribute("rel") == "canonical")
        .unwrap();
    assert_eq!(canonical.attribute("href"), "https://registry.example.com/");
    assert!(
        public
            .named("meta")
            .any(|it| it.attribute("property") == "og:title")
    );
    let is_hidden = |page: &Html| {
        page.named("meta")
            .any(|it| it.attribute("content") == "noindex")
    };
    assert!(!is_hidden(&public));
    let private = Html::parse(&start(&fixtures::private_site(), &Start::default()));
    assert!(is_hidden(&private));
    assert!(
        !private
            .named("meta")
            .any(|it| it.attribute("property").starts_with("og:"))
    );
    for (name, html) in pages::all()
        .into_iter()
        .filter(|(name, _)| name.starts_with("not-found"))
    {
        assert!(is_hidden(&Html::parse(&html)), "{name}");
    }
}

#[test]
fn the_form_of_a_search_has_every_kind_of_result_and_the_chosen_one() {
    let kinds = |kind| {
        let words = Searched {
            query: "a",
            kind,
            namespace: "",
            is_continued: false,
            results: None,
            error: None,
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
    for kind in DocumentationKind::ALL {
        let is_found = kind.as_str().parse::<SearchKind>().is_ok();
        let is_offered = kinds("").iter().any(|(value, _)| value == kind.as_str());
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
    assert_eq!(
        page.named("img").next().unwrap().attribute("src"),
        "data:image/svg+xml;base64,AA=="
    );
}

#[test]
fn the_mark_of_a_job_names_the_host_that_vouches_for_it() {
    let page = |site: &Site| {
        let package = fixtures::package("acme/vpc/aws");
        let versions = fixtures::versions(&["5.2.0"]);
        let details = fixtures::module::version_details(&package, &versions[0], "5.2.0", None);
        let release = Release {
            package: &package,
            details: &details,
            versions: &versions,
        };
        Html::parse(&module(site, &release, None))
    };
    let marks = |page: &Html| {
        let spans = page.named("span").map(|it| it.text.clone());
        let found: Vec<String> = spans.filter(|it| it.starts_with("Published by")).collect();
        found
    };
    assert_eq!(
        marks(&page(&fixtures::site())),
        ["Published by a verified job of token.actions.githubusercontent.com"]
    );
    let site = Site {
        issuers: Vec::new(),
        ..fixtures::site()
    };
    assert_eq!(
        marks(&page(&site)),
        ["Published by a job of token.actions.githubusercontent.com"]
    );
}

#[test]
fn a_comparison_is_reduced_to_what_may_break_and_claims_nothing_about_names_alone() {
    let package = fixtures::package("acme/vpc/aws");
    let versions = fixtures::versions(&["2.0.0", "1.0.0"]);
    let view = |name: &str| {
        let root = json!({ "inputs": [{ "name": name, "default": "1" }] });
        fixtures::parsed(json!({ "root": root, "submodules": [], "examples": [] }))
    };
    let page = |differences: &Comparison, is_only_breaking| {
        let compared = ComparedVersions {
            from: &versions[1].version,
            to: &versions[0].version,
            comparison: Some(differences),
            is_only_breaking,
        };
        comparison(&fixtures::site(), &package, &versions, Some(&compared))
    };
    let changed = modules(&view("gone"), &view("added"));
    let (all, breaking) = (page(&changed, false), page(&changed, true));
    for link in ["1.0.0#page-input-gone", "2.0.0#page-input-added"] {
        assert!(all.contains(link), "{all}");
    }
    assert!(all.contains("1.0.0...2.0.0?only=breaking"), "{all}");
    assert!(
        breaking.contains("gone") && !breaking.contains("added</"),
        "{breaking}"
    );

    let claim = "needs a change of configurations";
    let mut harmless = changed;
    harmless.sections[0].changes.retain(|it| !it.is_breaking);
    assert!(page(&harmless, false).contains(claim));
    harmless.compares_names = true;
    assert!(!page(&harmless, false).contains(claim));
}
