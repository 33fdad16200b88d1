//! From the parser's events to the tree.

use std::collections::BTreeMap;
use std::ops::Range;

use pulldown_cmark::{Alignment, CodeBlockKind, CowStr, Event, HeadingLevel, LinkType};
use pulldown_cmark::{Options as Dialect, Parser, Tag, TagEnd};

use super::attributes::Attributes;
use super::autolink::{self, Part};
use super::callout;
use super::element::Element;
use super::ids::Ids;
use super::target::Target;
use super::tree::{Origin, Tree};
use super::{Links, Rendered, TargetKind};
use crate::escape::push_text;
use crate::highlight;
use crate::limits;

/// GitHub's dialect.
pub(super) const DIALECT: Dialect = Dialect::ENABLE_TABLES
    .union(Dialect::ENABLE_FOOTNOTES)
    .union(Dialect::ENABLE_STRIKETHROUGH)
    .union(Dialect::ENABLE_TASKLISTS)
    .union(Dialect::ENABLE_GFM);

/// The attribute of links to other sites: no vote for them in search engines, and no access to the page.
const FOREIGN_REL: &str = "nofollow noopener";

pub(super) struct Writer<'s> {
    source: &'s str,
    links: &'s dyn Links,
    /// Whether the text is one of several in a page: it has no headings and no ids, and keeps its lines.
    pub(super) is_description: bool,
    pub(super) tree: Tree,
    /// Text that is not written yet, so that a URL is found although the parser splits text at special characters.
    text: String,
    /// Events before this offset belong to the mark of a callout.
    mark_end: usize,
    is_in_callout: bool,
    image: Option<OpenImage<'s>>,
    code: Option<Code>,
    /// The text of the open HTML block.
    html_block: Option<String>,
    table: Table,
    footnotes: BTreeMap<String, Footnote>,
    /// The end of an open link that is shown as written.
    written_link: Option<String>,
}

/// An image with the text that stands for it.
pub(super) struct Image<'i> {
    pub(super) target: &'i str,
    pub(super) alt: &'i str,
}

/// An image of Markdown, while its text is being read.
struct OpenImage<'s> {
    target: CowStr<'s>,
    alt: String,
    /// The number of images in its text.
    inner: usize,
}

/// A block of code that is being read.
struct Code {
    language: String,
    text: String,
}

/// The state of the open table.
#[derive(Default)]
struct Table {
    alignments: Vec<Alignment>,
    column: usize,
    is_header: bool,
    has_body: bool,
}

struct Footnote {
    number: usize,
    is_referred_to: bool,
    is_defined: bool,
}

impl<'s> Writer<'s> {
    pub(super) fn new(source: &'s str, links: &'s dyn Links) -> Self {
        Self {
            source,
            links,
            is_description: false,
            tree: Tree::new(source.len() * 2),
            text: String::new(),
            mark_end: 0,
            is_in_callout: false,
            image: None,
            code: None,
            html_block: None,
            table: Table::default(),
            footnotes: BTreeMap::new(),
            written_link: None,
        }
    }

    pub(super) fn write(mut self) -> Rendered {
        let mut is_truncated = false;
        let dialect = match self.is_description {
            true => DIALECT.difference(Dialect::ENABLE_FOOTNOTES),
            false => DIALECT,
        };
        for (event, range) in Parser::new_ext(self.source, dialect).into_offset_iter() {
            if self.tree.html.len() > self.limit() {
                is_truncated = true;
                break;
            }
            self.event(event, range);
        }
        self.flush();
        let (html, contents) = self.tree.finish();
        Rendered {
            html,
            contents,
            is_truncated,
            is_abridged: false,
            has_own_sources: false,
        }
    }

