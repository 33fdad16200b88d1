//! The arguments that several commands share.

mod archive_host;
pub(crate) mod duration;
mod package_spec;
mod page;
mod registry;

pub(crate) use archive_host::ArchiveHostArguments;
pub(crate) use package_spec::PackageSpec;
pub(crate) use page::{PageArguments, owner};
pub(crate) use registry::RegistryArguments;
