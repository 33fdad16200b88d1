//! Routes of the admin API.

use super::package;
use crate::http::problem::Problem;
use crate::model::address::{MirroredAddress, ModuleAddress, ProviderAddress};
use crate::model::name::{Namespace, check_not_reserved};
use crate::model::package::Package;
use crate::model::rule_id::RuleId;
use crate::model::token_id::TokenId;
use crate::model::version::Version;
use crate::model::webhook_id::WebhookId;
use terrace_openpgp::KeyId;

/// A route of the admin API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdminRoute {
    /// `/admin/v1/providers/{namespace}/{type}/{version}`
    PublishProvider(ProviderAddress, Version),
    /// `/admin/v1/modules/{namespace}/{name}/{system}/{version}`, or with the hostname of a mirrored module before the
    /// namespace
    PublishModule(ModuleAddress, Version),
    /// `/admin/v1/mirror/{hostname}/{namespace}/{type}/{version}`
    MirroredRelease(MirroredAddress, Version),
    /// `/admin/v1/{kind}/{address}/status`, or `/admin/v1/{kind}/{address}/{version}/status` for a
    /// version, where the kind is `providers`, `modules` or `mirror`.
    Status(Package, Option<Version>),
    /// `/admin/v1/{kind}/{address}/{version}/documentation`, where the kind is `providers`, `modules` or `mirror`.
    Documentation(Package, Version),
    /// `/admin/v1/documentation`
    Documented,
    /// `/admin/v1/audit`
    Audit,
    /// `/admin/v1/doctor`
    Doctor,
    /// `/admin/v1/tokens`
    Tokens,
    /// `/admin/v1/tokens/{id}`
    Token(TokenId),
    /// `/admin/v1/tokens/{id}/rotation`
    TokenRotation(TokenId),
    /// `/admin/v1/rules`
    Rules,
    /// `/admin/v1/rules/{id}`
    Rule(RuleId),
    /// `/admin/v1/reindex`
    Reindex,
    /// `/admin/v1/verify`
    Verify,
    /// `/admin/v1/facts`
    Facts,
    /// `/admin/v1/archives`
    StoredArchives,
    /// `/admin/v1/garbage`
    Garbage,
    /// `/admin/v1/failover`
    Failover,
    /// `/admin/v1/replication`
    Replication,
    /// `/admin/v1/erasures`
    Erasures,
    /// `/admin/v1/webhooks`
    Webhooks,
    /// `/admin/v1/webhooks/{id}`
    Webhook(WebhookId),
    /// `/admin/v1/webhooks/{id}/test`
    WebhookTest(WebhookId),
    /// `/admin/v1/namespaces/{namespace}/keys`
    SigningKeys(Namespace),
    /// `/admin/v1/namespaces/{namespace}/keys/{key_id}`
    SigningKey(Namespace, KeyId),
}

impl AdminRoute {
    /// Parses the segments after `/admin/`; `None` if they match no route.
    #[inline(never)]
    pub(super) fn parse(segments: &[&str]) -> Result<Option<Self>, Problem> {
        Ok(Some(match segments {
            ["v1", kind @ ("providers" | "modules" | "mirror"), rest @ ..] => {
                match package(kind, rest, "mirror").map_err(bad)? {
                    Some((package, ["status"])) => Self::Status(package, None),
                    Some((package, [version, "status"])) => {
                        Self::Status(package, Some(version.parse().map_err(bad)?))
                    }
                    Some((package, [version, "documentation"])) => {
                        Self::Documentation(package, version.parse().map_err(bad)?)
                    }
                    Some((package, [version])) => {
                        Self::publish(package, version.parse().map_err(bad)?)?
                    }
                    _ => return Ok(None),
                }
            }
            ["v1", "documentation"] => Self::Documented,
            ["v1", "audit"] => Self::Audit,
            ["v1", "doctor"] => Self::Doctor,
            ["v1", "reindex"] => Self::Reindex,
            ["v1", "verify"] => Self::Verify,
            ["v1", "facts"] => Self::Facts,
            ["v1", "archives"] => Self::StoredArchives,
            ["v1", "garbage"] => Self::Garbage,
            ["v1", "failover"] => Self::Failover,
            ["v1", "replication"] => Self::Replication,
            ["v1", "erasures"] => Self::Erasures,
            ["v1", "webhooks"] => Self::Webhooks,
            ["v1", "webhooks", id] => Self::Webhook(id.parse().map_err(bad)?),
            ["v1", "webhooks", id, "test"] => Self::WebhookTest(id.parse().map_err(bad)?),
            ["v1", "tokens"] => Self::Tokens,
            ["v1", "tokens", id] => Self::Token(token_id(id)?),
            ["v1", "tokens", id, "rotation"] => Self::TokenRotation(token_id(id)?),
            ["v1", "rules"] => Self::Rules,
            ["v1", "rules", id] => Self::Rule(id.parse().map_err(bad)?),
            ["v1", "namespaces", namespace, "keys"] => {
                Self::SigningKeys(namespace.parse().map_err(bad)?)
            }
            ["v1", "namespaces", namespace, "keys", key_id] => Self::SigningKey(
                namespace.parse().map_err(bad)?,
                key_id.parse().map_err(bad)?,
            ),
            _ => return Ok(None),
        }))
    }

    fn publish(package: Package, version: Version) -> Result<Self, Problem> {
        Ok(match package {
            Package::Provider(address) => {
                check_not_reserved(address.namespace.as_str()).map_err(bad)?;
                Self::PublishProvider(address, version)
            }
            Package::Module(address) => {
                check_not_reserved(address.namespace.as_str()).map_err(bad)?;
                Self::PublishModule(address, version)
            }
            Package::Mirrored(address) => Self::MirroredRelease(address, version),
        })
    }
}

/// Returns the error for invalid names, which explains the reason to the publisher.
fn bad(error: impl ToString) -> Problem {
    Problem::BadRequest(error.to_string())
}

/// Parses the ID of a token. The error omits the text, because it may be a token passed by mistake.
fn token_id(text: &str) -> Result<TokenId, Problem> {
    let rule = "the path has no token ID after /tokens/: an ID is the 16 lower-case hexadecimal digits between \
                \"terrace_\" and the first dot of a token";
    text.parse()
        .map_err(|_| Problem::BadRequest(rule.to_owned()))
}
