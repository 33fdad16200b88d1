//! The documents about what was pushed: those that are stored, and the indices that follow from them.

use serde::{Deserialize, Serialize};

use crate::index::{ContentMetadata, IndexDocument};
use crate::oci::name::{RepositoryName, Tag};
use crate::oci::{Digest, OciError, tag};

use super::manifest::PushedManifest;
use super::provider::{is_provider, version_of};

/// That a repository has a blob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkDocument {
    /// Its length in bytes.
    pub size: u64,
}

/// What a tag names. All of it rides in the object's metadata too, so that a listing tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagDocument {
    /// Which manifest.
    pub digest: Digest,
    /// What that is.
    pub media_type: String,
    /// What it is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
}

/// A tag of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedTag {
    /// The tag.
    pub tag: Tag,
    /// What it names.
    pub document: TagDocument,
}

/// The names of the metadata of a tag.
const DIGEST: &str = "digest";
const MEDIA_TYPE: &str = "media-type";
const ARTIFACT_TYPE: &str = "artifact-type";

impl TagDocument {
    /// What a tag of this manifest says.
    pub fn of(digest: Digest, manifest: &PushedManifest) -> Self {
        Self {
            digest,
            media_type: manifest.kind().as_str().to_owned(),
            artifact_type: manifest.artifact_type().map(str::to_owned),
        }
    }

    /// The metadata of its object.
    pub fn to_metadata(&self) -> Vec<(&'static str, String)> {
        let artifact_type = self.artifact_type.clone();
        let mut metadata = vec![
            (DIGEST, self.digest.to_string()),
            (MEDIA_TYPE, self.media_type.clone()),
        ];
        metadata.extend(artifact_type.map(|text| (ARTIFACT_TYPE, text)));
        metadata
    }

    /// Reads it back; `None` where a copy of the bucket has lost it.
    pub fn from_metadata<'a>(metadata: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        Some(Self {
            digest: Digest::parse(metadata(DIGEST)?).ok()?,
            media_type: metadata(MEDIA_TYPE)?.to_owned(),
            artifact_type: metadata(ARTIFACT_TYPE).map(str::to_owned),
        })
    }
}

/// A manifest as it is answered.
///
/// # Errors
/// When it is none.
pub fn manifest_index(text: String, digest: Digest) -> Result<IndexDocument, OciError> {
    let media_type = PushedManifest::parse(text.as_bytes())?.kind();
    let content = ContentMetadata {
        media_type: Some(media_type.as_str().to_owned()),
        digest,
        size: text.len() as u64,
        version: None,
    };
    Ok(IndexDocument::of_content(content, text))
}

/// That there is a blob.
pub fn blob_index(link: &LinkDocument, digest: Digest) -> IndexDocument {
    let content = ContentMetadata {
        media_type: None,
        digest,
        size: link.size,
        version: None,
    };
    // KV wants a value.
    IndexDocument::of_content(content, "blob".to_owned())
}

/// The list of a repository's tags; `None` when it has none. Where it holds a provider, only what
/// OpenTofu can install is listed (clients.md 14.1 on 6.3).
///
/// # Errors
/// Never for these types; serde cannot know that.
pub fn tags_index(
    repository: &RepositoryName,
    holds_provider: bool,
    tags: &[ListedTag],
) -> Result<Option<IndexDocument>, serde_json::Error> {
    if tags.is_empty() {
        return Ok(None);
    }
    let is_shown = |listed: &&ListedTag| {
        let TagDocument {
            media_type,
            artifact_type,
            ..
        } = &listed.document;
        !holds_provider
            || (version_of(&listed.tag).is_some()
                && is_provider(media_type, artifact_type.as_deref()))
    };
    let shown = tags.iter().filter(is_shown);
    let shown = shown.map(|listed| listed.tag.to_string()).collect();
    let text = tag::list(repository.as_str(), shown)?;
    Ok(Some(IndexDocument::new(text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Sha256;

    const INDEX: &str = "application/vnd.oci.image.index.v1+json";
    const PROVIDER: &str = "application/vnd.opentofu.provider";

    fn listed(tag: &str, media_type: &str, artifact_type: Option<&str>) -> ListedTag {
        ListedTag {
            tag: Tag::parse(tag).unwrap(),
            document: TagDocument {
                digest: Digest::Sha256(Sha256::of(tag.as_bytes())),
                media_type: media_type.to_owned(),
                artifact_type: artifact_type.map(str::to_owned),
            },
        }
    }

    #[test]
    fn the_documents_are_pinned() {
        let tag = listed("latest", "a/b", Some("c/d")).document;
        let digest = tag.digest;
        assert_eq!(
            serde_json::to_string(&tag).unwrap(),
            format!(r#"{{"digest":"{digest}","media_type":"a/b","artifact_type":"c/d"}}"#)
        );
        let link = LinkDocument { size: 7 };
        assert_eq!(serde_json::to_string(&link).unwrap(), r#"{"size":7}"#);
        let metadata = tag.to_metadata();
        let read = TagDocument::from_metadata(|name| {
            let found = metadata.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| value.as_str())
        });
        assert_eq!(read, Some(tag));
    }

    #[test]
    fn a_provider_lists_what_can_be_installed_14_1() {
        let repository = RepositoryName::parse("opentofu-providers/acme/widget").unwrap();
        let tags = [
            listed("1.0", INDEX, Some(PROVIDER)),
            listed("1.0.0", INDEX, Some(PROVIDER)),
            listed("1.0.0_linux-amd64", "a/b", Some(PROVIDER)),
            listed("1.1.0", INDEX, None),
            listed("1.2.0_b.1", INDEX, Some(PROVIDER)),
            listed("latest", INDEX, Some(PROVIDER)),
        ];
        let text = |holds| tags_index(&repository, holds, &tags).unwrap().unwrap().text;
        assert!(text(true).ends_with(r#""tags":["1.0.0","1.2.0_b.1"]}"#));
        assert!(text(false).contains(r#""1.0","1.0.0","1.0.0_linux-amd64""#));
        assert_eq!(tags_index(&repository, true, &[]).unwrap(), None);
    }
}
