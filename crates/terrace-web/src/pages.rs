//! The pages, each a function that returns a whole document.

mod assistants;
mod browse;
mod compare;
mod document;
mod install;
mod messages;
mod module;
mod module_tables;
mod provider;
mod search;
mod start;
mod versions;

pub use crate::parts::package_head::Release;
pub use assistants::assistants;
pub use browse::{Browse, browse, namespace};
pub use compare::{ComparedVersions, comparison};
pub use document::document;
pub use messages::{Failure, error, token_form};
pub use module::{ExampleFile, module, module_part};
pub use module_tables::section_of_tab;
pub use provider::provider;
pub use search::{Searched, search};
pub use start::{Start, start};
pub use versions::{used_by, versions};

/// Maximum number of namespaces beside a list of packages, which has `LISTED_AT_ONCE` entries of about twice their
/// height. A link leads to the next ones.
pub const SHOWN_NAMESPACES: usize = 50;
