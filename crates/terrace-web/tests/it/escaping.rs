//! Stored texts on pages.

use proptest::prelude::*;

use crate::html::{Element, Html};
use crate::pages::{HOSTILE, hostile, hostile_comparison};

/// Returns the elements and the names of their attributes, without the values. The spans of highlighted code depend on the
/// text.
fn shape(html: &str) -> Vec<(String, Vec<String>)> {
    let elements = Html::parse(html).elements.into_iter();
    let is_highlight = |it: &Element| it.name == "span" && it.attribute("class").len() == 1;
    let elements = elements.filter(|it| !is_highlight(it));
    elements
        .map(|it| (it.name, it.attributes.into_keys().collect()))
        .collect()
}

#[test]
fn a_hostile_text_creates_no_element_and_no_attribute() {
    let plain = shape(&hostile(
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    ));
    assert_eq!(shape(&hostile(HOSTILE)), plain);
}

#[test]
fn a_hostile_text_is_shown_as_it_is() {
    let page = Html::parse(&hostile(HOSTILE));
    let title = page.named("title").next().unwrap();
    // No browser reorders it.
    let shown = HOSTILE.replace('\u{202e}', "[U+202E]");
    assert!(title.text.contains(&shown), "{}", title.text);
    assert!(page.named("code").any(|it| it.text == shown));
}

#[test]
fn controls_of_stored_texts_are_visible_on_every_page() {
    let is_control = |c: char| {
        let is_bidirectional = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        is_bidirectional || (c.is_control() && c != '\n')
    };
    let text = "a\u{202e}b\u{2066}c\u{2069}d\0\u{85}e";
    for page in [hostile(text), hostile_comparison(text)] {
        assert_eq!(page.find(is_control), None);
        assert!(page.contains("a[U+202E]b[U+2066]c[U+2069]d\u{fffd}\u{fffd}e"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn no_text_creates_an_element(text in "[<>&\"'=/!a-z\\[\\]{}`;-]{70}") {
        let plain = shape(&hostile(&"x".repeat(70)));
        prop_assert!(shape(&hostile(&text)) == plain);
    }
}
