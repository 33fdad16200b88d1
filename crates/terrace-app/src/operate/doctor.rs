//! The registry's examination of itself: facts that only it can know. Nothing is written.

use std::pin::pin;

use futures_util::future::{Either, join, join_all, select};
use terrace_base::time::UnixTime;
use terrace_core::api::admin::{
    ArchiveSource, AuditFacts, DoctorAnswer, IndexFacts, RepairFacts, ServiceFacts,
};
use terrace_core::auth::oidc::TrustedPublishers;
use terrace_core::maintenance::repair::{CursorDocument, Position, Section};
use terrace_core::model::package::Package;
use terrace_core::storage::key::{FactKey, RELEASES};
use terrace_core::upstream::origin::Service;

use crate::access::{issuer, rules};
use crate::context::Context;
use crate::copies::failover;
use crate::documents::audit;
use crate::documents::fallback_requests::EXAMINED_SECONDS;
use crate::failure::Failure;
use crate::host::{Clock as _, Facts as _, Host, Upstream as _};
use crate::index::expected_indices;
use crate::outcome::{Call, Handled};
use crate::repair::comparison::Compared;
use crate::repair::step::RepairStep;
use crate::{documents, json, listing};

/// How many packages of each kind the registry compares with its indices when it examines itself: a sample that one request
/// can afford.
const EXAMINED_PACKAGES: usize = 3;

/// How many releases are listed to find them.
const EXAMINED_RELEASES: u32 = 100;

/// How many other servers the registry tries when it examines itself.
const EXAMINED_SERVERS: usize = 10;

/// The prefixes of the releases with indices that depend on nothing but the facts: those of this registry's own packages.
const OWN_RELEASES: [&str; 2] = ["providers/hosted/", "modules/"];

/// `GET /admin/v1/doctor`
pub(crate) async fn examine<P: Host>(ctx: &Context<'_, P>, call: Call) -> Handled<P::Stream> {
    listing::only(&call, &[])?;
    let now = ctx.host.clock().now();
    let (packages, first_release) = sample(ctx).await?;
    let (rules, faults) = rules::index(ctx).await?.parse();
    let named = |rule| format!("rule {rule}");
    let mut warnings = ctx.config.warnings();
    warnings.extend(rules.trusted_publishers.warnings(&named));
    if ctx.config.login.is_some() {
        warnings.extend(rules.login.warnings(&named));
    }
    warnings.extend(faults);
    let answer = DoctorAnswer {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        time: now.to_string(),
        warnings,
        archives: match &ctx.config.archive_urls {
            Some(urls) if urls.is_of_bucket() => ArchiveSource::Bucket,
            Some(urls) if urls.is_cached() => ArchiveSource::Edge,
            Some(_) => ArchiveSource::Registry,
            None => ArchiveSource::Unsigned,
        },
        repair: repair(ctx, first_release, now).await?,
        audit: audit_log(ctx).await?,
        indices: indices(ctx, &packages).await?,
        services: services(ctx, &rules.trusted_publishers).await,
        failover: failover::facts(ctx).await?,
    };
    Ok(json::reply(200, &answer)?.into())
}

/// Returns some of the packages, and when the first listed release was stored.
async fn sample<P: Host>(
    ctx: &Context<'_, P>,
) -> Result<(Vec<Package>, Option<UnixTime>), Failure> {
    let (mut packages, mut first): (Vec<Package>, Option<UnixTime>) = (Vec::new(), None);
    for prefix in OWN_RELEASES {
        let prefix = format!("{RELEASES}{prefix}");
        let facts = ctx.host.facts();
        let page = facts.list(&prefix, None, EXAMINED_RELEASES).await?;
        let mut of_kind: Vec<Package> = Vec::new();
        for fact in page.facts {
            first = Some(first.map_or(fact.stored_at, |first| first.min(fact.stored_at)));
            let key = FactKey::parse(&format!("{prefix}{}", fact.name));
            if let Some(FactKey::Release(package, _)) = key
                && package.origin().is_none()
                && !of_kind.contains(&package)
            {
                of_kind.push(package);
            }
        }
        packages.extend(of_kind.into_iter().take(EXAMINED_PACKAGES));
    }
    Ok((packages, first))
}

