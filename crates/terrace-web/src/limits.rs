//! Every limit of the pages.

/// Maximum size of a document that is rendered, in bytes. Longer ones are cut: the registry stores no longer pages.
pub const DOCUMENT_BYTES: usize = terrace_core::limits::PAGE_BYTES as usize;

/// Maximum number of written elements that contain each other. Deeper containers lose their tags and keep their text.
/// Browsers stop at 512 and then move elements; the documents of three large public providers reach 12.
pub const NESTING: usize = 32;

/// The part of [`NESTING`] that is reserved for the elements inside a container: a table needs four for a cell, and its
/// text some more.
pub const NESTING_RESERVE: usize = 8;

/// Maximum size of the HTML of a document, as a multiple of the document: rendering stops there. The documents of
/// three large public providers need at most 2.1, hostile ones (a callout or a coloured token of two bytes) could ask for 50.
pub const EXPANSION: usize = 6;

/// Size of HTML that is allowed whatever the document's size, in bytes.
pub const EXPANSION_BASE: usize = 16 * 1024;

/// Maximum size of the rows of a module's tables, and of those of a comparison, in bytes of HTML. An input of a public module
/// takes about a kilobyte, and large ones have some hundred.
pub const ROWS_BYTES: usize = 2 * 1024 * 1024;

/// Maximum number of required inputs in the call of a module that readers copy.
pub const SNIPPET_INPUTS: usize = 200;

/// Maximum length of the name of an input in that call, in bytes: all lines are as wide as the longest name.
pub const INPUT_NAME_BYTES: usize = 200;

/// Maximum number of characters of an id. The longest anchors of public providers, for nested blocks, have 205.
pub const ID_CHARS: usize = 300;

/// Maximum number of headings in a table of contents. The first 500 KB of the largest page of a public provider have 726.
pub const HEADINGS: usize = 2_000;

/// Maximum number of characters of a heading in a table of contents.
pub const HEADING_CHARS: usize = 300;

/// Maximum number of bytes of a URL in a link. Longer ones lose their link; browsers accept 2,000 everywhere.
pub const URL_BYTES: usize = 4_000;

/// Maximum number of attributes of a raw tag that are read.
pub const TAG_ATTRIBUTES: usize = 16;
