//! `GET /admin/v1/doctor`: facts about a registry that only the registry itself can know.

use serde::{Deserialize, Serialize};

use super::FailoverAnswer;

/// The source of the URLs of archives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArchiveSource {
    /// A bucket, by presigned URLs: the S3 settings are set.
    Bucket,
    /// The registry, by URLs that it signs itself.
    Registry,
    /// The registry, by URLs that it signs itself, through the platform's cache of archives.
    Edge,
    /// None, because no secret is set that could sign them.
    Unsigned,
}

/// The facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoctorAnswer {
    /// The version of Terrace.
    pub version: String,
    /// The time of the registry (RFC 3339).
    pub time: String,
    /// The settings and stored rules that are valid but should be changed, and the rules without effect, one line each.
    pub warnings: Vec<String>,
    /// The source of the URLs of archives.
    pub archives: ArchiveSource,
    /// The periodic repair.
    pub repair: RepairFacts,
    /// The audit log.
    pub audit: AuditFacts,
    /// The indices of a few packages, compared with the facts.
    pub indices: IndexFacts,
    /// The other servers that the settings and the stored rules name.
    pub services: Vec<ServiceFacts>,
    /// The second bucket, if the deployment has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failover: Option<FailoverAnswer>,
}

/// The state of the periodic repair, which the cron trigger runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepairFacts {
    /// Whether it is on.
    pub enabled: bool,
    /// The time of its last step (RFC 3339); none before the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// The seconds since the next step was due; 0 if it is not due yet.
    pub overdue: u64,
    /// The position of the walk over the facts; empty at its beginning.
    pub position: String,
}

/// The state of the audit log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditFacts {
    /// The number of the newest entry according to the hint; 0 if there is none.
    pub head: u64,
    /// Whether the entry with that number exists, or the log is empty.
    pub complete: bool,
}

/// A sample of the indices.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexFacts {
    /// The packages that were compared.
    pub packages: u32,
    /// The indices that were compared.
    pub compared: u32,
    /// The keys of the indices that are missing. The next read rebuilds each.
    pub missing: Vec<String>,
    /// The keys of the indices that differ from the facts.
    pub stale: Vec<String>,
}

/// Another server that the settings name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceFacts {
    /// Its purpose: `origin` for a registry that is pulled through, `issuer` for the issuer of tokens.
    pub kind: String,
    /// Its hostname or URL.
    pub name: String,
    /// The reason why it cannot be used; none if it can.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
