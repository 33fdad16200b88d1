//! The JSON of the routes for rules that are stored in the registry.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::auth::oidc::{RuleDocument, RuleKind};
use crate::model::rule_id::RuleId;

/// The body of `POST /admin/v1/rules`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RuleBody {
    /// The kind of the rule.
    pub kind: RuleKind,
    /// The rule, as in the configuration.
    pub rule: Value,
}

/// A stored rule in a response.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RuleAnswer {
    /// The ID, by which it is removed.
    pub id: RuleId,
    /// Its kind.
    pub kind: RuleKind,
    /// The rule, as in the configuration.
    pub rule: Value,
    /// The time when it was added (RFC 3339).
    pub created: String,
    /// The name of the caller who added it.
    pub created_by: String,
    /// Warnings about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The reason why it grants nothing, if this version of the registry cannot read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// The response of `GET /admin/v1/rules`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct RuleList {
    /// The active rules that the caller may manage, by their IDs.
    pub rules: Vec<RuleAnswer>,
}

/// The response of `DELETE /admin/v1/rules/{id}`.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RemovedRule {
    /// The ID of the removed rule.
    pub removed: RuleId,
}

impl RuleAnswer {
    /// Describes a rule for a response.
    pub fn new(id: RuleId, document: &RuleDocument) -> Self {
        let (warnings, fault) = match document.parse() {
            Ok(rule) => (rule.warnings(), None),
            Err(fault) => (Vec::new(), Some(fault.to_string())),
        };
        Self {
            id,
            kind: document.kind,
            rule: serde_json::from_slice(document.rule.as_bytes()).unwrap_or_default(),
            created: document.created.to_string(),
            created_by: document.by.clone(),
            warnings,
            fault,
        }
    }
}
