//! The values of indices in KV, and their metadata.

use serde::{Deserialize, Serialize};

use crate::model::oci::Digest;
use crate::model::status::Refusal;
use crate::model::version::Version;
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;

/// A value for KV, with the metadata that a read needs without parsing the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexDocument {
    /// The value.
    pub text: String,
    /// The metadata of the key.
    pub metadata: IndexMetadata,
}

/// The KV metadata of an index, at most 1,024 bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexMetadata {
    /// The entity tag of the bytes, with its quotes.
    pub etag: String,
    /// The reason why the content must not be served any more; `None` if it may be. The stored name is older
    /// than the field's.
    #[serde(default, rename = "gone", skip_serializing_if = "Option::is_none")]
    pub revoked: Option<String>,
    /// Whether the operator blocks the content: it is answered like a missing one, with the reason in `revoked`.
    #[serde(
        default,
        rename = "blocked",
        skip_serializing_if = "std::ops::Not::not"
    )]
    pub is_blocked: bool,
    /// The description of the content, for a manifest or a zip of an OCI repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentMetadata>,
    /// The rules that the list was made by, for a mirrored provider's list if pulling is configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull: Option<PullMetadata>,
}

impl IndexMetadata {
    /// Returns whether its texts are valid in HTTP headers. Those that the registry writes are.
    pub fn is_sendable(&self) -> bool {
        let media_type = self
            .content
            .as_ref()
            .and_then(|it| it.media_type.as_deref());
        let mut texts = [Some(self.etag.as_str()), media_type].into_iter().flatten();
        texts.all(|text| text.bytes().all(|byte| matches!(byte, b' '..=b'~')))
    }

    /// Returns whether it is a list that a stored rule blocks, of a provider of which nothing is stored. Nothing writes it
    /// again when the rule ends, so each read makes it from the facts.
    pub fn is_outdated_block(&self) -> bool {
        self.is_blocked && self.pull.is_some()
    }
}

/// The inputs of a list that depends on more than releases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullMetadata {
    /// The fingerprint of the rules; see
    /// [`PullPolicy::has_made`](crate::upstream::pull::PullPolicy::has_made).
    pub rules: String,
    /// The time of the last request to the origin; 0 if it is never asked.
    pub checked_at: UnixTime,
    /// Whether the list is empty: then the provider does not exist.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_empty: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_false(value: &bool) -> bool {
    !value
}

/// The description of a manifest or blob in an OCI repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentMetadata {
    /// The media type of a manifest; `None` for a blob.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// The digest of the content.
    pub digest: Digest,
    /// The length of the content in bytes.
    pub size: u64,
    /// The version that it belongs to, if it is published and not pushed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
}

impl IndexDocument {
    /// Creates the index of content with a digest.
    pub(crate) fn of_content(content: ContentMetadata, text: String) -> Self {
        Self {
            metadata: IndexMetadata {
                etag: format!("\"{}\"", content.digest),
                revoked: None,
                is_blocked: false,
                content: Some(content),
                pull: None,
            },
            text,
        }
    }

    /// Creates the tombstone of content that must not be served any more. KV requires a value.
    pub fn tombstone(refusal: Refusal<'_>) -> Self {
        Self::new("gone".to_owned()).refused(refusal)
    }

    /// Returns the index of content that must not be served any more.
    #[must_use]
    pub(crate) fn refused(mut self, refusal: Refusal<'_>) -> Self {
        self.metadata.revoked = Some(refusal.reason.to_string());
        self.metadata.is_blocked = refusal.is_blocked;
        self
    }

    pub(crate) fn new(text: String) -> Self {
        Self {
            metadata: IndexMetadata {
                etag: short_etag(&text),
                revoked: None,
                is_blocked: false,
                content: None,
                pull: None,
            },
            text,
        }
    }
}

/// Returns the entity tag of a text, with its quotes: half of its digest.
pub fn short_etag(text: &str) -> String {
    let digest = Sha256::of(text.as_bytes()).to_string();
    let short: String = digest.chars().take(32).collect();
    format!("\"{short}\"")
}
