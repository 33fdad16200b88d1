//! The stored documents about pushed content, and the indices that follow from them.

use serde::{Deserialize, Serialize};

use crate::http::oci_error::OciError;
use crate::model::oci::{Digest, RepositoryName, Tag};
use crate::oci::tag;
use crate::storage::index_document::{ContentMetadata, IndexDocument};

use super::manifest::{PushedManifest, is_media_type};
use super::provider::is_provider;

/// The link that gives a repository a blob.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkDocument {
    /// The blob's length in bytes.
    pub size: u64,
}

/// The manifest that a tag names. All of it is also in the object's metadata, so that a listing contains it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagDocument {
    /// The digest of the manifest.
    pub digest: Digest,
    /// The media type of the manifest.
    pub media_type: String,
    /// The artifact type of the manifest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_type: Option<String>,
    /// Identifies the push that wrote the tag: storage distinguishes two writes only by their bytes.
    #[serde(default)]
    pub push: u64,
    /// Whether this is a tombstone: the tag was deleted with its manifest. A delete in storage removes any
    /// current object, and the tag may have been pushed again meanwhile; so the tombstone replaces the tag,
    /// if it is still the same. The stored name is older than the field's.
    #[serde(
        default,
        rename = "is_gone",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub is_tombstone: bool,
}

/// A tag of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedTag {
    /// The name of the tag.
    pub tag: Tag,
    /// The manifest that the tag names.
    pub document: TagDocument,
}

/// Metadata names of a tag.
const DIGEST: &str = "digest";
const MEDIA_TYPE: &str = "media-type";
const ARTIFACT_TYPE: &str = "artifact-type";
/// The stored name is older than the word *tombstone*.
const TOMBSTONE: &str = "gone";

impl TagDocument {
    /// Creates a tag of this manifest.
    pub fn of(digest: Digest, manifest: &PushedManifest, push: u64) -> Self {
        Self {
            digest,
            media_type: manifest.kind().as_str().to_owned(),
            artifact_type: manifest.artifact_type().map(str::to_owned),
            push,
            is_tombstone: false,
        }
    }

    /// Returns the metadata of the tag's object.
    pub fn to_metadata(&self) -> Vec<(&'static str, String)> {
        let artifact_type = self.artifact_type.clone();
        let mut metadata = vec![
            (DIGEST, self.digest.to_string()),
            (MEDIA_TYPE, self.media_type.clone()),
        ];
        metadata.extend(artifact_type.map(|text| (ARTIFACT_TYPE, text)));
        metadata.extend(self.is_tombstone.then(|| (TOMBSTONE, "true".to_owned())));
        metadata
    }

    /// Parses the metadata that a listing needs; `None` if a copy of the bucket has lost it.
    pub fn from_metadata<'a>(metadata: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        Some(Self {
            digest: Digest::parse(metadata(DIGEST)?).ok()?,
            media_type: metadata(MEDIA_TYPE)?.to_owned(),
            artifact_type: metadata(ARTIFACT_TYPE).map(str::to_owned),
            push: 0,
            is_tombstone: metadata(TOMBSTONE).is_some(),
        })
    }
}

/// Returns the index of a manifest.
///
/// # Errors
/// If `text` is not a manifest.
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

/// Returns the index that records the existence of a blob.
pub fn blob_index(link: &LinkDocument, digest: Digest) -> IndexDocument {
    let content = ContentMetadata {
        media_type: None,
        digest,
        size: link.size,
        version: None,
    };
    // KV requires a value.
    IndexDocument::of_content(content, "blob".to_owned())
}

/// Returns the list of a repository's tags; `None` if it has no tag. In the repository of a provider, only
/// versions that OpenTofu can install are listed (clients.md 14.1 on 6.3).
pub fn tags_index(
    repository: &RepositoryName,
    holds_provider: bool,
    tags: &[ListedTag],
) -> Option<IndexDocument> {
    let are_there = || tags.iter().filter(|listed| !listed.document.is_tombstone);
    // A repository without a tag has no list.
    are_there().next()?;
    let is_shown = |listed: &&ListedTag| {
        let TagDocument {
            media_type,
            artifact_type,
            ..
        } = &listed.document;
        !holds_provider
            || (listed.tag.version().is_some() && is_provider(media_type, artifact_type.as_deref()))
    };
    let shown = are_there().filter(is_shown);
    let shown = shown.map(|listed| listed.tag.to_string()).collect();
    let text = tag::list(repository.as_str(), shown);
    Some(IndexDocument::new(text))
}

