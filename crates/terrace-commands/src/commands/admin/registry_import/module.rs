//! One version of a module: located, downloaded, and published.

use terrace_core::model::address::ModuleAddress;
use terrace_core::model::version::Version;
use terrace_core::upstream::origin::OriginVersion;

use super::{Import, Origin, Tried};
use crate::commands::publish::module;
use crate::error::Failure;
use crate::output::Output;
use crate::source::repository::ReleaseSource;
use crate::upstream::module_registry::ModuleRegistry;

impl Origin<'_> {
    /// Returns the versions of a module, in ascending order. Warns about those that no client can request.
    pub(super) fn module_versions(
        &self,
        address: &ModuleAddress,
        output: &Output,
    ) -> Result<Vec<OriginVersion>, Failure> {
        self.module_registry()?
            .versions(&self.upstream, address, output)
    }

    fn module_registry(&self) -> Result<&ModuleRegistry, Failure> {
        let url = &self.url;
        let missing = || Failure::refused(format!("{url} has no registry of modules"));
        self.modules.as_ref().ok_or_else(missing)
    }
}

impl Import<'_> {
    /// Imports one version of a module.
    pub(super) fn module(&self, address: &ModuleAddress, version: &Version) -> Tried {
        let Origin {
            upstream, hostname, ..
        } = &self.origin;
        let registry = self.origin.module_registry()?;
        let location = registry.locate(upstream, address, version)?;
        let located = upstream.located(location, hostname)?;
        let package =
            upstream.module_package(&located, hostname, format!("{address} {version}"))?;
        // The URL of an archive is not that of a repository.
        let source = match package.source.commit {
            Some(_) => package.source,
            None => ReleaseSource::default(),
        };
        let request = module::describe(
            (package.archive, package.format),
            (address, version),
            package.subdir.as_ref(),
            source,
            self.output,
        )?;
        self.publish(&request)
    }
}
