//! Lists and texts that are longer than a page may be.

use terrace_web::pages::{Start, start};

use crate::{fixtures, pages};

#[test]
fn a_start_page_without_visible_recent_packages_has_no_heading_for_them() {
    let namespaces = fixtures::namespaces();
    let contents = Start {
        namespaces: &namespaces,
        ..Start::default()
    };
    let page = start(&fixtures::site(), &contents);
    assert!(!page.contains("Recently published"));
    assert!(page.contains("data-engineering"));
}

#[test]
fn a_text_whose_html_is_too_long_has_a_note_that_it_was_cut() {
    const NOTE: &str = "was cut";
    let short = "-> a\n\n".repeat(10);
    let long = "-> a\n\n".repeat(20_000);
    assert!(fixtures::text::rendered(&long).is_truncated);
    for page in [pages::document_with, pages::readme_with] {
        assert!(!page(&short).contains(NOTE));
        assert!(page(&long).contains(NOTE));
    }
}
