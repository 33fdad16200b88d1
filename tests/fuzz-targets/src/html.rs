//! The rules for HTML made of documents from strangers, checked with a parser that follows the standard of browsers.

use std::collections::BTreeSet;

use html5ever::tendril::TendrilSink as _;
use html5ever::{ParseOpts, QualName, local_name, ns, parse_fragment, serialize};
use markup5ever_rcdom::{Handle, NodeData, RcDom, SerializableHandle};
use terrace_web::limits;

/// The elements, each with its attributes besides `class` and `id`.
const ELEMENTS: [(&str, &[&str]); 37] = [
    ("a", &["href", "rel", "title"]),
    ("blockquote", &[]),
    ("br", &[]),
    ("caption", &[]),
    ("code", &[]),
    ("del", &[]),
    ("details", &["open"]),
    ("div", &["role", "tabindex"]),
    ("em", &[]),
    ("h1", &[]),
    ("h2", &[]),
    ("h3", &[]),
    ("h4", &[]),
    ("h5", &[]),
    ("h6", &[]),
    ("img", &["src", "alt", "loading"]),
    ("hr", &[]),
    ("kbd", &[]),
    ("li", &[]),
    ("ol", &["start"]),
    ("p", &[]),
    ("pre", &["tabindex"]),
    ("span", &[]),
    ("strong", &[]),
    ("sub", &[]),
    ("summary", &[]),
    ("sup", &[]),
    ("table", &[]),
    ("tbody", &[]),
    ("td", &["colspan", "rowspan"]),
    ("tfoot", &[]),
    ("th", &["colspan", "rowspan"]),
    ("thead", &[]),
    ("tr", &[]),
    ("ul", &[]),
    // Only for the root of a parsed fragment.
    ("html", &[]),
    ("#root", &[]),
];

/// The classes, apart from those of languages (`language-…`).
const CLASSES: [&str; 21] = [
    "a",
    "c",
    "e",
    "f",
    "k",
    "l",
    "n",
    "s",
    "callout",
    "note",
    "tip",
    "important",
    "warning",
    "caution",
    "title",
    "center",
    "right",
    "footnote",
    "image",
    "images",
    "table",
];

/// Asserts that HTML contains only allowed elements, attributes and URLs, and that a browser would repair nothing.
pub fn assert_allowed(html: &str) {
    let context = QualName::new(None, ns!(html), local_name!("div"));
    let dom = parse_fragment(
        RcDom::default(),
        ParseOpts::default(),
        context,
        Vec::new(),
        false,
    )
    .one(html);
    let errors = dom.errors.borrow();
    assert!(errors.is_empty(), "{errors:?} in {html}");
    let root = dom.document.children.borrow()[0].clone();
    let mut again = Vec::new();
    serialize(
        &mut again,
        &SerializableHandle::from(root.clone()),
        Default::default(),
    )
    .expect("memory");
    let again = String::from_utf8(again).expect("UTF-8");
    assert_eq!(again, html, "a browser reads other HTML");
    let mut ids = BTreeSet::new();
    let mut nodes: Vec<(Handle, usize)> = vec![(root, 0)];
    while let Some((node, depth)) = nodes.pop() {
        assert!(depth <= limits::NESTING + 4, "{depth} levels");
        assert_allowed_node(&node, &mut ids);
        let children = node.children.borrow();
        nodes.extend(children.iter().map(|child| (child.clone(), depth + 1)));
    }
}

fn assert_allowed_node(node: &Handle, ids: &mut BTreeSet<String>) {
    match &node.data {
        NodeData::Text { contents } => {
            let text = contents.borrow();
            let is_invisible = |c: char| {
                matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
                    || (c.is_control() && !matches!(c, '\n' | '\t'))
            };
            assert!(!text.contains(is_invisible), "{text:?}");
        }
        NodeData::Element { name, attrs, .. } => {
            let element = ELEMENTS.iter().find(|(known, _)| *known == &*name.local);
            let (_, attributes) = element.unwrap_or_else(|| panic!("<{}>", name.local));
            for attribute in attrs.borrow().iter() {
                let (name, value) = (&*attribute.name.local, &*attribute.value);
                match name {
                    "class" => assert!(value.split(' ').all(is_class), "class {value:?}"),
                    "id" => {
                        assert!(
                            ids.insert(value.to_owned()),
                            "two elements have the id {value:?}"
                        );
                        assert!(
                            !value.starts_with(terrace_web::markdown::RESERVED_ID),
                            "{value:?}"
                        );
                        assert!(
                            !value.is_empty() && !value.contains(char::is_whitespace),
                            "{value:?}"
                        );
                    }
                    _ => assert!(
                        attributes.contains(&name),
                        "{name}={value:?} of {}",
                        element.map_or("", |it| it.0)
                    ),
                }
                assert!(name != "href" || is_harmless(value), "{value:?}");
                let is_own = value.starts_with('/') && !value.starts_with("//");
                assert!(name != "src" || is_own, "{value:?}");
            }
            let foreign = attrs
                .borrow()
                .iter()
                .any(|it| &*it.name.local == "href" && !it.value.starts_with(['#', '/']));
            let rel = attrs
                .borrow()
                .iter()
                .any(|it| &*it.name.local == "rel" && &*it.value == "nofollow noopener");
            assert!(!foreign || rel, "a link to another site without rel");
        }
        NodeData::Document => {}
        other => panic!("{other:?}"),
    }
}

fn is_class(class: &str) -> bool {
    CLASSES.contains(&class)
        || class.strip_prefix("language-").is_some_and(|language| {
            let is_allowed =
                |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
            !language.is_empty() && language.bytes().all(is_allowed)
        })
}

/// Returns whether a browser would follow a URL to a page: by the steps of the URL standard, for a page with https.
fn is_harmless(url: &str) -> bool {
    let url: String = url
        .trim_matches(|c| c <= ' ')
        .chars()
        .filter(|c| !matches!(c, '\t' | '\n' | '\r'))
        .collect();
    let end = url.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '-' | '.'));
    let scheme = end.and_then(|at| {
        url[at..]
            .starts_with(':')
            .then(|| url[..at].to_ascii_lowercase())
    });
    match scheme.as_deref() {
        Some("https" | "http" | "mailto") => true,
        Some(_) => false,
        None => url.starts_with('#') || is_own(&url),
    }
}

/// Returns whether a URL is a path of this host. Two slashes would be another host.
fn is_own(url: &str) -> bool {
    url.starts_with('/') && !url[1..].starts_with(['/', '\\'])
}
