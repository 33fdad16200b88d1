//! The elements that contain others, and the rules of their nesting.

/// An element that contains text or other elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Element {
    Link,
    Strong,
    Emphasis,
    Code,
    Deleted,
    Keyboard,
    Subscript,
    Superscript,
    Paragraph,
    /// A heading of this level, 1 to 6.
    Heading(u8),
    Preformatted,
    Summary,
    Caption,
    Division,
    Quotation,
    Details,
    UnorderedList,
    OrderedList,
    Item,
    Table,
    TableHead,
    TableBody,
    TableFoot,
    Row,
    HeaderCell,
    Cell,
}

/// The content that an element may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Content {
    /// Blocks and text.
    Flow,
    /// Text and inline elements.
    Phrasing,
    /// Items.
    List,
    /// Sections and a caption.
    Table,
    /// Rows.
    Section,
    /// Cells.
    Row,
}

/// The places where an element may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In a line of text.
    Line,
    /// Among blocks.
    Block,
    /// Among blocks and text, with blocks inside.
    Container,
    /// In a parent with this content only.
    In(Content),
}

/// All elements with their tags, contents and places.
static ELEMENTS: [(Element, &str, Content, Place); 31] = {
    use {Content as C, Element as E, Place::*};
    [
        (E::Link, "a", C::Phrasing, Line),
        (E::Strong, "strong", C::Phrasing, Line),
        (E::Emphasis, "em", C::Phrasing, Line),
        (E::Code, "code", C::Phrasing, Line),
        (E::Deleted, "del", C::Phrasing, Line),
        (E::Keyboard, "kbd", C::Phrasing, Line),
        (E::Subscript, "sub", C::Phrasing, Line),
        (E::Superscript, "sup", C::Phrasing, Line),
        (E::Paragraph, "p", C::Phrasing, Block),
        (E::Heading(1), "h1", C::Phrasing, Block),
        (E::Heading(2), "h2", C::Phrasing, Block),
        (E::Heading(3), "h3", C::Phrasing, Block),
        (E::Heading(4), "h4", C::Phrasing, Block),
        (E::Heading(5), "h5", C::Phrasing, Block),
        (E::Heading(6), "h6", C::Phrasing, Block),
        (E::Preformatted, "pre", C::Phrasing, Block),
        (E::Summary, "summary", C::Phrasing, Block),
        (E::Caption, "caption", C::Phrasing, In(C::Table)),
        (E::Division, "div", C::Flow, Container),
        (E::Quotation, "blockquote", C::Flow, Container),
        (E::Details, "details", C::Flow, Container),
        (E::UnorderedList, "ul", C::List, Container),
        (E::OrderedList, "ol", C::List, Container),
        (E::Item, "li", C::Flow, In(C::List)),
        (E::Table, "table", C::Table, Container),
        (E::TableHead, "thead", C::Section, In(C::Table)),
        (E::TableBody, "tbody", C::Section, In(C::Table)),
        (E::TableFoot, "tfoot", C::Section, In(C::Table)),
        (E::Row, "tr", C::Row, In(C::Section)),
        (E::HeaderCell, "th", C::Flow, In(C::Row)),
        (E::Cell, "td", C::Flow, In(C::Row)),
    ]
};

impl Content {
    /// Returns whether text may be directly inside.
    pub(super) fn has_text(self) -> bool {
        matches!(self, Self::Flow | Self::Phrasing)
    }
}

impl Element {
    /// Returns the element of a tag in raw HTML, in lower case.
    pub(super) fn of_tag(name: &str) -> Option<Self> {
        let tag = match name {
            "center" | "dl" | "dt" | "dd" | "figcaption" => "div",
            "b" => "strong",
            "i" | "var" | "dfn" => "em",
            "tt" | "samp" => "code",
            "s" | "strike" => "del",
            name => name,
        };
        let mut elements = ELEMENTS.iter();
        elements
            .find(|(_, known, ..)| *known == tag)
            .map(|(it, ..)| *it)
    }

    fn rules(self) -> (&'static str, Content, Place) {
        let mut elements = ELEMENTS.iter();
        let found = elements.find(|(known, ..)| *known == self);
        // Only a heading of another level is not in the list.
        let (_, tag, content, place) =
            found.unwrap_or(&(Self::Heading(6), "h6", Content::Phrasing, Place::Block));
        (tag, *content, *place)
    }

    /// Returns the name of the tag.
    pub(super) fn tag(self) -> &'static str {
        self.rules().0
    }

    pub(super) fn content(self) -> Content {
        self.rules().1
    }

    /// Returns whether the element is part of a line of text.
    pub(super) fn is_inline(self) -> bool {
        self.rules().2 == Place::Line
    }

    /// Returns whether the element is a block that may be anywhere among text, and contains blocks itself.
    pub(super) fn is_container(self) -> bool {
        self.rules().2 == Place::Container
    }

    /// Returns the content of the only parents that the element may have; `None` if it may be anywhere among blocks.
    pub(super) fn parent(self) -> Option<Content> {
        match self.rules().2 {
            Place::In(content) => Some(content),
            _ => None,
        }
    }
}
