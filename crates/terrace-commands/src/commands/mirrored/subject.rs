//! What `terrace mirror list`, `block` and `unblock` are about.

use std::str::FromStr;

use terrace_core::model::mirrored_part::MirroredPart;

use crate::args::PackageSpec;

/// Packages of other registries that an argument names.
#[derive(Debug, Clone)]
pub(crate) enum BlockSubject {
    /// All those of a registry or of one of its namespaces.
    Part(MirroredPart),
    /// One package, or one version of it.
    Package(PackageSpec),
}

impl FromStr for BlockSubject {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let part = text.parse().map(Self::Part);
        part.or_else(|_| text.parse().map(Self::Package))
            .map_err(|error: String| {
                format!(
                    "{error}; or hostname/namespace or hostname for all their packages, such as registry.opentofu.org/hashicorp"
                )
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_of_a_host_a_namespace_a_provider_or_a_version() {
        for text in [
            "registry.opentofu.org",
            "Registry.OpenTofu.org/HashiCorp",
            "registry.opentofu.org/hashicorp/random",
            "Registry.OpenTofu.org/HashiCorp/Random@3.6.0",
        ] {
            assert!(text.parse::<BlockSubject>().is_ok(), "{text}");
        }
    }

    #[test]
    fn other_texts_are_no_subjects_of_a_block() {
        for text in [
            "",
            "acme",
            "r.example/acme/",
            "https://r.example",
            "r.example//hello",
            "r.example/acme@3.6.0",
            "r.example/acme/hello/a/b",
            "r.example/acme/hello@v3.6.0",
        ] {
            assert!(text.parse::<BlockSubject>().is_err(), "{text}");
        }
    }
}
