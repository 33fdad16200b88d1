//! The registry manifest, which lists the plugin protocols of a provider.

use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use terrace_base::digest::Sha256;
use terrace_core::model::protocol_version::ProtocolVersion;
use terrace_core::model::shasums::Shasums;

use super::Dist;

/// The name of the manifest in a repository. GoReleaser signs and uploads it from there under another name,
/// and never copies it into `dist`.
const SOURCE_NAME: &str = "terraform-registry-manifest.json";

/// The plugin protocols of a release.
#[derive(Debug)]
pub(crate) struct Protocols {
    pub(crate) versions: Vec<String>,
    /// Whether the protocols are a default, because the manifest is missing.
    pub(crate) assumed: bool,
}

impl Default for Protocols {
    /// The protocols that the public registry assumes for a provider without a manifest.
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
    /// Returns the plugin protocols from the manifest in the directory, or else from the one next to it that
    /// GoReleaser used.
    pub(crate) fn protocols(&self) -> Result<Protocols, String> {
        let name = format!("{}_manifest.json", self.stem());
        let shasums = Shasums::parse(&self.shasums).ok();
        let promised = shasums.and_then(|shasums| shasums.digest_of(&name));
        let Some(path) = self.manifest_path(&name) else {
            return match promised {
                None => Ok(Protocols::default()),
                Some(_) => Err(format!(
                    "SHA256SUMS lists {name}, but it is not in {}, and {SOURCE_NAME} is not next to that \
                     directory: copy it there, because it lists the plugin protocols of the provider",
                    self.directory.display()
                )),
            };
        };
        let refused = |reason: String| format!("{}: {reason}", path.display());
        let bytes = fs::read(&path).map_err(|error| refused(error.to_string()))?;
        let digest = Sha256::of(&bytes);
        if let Some(promised) = promised.filter(|promised| *promised != digest) {
            return Err(refused(format!(
                "its sha256 is {digest}, but {promised} in SHA256SUMS"
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
