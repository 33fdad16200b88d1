//! The values of indices in KV, and what rides in their metadata.

use serde::{Deserialize, Serialize};

use crate::model::oci::Digest;
use crate::model::status::Reason;
use crate::model::version::Version;
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;

/// A value for KV: the bytes and what a read must know without looking into them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexDocument {
    /// The bytes.
    pub text: String,
    /// What rides in the key's metadata.
    pub metadata: IndexMetadata,
}

/// The KV metadata of an index, 1,024 bytes at most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexMetadata {
    /// The entity tag of the bytes, with its quotes.
    pub etag: String,
    /// Of what must not be handed out any more: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<String>,
    /// Of a manifest or a zip of an OCI repository: what it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentMetadata>,
    /// Of a mirrored provider's list where pulling is configured: what it was made by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull: Option<PullMetadata>,
}

impl IndexMetadata {
    /// Whether what goes into headers of it can stand there. What the registry writes can.
    pub fn is_sendable(&self) -> bool {
        let media_type = self
            .content
            .as_ref()
            .and_then(|it| it.media_type.as_deref());
        let mut texts = [Some(self.etag.as_str()), media_type].into_iter().flatten();
        texts.all(|text| text.bytes().all(|byte| matches!(byte, b' '..=b'~')))
    }
}

/// By what a list was made that depends on more than releases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PullMetadata {
    /// Identifies the rules; see [`PullPolicy::has_made`](crate::upstream::pull::PullPolicy::has_made).
    pub rules: String,
    /// When the origin was last asked; 0 if it is not asked.
    pub checked_at: UnixTime,
    /// Whether nothing is listed: then there is no such provider.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_empty: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants it so")]
fn is_false(value: &bool) -> bool {
    !value
}

/// What is known about something in an OCI repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContentMetadata {
    /// Of a manifest; a blob has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media_type: Option<String>,
    /// Its digest.
    pub digest: Digest,
    /// Its length in bytes.
    pub size: u64,
    /// Of which version it is, where it is published and not pushed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<Version>,
}

impl IndexDocument {
    /// What has a digest.
    pub(crate) fn of_content(content: ContentMetadata, text: String) -> Self {
        Self {
            metadata: IndexMetadata {
                etag: format!("\"{}\"", content.digest),
                gone: None,
                content: Some(content),
                pull: None,
            },
            text,
        }
    }

    /// What must not be handed out any more. KV wants a value.
    pub fn gone(reason: &Reason) -> Self {
        let mut document = Self::new("gone".to_owned());
        document.metadata.gone = Some(reason.to_string());
        document
    }

    pub(crate) fn new(text: String) -> Self {
        let digest = Sha256::of(text.as_bytes()).to_string();
        let short: String = digest.chars().take(32).collect();
        Self {
            metadata: IndexMetadata {
                etag: format!("\"{short}\""),
                gone: None,
                content: None,
                pull: None,
            },
            text,
        }
    }
}
