//! The HTML and its open elements. All tags are written here, so the HTML is balanced, and nested so that HTML's parser
//! repairs nothing.
//!
//! Elements of Markdown nest properly. Those of raw HTML can be opened and closed anywhere: one that is still open when
//! its Markdown parent ends is closed, and a closing tag closes nothing beyond that parent.

use std::fmt::Write as _;

use super::Heading;
use super::element::{Content, Element};
use super::ids::Ids;
use crate::escape::{cleaned, push_text};
use crate::limits;

/// The syntax that opened an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Markdown,
    Raw,
}

pub(super) struct Tree {
    pub(super) html: String,
    pub(super) ids: Ids,
    pub(super) contents: Vec<Heading>,
    open: Vec<Open>,
    /// The number of open elements that are written.
    depth: usize,
    /// The number of open links, at most one.
    links: usize,
    /// The text of the open heading.
    heading: Option<String>,
    paragraph: Paragraph,
    /// Whether a paragraph had text.
    pub(super) has_prose: bool,
    /// The places in the HTML before the `>` of an item, with the names of the arguments that the items describe.
    arguments: Vec<(usize, String)>,
}

/// An open element.
struct Open {
    element: Element,
    origin: Origin,
    /// Whether the tags are written. Otherwise the element only has its place on the stack.
    is_written: bool,
    /// The content of the innermost written element.
    content: Content,
    /// The length of the HTML before the opening tag, and after it.
    start: usize,
    inside: usize,
}

/// The contents of the open paragraph.
#[derive(Default)]
struct Paragraph {
    images: usize,
    badges: usize,
    has_text: bool,
}

