//! Documentation of modules and providers, extracted from Terraform code, Markdown files and provider schemas, and
//! packed into the archive that the registry stores.
//!
//! # In scope
//! - **Modules**: [`module_details`] reads a directory tree of configuration files, [`module_sources`] only its calls of
//!   other modules, and [`syntax_error`] whether clients can parse a file.
//! - **Providers**: [`provider_details`] reads the Markdown pages of both layouts, and [`Schema`] the output of
//!   `terraform providers schema -json`.
//! - **Other files in the native syntax**: [`native_as_json`].
//! - **Archives**: [`Draft::pack`] writes them, [`OpenArchive`] reads them.
//!
//! # Out of scope
//! Reading directories, and following symbolic links: files are arguments. Rendering Markdown.
//!
//! # Hostile input
//! Nothing fails: an unreadable file costs only itself, and leaves an error, a note or a warning. The parser of
//! configuration files is recursive, so a byte scanner without recursion rejects blocks that are too deep or too long
//! before the parser sees them.

mod archive;
mod calls;
mod configuration;
mod draft;
pub mod limits;
mod module;
mod provider_docs;
mod schema;
mod source;
mod text;

pub use archive::{Archive, OpenArchive};
pub use calls::{ModuleSource, module_calls, module_sources, syntax_error};
pub use configuration::native_as_json;
pub use draft::{Draft, Warning};
pub use module::{is_submodule, module_details};
pub use provider_docs::{ProviderOptions, provider_details};
pub use schema::Schema;
pub use source::SourceFile;
