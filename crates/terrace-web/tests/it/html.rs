//! Pages, parsed as a browser parses them.

use std::collections::BTreeMap;

use html5ever::tendril::TendrilSink as _;
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{Handle, NodeData, RcDom};

/// An element of a page.
pub(crate) struct Element {
    /// Its name.
    pub(crate) name: String,
    /// Its attributes.
    pub(crate) attributes: BTreeMap<String, String>,
    /// The text in it and its descendants.
    pub(crate) text: String,
}

impl Element {
    /// Returns the value of an attribute; empty without one.
    pub(crate) fn attribute(&self, name: &str) -> &str {
        self.attributes.get(name).map_or("", String::as_str)
    }
}

/// A parsed page.
pub(crate) struct Html {
    /// All elements, in the order of the document.
    pub(crate) elements: Vec<Element>,
    /// The errors of the parser.
    pub(crate) errors: Vec<String>,
}

impl Html {
    /// Parses a page.
    pub(crate) fn parse(html: &str) -> Self {
        let dom = parse_document(RcDom::default(), ParseOpts::default()).one(html);
        let mut elements = Vec::new();
        collect(&dom.document, &mut elements);
        let errors = dom
            .errors
            .borrow()
            .iter()
            .map(ToString::to_string)
            .collect();
        Self { elements, errors }
    }

    /// Returns the elements of a name.
    pub(crate) fn named<'h>(&'h self, name: &'h str) -> impl Iterator<Item = &'h Element> {
        self.elements.iter().filter(move |it| it.name == name)
    }
}

fn collect(node: &Handle, elements: &mut Vec<Element>) {
    if let NodeData::Element { name, attrs, .. } = &node.data {
        let attributes = attrs.borrow();
        let attributes = attributes
            .iter()
            .map(|it| (it.name.local.to_string(), it.value.to_string()));
        elements.push(Element {
            name: name.local.to_string(),
            attributes: attributes.collect(),
            text: text(node),
        });
    }
    for child in node.children.borrow().iter() {
        collect(child, elements);
    }
}

fn text(node: &Handle) -> String {
    let own = match &node.data {
        NodeData::Text { contents } => contents.borrow().to_string(),
        _ => String::new(),
    };
    let children = node.children.borrow();
    own + &children.iter().map(text).collect::<String>()
}
