//! Documents and code as HTML.

use terrace_web::highlight;
use terrace_web::limits;
use terrace_web::markdown::{Links, TargetKind, render};

/// Resolves every target to a part of itself, as a careless caller would.
struct Careless;

impl Links for Careless {
    fn resolve(&self, target: &str, _kind: TargetKind) -> Option<String> {
        let odd = target.len() % 2 == 1;
        odd.then(|| target.get(1..).map(str::to_owned)).flatten()
    }
}

/// Renders a document. Its HTML contains only allowed elements, and nothing that a browser would repair.
pub fn markdown(data: &[u8]) {
    let Some(text) = crate::text(data) else {
        return;
    };
    let rendered = render(text, &Careless);
    crate::assert_allowed(&rendered.html);
    let bound = text.len() * 2 * limits::EXPANSION + 2 * limits::EXPANSION_BASE;
    assert!(
        rendered.html.len() <= bound,
        "{} bytes",
        rendered.html.len()
    );
    for heading in &rendered.contents {
        assert!((2..=6).contains(&heading.level));
        assert!(
            rendered.html.contains(&format!("id=\"{}\"", heading.id)),
            "{}",
            heading.id
        );
    }
}

/// Highlights code. The HTML shows the code.
pub fn highlight(data: &[u8]) {
    let Some(text) = crate::text(data) else {
        return;
    };
    let joined: String = highlight::tokens(text).map(|token| token.text).collect();
    assert_eq!(joined, text);
    let html = highlight::terraform(text);
    crate::assert_allowed(&format!("<pre><code>{html}</code></pre>"));
}
