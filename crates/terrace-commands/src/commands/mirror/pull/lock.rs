//! `.terraform.lock.hcl`: exact versions, and the hashes of the packages that may be installed. The hashes of a lock file from
//! a registry are the `zh:` of all zips; that of a network mirror has the `zh:` of one, and the `h1:` of each locked platform.

use std::collections::BTreeMap;

use serde::Deserialize;
use terrace_core::model::package_hash::PackageHash;
use terrace_core::model::version::Version;
use terrace_core::upstream::origin::Constraints;

use super::configuration::native;
use super::selection::{LockedHashes, ProviderSelection, Selections, VersionSelection};

#[derive(Deserialize)]
struct LockFile {
    #[serde(default)]
    provider: BTreeMap<String, Locked>,
}

#[derive(Deserialize)]
struct Locked {
    version: Option<Version>,
    #[serde(default)]
    hashes: Vec<String>,
}

/// Reads a lock file, which may lock nothing. If it has `zh:` hashes, which are those of zips, only packages with one of its
/// hashes are accepted, of either scheme. `h1:` hashes alone are often for one platform only, so they restrict nothing.
///
/// # Errors
/// The first error in the file.
pub(crate) fn read(text: &str) -> Result<Selections, String> {
    let file: LockFile =
        serde_json::from_value(native(text)?).map_err(|error| error.to_string())?;
    let mut found = Selections::default();
    for (source, Locked { version, hashes }) in file.provider {
        let version = version.ok_or_else(|| format!("{source}: it has no version"))?;
        let mut lock = LockedHashes::default();
        for text in hashes {
            match text.parse() {
                Ok(PackageHash::Zh(digest)) => lock.zips.push(digest),
                Ok(hash @ PackageHash::H1(_)) => lock.contents.push(hash),
                // Unknown schemes are ignored, as clients do.
                Err(_) => {}
            }
        }
        found.add(&source, |address| ProviderSelection {
            address,
            versions: VersionSelection::All(Constraints::exactly(&version)),
            platforms: Vec::new(),
            lock: Some(lock),
        })?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_file_names_exact_versions_and_zips() {
        let digest = "2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae";
        let found = read(&format!(
            r#"# This file is maintained automatically by "terraform init".

            provider "registry.terraform.io/hashicorp/random" {{
              version     = "3.6.3"
              constraints = "~> 3.6"
              hashes = [
                "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
                "zh:{digest}",
                "h9:of the future",
              ]
            }}
            provider "terraform.io/builtin/terraform" {{
              version = "1.0.0"
            }}"#
        ))
        .unwrap();
        let [random] = found.providers.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(
            random.address.to_string(),
            "registry.terraform.io/hashicorp/random"
        );
        assert_eq!(random.versions.constraints().unwrap().to_string(), "3.6.3");
        let LockedHashes { zips, contents } = random.lock.as_ref().unwrap();
        assert_eq!((zips.len(), contents.len()), (1, 1));
        assert_eq!(zips[0].to_string(), digest);
        assert_eq!(found.skipped.len(), 1);
    }

    #[test]
    fn errors_are_reported_with_their_reason() {
        for (text, message) in [
            ("provider {", ""),
            ("provider \"a.b/c/d\" {}", "no version"),
            (
                "provider \"a.b/c/d\" { version = \"x\" }",
                "semantic version",
            ),
            (
                "provider \"c/d\" { version = \"1.0.0\" }",
                "hostname/namespace/type",
            ),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(message), "{text:?}: {error}");
        }
    }
}
