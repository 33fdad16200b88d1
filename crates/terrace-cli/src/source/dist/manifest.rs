//! The registry manifest, which says what plugin protocols a provider speaks.

use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use terrace_base::digest::Sha256;
use terrace_core::model::protocol_version::ProtocolVersion;
use terrace_core::model::shasums::Shasums;

use super::Dist;

/// Its name in a repository, from where GoReleaser signs and uploads it under another name
/// without ever copying it into `dist`.
const SOURCE_NAME: &str = "terraform-registry-manifest.json";

/// The plugin protocols of a release.
#[derive(Debug)]
pub(crate) struct Protocols {
    pub(crate) versions: Vec<String>,
    /// Whether nobody said so.
    pub(crate) assumed: bool,
}

impl Default for Protocols {
    /// What the public registry takes a provider without a manifest to speak.
    fn default() -> Self {
        Self {
            versions: vec![ProtocolVersion::DEFAULT.to_string()],
            assumed: true,
        }
    }
}

#[derive(Deserialize)]
struct Manifest {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    protocol_versions: Vec<String>,
}

impl Dist {
    /// The plugin protocols from the manifest in the directory, or else from the one beside it
    /// that GoReleaser took.
    pub(crate) fn protocols(&self) -> Result<Protocols, String> {
        let name = format!("{}_manifest.json", self.stem());
        let shasums = Shasums::parse(&self.shasums).ok();
        let promised = shasums.and_then(|shasums| shasums.digest_of(&name));
        let Some(path) = self.manifest_path(&name) else {
            return match promised {
                None => Ok(Protocols::default()),
                Some(_) if self.may_lack_manifest => Ok(Protocols::default()),
                Some(_) => Err(format!(
                    "SHA256SUMS lists {name}, which is not in {}, nor is {SOURCE_NAME} beside it: \
                     copy it there, since it says what plugin protocols the provider speaks",
                    self.directory.display()
                )),
            };
        };
        let refused = |reason: String| format!("{}: {reason}", path.display());
        let bytes = fs::read(&path).map_err(|error| refused(error.to_string()))?;
        let digest = Sha256::of(&bytes);
        if let Some(promised) = promised.filter(|promised| *promised != digest) {
            return Err(refused(format!(
                "its sha256 is {digest}, and {promised} by SHA256SUMS"
            )));
        }
        let manifest: Manifest = serde_json::from_slice(&bytes)
            .map_err(|error| refused(format!("not a registry manifest: {error}")))?;
        Ok(Protocols {
            versions: manifest.metadata.protocol_versions,
            assumed: false,
        })
    }

    fn manifest_path(&self, name: &str) -> Option<PathBuf> {
        if self.names.contains(name) {
            return Some(self.directory.join(name));
        }
        // `dist` itself may be a relative path without a parent.
        let directory = fs::canonicalize(&self.directory).ok()?;
        let places = [Some(directory.as_path()), directory.parent()];
        let mut paths = places.into_iter().flatten().map(|d| d.join(SOURCE_NAME));
        paths.find(|path| path.is_file())
    }
}
