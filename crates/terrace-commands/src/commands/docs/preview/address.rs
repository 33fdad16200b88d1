//! The address and the version that the pages show.

use std::path::Path;
use std::str::FromStr;

use terrace_core::documentation::Contents;
use terrace_core::model::address::ModuleAddress;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;

use crate::commands::docs::preview::DocsPreviewArguments;
use crate::error::Failure;

/// The hostname in source addresses.
pub(super) const HOSTNAME: &str = "registry.example.com";

/// The version in place of the one that will be published.
const VERSION: &str = "0.0.0";

/// The namespace of packages without an address.
const NAMESPACE: &str = "example";

/// The target system of modules in a directory without a usual name.
const SYSTEM: &str = "system";

/// The prefix of the names of modules' repositories: `terraform-<system>-<name>`.
const MODULE_PREFIX: &str = "terraform-";

/// Returns the address that the user gave, or one with the name of the directory.
///
/// # Errors
/// The user gave the address of another kind of package.
pub(super) fn package(
    arguments: &DocsPreviewArguments,
    contents: &Contents,
) -> Result<Package, Failure> {
    let subject = &arguments.subject;
    match (&arguments.address, contents) {
        (None, Contents::Module(_)) => module(&subject.dir).map(Package::Module),
        (None, Contents::Provider(_)) => {
            let known = subject.known_type();
            let name = known.map_or_else(|| "provider".to_owned(), |known| known.to_string());
            parsed(&format!("{NAMESPACE}/{name}")).map(Package::Provider)
        }
        (Some(package @ Package::Module(_)), Contents::Module(_))
        | (Some(package @ (Package::Provider(_) | Package::Mirrored(_))), Contents::Provider(_)) => {
            Ok(package.clone())
        }
        (Some(package), _) => {
            let (address, dir) = (package.address(), subject.dir.display());
            Err(Failure::Usage(format!(
                "{address} is the address of a module, but {dir} has no configuration files; give another directory or --address"
            )))
        }
    }
}

/// Returns the version of the pages.
pub(super) fn version() -> Result<Version, Failure> {
    parsed(VERSION)
}

/// Returns the address of a module in a directory with the usual name, or in any other one.
fn module(dir: &Path) -> Result<ModuleAddress, Failure> {
    let name = std::fs::canonicalize(dir).ok();
    let name = name.as_deref().and_then(Path::file_name);
    let name = name.and_then(|name| name.to_str()).unwrap_or_default();
    let usual = name.strip_prefix(MODULE_PREFIX);
    let usual = usual.and_then(|rest| rest.split_once('-'));
    let usual = usual.and_then(|(system, name)| address(name, system).ok());
    usual
        .map(Ok)
        .or_else(|| address(name, SYSTEM).ok().map(Ok))
        .unwrap_or_else(|| address("module", SYSTEM))
}

fn address(name: &str, system: &str) -> Result<ModuleAddress, Failure> {
    parsed(&format!("{NAMESPACE}/{name}/{system}"))
}

fn parsed<T: FromStr<Err: ToString>>(text: &str) -> Result<T, Failure> {
    let parsed = text.parse();
    parsed.map_err(|error: T::Err| Failure::Local(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_without_an_address_has_the_name_of_its_directory() {
        let parent = tempfile::tempdir().unwrap();
        for (directory, expected) in [
            ("terraform-aws-vpc", "example/vpc/aws"),
            ("network", "example/network/system"),
            ("terraform-network", "example/terraform-network/system"),
            ("my network", "example/module/system"),
        ] {
            let path = parent.path().join(directory);
            std::fs::create_dir(&path).unwrap();
            assert_eq!(module(&path).unwrap().to_string(), expected);
        }
    }
}