/// Returns the state of the periodic repair. Without a step so far, one has been due since the first release.
async fn repair<P: Host>(
    ctx: &Context<'_, P>,
    first_release: Option<UnixTime>,
    now: UnixTime,
) -> Result<RepairFacts, Failure> {
    let key = FactKey::RepairCursor;
    let page = ctx.host.facts().list(&key.to_string(), None, 1).await?;
    // The next step replaces an unreadable document.
    let (cursor, _) = documents::read_or_replace::<_, CursorDocument>(ctx, &key).await?;
    let cursor = cursor.unwrap_or_default();
    let enabled = ctx.config.repair_operations > 0;
    Ok(match page.facts.first() {
        Some(stored) => RepairFacts {
            enabled,
            last: Some(stored.stored_at.to_string()),
            overdue: cursor.overdue(stored.stored_at, now),
            position: cursor.next,
        },
        None => RepairFacts {
            enabled,
            overdue: first_release.map_or(0, |first| now.since(first)),
            ..RepairFacts::default()
        },
    })
}

async fn audit_log<P: Host>(ctx: &Context<'_, P>) -> Result<AuditFacts, Failure> {
    let head = audit::newest_known(ctx).await?;
    let facts = ctx.host.facts();
    let complete = head == 0 || facts.revision(&FactKey::Audit(head)).await?.is_some();
    Ok(AuditFacts { head, complete })
}

/// Compares the version lists of packages with the facts.
async fn indices<P: Host>(
    ctx: &Context<'_, P>,
    packages: &[Package],
) -> Result<IndexFacts, Failure> {
    let mut found = IndexFacts::default();
    let mut step = RepairStep::new(ctx, Position::start(Section::Releases), 0);
    for package in packages {
        let expected = expected_indices::version_lists(ctx, package).await?;
        let all: Vec<_> = expected.iter().collect();
        let compared = step.compare(&all, &|_| false).await;
        found.packages += 1;
        for ((key, _), compared) in expected.iter().zip(compared) {
            found.compared += 1;
            match compared {
                Compared::Same => {}
                Compared::Missing => found.missing.push(key.to_string()),
                Compared::Different => found.stale.push(key.to_string()),
            }
        }
    }
    Ok(found)
}

/// Tries the other servers that the settings and the stored rules name.
async fn services<P: Host>(ctx: &Context<'_, P>, stored: &TrustedPublishers) -> Vec<ServiceFacts> {
    let hostnames = ctx.config.pull.hostnames();
    let origins = hostnames.into_iter().take(EXAMINED_SERVERS);
    let origins = origins.map(async |hostname| {
        let fetch = Service::discover_at(&ctx.config.pull.origin_of(hostname));
        let guard = ctx.config.pull.guard(hostname);
        let seconds = EXAMINED_SECONDS;
        let fetched = ctx.host.upstream().fetch(&fetch, &guard, seconds).await;
        let error = match fetched {
            Ok(fetched) => Service::read(&fetched).err().map(|error| error.to_string()),
            Err(error) => Some(error.to_string()),
        };
        ServiceFacts {
            kind: "origin".to_owned(),
            name: hostname.to_string(),
            error,
        }
    });
    let mut issuers = ctx.config.issuers();
    let of_settings = issuers.clone();
    issuers.extend(
        stored
            .issuers()
            .into_iter()
            .filter(|it| !of_settings.contains(it)),
    );
    let issuers = issuers.into_iter().take(EXAMINED_SERVERS);
    let issuers = issuers.map(async |issuer| {
        let limit = pin!(ctx.host.clock().sleep(EXAMINED_SECONDS));
        let error = match select(pin!(issuer::check(ctx, issuer)), limit).await {
            Either::Left((checked, _)) => checked.err().map(|error| error.why),
            Either::Right(_) => Some(format!("no answer within {EXAMINED_SECONDS} seconds")),
        };
        ServiceFacts {
            kind: "issuer".to_owned(),
            name: issuer.to_string(),
            error,
        }
    });
    let (mut all, of_issuers) = join(join_all(origins), join_all(issuers)).await;
    all.extend(of_issuers);
    all
}
