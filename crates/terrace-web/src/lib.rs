//! The pages of the registry in a browser.
//!
//! Each page is a function from views of the API to a whole HTML document. Pages work without JavaScript; the script
//! adds copy buttons, filters and a key for the search.
//!
//! # In scope
//! - **Pages**: [`pages`] and the parts that they share, [`views`], which composes those of a version, [`assets`], and the
//!   [`comparison`] of two versions.
//! - **Around them**: the Atom [`feed`], the [`badge`], and the documents at [well-known](well_known) paths.
//! - **Documents**: [`markdown`] turns Markdown from strangers into HTML that contains allowed elements only.
//! - **Code**: [`highlight`] marks the parts of Terraform code.
//!
//! # Out of scope
//! Storage, access and HTTP: texts and addresses are arguments, and callers pass only contents that the reader may see.
//!
//! # Hostile input
//! Nothing fails and nothing is recursive. Time and output grow linearly with the input. Every byte of a document
//! reaches the output through `escape`, and every tag is written by this crate. Templates are written with [`maud`],
//! which escapes every value; only [`Rendered`] and highlighted code are written as they are. No page has inline styles or
//! scripts, so that the content security policy needs no exceptions.

mod accent;
pub mod assets;
pub mod badge;
pub mod comparison;
mod escape;
pub mod feed;
pub mod highlight;
pub mod limits;
mod links;
pub mod markdown;
pub mod pages;
mod parts;
mod readme;
pub mod rendering;
mod site;
pub mod snippets;
mod text;
pub mod views;
pub mod well_known;

pub use links::{
    BREAKING, FROM_VERSION, NAMESPACES_AFTER, OR, SHOWN_CHANGES, VERSIONS_AFTER, public_page,
};
pub use markdown::{Heading, Rendered};
pub use site::{SignIn, Site};
