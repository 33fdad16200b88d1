//! Blocks of all packages of another registry, or of one of its namespaces.

use serde_json::{Map, Value};
use terrace_base::time::UnixTime;

use super::rule::{misshapen, take};
use crate::model::mirrored_part::MirroredPart;
use crate::model::package::Package;
use crate::model::rule_id::RuleId;
use crate::model::status::{Reason, ReleaseState, ReleaseStatus};

/// A rule that blocks a part of the mirror, whether its packages are stored or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MirrorBlock {
    /// The blocked providers, and the modules of the same hostname or namespace; for a public registry, those of both.
    pub providers: MirroredPart,
    /// The reason, which users read.
    pub reason: Reason,
}

/// The active blocks of parts of the mirror, the oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MirrorBlocks(pub(super) Vec<(RuleId, UnixTime, MirrorBlock)>);

impl MirrorBlock {
    /// Parses the members of a rule: `{"providers":"registry.example.com/acme","reason":"see SEC-12"}`.
    pub(super) fn take(members: &mut Map<String, Value>) -> Result<Self, String> {
        let providers = take(members, "providers")?;
        let reason = take(members, "reason")?;
        Ok(Self {
            providers: parsed(
                "providers",
                &providers,
                "hostname or hostname/namespace of another registry",
            )?,
            reason: parsed("reason", &reason, "one line of text, and not too long")?,
        })
    }
}

impl MirrorBlocks {
    /// Returns the block of a mirrored package as a status that applies to all its versions: that of the oldest rule.
    pub fn status_of(&self, package: &Package) -> Option<ReleaseStatus> {
        let mut blocks = self.0.iter();
        let (id, created, block) = blocks.find(|(.., it)| it.providers.owns(package))?;
        Some(ReleaseStatus {
            state: ReleaseState::Blocked,
            reason: block.reason.clone(),
            at: *created,
            by: format!("rule {id}"),
        })
    }
}

fn parsed<T: std::str::FromStr>(name: &str, value: &Value, wanted: &str) -> Result<T, String> {
    let parsed = value.as_str().and_then(|text| text.parse().ok());
    parsed.ok_or_else(|| misshapen(name, value, wanted))
}