    /// Adds text.
    pub(super) fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Writes the text before a tag.
    pub(super) fn flush(&mut self) {
        if self.text.is_empty() {
            return;
        }
        let text = std::mem::take(&mut self.text);
        for part in autolink::parts(&text) {
            match part {
                Part::Url(url) if !self.tree.is_in_link() => self.autolink(url),
                Part::Text(text) | Part::Url(text) => self.tree.text(text),
            }
        }
        // Its memory serves the next text.
        self.text = text;
        self.text.clear();
    }

    /// Returns the element of a heading.
    pub(super) fn heading(&self, level: u8) -> Element {
        match self.is_description {
            true => Element::Paragraph,
            false => Element::Heading((level + 1).min(6)),
        }
    }

    /// Returns the attributes of a link; `None` if it leads nowhere.
    pub(super) fn link_attributes(&self, target: &str, title: &str) -> Option<Attributes> {
        let target = Target::parse(target, TargetKind::Link, self.links)?;
        Some(self.href(&target).with_text("title", title))
    }

    pub(super) fn image(&mut self, image: &Image<'_>) {
        let is_badge = is_badge(image.target, self.tree.is_in_link(), self.tree.has_prose);
        if is_badge && self.tree.is_in_heading() {
            return;
        }
        let target = Target::parse(image.target, TargetKind::Image, self.links);
        let label = match image.alt.trim() {
            "" => file_name(image.target),
            alt => alt,
        };
        let mut text = String::new();
        push_text(&mut text, label);
        let html = match target {
            Some(Target::Own(path)) => {
                let attributes = Attributes::default().with("src", &path).with("alt", label);
                Some(format!("<img{} loading=\"lazy\">", attributes.as_str()))
            }
            Some(target @ Target::Foreign(_)) if !self.tree.is_in_link() => {
                let href = self.href(&target);
                Some(format!("<a class=\"image\"{}>{text}</a>", href.as_str()))
            }
            _ => None,
        };
        let html = html.unwrap_or_else(|| format!("<span class=\"image\">{text}</span>"));
        self.tree.image(&html, label, is_badge);
    }

    fn href(&self, target: &Target<'_>) -> Attributes {
        let attributes = Attributes::default();
        match target {
            Target::Fragment(fragment) => {
                attributes.with("href", &format!("#{}", Ids::of_fragment(fragment)))
            }
            Target::Own(path) => attributes.with("href", path),
            Target::Foreign(url) => attributes.with("href", url).with("rel", FOREIGN_REL),
        }
    }

    /// Returns the length of HTML at which rendering stops.
    fn limit(&self) -> usize {
        self.source.len() * limits::EXPANSION + limits::EXPANSION_BASE
    }

