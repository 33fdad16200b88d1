//! Raw HTML in Markdown: each tag becomes an element of the tree, nothing, or text.

use super::attributes::Attributes;
use super::element::Element;
use super::entity::decoded;
use super::raw::{Tag, Token, tokens};
use super::tree::Origin;
use super::writer::{Image, Writer};

/// Elements that only change the look of their contents: they stay, without the tags.
const IGNORED: [&str; 17] = [
    "span", "font", "u", "ins", "mark", "small", "big", "abbr", "cite", "picture", "source",
    "figure", "section", "article", "header", "footer", "wbr",
];

impl Writer<'_> {
    /// Writes the allowed part of raw HTML.
    pub(super) fn raw_html(&mut self, html: &str) {
        tokens(html, |token| match token {
            Token::Text(text) => self.text(&decoded(text)),
            Token::Comment => {}
            Token::Open(tag) => self.open_tag(&tag),
            Token::Close(tag) => self.close_tag(&tag),
        });
    }

    fn open_tag(&mut self, tag: &Tag<'_>) {
        let name = tag.name.to_ascii_lowercase();
        match name.as_str() {
            "a" => self.anchor(tag),
            "img" => self.raw_image(tag),
            "br" => {
                self.flush();
                self.tree.inline("<br>");
            }
            "hr" => {
                self.flush();
                if self.tree.begin_block(Origin::Raw) {
                    self.tree.html.push_str("<hr>\n");
                }
            }
            name if IGNORED.contains(&name) => {}
            name => match Element::of_tag(name) {
                Some(Element::Heading(level)) => self.open_raw(self.heading(level), tag, name),
                Some(element) => self.open_raw(element, tag, name),
                // Often it is no HTML, but a placeholder such as `<name>`.
                None => self.text(&decoded(tag.source)),
            },
        }
    }

    fn open_raw(&mut self, element: Element, tag: &Tag<'_>, name: &str) {
        self.flush();
        let attributes = attributes(element, tag, name);
        let is_open = self.tree.open_raw(element, attributes.as_str());
        // A heading inside a line, such as that of a summary, keeps its weight.
        if !is_open && matches!(element, Element::Heading(_)) {
            self.tree.open_raw(Element::Strong, "");
        }
        let id = tag.attribute("id").filter(|_| element.content().has_text());
        if let Some(id) = id {
            self.write_id(id);
        }
    }

    fn close_tag(&mut self, tag: &Tag<'_>) {
        let Some(element) = Element::of_tag(&tag.name.to_ascii_lowercase()) else {
            return;
        };
        self.flush();
        let is_heading = |open| matches!(open, Element::Heading(_));
        match is_heading(element) {
            true if self.tree.has_raw_heading() => self.tree.close_raw(is_heading),
            true => self.tree.close_raw(|open| open == Element::Strong),
            false => self.tree.close_raw(|open| open == element),
        }
    }

    fn anchor(&mut self, tag: &Tag<'_>) {
        self.flush();
        if let Some(id) = tag.attribute("id").or_else(|| tag.attribute("name")) {
            self.write_id(id);
        }
        let Some(href) = tag.attribute("href") else {
            return;
        };
        let title = decoded(tag.attribute("title").unwrap_or_default());
        if let Some(attributes) = self.link_attributes(&decoded(href), &title) {
            self.tree.open_raw(Element::Link, attributes.as_str());
        }
    }

    fn write_id(&mut self, id: &str) {
        if self.is_description {
            return;
        }
        if let Some(id) = self.tree.ids.unclaimed(&decoded(id)) {
            self.tree.inline(&format!("<span id=\"{id}\"></span>"));
        }
    }

    fn raw_image(&mut self, tag: &Tag<'_>) {
        let text = |name| decoded(tag.attribute(name).unwrap_or_default());
        self.flush();
        self.image(&Image {
            target: &text("src"),
            alt: &text("alt"),
        });
    }
}

/// Returns the attributes that an element of raw HTML keeps.
fn attributes(element: Element, tag: &Tag<'_>, name: &str) -> Attributes {
    let align = match tag.attribute("align") {
        Some(align) if name != "center" => align.to_ascii_lowercase(),
        _ if name == "center" => "center".to_owned(),
        _ => String::new(),
    };
    let class = match (element, align.as_str()) {
        (Element::Heading(_) | Element::Preformatted | Element::Table, _) => "",
        (_, "center") if !element.is_inline() => "center",
        (_, "right") if !element.is_inline() => "right",
        _ => "",
    };
    let attributes = Attributes::default().with_text("class", class);
    let number = |name| {
        tag.attribute(name)
            .filter(|value| is_number(value, 3))
            .unwrap_or_default()
    };
    match element {
        Element::Cell | Element::HeaderCell => attributes
            .with_text("colspan", number("colspan"))
            .with_text("rowspan", number("rowspan")),
        Element::OrderedList => attributes.with_text("start", number("start")),
        Element::Details if tag.attribute("open").is_some() => attributes.with("open", ""),
        _ => attributes,
    }
}

fn is_number(value: &str, digits: usize) -> bool {
    (1..=digits).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_digit())
}
