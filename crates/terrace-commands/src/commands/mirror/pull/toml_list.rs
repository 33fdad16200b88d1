//! A list of providers in TOML.
//!
//! ```toml
//! [[provider]]
//! address = "registry.opentofu.org/hashicorp/random"
//! versions = "~> 3.6"            # the default is the newest version
//! platforms = ["linux_amd64"]    # the default is all platforms
//! ```

use serde::Deserialize;

use super::selection::{ProviderSelection, Selections, VersionSelection};
use crate::source::syntax;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default)]
    provider: Vec<Provider>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Provider {
    address: String,
    versions: Option<String>,
    #[serde(default)]
    platforms: Vec<String>,
}

/// Reads a list.
///
/// # Errors
/// The first error in the list.
pub(crate) fn read(text: &str) -> Result<Selections, String> {
    let list: List = toml::from_str(text).map_err(|error| syntax::toml(text, &error))?;
    let mut found = Selections::default();
    for provider in list.provider {
        let about = |reason: String| format!("{}: {reason}", provider.address);
        let versions = match &provider.versions {
            None => VersionSelection::Newest(None),
            Some(text) => {
                VersionSelection::All(text.parse().map_err(|error| about(format!("{error}")))?)
            }
        };
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
    if found.providers.is_empty() && found.skipped.is_empty() {
        return Err("it contains no [[provider]] table".to_owned());
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            "#,
        )
        .unwrap();
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
        for (text, message) in [
            ("", "no [[provider]]"),
            ("[[provider]]", "address"),
            (
                "[[provider]]\naddress = \"hashicorp/random\"",
                "hostname/namespace/type",
            ),
            (
                "[[provider]]\naddress = \"a.b/c/d\"\nversion = \"1\"",
                "version",
            ),
            (
                "[[provider]]\naddress = \"a.b/c/d\"\nversions = \"x\"",
                "not a number",
            ),
            (
                "[[provider]]\naddress = \"a.b/c/d\"\nplatforms = [\"linux\"]",
                "os_arch",
            ),
            ("provider = 1", "provider"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(message), "{text:?}: {error}");
        }
    }
}
