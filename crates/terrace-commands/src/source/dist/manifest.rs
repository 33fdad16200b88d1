//! The registry manifest, which lists the plugin protocols of a provider.

use std::fs;
use std::path::PathBuf;

use serde::Deserialize;
use terrace_base::digest::Sha256;
use terrace_core::model::protocol_version::ProtocolVersion;

use super::Dist;

/// The name of the manifest in a repository. GoReleaser signs and uploads it from there under another name,
/// and never copies it into `dist`.
const SOURCE_NAME: &str = "terraform-registry-manifest.json";

/// The plugin protocols of a release.
#[derive(Debug)]
pub(crate) struct Protocols {
    pub(crate) versions: Vec<String>,
    /// The reason why the protocols are a default, if they are.
    pub(crate) assumed: Option<&'static str>,
}

impl Default for Protocols {
    /// The protocols that the public registry assumes for a provider without a manifest.
    fn default() -> Self {
        Self {
            versions: vec![ProtocolVersion::DEFAULT.to_string()],
            assumed: Some("there is no manifest"),
        }
    }
}

#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    metadata: Metadata,
}

/// The public registry takes 5.0 where none is named
/// (<https://developer.hashicorp.com/terraform/registry/providers/publishing#terraform-registry-manifest-file>).
#[derive(Deserialize, Default)]
struct Metadata {
    protocol_versions: Option<Vec<String>>,
}

impl Dist {
    /// Returns the plugin protocols from the manifest in the directory, or else from the one next to it that
    /// GoReleaser used.
    pub(crate) fn protocols(&self) -> Result<Protocols, String> {
        let names = [self.manifest_name(), SOURCE_NAME.to_owned()];
        let mut promised = names.into_iter();
        let promised = promised.find_map(|name| Some((self.promised(&name)?, name)));
        let Some(path) = self.manifest_path() else {
            return match promised {
                None => Ok(Protocols::default()),
                Some((_, name)) => Err(format!(
                    "SHA256SUMS lists {name}, but neither it nor {SOURCE_NAME} is in {}, or next to that \
                     directory: copy it there, because it lists the plugin protocols of the provider",
                    self.directory.display()
                )),
            };
        };
        let refused = |reason: String| format!("{}: {reason}", path.display());
        let bytes = fs::read(&path).map_err(|error| refused(error.to_string()))?;
        let digest = Sha256::of(&bytes);
        let promised = promised.map(|(promised, _)| promised);
        if let Some(promised) = promised.filter(|promised| *promised != digest) {
            return Err(refused(format!(
                "its sha256 is {digest}, but {promised} in SHA256SUMS"
            )));
        }
        // As editors on Windows write it.
        let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
        let manifest: Manifest = serde_json::from_slice(text)
            .map_err(|error| refused(format!("not a registry manifest: {error}")))?;
        Ok(match manifest.metadata.protocol_versions {
            Some(versions) => Protocols {
                versions,
                assumed: None,
            },
            None => Protocols {
                assumed: Some("the manifest has no protocol_versions"),
                ..Protocols::default()
            },
        })
    }

    fn manifest_name(&self) -> String {
        format!("{}_manifest.json", self.stem())
    }

    fn manifest_path(&self) -> Option<PathBuf> {
        if let Some(path) = self.path_of(&self.manifest_name()) {
            return Some(path);
        }
        // `dist` itself may be a relative path without a parent.
        let directory = fs::canonicalize(&self.directory).ok()?;
        let places = [Some(directory.as_path()), directory.parent()];
        let mut paths = places.into_iter().flatten().map(|d| d.join(SOURCE_NAME));
        paths.find(|path| path.is_file())
    }
}
