//! Raw HTML in Markdown: each tag becomes an element of the tree, nothing, or text.

use super::attributes::Attributes;
use super::element::Element;
use super::entity::decoded;
use super::raw::{Tag, Token, tokens};
use super::tree::Origin;
use super::writer::{Image, Writer};

/// The meaning of a tag.
enum Meaning {
    /// An element that contains others.
    Element(Element),
    /// A heading of this level.
    Heading(u8),
    Anchor,
    Image,
    LineBreak,
    Rule,
    /// An element that only changes the look of its contents: they stay, without the tags.
    Contents,
    /// Any other element. Its start is shown as text: often it is no HTML, but a placeholder such as `<name>`.
    Unknown,
}

impl Meaning {
    fn of(name: &str) -> Self {
        match name {
            "a" => Self::Anchor,
            "img" => Self::Image,
            "br" => Self::LineBreak,
            "hr" => Self::Rule,
            "h1" => Self::Heading(1),
            "h2" => Self::Heading(2),
            "h3" => Self::Heading(3),
            "h4" => Self::Heading(4),
            "h5" => Self::Heading(5),
            "h6" => Self::Heading(6),
            "span" | "font" | "u" | "ins" | "mark" | "small" | "big" | "abbr" | "cite" => {
                Self::Contents
            }
            "picture" | "source" | "figure" | "section" | "article" | "header" | "footer"
            | "wbr" => Self::Contents,
            name => element(name).map_or(Self::Unknown, Self::Element),
        }
    }
}

fn element(name: &str) -> Option<Element> {
    Some(match name {
        "p" => Element::Paragraph,
        "div" | "center" | "dl" | "dt" | "dd" | "figcaption" => Element::Division,
        "pre" => Element::Preformatted,
        "blockquote" => Element::Quotation,
        "details" => Element::Details,
        "summary" => Element::Summary,
        "ul" => Element::UnorderedList,
        "ol" => Element::OrderedList,
        "li" => Element::Item,
        "table" => Element::Table,
        "caption" => Element::Caption,
        "thead" => Element::TableHead,
        "tbody" => Element::TableBody,
        "tfoot" => Element::TableFoot,
        "tr" => Element::Row,
        "th" => Element::HeaderCell,
        "td" => Element::Cell,
        "b" | "strong" => Element::Strong,
        "i" | "em" | "var" | "dfn" => Element::Emphasis,
        "code" | "tt" | "samp" => Element::Code,
        "del" | "s" | "strike" => Element::Deleted,
        "kbd" => Element::Keyboard,
        "sub" => Element::Subscript,
        "sup" => Element::Superscript,
        _ => return None,
    })
}

impl Writer<'_> {
    /// Writes the allowed part of raw HTML.
    pub(super) fn raw_html(&mut self, html: &str) {
        for token in tokens(html) {
            match token {
                Token::Text(text) => self.text(&decoded(text)),
                Token::Comment => {}
                Token::Open(tag) => self.open_tag(&tag),
                Token::Close(tag) => self.close_tag(&tag),
            }
        }
    }

    fn open_tag(&mut self, tag: &Tag<'_>) {
        let name = tag.name.to_ascii_lowercase();
        match Meaning::of(&name) {
            Meaning::Unknown => self.text(&decoded(tag.source)),
            Meaning::Contents => {}
            Meaning::Anchor => self.anchor(tag),
            Meaning::Image => self.raw_image(tag),
            Meaning::LineBreak => {
                self.flush();
                self.tree.inline("<br>");
            }
            Meaning::Rule => {
                self.flush();
                if self.tree.begin_block(Origin::Raw) {
                    self.tree.html.push_str("<hr>\n");
                }
            }
            Meaning::Heading(level) => {
                let heading = Element::Heading(self.level(level));
                self.open_raw(heading, tag, &name);
            }
            Meaning::Element(element) => self.open_raw(element, tag, &name),
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
        let name = tag.name.to_ascii_lowercase();
        match Meaning::of(&name) {
            Meaning::Anchor => {
                self.flush();
                self.tree.close_raw(|open| open == Element::Link);
            }
            Meaning::Heading(_) => {
                self.flush();
                let is_heading = |open| matches!(open, Element::Heading(_));
                match self.tree.has_raw_heading() {
                    true => self.tree.close_raw(is_heading),
                    false => self.tree.close_raw(|open| open == Element::Strong),
                }
            }
            Meaning::Element(element) => {
                self.flush();
                self.tree.close_raw(|open| open == element);
            }
            Meaning::Contents
            | Meaning::Image
            | Meaning::LineBreak
            | Meaning::Rule
            | Meaning::Unknown => {}
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
