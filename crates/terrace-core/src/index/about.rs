//! Everything about one version for people, with its documentation.

use serde::{Deserialize, Serialize};

use crate::documentation::Head;
use crate::model::provenance::Provenance;
use crate::model::source::SourceDocument;
use crate::model::subdir::Subdir;
use crate::storage::documentation::DocumentationDocument;
use crate::storage::index_document::IndexDocument;
use crate::storage::key::IndexKey;
use crate::storage::release::Release;
use terrace_archive::ArchiveFormat;
use terrace_base::digest::Sha256;
use terrace_base::json;
use terrace_base::time::UnixTime;

/// The index [`IndexKey::About`]. The platforms and the signing key of a provider
/// are in the index of the version, the status in the overview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// The time of the commit.
    pub published_at: UnixTime,
    /// The repository that it was built from, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceDocument>,
    /// The job that published it, if it was a job with a verified identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// The archive of a module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<ModuleArchive>,
    /// Its documentation, if it has any that can be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub documentation: Option<AboutDocumentation>,
}

/// The archive of a module, as far as the address of its OCI artifact depends on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleArchive {
    /// The format. Only a zip is an OCI artifact.
    pub format: ArchiveFormat,
    /// The directory of the module within the archive, if not the top.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subdir: Option<Subdir>,
}

/// The documentation of a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AboutDocumentation {
    /// The digest of the archive.
    pub archive: Sha256,
    /// The length of the archive's first member, in bytes: the places of pages are counted from there.
    pub head_length: u64,
    /// The time of the last change.
    pub changed_at: UnixTime,
    /// How often the documentation was changed after it was first added.
    #[serde(default)]
    pub changes: u32,
    /// The licence of the documentation, as an SPDX expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub license: Option<String>,
    /// The page that it was taken from, for another registry's provider.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The details of the module, or the navigation of the provider.
    pub head: Head,
}

impl About {
    /// Returns the description of a release and of its documentation.
    pub fn of(release: &Release, documentation: Option<AboutDocumentation>) -> Self {
        Self {
            published_at: release.published_at(),
            source: release.source().cloned(),
            provenance: release.provenance().cloned(),
            archive: match release {
                Release::Module(module) => Some(ModuleArchive {
                    format: module.archive.format,
                    subdir: module.archive.subdir.clone(),
                }),
                _ => None,
            },
            documentation,
        }
    }

    /// Returns the index of a release.
    pub fn index(&self, release: &Release) -> (IndexKey, IndexDocument) {
        let key = IndexKey::About(release.package(), release.version().clone());
        (key, IndexDocument::new(json::to_string(self)))
    }
}

impl ModuleArchive {
    /// Returns whether the module is an OCI artifact, too.
    pub fn is_artifact(&self) -> bool {
        self.format == ArchiveFormat::Zip
    }
}

impl AboutDocumentation {
    /// Returns the description of stored documentation with this head.
    pub fn of(document: DocumentationDocument, head: Head) -> Self {
        let newest = document.history.first();
        Self {
            archive: document.archive.sha256,
            head_length: document.archive.head_length,
            changed_at: newest.map(|it| it.at).unwrap_or_default(),
            changes: u32::try_from(document.sequence.saturating_sub(1)).unwrap_or(u32::MAX),
            license: document.archive.license,
            origin: document.archive.origin,
            head,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::documentation::{Contents, ModuleDetails};
    use crate::pinned::assert_pinned;
    use crate::storage::documentation::DocumentationArchive;
    use terrace_base::time::UnixTime;

    const RELEASE: &str = r#"{"kind":"module","schema":1,"address":"acme/vpc/aws","version":"1.0.0","published_at":1800000000,"archive":{"format":"zip","sha256":"0707070707070707070707070707070707070707070707070707070707070707","size":1},"source":{"url":"https://example.com/vpc","claimed":true}}"#;

    fn archive() -> DocumentationArchive {
        DocumentationArchive {
            sha256: Sha256::from_bytes([7; 32]),
            size: 100,
            head_length: 60,
            license: Some("MPL-2.0".to_owned()),
            origin: None,
        }
    }

    #[test]
    fn the_index_is_pinned() {
        let release = Release::from_document(RELEASE.as_bytes()).unwrap();
        let (key, document) = About::of(&release, None).index(&release);
        assert_eq!(key.to_string(), "modules/acme/vpc/aws/about/1.0.0");
        assert_pinned(
            &document.text,
            r#"{"published_at":1800000000,"source":{"url":"https://example.com/vpc","claimed":true},"archive":{"format":"zip"}}"#,
        );
        let first = DocumentationDocument::after(None, archive(), UnixTime(5), "root".to_owned());
        let second =
            DocumentationDocument::after(Some(first), archive(), UnixTime(9), "root".to_owned());
        let head = Head::new(Contents::Module(ModuleDetails::default()), Vec::new());
        let about = About::of(&release, Some(AboutDocumentation::of(second, head)));
        let (_, document) = about.index(&release);
        assert_pinned(
            &document.text,
            r#"{"published_at":1800000000,"source":{"url":"https://example.com/vpc","claimed":true},"archive":{"format":"zip"},"documentation":{"archive":"0707070707070707070707070707070707070707070707070707070707070707","head_length":60,"changed_at":9,"changes":1,"license":"MPL-2.0","head":{"schema":1,"contents":{"module":{"root":{}}}}}}"#,
        );
        assert_eq!(
            serde_json::from_str::<About>(&document.text).unwrap(),
            about
        );
    }
}
