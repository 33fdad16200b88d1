//! Feeds and the other documents around pages.

use std::collections::BTreeMap;

use quick_xml::Reader;
use quick_xml::events::Event;
use terrace_core::api::route::{FeedScope, PageRoute};
use terrace_web::feed::{Entry, FEED_ENTRIES, feed};
use terrace_web::well_known::{open_search, sitemap};

use crate::fixtures;

/// Returns the texts of the elements of each name. Fails if the text is not well-formed XML.
fn texts(xml: &str) -> BTreeMap<String, Vec<String>> {
    let mut reader = Reader::from_str(xml);
    let mut texts = BTreeMap::<String, Vec<String>>::new();
    let mut open = Vec::<(String, String)>::new();
    loop {
        let event = reader.read_event().unwrap();
        let text = match &event {
            Event::Start(start) => {
                start.attributes().for_each(|it| drop(it.unwrap()));
                let name = String::from_utf8(start.name().as_ref().to_vec()).unwrap();
                open.push((name, String::new()));
                continue;
            }
            Event::Text(text) => text.decode().unwrap(),
            Event::GeneralRef(reference) => match &*reference.decode().unwrap() {
                "amp" => "&".into(),
                "lt" => "<".into(),
                "gt" => ">".into(),
                "quot" => "\"".into(),
                "#39" => "'".into(),
                other => panic!("&{other};"),
            },
            Event::End(_) => {
                let (name, text) = open.pop().unwrap();
                texts.entry(name).or_default().push(text);
                continue;
            }
            Event::Eof => break,
            _ => continue,
        };
        if let Some((_, own)) = open.last_mut() {
            own.push_str(&text);
        }
    }
    assert!(open.is_empty());
    texts
}

fn entry(version: &str, published_at: Option<&str>, summary: &str) -> Entry {
    Entry {
        package: fixtures::package("acme/widget"),
        version: fixtures::version(version),
        published_at: published_at.map(str::to_owned),
        changed_at: None,
        summary: summary.to_owned(),
    }
}

#[test]
fn a_feed_has_what_atom_requires_and_the_newest_entry_first() {
    let entries = [
        entry("1.0.0", Some("2026-01-01T00:00:00Z"), ""),
        entry("1.1.0", Some("2026-02-01T00:00:00Z"), "x"),
        entry("0.9.0", None, ""),
    ];
    let scope = FeedScope::Package(fixtures::package("acme/widget"));
    let texts = texts(&feed(&fixtures::site(), &scope, &entries));
    assert_eq!(
        texts["id"],
        [
            "https://registry.example.com/providers/acme/widget/feed.atom",
            "https://registry.example.com/providers/acme/widget/1.1.0",
            "https://registry.example.com/providers/acme/widget/1.0.0",
            "https://registry.example.com/providers/acme/widget/0.9.0",
        ]
    );
    assert_eq!(texts["updated"][0], "2026-02-01T00:00:00Z");
    // RFC 4287, sections 4.1.1 and 4.1.2.
    for name in ["id", "title", "updated"] {
        assert_eq!(texts[name].len(), 4, "{name}");
    }
    assert_eq!(texts["name"], ["Acme Registry"]);
}

#[test]
fn a_feed_shows_a_revoked_version_again_at_the_time_of_its_revocation() {
    let revoked = Entry {
        changed_at: Some("2026-03-01T00:00:00Z".to_owned()),
        ..entry("1.0.0", Some("2026-01-01T00:00:00Z"), "Revoked: leaks")
    };
    let entries = [entry("1.1.0", Some("2026-02-01T00:00:00Z"), ""), revoked];
    let scope = FeedScope::Package(fixtures::package("acme/widget"));
    let texts = texts(&feed(&fixtures::site(), &scope, &entries));
    let times = ["2026-03-01T00:00:00Z", "2026-03-01T00:00:00Z"];
    assert_eq!(texts["updated"][..2], times);
    assert_eq!(texts["summary"], ["Revoked: leaks"]);
}

#[test]
fn a_feed_is_well_formed_whatever_its_texts_contain() {
    let hostile = "<script>&amp;]]>\u{0}\u{8}\u{ffff}\"'";
    let texts = texts(&feed(
        &fixtures::site(),
        &FeedScope::Registry,
        &[entry("1.0.0", Some("2026-01-01T00:00:00Z"), hostile)],
    ));
    assert_eq!(texts["summary"], ["<script>&amp;]]>\"'"]);
}

#[test]
fn a_feed_has_a_limited_number_of_entries() {
    let entries: Vec<Entry> = (0..FEED_ENTRIES + 5)
        .map(|at| entry(&format!("1.{at}.0"), None, ""))
        .collect();
    let texts = texts(&feed(&fixtures::site(), &FeedScope::Registry, &entries));
    assert_eq!(texts["entry"].len(), FEED_ENTRIES);
}

#[test]
fn the_description_of_the_search_names_the_page_of_the_search() {
    let xml = open_search(&fixtures::site());
    assert!(texts(&xml)["ShortName"][0].chars().count() <= 16);
    assert!(
        xml.contains("template=\"https://registry.example.com/search?q={searchTerms}\""),
        "{xml}"
    );
}

#[test]
fn a_site_map_lists_absolute_links() {
    let pages = [
        PageRoute::Home,
        PageRoute::Package(fixtures::package("acme/vpc/aws")),
    ];
    assert_eq!(
        texts(&sitemap(&fixtures::site(), pages))["loc"],
        [
            "https://registry.example.com/",
            "https://registry.example.com/modules/acme/vpc/aws"
        ]
    );
}