impl Tree {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            html: String::with_capacity(capacity),
            ids: Ids::default(),
            contents: Vec::new(),
            open: Vec::new(),
            depth: 0,
            links: 0,
            heading: None,
            paragraph: Paragraph::default(),
            has_prose: false,
            arguments: Vec::new(),
        }
    }

    /// Opens an element of Markdown. Where it cannot be, only its place on the stack is taken.
    pub(super) fn open(&mut self, element: Element, attributes: &str) {
        let is_written = self.make_room(element, Origin::Markdown);
        if !is_written && !element.is_inline() {
            self.html.push('\n');
        }
        self.push(element, Origin::Markdown, attributes, is_written);
    }

    /// Takes the place of an element of Markdown without tags.
    pub(super) fn open_silently(&mut self, element: Element) {
        self.push(element, Origin::Markdown, "", false);
    }

    /// Opens an element of raw HTML, where it can be.
    pub(super) fn open_raw(&mut self, element: Element, attributes: &str) -> bool {
        let has_room = self.make_room(element, Origin::Raw);
        if has_room {
            self.push(element, Origin::Raw, attributes, true);
        }
        has_room
    }

    /// Closes the innermost element of Markdown, and the elements of raw HTML in it.
    pub(super) fn close(&mut self) {
        while let Some(open) = self.pop() {
            if open == Origin::Markdown {
                return;
            }
        }
    }

    /// Closes the innermost element of raw HTML that matches, if none of Markdown is inside it.
    pub(super) fn close_raw(&mut self, matches: impl Fn(Element) -> bool) {
        let raw = self.raw_elements();
        if let Some(inner) = raw.iter().rev().position(|open| matches(open.element)) {
            self.pop_many(inner + 1);
        }
    }

    /// Writes text. White space between the rows of a table, or the items of a list, is left out.
    pub(super) fn text(&mut self, text: &str) {
        let is_blank = text.trim().is_empty();
        if is_blank && !self.content().has_text() {
            return;
        }
        self.make_room_for_text();
        let is_first_of_raw = self.open.last().is_some_and(|open| {
            open.element == Element::Preformatted && open.inside == self.html.len()
        });
        // HTML's parser leaves out a line feed at the start of preformatted text.
        let text = match is_first_of_raw {
            true => text.trim_start_matches(['\n', '\r']),
            false => text,
        };
        push_text(&mut self.html, text);
        self.paragraph.has_text |= !is_blank;
        self.note_heading(text);
    }

    /// Writes code among text.
    pub(super) fn code(&mut self, code: &str) {
        self.make_room_for_text();
        self.html.push_str("<code>");
        push_text(&mut self.html, code);
        self.html.push_str("</code>");
        self.paragraph.has_text = true;
        self.note_heading(code);
    }

    /// Writes the tags of an element without contents among text.
    pub(super) fn inline(&mut self, markup: &str) {
        self.make_room_for_text();
        self.html.push_str(markup);
    }

    /// Writes an image, or a link to it. The label is its text in a table of contents.
    pub(super) fn image(&mut self, markup: &str, label: &str, is_badge: bool) {
        self.inline(markup);
        self.paragraph.images += 1;
        self.paragraph.badges += usize::from(is_badge);
        self.note_heading(label);
    }

    /// Makes room for a block that the caller writes into `html`. Returns whether there is any.
    pub(super) fn begin_block(&mut self, origin: Origin) -> bool {
        self.make_room_for_block(origin)
    }

    /// Marks the open item as the description of an argument, so that links can lead to it.
    pub(super) fn name_item(&mut self, name: &str) {
        let Some(item) = self.open.last() else { return };
        if item.element == Element::Item && item.is_written {
            self.arguments.push((self.html.len() - 1, name.to_owned()));
        }
    }

    pub(super) fn is_in_link(&self) -> bool {
        self.links > 0
    }

    pub(super) fn is_in_heading(&self) -> bool {
        self.heading.is_some()
    }

    /// Returns whether a heading of raw HTML can be closed.
    pub(super) fn has_raw_heading(&self) -> bool {
        let mut raw = self.raw_elements().iter();
        raw.any(|open| matches!(open.element, Element::Heading(_)))
    }

    /// Closes everything, and gives items their ids.
    pub(super) fn finish(mut self) -> (String, Vec<Heading>) {
        while self.pop().is_some() {}
        let mut html = String::with_capacity(self.html.len() + self.arguments.len() * 16);
        let mut written = 0;
        for (at, name) in std::mem::take(&mut self.arguments) {
            let Some(id) = self.ids.unclaimed(&name) else {
                continue;
            };
            html.push_str(self.html.get(written..at).unwrap_or_default());
            html.extend([" id=\"", &id, "\""]);
            written = at;
        }
        if written == 0 {
            return (self.html, self.contents);
        }
        html.push_str(self.html.get(written..).unwrap_or_default());
        (html, self.contents)
    }

    /// Returns the content that can be written now.
    fn content(&self) -> Content {
        self.open.last().map_or(Content::Flow, |open| open.content)
    }

    /// Returns the elements of raw HTML since the innermost one of Markdown. They are few, because all are written.
    fn raw_elements(&self) -> &[Open] {
        let is_raw = |open: &&Open| open.origin == Origin::Raw;
        let count = self.open.iter().rev().take_while(is_raw).count();
        self.open.get(self.open.len() - count..).unwrap_or_default()
    }

    fn make_room(&mut self, element: Element, origin: Origin) -> bool {
        if element.is_inline() {
            let is_nested_link = element == Element::Link && self.links > 0;
            if is_nested_link || self.depth >= limits::NESTING {
                return false;
            }
            self.make_room_for_text();
            return true;
        }
        if let Some(content) = element.parent() {
            return self.make_room_in(content, origin);
        }
        let is_too_deep = self.depth + limits::NESTING_RESERVE >= limits::NESTING;
        if element.is_container() && is_too_deep {
            return false;
        }
        if element == Element::Summary {
            return self
                .open
                .last()
                .is_some_and(|it| it.element == Element::Details);
        }
        let is_line = matches!(element, Element::Paragraph | Element::Heading(_));
        let mut raw = self.raw_elements().iter();
        if is_line && origin == Origin::Markdown && raw.any(|open| open.element == Element::Summary)
        {
            return false;
        }
        self.make_room_for_block(origin)
    }

    /// Makes room for an element that has only one kind of parent.
    fn make_room_in(&mut self, content: Content, origin: Origin) -> bool {
        if origin == Origin::Raw {
            let raw = self.raw_elements();
            let inner = raw.iter().rev().position(|open| match content {
                // A list inside a cell, or a table inside an item, is another parent.
                Content::List => open.element.content() == content,
                _ => open.element == Element::Table || open.element.content() == content,
            });
            self.pop_many(inner.unwrap_or(0));
        }
        match (content, self.content()) {
            (Content::Section, Content::Table) => self.push_missing(&[Element::TableBody]),
            (Content::Row, Content::Table) => {
                self.push_missing(&[Element::TableBody, Element::Row]);
            }
            (Content::Row, Content::Section) => self.push_missing(&[Element::Row]),
            _ => {}
        }
        self.content() == content
    }

    fn make_room_for_text(&mut self) {
        match self.content() {
            Content::Flow | Content::Phrasing => {}
            Content::List => self.push_missing(&[Element::Item]),
            Content::Table => {
                self.push_missing(&[Element::TableBody, Element::Row, Element::Cell]);
            }
            Content::Section => self.push_missing(&[Element::Row, Element::Cell]),
            Content::Row => self.push_missing(&[Element::Cell]),
        }
    }

    /// Closes the elements of raw HTML that a block ends. Returns whether the block can be written.
    fn make_room_for_block(&mut self, origin: Origin) -> bool {
        let raw = self.raw_elements();
        let is_ended = |open: &&Open| match origin {
            Origin::Markdown => open.element.content() == Content::Phrasing,
            Origin::Raw => open.element.is_inline() || open.element == Element::Paragraph,
        };
        let ended = raw.iter().rev().take_while(is_ended).count();
        let outer = self.open.len() - ended;
        let outer = outer.checked_sub(1).and_then(|at| self.open.get(at));
        if outer.is_some_and(|open| open.content == Content::Phrasing) {
            return false;
        }
        self.pop_many(ended);
        self.make_room_for_text();
        true
    }

    fn push_missing(&mut self, elements: &[Element]) {
        for element in elements {
            self.push(*element, Origin::Raw, "", true);
        }
    }

    fn push(&mut self, element: Element, origin: Origin, attributes: &str, is_written: bool) {
        let start = self.html.len();
        let content = if is_written {
            element.content()
        } else {
            self.content()
        };
        if is_written {
            self.depth += 1;
            match element {
                Element::Link => self.links += 1,
                Element::Paragraph => self.paragraph = Paragraph::default(),
                Element::Heading(_) => self.heading = Some(String::new()),
                _ => {}
            }
            self.write_start(element, attributes);
        }
        self.open.push(Open {
            element,
            origin,
            is_written,
            content,
            start,
            inside: self.html.len(),
        });
    }

    fn write_start(&mut self, element: Element, attributes: &str) {
        match element {
            // Written at the end, with the id.
            Element::Heading(_) => return,
            // Wide tables and code scroll, also by keys.
            Element::Table => self.html.push_str("<div class=\"table\" tabindex=\"0\">"),
            Element::Preformatted => {
                self.html.push_str("<pre tabindex=\"0\">");
                return;
            }
            _ => {}
        }
        self.html.extend(["<", element.tag(), attributes, ">"]);
    }

    fn pop_many(&mut self, count: usize) {
        for _ in 0..count {
            self.pop();
        }
    }

    fn pop(&mut self) -> Option<Origin> {
        let open = self.open.pop()?;
        if !open.is_written {
            return Some(open.origin);
        }
        self.depth -= 1;
        match open.element {
            Element::Link => {
                self.links -= 1;
                // A link without text cannot be seen, and has no name.
                if open.inside == self.html.len() {
                    self.html.truncate(open.start);
                    return Some(open.origin);
                }
            }
            Element::Paragraph => {
                if self.is_badges() {
                    self.html.truncate(open.start);
                    return Some(open.origin);
                }
                self.finish_paragraph(open.start);
            }
            Element::Heading(level) => {
                self.finish_heading(level, open.start);
                return Some(open.origin);
            }
            // A header without text would be announced for each cell below it.
            Element::HeaderCell if open.inside == self.html.len() => {
                self.html.truncate(open.start);
                self.html.push_str("<td></td>\n");
                return Some(open.origin);
            }
            _ => {}
        }
        self.html.extend(["</", open.element.tag(), ">"]);
        match open.element {
            Element::Table => self.html.push_str("</div>\n"),
            element if !element.is_inline() => self.html.push('\n'),
            _ => {}
        }
        Some(open.origin)
    }

    fn is_badges(&self) -> bool {
        let Paragraph {
            images,
            badges,
            has_text,
        } = self.paragraph;
        badges > 0 && badges == images && !has_text
    }

    /// Marks a paragraph that consists of images.
    fn finish_paragraph(&mut self, start: usize) {
        self.has_prose |= self.paragraph.has_text;
        if self.paragraph.images > 0 && !self.paragraph.has_text {
            let inside = start + "<p".len();
            let rest = self.html.get(inside..).unwrap_or_default();
            match rest.starts_with(" class=\"") {
                true => self.html.insert_str(inside + " class=\"".len(), "images "),
                false => self.html.insert_str(inside, " class=\"images\""),
            }
        }
    }

    fn finish_heading(&mut self, level: u8, start: usize) {
        let text = cleaned(self.heading.take().unwrap_or_default().trim());
        let inside = self.html.split_off(start);
        if inside.trim().is_empty() {
            return;
        }
        let id = self.ids.claim_slug(&text);
        let tag = Element::Heading(level).tag();
        _ = writeln!(self.html, "<{tag} id=\"{id}\">{inside}</{tag}>");
        if self.contents.len() < limits::HEADINGS {
            let text = text.chars().take(limits::HEADING_CHARS).collect();
            self.contents.push(Heading { level, id, text });
        }
    }

    fn note_heading(&mut self, text: &str) {
        if let Some(heading) = &mut self.heading {
            heading.push_str(text);
        }
    }
}
