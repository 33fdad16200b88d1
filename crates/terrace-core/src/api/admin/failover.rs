//! `/admin/v1/failover` and `/admin/v1/replication`: the second bucket.

use serde::{Deserialize, Serialize};

use super::UploadRequest;
use crate::storage::failover::{CopyCounts, FallbackCopyDocument, ServingBucket};

/// The body of `PUT /admin/v1/failover`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FailoverBody {
    /// The bucket that serves downloads from now on.
    pub serving: ServingBucket,
    /// The reason, in one line.
    pub reason: String,
    /// Whether the second bucket may serve although it lacks copies.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
}

/// The state of the failover.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailoverAnswer {
    /// Whether the deployment has a second bucket.
    pub configured: bool,
    /// The bucket that serves downloads.
    pub serving: ServingBucket,
    /// The time of the last change (RFC 3339); none if there never was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// The name of the administrator who changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The reason of the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether the change is also stored in R2 and in the audit log. During an outage it is not: the registry adds it later.
    pub recorded: bool,
    /// The state of the copy in the second bucket; none before its first comparison, or if R2 does not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy: Option<CopyFacts>,
    /// Whether the second bucket keeps versions of removed objects. Only for the doctor; none if the bucket does not state it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeps_versions: Option<bool>,
}

/// The state of the copy in the second bucket.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyFacts {
    /// The end of the last complete comparison (RFC 3339); none before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compared: Option<String>,
    /// The number of archives and blobs in the main bucket.
    pub stored: u64,
    /// How many of them the second bucket did not have after that comparison.
    pub missing: u64,
    /// Their bytes.
    pub missing_bytes: u64,
    /// The number of erased archives that the second bucket still had after that comparison, with those whose removal is in progress.
    #[serde(default)]
    pub erased: u64,
    /// The number of other archives that only the second bucket had: the main bucket has lost them, or they were removed while the
    /// deployment had no second bucket.
    #[serde(default)]
    pub surplus: u64,
    /// The reason why the last step failed, or why an archive could not be copied or removed; none if all succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl From<FallbackCopyDocument> for CopyFacts {
    fn from(document: FallbackCopyDocument) -> Self {
        let error = document.last_error().cloned();
        let last = document.last;
        let compared = last.as_ref().map(|last| last.at.to_string());
        let CopyCounts {
            stored,
            missing,
            missing_bytes,
            erased,
            surplus,
            ..
        } = last.unwrap_or_default();
        Self {
            compared,
            stored,
            missing,
            missing_bytes,
            erased,
            surplus,
            error,
        }
    }
}

/// The body of `POST /admin/v1/replication`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplicationBody {
    /// The key returned by the previous step; none for the first step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Whether the answer is only read, and nothing is to be copied. This is possible while the second bucket serves downloads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

/// The response of a step of the replication: a comparison of a page of the two buckets.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct ReplicationAnswer {
    /// The number of archives and blobs in the main bucket.
    pub stored: u64,
    /// The ones that the second bucket does not have.
    #[serde(default)]
    pub missing: Vec<MissingCopy>,
    /// Archives and blobs that were erased or are being removed, and that the second bucket still has. The scheduled copy removes them.
    #[serde(default)]
    pub erased: Vec<String>,
    /// Other archives and blobs that only the second bucket has. They stay: the main bucket may have lost them.
    #[serde(default)]
    pub surplus: Vec<String>,
    /// The key after which the next step starts; none after the last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An archive or blob that the second bucket does not have.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MissingCopy {
    /// The storage key.
    pub key: String,
    /// The length in bytes.
    pub size: u64,
    /// The download URL. It is a secret while it is valid.
    pub url: String,
    /// The upload to the second bucket.
    pub upload: UploadRequest,
}
