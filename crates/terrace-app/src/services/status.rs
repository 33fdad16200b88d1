//! The status of releases, which their publishers and the owners of their signing keys set after the publish.

use std::collections::BTreeMap;

use terrace_core::auth::access::Caller;
use terrace_core::http::problem::Problem;
use terrace_core::index::ListedRelease;
use terrace_core::limits;
use terrace_core::model::package::Package;
use terrace_core::model::status::{KeyState, KeyStatement, Standings, State, Statement};
use terrace_core::model::version::Version;
use terrace_core::storage::key::FactKey;
use terrace_core::storage::release::Release;
use terrace_openpgp::KeyId;

use crate::context::Context;
use crate::failure::Failure;
use crate::host::Host;
use crate::json;
use crate::services::{documents, keys, releases};

/// Reads, changes and writes the document, until no other write comes in between.
pub(crate) async fn put<P: Host>(
    ctx: &Context<'_, P>,
    caller: &Caller,
    package: &Package,
    (version, statement): (Option<&Version>, Option<Statement>),
) -> Result<Standings, Failure> {
    let key = FactKey::Standings(package.clone());
    loop {
        let (stored, unchanged) = documents::read_for_change::<_, Standings>(ctx, &key).await?;
        let stored = stored.unwrap_or_default();
        let mut standings = stored.clone();
        let before = set(&mut standings, version, statement.clone())?;
        let is_revoked = |it: &Statement| it.state == State::Revoked;
        let of_security = before.iter().any(is_revoked) || statement.iter().any(is_revoked);
        if of_security && !caller.is_admin() {
            let told = "revoking a version or restoring it requires the scope admin";
            return Err(Problem::Forbidden(told.to_owned()).into());
        }
        let said = |it: &Statement| (it.state, it.reason.clone());
        if before.as_ref().map(said) == statement.as_ref().map(said) {
            // The status is unchanged, but its indices may be missing.
            return Ok(stored);
        }
        let text = json::text(&standings)?;
        let written = documents::put(ctx, &key, &text, &[], unchanged).await?;
        if written.is_some() {
            return Ok(standings);
        }
    }
}

/// Returns the status document of a package.
pub(crate) async fn of_package<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<Standings, Failure> {
    let key = FactKey::Standings(package.clone());
    let standings = documents::read(ctx, &key).await?;
    Ok(standings.unwrap_or_default())
}

/// Adds the status of a hosted provider's versions that follows from the keys that signed them.
pub(crate) async fn apply_keys<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    releases: &[ListedRelease],
    standings: &mut Standings,
) -> Result<(), Failure> {
    let statements = key_statements(ctx, package).await?;
    apply_key_statements(ctx, &statements, package, releases, standings).await
}

/// Does the same as [`apply_keys`], with key statements that were read before.
pub(crate) async fn apply_key_statements<P: Host>(
    ctx: &Context<'_, P>,
    statements: &BTreeMap<KeyId, KeyStatement>,
    package: &Package,
    releases: &[ListedRelease],
    standings: &mut Standings,
) -> Result<(), Failure> {
    if statements.is_empty() {
        return Ok(());
    }
    for listed in releases {
        let key_id = match listed.signing_key {
            Some(key_id) => Some(key_id),
            // It was published before objects had this metadata.
            None => match releases::find(ctx, package, &listed.version).await? {
                Some(Release::Provider(it)) => Some(it.signing_key.key_id),
                _ => None,
            },
        };
        let said = key_id.as_ref().and_then(|id| statements.get(id));
        if let (Some(key_id), Some(said)) = (key_id, said) {
            standings.judge(&listed.version, key_id, said);
        }
    }
    Ok(())
}

/// Returns the status of the keys of a hosted provider's namespace; nothing if none of them is revoked.
pub(crate) async fn key_statements<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
) -> Result<BTreeMap<KeyId, KeyStatement>, Failure> {
    let Package::Provider(address) = package else {
        return Ok(BTreeMap::new());
    };
    let (document, _) = keys::document(ctx, &address.namespace).await?;
    let mut statements = document.statements;
    if statements.values().all(|it| it.state != KeyState::Revoked) {
        statements.clear();
    }
    Ok(statements)
}

/// Sets a status, and returns the previous one.
fn set(
    standings: &mut Standings,
    version: Option<&Version>,
    statement: Option<Statement>,
) -> Result<Option<Statement>, Problem> {
    let Some(version) = version else {
        return Ok(std::mem::replace(&mut standings.package, statement));
    };
    let version = version.to_string();
    let revokes = statement
        .as_ref()
        .is_none_or(|it| it.state == State::Revoked);
    let before = match statement {
        Some(statement) => standings.versions.insert(version, statement),
        None => standings.versions.remove(&version),
    };
    // Revocations are always allowed.
    let is_revoked = |it: &Statement| it.state == State::Revoked;
    let said = standings.versions.values().filter(|it| !is_revoked(it));
    if !revokes && said.count() > limits::STANDINGS {
        let most = limits::STANDINGS;
        let told = format!(
            "{most} versions already have a status, the maximum: deprecate the package instead"
        );
        return Err(Problem::Invalid(vec![told]));
    }
    Ok(before)
}