    fn event(&mut self, event: Event<'s>, range: Range<usize>) {
        if self.image.is_some() {
            return self.event_in_image(event);
        }
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag, range),
            Event::Text(text) => self.text_event(&text, range),
            Event::Code(code) => {
                self.flush();
                self.tree.code(&code);
            }
            Event::Html(html) => {
                if let Some(block) = &mut self.html_block {
                    block.push_str(&html);
                }
            }
            Event::InlineHtml(html) => self.raw_html(&html),
            Event::SoftBreak if !self.is_description => self.text.push('\n'),
            Event::SoftBreak | Event::HardBreak => {
                self.flush();
                self.tree.inline("<br>");
                self.text.push('\n');
            }
            Event::Rule => {
                self.flush();
                if self.tree.begin_block(Origin::Markdown) {
                    self.tree.html.push_str("<hr>\n");
                }
            }
            Event::TaskListMarker(is_done) => self.text(if is_done { "☑ " } else { "☐ " }),
            Event::FootnoteReference(label) => self.footnote_reference(&label),
            // The dialect has none.
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text),
        }
    }

    fn text_event(&mut self, text: &str, range: Range<usize>) {
        if let Some(code) = &mut self.code {
            code.text.push_str(text);
            return;
        }
        let of_mark = self.mark_end.saturating_sub(range.start);
        self.text.push_str(text.get(of_mark..).unwrap_or_default());
    }

    fn start(&mut self, tag: Tag<'s>, range: Range<usize>) {
        self.flush();
        match tag {
            Tag::Paragraph => self.start_paragraph(range),
            Tag::Heading { level, .. } => self.start_heading(level),
            Tag::BlockQuote(None) => self.tree.open(Element::Quotation, ""),
            Tag::BlockQuote(Some(kind)) => self.start_callout(callout::of_alert(kind), true),
            Tag::CodeBlock(kind) => {
                let language = match kind {
                    CodeBlockKind::Fenced(info) => language(&info),
                    CodeBlockKind::Indented => String::new(),
                };
                let text = String::new();
                self.code = Some(Code { language, text });
            }
            Tag::HtmlBlock => self.html_block = Some(String::new()),
            Tag::List(None) => self.tree.open(Element::UnorderedList, ""),
            Tag::List(Some(1)) => self.tree.open(Element::OrderedList, ""),
            Tag::List(Some(start)) => {
                let start = Attributes::default().with("start", &start.to_string());
                self.tree.open(Element::OrderedList, start.as_str());
            }
            Tag::Item => {
                self.tree.open(Element::Item, "");
                let name = self.source.get(range).and_then(argument_name);
                if let Some(name) = name.filter(|_| !self.is_description) {
                    self.tree.name_item(name);
                }
            }
            Tag::FootnoteDefinition(label) => self.start_footnote(&label),
            Tag::Table(alignments) => {
                self.tree.open(Element::Table, "");
                self.table = Table {
                    alignments,
                    ..Table::default()
                };
            }
            Tag::TableHead => {
                self.table.is_header = true;
                self.tree.open(Element::TableHead, "");
                self.tree.open(Element::Row, "");
            }
            Tag::TableRow => self.start_row(),
            Tag::TableCell => self.start_cell(),
            Tag::Emphasis => self.tree.open(Element::Emphasis, ""),
            Tag::Strong => self.tree.open(Element::Strong, ""),
            Tag::Strikethrough => self.start_strikethrough(range),
            Tag::Subscript => self.tree.open(Element::Subscript, ""),
            Tag::Superscript => self.tree.open(Element::Superscript, ""),
            Tag::Link {
                link_type,
                dest_url,
                title,
                ..
            } => {
                self.start_link(link_type, &dest_url, &title);
            }
            Tag::Image { dest_url, .. } => {
                let alt = String::new();
                self.image = Some(OpenImage {
                    target: dest_url,
                    alt,
                    inner: 0,
                });
            }
            // The dialect has none.
            Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::MetadataBlock(_) => self.tree.open(Element::Division, ""),
        }
    }

    fn end(&mut self, tag: TagEnd, range: Range<usize>) {
        match tag {
            TagEnd::CodeBlock => return self.end_code(),
            TagEnd::HtmlBlock => {
                let block = self.html_block.take().unwrap_or_default();
                return self.raw_html(&block);
            }
            TagEnd::Link => {
                let end = self.written_link.take().unwrap_or_default();
                self.text(&end);
            }
            TagEnd::Strikethrough if !self.is_strikethrough(&range) => self.text("~"),
            _ => {}
        }
        self.flush();
        self.tree.close();
        match tag {
            TagEnd::Paragraph if std::mem::take(&mut self.is_in_callout) => self.tree.close(),
            TagEnd::TableHead => {
                self.tree.close();
                self.table.is_header = false;
            }
            TagEnd::Table if self.table.has_body => self.tree.close(),
            _ => {}
        }
    }

    fn start_paragraph(&mut self, range: Range<usize>) {
        let paragraph = self.source.get(range.clone()).unwrap_or_default();
        if let Some((callout, length)) = callout::of_paragraph(paragraph) {
            let text = paragraph.get(length..).unwrap_or_default();
            self.start_callout(callout, !callout::has_title(text));
            self.mark_end = range.start + length;
            self.is_in_callout = true;
        }
        self.tree.open(Element::Paragraph, "");
    }

    fn start_callout(&mut self, callout: &str, needs_title: bool) {
        let class = format!("callout {}", callout.to_ascii_lowercase());
        let attributes = Attributes::default()
            .with("class", &class)
            .with("role", "note");
        self.tree.open(Element::Division, attributes.as_str());
        if needs_title {
            let class = Attributes::default().with("class", "title");
            self.tree.open(Element::Paragraph, class.as_str());
            self.tree.text(callout);
            self.tree.close();
        }
    }

    fn start_heading(&mut self, level: HeadingLevel) {
        let heading = self.heading(level as u8);
        self.tree.open(heading, "");
    }

    fn end_code(&mut self) {
        let Some(Code { language, text }) = self.code.take() else {
            return;
        };
        if !self.tree.begin_block(Origin::Markdown) {
            return self.tree.code(&text);
        }
        let limit = self.limit();
        let html = &mut self.tree.html;
        html.push_str("<pre tabindex=\"0\"><code");
        if !language.is_empty() {
            html.extend([" class=\"language-", &language, "\""]);
        }
        html.push('>');
        match highlight::is_terraform(&language) {
            true => highlight::push_terraform(html, &text, limit),
            false => push_text(html, &text),
        }
        html.push_str("</code></pre>\n");
    }

    fn start_row(&mut self) {
        if !self.table.has_body {
            self.table.has_body = true;
            self.tree.open(Element::TableBody, "");
        }
        self.table.column = 0;
        self.tree.open(Element::Row, "");
    }

    fn start_cell(&mut self) {
        let class = match self.table.alignments.get(self.table.column) {
            Some(Alignment::Center) => "center",
            Some(Alignment::Right) => "right",
            _ => "",
        };
        self.table.column += 1;
        let cell = if self.table.is_header {
            Element::HeaderCell
        } else {
            Element::Cell
        };
        let attributes = Attributes::default().with_text("class", class);
        self.tree.open(cell, attributes.as_str());
    }

    /// Returns whether text is struck through: by two tildes. One is part of a version constraint (`~> 1.0`).
    fn is_strikethrough(&self, range: &Range<usize>) -> bool {
        let text = self.source.get(range.start..);
        text.is_some_and(|text| text.starts_with("~~"))
    }

    fn start_strikethrough(&mut self, range: Range<usize>) {
        if self.is_strikethrough(&range) {
            return self.tree.open(Element::Deleted, "");
        }
        if range.start >= self.mark_end {
            self.text("~");
            self.flush();
        }
        self.tree.open_silently(Element::Deleted);
    }

    fn start_link(&mut self, kind: LinkType, target: &str, title: &str) {
        let attributes = match kind {
            LinkType::Email => self.link_attributes(&format!("mailto:{target}"), title),
            _ => self.link_attributes(target, title),
        };
        if let Some(attributes) = attributes {
            return self.tree.open(Element::Link, attributes.as_str());
        }
        // A regular expression, such as `[a-z]([-a-z0-9]*[a-z0-9])?`, has the form of a link.
        if kind == LinkType::Inline && target.contains(['[', ']', '{', '}', '*', '^', '|']) {
            self.text("[");
            self.flush();
            self.written_link = Some(format!("]({target})"));
        }
        self.tree.open_silently(Element::Link);
    }

    fn autolink(&mut self, url: &str) {
        match self.link_attributes(url, "") {
            Some(attributes) => {
                self.tree.open(Element::Link, attributes.as_str());
                self.tree.text(url);
                self.tree.close();
            }
            None => self.tree.text(url),
        }
    }

    /// Collects the text that stands for an image.
    fn event_in_image(&mut self, event: Event<'s>) {
        let Some(image) = &mut self.image else { return };
        match event {
            Event::Start(Tag::Image { .. }) => image.inner += 1,
            Event::End(TagEnd::Image) if image.inner > 0 => image.inner -= 1,
            Event::End(TagEnd::Image) => {
                let Some(OpenImage { target, alt, .. }) = self.image.take() else {
                    return;
                };
                self.image(&Image {
                    target: &target,
                    alt: &alt,
                });
            }
            Event::Text(text) | Event::Code(text) => image.alt.push_str(&text),
            Event::SoftBreak | Event::HardBreak => image.alt.push(' '),
            _ => {}
        }
    }

    fn footnote(&mut self, label: &str) -> &mut Footnote {
        let next = self.footnotes.len() + 1;
        self.footnotes.entry(label.to_owned()).or_insert(Footnote {
            number: next,
            is_referred_to: false,
            is_defined: false,
        })
    }

    fn footnote_reference(&mut self, label: &str) {
        self.flush();
        let footnote = self.footnote(label);
        let number = footnote.number;
        let is_first = !std::mem::replace(&mut footnote.is_referred_to, true);
        if self.tree.is_in_link() {
            return self.tree.inline(&format!("<sup>{number}</sup>"));
        }
        let id = Ids::footnote(number);
        let own_id = if is_first {
            format!(" id=\"{id}-back\"")
        } else {
            String::new()
        };
        self.tree.inline(&format!(
            "<sup><a href=\"#{id}\"{own_id}>{number}</a></sup>"
        ));
    }

    fn start_footnote(&mut self, label: &str) {
        let footnote = self.footnote(label);
        let (number, is_referred_to) = (footnote.number, footnote.is_referred_to);
        let is_first = !std::mem::replace(&mut footnote.is_defined, true);
        let id = Ids::footnote(number);
        let attributes = Attributes::default().with("class", "footnote");
        let attributes = if is_first {
            attributes.with("id", &id)
        } else {
            attributes
        };
        self.tree.open(Element::Division, attributes.as_str());
        match is_referred_to {
            true => self
                .tree
                .inline(&format!("<sup><a href=\"#{id}-back\">{number}</a></sup>")),
            false => self.tree.inline(&format!("<sup>{number}</sup>")),
        }
    }
}

