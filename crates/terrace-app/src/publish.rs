//! Publishes releases.

pub(crate) mod keys;
pub(crate) mod publisher;

use terrace_core::api::admin::{
    MirrorBody, MirroredBody, ModuleBody, ProviderBody, PublishAnswer, Published as PublishedBody,
};
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Reply;
use terrace_core::maintenance::audit::StatusChange;
use terrace_core::model::address::{MirroredAddress, ModuleAddress, ProviderAddress};
use terrace_core::model::own_hosts::OwnHosts;
use terrace_core::model::owner::Owner;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::publish::{
    ExpectedArchive, MirrorPublication, ModulePublication, ProviderPublication, Publication,
    too_large,
};
use terrace_core::storage::key::BytesKey;
use terrace_core::storage::release::Release;

use crate::access::{rules, status};
use crate::archives::staging::staged_key;
use crate::archives::{staging, stored_archives};
use crate::context::Context;
use crate::documents::{origins, releases};
use crate::failure::Failure;
use crate::host::{Clock as _, Host};
use crate::json;
use crate::outcome::{AuditDetails, Call, Handled, Outcome};
use crate::publish::publisher::PublishOutcome;

pub(crate) async fn provider<P: Host>(
    ctx: &Context<'_, P>,
    call: Call,
    address: ProviderAddress,
    version: Version,
) -> Handled<P::Stream> {
    let body: ProviderBody = json::parse_publication(&call.body)?;
    let publication =
        ProviderPublication::parse(address, version, &body).map_err(Problem::Invalid)?;
    publish(ctx, &call, Publication::Provider(publication)).await
}

pub(crate) async fn mirrored<P: Host>(
    ctx: &Context<'_, P>,
    call: Call,
    address: MirroredAddress,
    version: Version,
) -> Handled<P::Stream> {
    check_is_foreign(ctx, &call.origin, &Package::Mirrored(address.clone()))?;
    let body: MirrorBody = json::parse_publication(&call.body)?;
    let now = ctx.host.clock().now();
    let publication =
        MirrorPublication::parse(address, version, &body, now).map_err(Problem::Invalid)?;
    let key = publication.signing_key().cloned();
    let address = publication.address.clone();
    let owner = Owner::of(&Package::Mirrored(address.clone()));
    if publication.replaces().is_some() && !call.caller.may_administer(&owner) {
        let message = "replacing a mirrored version requires the scope admin";
        return Err(Problem::Forbidden(message.to_owned()).into());
    }
    let outcome = publish(ctx, &call, Publication::Mirror(publication)).await?;
    if let Some(key) = key.filter(|_| outcome.reply.status != 202) {
        origins::trust_key(ctx, &address, &key).await?;
    }
    Ok(outcome)
}

/// Checks that the hostname of a mirrored package does not name this registry itself.
pub(crate) fn check_is_foreign<P: Host>(
    ctx: &Context<'_, P>,
    origin: &str,
    package: &Package,
) -> Result<(), Problem> {
    let own = OwnHosts::new(origin, &ctx.config.hostnames);
    match package.origin() {
        Some(hostname) if own.include(hostname) => Err(Problem::BadRequest(format!(
            "{hostname} is this registry itself: publish {} as a {} of its own, without a hostname",
            own.hosted(package.clone()).address(),
            package.kind(),
        ))),
        _ => Ok(()),
    }
}

/// Describes the mirrored parts of a version, so that a client does not send them again.
pub(crate) async fn describe_mirrored<P: Host>(
    ctx: &Context<'_, P>,
    address: MirroredAddress,
    version: Version,
) -> Handled<P::Stream> {
    let missing = Problem::NotFound(format!("{address} {version} is not mirrored"));
    let package = Package::Mirrored(address);
    let stored = releases::stored(ctx, &package, &version).await?;
    match stored.map(|stored| stored.release) {
        Some(Release::Mirrored(release)) => {
            Ok(json::reply(200, &MirroredBody::from(&release))?.into())
        }
        Some(Release::Erased(tombstone)) => Err(Problem::Gone(tombstone.message()).into()),
        _ => Err(missing.into()),
    }
}

