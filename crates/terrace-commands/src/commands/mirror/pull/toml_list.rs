//! A list of providers and modules in TOML.
//!
//! ```toml
//! [[provider]]
//! address = "registry.opentofu.org/hashicorp/random"
//! versions = "~> 3.6"            # the default is the newest version
//! platforms = ["linux_amd64"]    # the default is all platforms
//!
//! [[module]]
//! address = "registry.opentofu.org/terraform-aws-modules/vpc/aws"
//! versions = "~> 6.0"
//! ```

use serde::Deserialize;
use terrace_core::model::address::ModuleAddress;
use terrace_core::model::name::Hostname;
use terrace_core::upstream::origin::Constraints;

use super::selection::{ModuleSelection, ProviderSelection, Selections, VersionSelection};
use crate::source::syntax;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default)]
    provider: Vec<Provider>,
    #[serde(default)]
    module: Vec<Module>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Provider {
    address: String,
    versions: Option<String>,
    #[serde(default)]
    platforms: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Module {
    address: String,
    versions: Option<String>,
}

/// Reads a list. A module without a hostname belongs to the default one.
///
/// # Errors
/// The first error in the list.
pub(crate) fn read(text: &str, default_host: &Hostname) -> Result<Selections, String> {
    let list: List = toml::from_str(text).map_err(|error| syntax::toml(text, &error))?;
    let mut found = Selections::default();
    for provider in list.provider {
        let about = |reason: String| format!("{}: {reason}", provider.address);
        let versions = versions(provider.versions.as_deref()).map_err(about)?;
        let platforms = provider
            .platforms
            .iter()
            .map(|text| text.parse().map_err(|error| about(format!("{error}"))))
            .collect::<Result<_, _>>()?;
        let want = |address| ProviderSelection {
            address,
            versions,
            platforms,
            lock: None,
        };
        found.add(&provider.address, want)?;
    }
    for Module {
        address,
        versions: named,
    } in list.module
    {
        let about = |reason: String| format!("{address}: {reason}");
        let versions = versions(named.as_deref()).map_err(about)?.of_modules();
        let mut address: ModuleAddress =
            address.parse().map_err(|error| about(format!("{error}")))?;
        address.hostname.get_or_insert_with(|| default_host.clone());
        found.modules.push(ModuleSelection {
            address,
            versions,
            installed: None,
        });
    }
    if found.is_empty() {
        return Err("it contains no [[provider]] and no [[module]] table".to_owned());
    }
    Ok(found)
}

/// Returns the versions that an entry names, or the newest one.
fn versions(named: Option<&str>) -> Result<VersionSelection, String> {
    let constraints = named.map(str::parse::<Constraints>).transpose();
    let constraints = constraints.map_err(|error| error.to_string())?;
    Ok(constraints.map_or(VersionSelection::Newest(None), VersionSelection::All))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Selections, String> {
        super::read(text, &"registry.opentofu.org".parse().unwrap())
    }

    #[test]
    fn a_list_may_omit_versions_and_platforms() {
        let found = read(
            r#"
            [[provider]]
            address = "registry.opentofu.org/hashicorp/random"
            versions = "~> 3.6"
            platforms = ["linux_amd64", "darwin_arm64"]
            [[provider]]
            address = "registry.terraform.io/hashicorp/null"
            [[module]]
            address = "terraform-aws-modules/vpc/aws"
            versions = "~> 6"
            "#,
        )
        .unwrap();
        let [vpc] = found.modules.as_slice() else {
            panic!("{found:?}")
        };
        let address = "registry.opentofu.org/terraform-aws-modules/vpc/aws";
        assert_eq!(vpc.address.to_string(), address);
        let newer = "7.0.0".parse().unwrap();
        assert!(vpc.versions.constraints().unwrap().admit(&newer));
        let [random, null] = found.providers.as_slice() else {
            panic!("{found:?}")
        };
        assert!(matches!(random.versions, VersionSelection::All(_)));
        assert_eq!(random.platforms.len(), 2);
        assert_eq!(null.versions, VersionSelection::Newest(None));
        assert!(null.platforms.is_empty());
    }

    #[test]
    fn errors_are_reported_with_their_reason() {
        let provider = |line: &str| format!("[[provider]]\naddress = \"a.b/c/d\"\n{line}");
        for (text, message) in [
            ("", "no [[provider]]"),
            ("[[provider]]", "address"),
            ("[[provider]]\naddress = \"c/d\"", "hostname/namespace/type"),
            (&provider("version = \"1\""), "version"),
            (&provider("versions = \"x\""), "not a version constraint"),
            (&provider("platforms = [\"linux\"]"), "os_arch"),
            ("provider = 1", "provider"),
            ("[[module]]\naddress = \"a.b/c/d\"", "namespace/name/system"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(message), "{text:?}: {error}");
        }
    }
}