/// Returns the language of a code block, as the end of a class; empty if there is none.
fn language(info: &str) -> String {
    let end = info.find(|c: char| c.is_whitespace() || matches!(c, ',' | '{' | ':'));
    let language = info.get(..end.unwrap_or(info.len())).unwrap_or_default();
    let is_class = language.len() <= 20
        && language
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    if is_class {
        language.to_ascii_lowercase()
    } else {
        String::new()
    }
}

/// Returns the name of the argument that an item of a list describes: code at its start.
fn argument_name(item: &str) -> Option<&str> {
    let text = item.trim_start_matches(|c: char| c.is_ascii_digit());
    let text = text.trim_start_matches(['-', '*', '+', '.', ')', ' ', '\t', '[']);
    let (name, _) = text
        .strip_prefix('`')?
        .split_at_checked(text.get(1..)?.find('`')?)?;
    let is_name = (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some(name)
}

/// Returns whether an image is a badge or a banner: its words say nothing to the reader. It is on another host, and has the
/// address of a badge or leads elsewhere from above all text.
fn is_badge(target: &str, is_link: bool, is_below_text: bool) -> bool {
    let has = |part: &str| target.contains(part);
    let is_foreign = target.starts_with("https://") || target.starts_with("http://");
    let is_named = ["badge", "shields.io", "beacon"].into_iter().any(has);
    is_foreign && (is_named || is_link && (!is_below_text || has(".svg")))
}

/// Returns the end of a path, to be shown instead of an image without text.
fn file_name(target: &str) -> &str {
    let path = target.split(['?', '#']).next().unwrap_or_default();
    let is_path = !path.contains(':') || path.starts_with("http");
    match path.rsplit('/').next() {
        Some(name) if !name.is_empty() && is_path => name,
        _ => "image",
    }
}
