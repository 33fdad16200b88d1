//! `.terraform.lock.hcl`: exact versions, and the hashes of the packages that may be installed.

use hcl::{Block, Body, Expression};
use terrace_core::model::package_hash::PackageHash;
use terrace_core::model::version::Version;
use terrace_core::upstream::origin::Constraints;

use super::selection::{LockedHashes, ProviderSelection, Selections, VersionSelection};
use crate::source::syntax;

/// Reads a lock file. The `zh:` hashes are those of zips; if there are any, only zips with these hashes are
/// accepted. `h1:` hashes alone are often for one platform only, so they restrict nothing.
///
/// # Errors
/// The first error in the file.
pub(crate) fn read(text: &str) -> Result<Selections, String> {
    let body: Body = hcl::parse(text).map_err(|error| syntax::hcl(&error))?;
    let mut found = Selections::default();
    for block in body.blocks() {
        if block.identifier() == "provider" {
            read_provider(block, &mut found)?;
        }
    }
    if found.providers.is_empty() && found.skipped.is_empty() {
        return Err("it locks no provider".to_owned());
    }
    Ok(found)
}

fn read_provider(block: &Block, found: &mut Selections) -> Result<(), String> {
    let [label] = block.labels() else {
        return Err("a provider block has one label, the provider's address".to_owned());
    };
    let source = label.as_str();
    let about = |reason: String| format!("{source}: {reason}");
    let attribute = |name: &str| {
        let mut attributes = block.body().attributes();
        attributes.find(|attribute| attribute.key() == name)
    };
    let version: Version = match attribute("version").map(hcl::Attribute::expr) {
        Some(Expression::String(text)) => {
            text.parse().map_err(|error| about(format!("{error}")))?
        }
        _ => return Err(about("it has no version".to_owned())),
    };
    let mut zips = Vec::new();
    if let Some(Expression::Array(hashes)) = attribute("hashes").map(hcl::Attribute::expr) {
        for hash in hashes {
            // Unknown schemes are ignored, as clients do.
            if let Expression::String(text) = hash
                && let Ok(PackageHash::Zh(digest)) = text.parse()
            {
                zips.push(digest);
            }
        }
    }
    found.add(source, |address| ProviderSelection {
        address,
        versions: VersionSelection::All(Constraints::exactly(&version)),
        platforms: Vec::new(),
        lock: Some(LockedHashes { zips }),
    })
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
        let zips = &random.lock.as_ref().unwrap().zips;
        assert_eq!(zips.len(), 1);
        assert_eq!(zips[0].to_string(), digest);
        assert_eq!(found.skipped.len(), 1);
    }

    #[test]
    fn errors_are_reported_with_their_reason() {
        for (text, message) in [
            ("", "no provider"),
            ("provider {", ""),
            ("provider {}", "one label"),
            ("provider \"a.b/c/d\" {}", "no version"),
            ("provider \"a.b/c/d\" { version = 1 }", "no version"),
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
