//! The command line of `terrace docs`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use terrace_core::model::name::ProviderType;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;

use super::release::{PackageSpec, hint_of_source};

#[derive(Debug, Subcommand)]
pub(crate) enum DocsCommand {
    /// Add documentation to a version, or correct it
    ///
    /// The version itself does not change. Its pages state when the documentation has changed.
    Add(DocsAddArguments),
    /// Check the documentation in a directory, without a registry
    ///
    /// Reports everything that "tfplugindocs validate" rejects, and everything that the registry would cut or leave
    /// out.
    Check(DocsSubject),
    /// Show the documentation in a directory in a browser, and again after each change
    ///
    /// The pages are those of a registry. They are served to this machine alone.
    Preview(DocsPreviewArguments),
}

#[derive(Debug, Args)]
pub(crate) struct DocsAddArguments {
    /// The package: <namespace>/<type> for a provider, <namespace>/<name>/<system> for a module,
    /// <hostname>/<namespace>/<type> for a mirrored provider. The hostname of the registry may precede it
    #[arg(value_parser = package_of_registry)]
    pub(crate) address: PackageSpec,
    /// The version, such as 1.2.3
    pub(crate) version: Version,
    /// The directory of the module, or the repository or the docs directory of the provider
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// The output of "terraform providers schema -json" with this provider
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// The licence of the documentation as an SPDX expression, such as MPL-2.0; required for a mirrored provider
    #[arg(long, value_name = "SPDX")]
    pub(crate) license: Option<String>,
    /// The page that the documentation was taken from; required for a mirrored provider
    #[arg(long, value_name = "URL")]
    pub(crate) origin: Option<String>,
    /// Add the documentation although the version is not published; the registry keeps it for a day
    #[arg(long)]
    pub(crate) before_publish: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct DocsPreviewArguments {
    #[command(flatten)]
    pub(crate) subject: DocsSubject,
    /// The address in the pages: <namespace>/<type> for a provider, <namespace>/<name>/<system> for a module. By
    /// default it has the name of the directory
    #[arg(long, value_parser = package, conflicts_with = "provider_type")]
    pub(crate) address: Option<Package>,
    /// The port of the local server; 0 selects a free one
    #[arg(long, default_value_t = 8090)]
    pub(crate) port: u16,
}

impl DocsPreviewArguments {
    /// Returns the arguments with the type of the provider that the address names.
    pub(crate) fn with_type_of_address(mut self) -> Self {
        let provider = match &self.address {
            Some(Package::Provider(address)) => Some(address),
            Some(Package::Mirrored(address)) => Some(&address.provider),
            Some(Package::Module(_)) | None => None,
        };
        if let Some(address) = provider {
            self.subject.provider_type = Some(address.provider_type.clone());
        }
        self
    }
}

/// A local directory with documentation.
#[derive(Debug, Clone, Args)]
pub(crate) struct DocsSubject {
    /// The directory of a module, or the repository or the docs directory of a provider
    #[arg(default_value = ".")]
    pub(crate) dir: PathBuf,
    /// The type of the provider, such as `widget`. By default that of the directory terraform-provider-<type>
    #[arg(long = "type", value_name = "TYPE")]
    pub(crate) provider_type: Option<ProviderType>,
    /// The output of "terraform providers schema -json" with this provider, to compare the pages with
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
}

/// Parses an address without a version, which is an argument of its own.
fn package_of_registry(text: &str) -> Result<PackageSpec, String> {
    let spec: PackageSpec = text.parse()?;
    match &spec.version {
        Some(version) => Err(format!(
            "write the version after a space: {} {version}",
            spec.package.address()
        )),
        None => Ok(spec),
    }
}

fn package(text: &str) -> Result<Package, String> {
    let shape = || {
        let hint = hint_of_source(text);
        format!(
            "it must be <namespace>/<type>, <namespace>/<name>/<system> or <hostname>/<namespace>/<type>{hint}"
        )
    };
    Package::parse_address(text).ok_or_else(shape)
}