pub(crate) async fn module<P: Host>(
    ctx: &Context<'_, P>,
    call: Call,
    address: ModuleAddress,
    version: Version,
) -> Handled<P::Stream> {
    check_is_foreign(ctx, &call.origin, &Package::Module(address.clone()))?;
    let body: ModuleBody = json::parse_publication(&call.body)?;
    let publication =
        ModulePublication::parse(address, version, &body).map_err(Problem::Invalid)?;
    publish(ctx, &call, Publication::Module(publication)).await
}

async fn publish<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    publication: Publication,
) -> Handled<P::Stream> {
    let publication = &publication.by_job(call.caller.provenance());
    let requires_possession = staging::requires_possession(ctx, &call.caller);
    match publisher::publish(ctx, publication, requires_possession).await? {
        PublishOutcome::Whole(mut accepted) => {
            if requires_possession {
                staging::discard_staged_later(ctx, publication);
            }
            let mut entry = None;
            if publication.package().origin().is_some() {
                let warnings = mirror_warnings(ctx, publication).await?;
                accepted.warnings.extend(warnings);
            }
            if let Publication::Mirror(it) = publication {
                let states = [Some("mirrored"), Some("replaced")];
                let reason = it.replaces().filter(|_| accepted.replaces);
                entry = reason.map(|reason| StatusChange::of_states(states, reason));
            }
            let published = PublishedBody {
                address: publication.address(),
                version: publication.version().to_string(),
                provenance: accepted.provenance,
                warnings: accepted.warnings,
            };
            let reply = match accepted.commits {
                true => json::reply(201, &PublishAnswer::Created(published))?,
                false => json::reply(200, &PublishAnswer::Unchanged(published))?,
            };
            let mut outcome = Outcome::from(reply);
            if let Some(change) = entry {
                outcome.entry = AuditDetails::Status(change);
            }
            Ok(outcome)
        }
        PublishOutcome::Lacks(missing) => {
            let object = |archive: &ExpectedArchive| match requires_possession {
                true => staged_key(publication, archive).into(),
                false => archive.key.into(),
            };
            let reply = ask_for(ctx, &missing, &object, &call.origin)?;
            // An incomplete publish changes nothing. The request that completes it is audited.
            Ok(Outcome::new(reply, AuditDetails::None))
        }
    }
}

/// Returns the reasons why no client can install a version that was mirrored.
async fn mirror_warnings<P: Host>(
    ctx: &Context<'_, P>,
    publication: &Publication,
) -> Result<Vec<String>, Failure> {
    let (package, version) = (publication.package(), publication.version());
    let mut warnings = Vec::new();
    if let Package::Mirrored(address) = &package
        && ctx.config.pull.blocks(address, version)
    {
        let message = "TERRACE_PULL_BLOCK names the version, so no client can install it";
        warnings.push(message.to_owned());
    }
    rules::read_before_writing(ctx, &package).await?;
    let statuses = status::applied(ctx, &package).await?;
    warnings.extend(statuses.refusal(version).map(|refusal| {
        let reason = refusal.reason;
        match refusal.is_blocked {
            true => format!("the version is blocked, so no client can install it: {reason}"),
            false => format!("the version is revoked, so no client can install it: {reason}"),
        }
    }));
    Ok(warnings)
}

fn ask_for<P: Host>(
    ctx: &Context<'_, P>,
    missing: &[ExpectedArchive],
    object: &dyn Fn(&ExpectedArchive) -> BytesKey,
    origin: &str,
) -> Result<Reply<P::Stream>, Failure> {
    let Some(urls) = &ctx.config.archive_urls else {
        let message = "upload URLs cannot be signed: set TERRACE_ADMIN_TOKEN, TERRACE_URL_SECRET or the TERRACE_S3_… variables".to_owned();
        return Err(Problem::Misconfigured(message).into());
    };
    let too_large = too_large(missing, urls);
    if !too_large.is_empty() {
        return Err(Problem::Invalid(too_large).into());
    }
    let missing = missing
        .iter()
        .map(|archive| {
            let (name, key) = (archive.filename.clone(), object(archive));
            stored_archives::missing(ctx, name, key, archive.size, urls, origin)
        })
        .collect();
    json::reply(202, &PublishAnswer::Incomplete { missing })
}