/// Returns the metadata of a referrer: the type by which a list of referrers is filtered. A type that is not
/// a media type is only in the document.
pub fn referrer_metadata(manifest: &PushedManifest) -> Vec<(&'static str, String)> {
    let artifact_type = manifest.referrer_type().filter(|text| is_media_type(text));
    let artifact_type = artifact_type.map(|text| (ARTIFACT_TYPE, text.to_owned()));
    artifact_type.into_iter().collect()
}

/// Returns whether a referrer may be of this type, by its metadata.
pub fn may_be_of_type(metadata: &[(String, String)], artifact_type: &str) -> bool {
    let stored = metadata.iter().find(|(name, _)| name == ARTIFACT_TYPE);
    stored.is_none_or(|(_, value)| value == artifact_type)
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_base::digest::Sha256;

    const INDEX: &str = "application/vnd.oci.image.index.v1+json";
    const PROVIDER: &str = "application/vnd.opentofu.provider";

    fn listed(tag: &str, media_type: &str, artifact_type: Option<&str>) -> ListedTag {
        ListedTag {
            tag: Tag::parse(tag).unwrap(),
            document: TagDocument {
                digest: Digest::Sha256(Sha256::of(tag.as_bytes())),
                media_type: media_type.to_owned(),
                artifact_type: artifact_type.map(str::to_owned),
                push: 0,
                is_tombstone: false,
            },
        }
    }

    #[test]
    fn a_provider_lists_only_installable_tags_14_1() {
        let repository = RepositoryName::parse("opentofu-providers/acme/widget").unwrap();
        let tags = [
            listed("1.0", INDEX, Some(PROVIDER)),
            listed("1.0.0", INDEX, Some(PROVIDER)),
            listed("1.0.0_linux-amd64", "a/b", Some(PROVIDER)),
            listed("1.1.0", INDEX, None),
            listed("1.2.0_b.1", INDEX, Some(PROVIDER)),
            listed("latest", INDEX, Some(PROVIDER)),
        ];
        let text = |holds| tags_index(&repository, holds, &tags).unwrap().text;
        assert!(text(true).ends_with(r#""tags":["1.0.0","1.2.0_b.1"]}"#));
        assert!(text(false).contains(r#""1.0","1.0.0","1.0.0_linux-amd64""#));
        assert_eq!(tags_index(&repository, true, &[]), None);
    }

    #[test]
    fn a_tombstone_is_not_listed() {
        let repository = RepositoryName::parse("team/app").unwrap();
        let mut tags = [listed("a", INDEX, None), listed("b", INDEX, None)];
        let index = |tags: &[ListedTag]| tags_index(&repository, false, tags);
        tags[0].document.is_tombstone = true;
        assert!(index(&tags).unwrap().text.ends_with(r#""tags":["b"]}"#));
        tags[1].document.is_tombstone = true;
        assert_eq!(index(&tags), None);
    }

    #[test]
    fn a_referrer_of_another_type_is_filtered_out_if_its_type_is_known() {
        let of = |text: String| {
            let manifest = PushedManifest::parse(text.as_bytes()).unwrap();
            let metadata = referrer_metadata(&manifest).into_iter();
            let metadata: Vec<(String, String)> = metadata
                .map(|(name, value)| (name.to_owned(), value))
                .collect();
            ["a/b", "c/d"].map(|it| may_be_of_type(&metadata, it))
        };
        let index = |more: &str| format!(r#"{{"schemaVersion":2,"manifests":[]{more}}}"#);
        assert_eq!(of(index(r#","artifactType":"a/b""#)), [true, false]);
        assert_eq!(of(index("")), [true, true]);
        let digest = "0".repeat(64);
        let config = |media_type: &str| {
            format!(
                r#"{{"schemaVersion":2,"config":{{"mediaType":"{media_type}","digest":"sha256:{digest}","size":1}},"layers":[]}}"#
            )
        };
        assert_eq!(of(config("c/d")), [false, true]);
        assert_eq!(of(config(&"a".repeat(256))), [true, true]);
    }
}
