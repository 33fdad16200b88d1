//! The modules and versions that a run publishes.

use std::path::PathBuf;

use terrace_core::model::address::ModuleAddress;
use terrace_core::model::source_url::SourceUrl;
use terrace_core::model::version::Version;

use super::report::Row;
use crate::source::git::{Repository, Tag};

/// The versions to publish.
pub(super) struct Plan {
    pub(super) origins: Vec<Origin>,
    /// The modules, ascending by address.
    pub(super) modules: Vec<PlannedModule>,
    /// The modules and versions that cannot be published.
    pub(super) problems: Vec<Row>,
    pub(super) ignored_tags: Vec<String>,
}

/// A repository, or a directory without one.
pub(super) struct Origin {
    pub(super) directory: PathBuf,
    pub(super) repository: Option<Repository>,
    /// The URL that is published as the source of the releases.
    pub(super) source: Option<SourceUrl>,
}

/// A module with its versions, ascending.
pub(super) struct PlannedModule {
    pub(super) address: ModuleAddress,
    pub(super) versions: Vec<PlannedVersion>,
}

/// A version of a module.
#[derive(Debug, Clone)]
pub(super) struct PlannedVersion {
    pub(super) version: Version,
    /// The index of its origin.
    pub(super) origin: usize,
    pub(super) directory: String,
    /// The tag that names it; `None` for the files of a working tree.
    pub(super) tag: Option<Tag>,
}
