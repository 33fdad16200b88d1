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

impl Content {
    /// Returns whether text may be directly inside.
    pub(super) fn has_text(self) -> bool {
        matches!(self, Self::Flow | Self::Phrasing)
    }
}

impl Element {
    /// Returns the name of the tag.
    pub(super) fn tag(self) -> &'static str {
        match self {
            Self::Link => "a",
            Self::Strong => "strong",
            Self::Emphasis => "em",
            Self::Code => "code",
            Self::Deleted => "del",
            Self::Keyboard => "kbd",
            Self::Subscript => "sub",
            Self::Superscript => "sup",
            Self::Paragraph => "p",
            Self::Heading(1) => "h1",
            Self::Heading(2) => "h2",
            Self::Heading(3) => "h3",
            Self::Heading(4) => "h4",
            Self::Heading(5) => "h5",
            Self::Heading(_) => "h6",
            Self::Preformatted => "pre",
            Self::Summary => "summary",
            Self::Caption => "caption",
            Self::Division => "div",
            Self::Quotation => "blockquote",
            Self::Details => "details",
            Self::UnorderedList => "ul",
            Self::OrderedList => "ol",
            Self::Item => "li",
            Self::Table => "table",
            Self::TableHead => "thead",
            Self::TableBody => "tbody",
            Self::TableFoot => "tfoot",
            Self::Row => "tr",
            Self::HeaderCell => "th",
            Self::Cell => "td",
        }
    }

    pub(super) fn content(self) -> Content {
        match self {
            Self::Division | Self::Quotation | Self::Details => Content::Flow,
            Self::Item | Self::HeaderCell | Self::Cell => Content::Flow,
            Self::UnorderedList | Self::OrderedList => Content::List,
            Self::Table => Content::Table,
            Self::TableHead | Self::TableBody | Self::TableFoot => Content::Section,
            Self::Row => Content::Row,
            _ => Content::Phrasing,
        }
    }

    /// Returns whether the element is part of a line of text.
    pub(super) fn is_inline(self) -> bool {
        matches!(
            self,
            Self::Link
                | Self::Strong
                | Self::Emphasis
                | Self::Code
                | Self::Deleted
                | Self::Keyboard
                | Self::Subscript
                | Self::Superscript
        )
    }

    /// Returns whether the element is a block that may be anywhere among text, and contains blocks itself.
    pub(super) fn is_container(self) -> bool {
        matches!(
            self,
            Self::Division
                | Self::Quotation
                | Self::Details
                | Self::UnorderedList
                | Self::OrderedList
                | Self::Table
        )
    }

    /// Returns the content of the only parents that the element may have; `None` if it may be anywhere among blocks.
    pub(super) fn parent(self) -> Option<Content> {
        match self {
            Self::Item => Some(Content::List),
            Self::TableHead | Self::TableBody | Self::TableFoot => Some(Content::Table),
            Self::Caption => Some(Content::Table),
            Self::Row => Some(Content::Section),
            Self::HeaderCell | Self::Cell => Some(Content::Row),
            _ => None,
        }
    }
}
