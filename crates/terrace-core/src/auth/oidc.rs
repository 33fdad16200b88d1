//! Grants for tokens of other issuers: the operator's rules for CI jobs and for people.
//!
//! # In scope
//! [`TrustedPublishers`] for CI jobs, [`LoginRules`] for people, the claims that a job's releases record
//! ([`provenance()`]). Rules are also stored in the registry ([`StoredRule`]), and beside them [`MirrorBlock`]s, which grant nothing.
//!
//! # Out of scope
//! Verification that a token is genuine, meant for this registry and valid now: [`terrace_jose`].
//!
//! The reason why a token grants nothing is for the log only. The sender of a token learns only that it was rejected.

mod ci_system;
pub mod limits;
mod login;
mod mirror_block;
mod pattern;
mod provenance;
mod rule;
mod stored;
#[cfg(test)]
mod tests;
mod trusted;

pub use login::LoginRules;
pub use mirror_block::{MirrorBlock, MirrorBlocks};
pub use pattern::ClaimPattern;
pub use provenance::provenance;
pub use rule::{GrantedScopes, RuleName};
pub use stored::{RuleDocument, RuleIndex, RuleKind, RuleRemoval, StoredRule, StoredRules};
pub use trusted::{TrustedPublisher, TrustedPublishers};
