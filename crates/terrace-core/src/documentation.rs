//! Documentation: the details of a module, and the pages of a provider.
//!
//! # The archive
//! The documentation of one version is an archive of its own kind, `.docs`: a concatenation of gzip members (RFC 1952,
//! section 2.2). The first member is the [`Head`], in JSON: the details of a module with its README texts, or the
//! navigation of a provider with its symbols. It names the place of every further member, each of which is one
//! [page](Page): Markdown, or a file of an example. Behind them are images and the licence of a module, not compressed.
//! So an index can be built from the head alone, and one ranged read returns a page or a file.
//!
//! # In scope
//! The documents inside the archive, their limits, and parsing them. The `terrace` command writes them; the registry
//! accepts none that [`Head::parse`] rejects.
//!
//! # Out of scope
//! Extraction from Terraform code and Markdown files, which is up to the command; compression, which is up to the
//! caller.

mod excess;
mod head;
mod module;
mod page;
mod path;
mod provider;

pub use head::{Contents, Head, HeadError};
pub use module::{
    Input, ModuleCall, ModuleDetails, ModulePart, NamedPart, OnlyIn, Output, ProviderRequirement,
    Resource, ResourceMode, of_both,
};
pub use page::{Member, Page, PageName, PageNameError};
pub use path::{DocumentPath, DocumentText, image_type, is_license_file};
pub use provider::{
    DocumentationKind, DocumentationKindError, ProviderDetails, ProviderPage, Symbol,
};
