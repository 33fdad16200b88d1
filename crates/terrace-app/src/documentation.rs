//! Describes, adds and removes the documentation of versions, which may be published later.

pub(crate) mod document;
pub(crate) mod documentation_removal;
pub(crate) mod documenter;

use std::borrow::Cow;

use terrace_base::digest::Sha256;
use terrace_core::api::admin::{
    DocumentationAnswer, DocumentationBody, DocumentationState, Documented, DocumentedAnswer,
    DocumentedArchive, RemovedDocumentation,
};
use terrace_core::config::MIRRORED_DOCS;
use terrace_core::http::problem::Problem;
use terrace_core::limits;
use terrace_core::model::oci::Digest;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use terrace_core::publish::DocumentationPublication;
use terrace_core::storage::key::DOCUMENTATION;
use terrace_core::storage::release::Release;

use crate::archives::{staging, stored_archives};
use crate::backup::archive_inventory::no_signer;
use crate::context::{Context, Task};
use crate::documentation::documenter::{Addition, Change, Removal};
use crate::documents::{documentation, releases};
use crate::failure::Failure;
use crate::host::{Facts as _, Host};
use crate::outcome::{AuditDetails, Call, Handled, Outcome};
use crate::publish::check_is_foreign;
use crate::{json, listing};

/// Maximum number of documented versions in one list: a page of storage.
const DOCUMENTED_AT_ONCE: u32 = 1_000;

/// The name of an archive in the list of missing ones.
const FILENAME: &str = "documentation";

/// The parameter that changes documentation only if the version is not published yet.
const UNPUBLISHED: &str = "unpublished";

/// The parameter that removes documentation only if it has this archive.
const ARCHIVE: &str = "sha256";

pub(crate) async fn describe<P: Host>(
    ctx: &Context<'_, P>,
    package: Package,
    version: Version,
) -> Handled<P::Stream> {
    let document = documentation::find(ctx, &package, &version).await?;
    let document = document.ok_or_else(|| no_documentation(&package, &version))?;
    let state = DocumentationState {
        address: package.address(),
        version: version.to_string(),
        sequence: document.sequence,
        archive: document.archive,
        history: document.history,
    };
    Ok(json::reply(200, &state)?.into())
}

/// Adds or replaces the documentation of a version, and refreshes the indices if the version is published.
pub(crate) async fn add<P: Host>(
    ctx: &Context<'_, P>,
    call: Call,
    package: Package,
    version: Version,
) -> Handled<P::Stream> {
    check_may_have_documentation(ctx, &call, &package)?;
    check_condition(ctx, &call, &package, &version).await?;
    let body: DocumentationBody = json::parse_publication(&call.body)?;
    let publication =
        DocumentationPublication::parse(package, version, body).map_err(Problem::Invalid)?;
    let requires_possession = staging::requires_possession(ctx, &call.caller);
    let by = call.caller.name();
    let added = documenter::add(ctx, &publication, &by, requires_possession).await?;
    let Addition::Stored(change, document) = added else {
        find_kept(ctx, &publication.package, &publication.version).await?;
        return ask_for_archive(ctx, &call, &publication, requires_possession);
    };
    let DocumentationPublication {
        package, version, ..
    } = &publication;
    let documented = Documented {
        address: package.address(),
        version: version.to_string(),
        sequence: document.sequence,
        is_published: documenter::refresh_added(ctx, package, version).await?,
    };
    if requires_possession {
        let staged = documenter::staged_key(&publication);
        ctx.defer(Task::DiscardStaged(vec![staged]));
    }
    let (status, answer) = match change {
        Change::Created => (201, DocumentationAnswer::Created(documented)),
        Change::Changed => (200, DocumentationAnswer::Changed(documented)),
        Change::Unchanged => (200, DocumentationAnswer::Unchanged(documented)),
    };
    let digest = Digest::Sha256(document.archive.sha256);
    let entry = AuditDetails::Content(digest, Vec::new());
    Ok(Outcome::new(json::reply(status, &answer)?, entry))
}

/// Removes the documentation of a version. The archive becomes garbage if no other version has it.
pub(crate) async fn remove<P: Host>(
    ctx: &Context<'_, P>,
    call: Call,
    package: Package,
    version: Version,
) -> Handled<P::Stream> {
    check_condition(ctx, &call, &package, &version).await?;
    let expected = expected_archive(&call)?;
    let removed = documenter::remove(ctx, &package, &version, expected).await?;
    let entry = match removed {
        Removal::Absent => return Err(no_documentation(&package, &version).into()),
        Removal::Removed(Some(archive)) => {
            AuditDetails::Content(Digest::Sha256(archive), Vec::new())
        }
        Removal::Removed(None) => AuditDetails::Request,
    };
    let removed = RemovedDocumentation {
        address: package.address(),
        version: version.to_string(),
    };
    Ok(Outcome::new(json::reply(200, &removed)?, entry))
}

/// Lists the archives that documented versions refer to, from the metadata of their documents.
pub(crate) async fn list<P: Host>(ctx: &Context<'_, P>, call: Call) -> Handled<P::Stream> {
    listing::only(&call, listing::CURSOR)?;
    let after = call.after();
    let after = match after.as_deref().filter(|after| !after.is_empty()) {
        None => None,
        Some(after) => Some(
            after
                .strip_prefix(DOCUMENTATION)
                .ok_or_else(|| Problem::invalid_cursor(after))?,
        ),
    };
    let facts = ctx.host.facts();
    let limit = DOCUMENTED_AT_ONCE;
    let page = facts.list(DOCUMENTATION, after, limit).await?;
    let began = ctx.operations();
    let mut answer = DocumentedAnswer::default();
    let (mut last, mut is_truncated) = (None, page.is_truncated);
    for listed in page.facts {
        if ctx.operations() - began >= limits::FACTS_AT_ONCE {
            is_truncated = true;
            break;
        }
        let key = format!("{DOCUMENTATION}{}", listed.name);
        last = Some(key.clone());
        match documentation::archive_of(ctx, &listed).await? {
            Some(archive) => answer.documented.push(DocumentedArchive {
                key,
                archive: archive.to_string(),
            }),
            None => answer.unknown.push(key),
        }
    }
    answer.next = last.filter(|_| is_truncated);
    Ok(json::reply(200, &answer)?.into())
}

/// Checks that this registry may show documentation of a package.
fn check_may_have_documentation<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    package: &Package,
) -> Result<(), Problem> {
    check_is_foreign(ctx, &call.origin, package)?;
    // That of a mirrored module comes from the files that clients get.
    let Package::Mirrored(address) = package else {
        return Ok(());
    };
    if ctx.config.mirrored_documentation {
        return Ok(());
    }
    Err(Problem::Invalid(vec![format!(
        "documentation of other registries' providers is disabled here, because it is the work of others: to show that of \
         {address} with its licence and origin, the operator must set {MIRRORED_DOCS} to true"
    )]))
}

/// Checks that the version is not published yet, if the request has that condition. The command sends documentation before
/// the release, and removes it if the release is rejected; if another publisher has published the version, it keeps its own
/// documentation.
async fn check_condition<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    package: &Package,
    version: &Version,
) -> Result<(), Failure> {
    if !is_for_unpublished(call)? || find_kept(ctx, package, version).await?.is_none() {
        return Ok(());
    }
    let address = package.address();
    Err(Problem::Conflict(vec![format!(
        "{address} {version} is published already, and {UNPUBLISHED}=true changes documentation only before that: send the \
         request without it"
    )])
    .into())
}

/// Returns the release of a version, if it was published.
///
/// # Errors
/// Also [`Problem::Gone`], for a version that was erased.
async fn find_kept<P: Host>(
    ctx: &Context<'_, P>,
    package: &Package,
    version: &Version,
) -> Result<Option<Release>, Failure> {
    match releases::find(ctx, package, version).await? {
        Some(Release::Erased(tombstone)) => Err(Problem::Gone(tombstone.message()).into()),
        found => Ok(found),
    }
}

/// Returns whether a request is for documentation of a version that is not published yet. An empty
/// value is an error.
fn is_for_unpublished(call: &Call) -> Result<bool, Problem> {
    match call.query().value(UNPUBLISHED).as_deref() {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(other) => Err(listing::invalid(
            UNPUBLISHED,
            other,
            "must be true or false",
        )),
    }
}

/// Returns the archive that the documentation must have to be removed. An empty or malformed value is not ignored, because
/// without a value any documentation is removed.
fn expected_archive(call: &Call) -> Result<Option<Sha256>, Problem> {
    let sent = listing::parameter(call, ARCHIVE)?;
    let empty = || call.query().value(ARCHIVE).map(Cow::into_owned);
    let Some(text) = sent.or_else(empty) else {
        return Ok(None);
    };
    let digest = text.parse().map(Some);
    digest.map_err(|_| listing::invalid(ARCHIVE, &text, "must be 64 hexadecimal digits"))
}

/// Answers 202 with the upload of the archive. This changes nothing; the request that completes it is audited.
fn ask_for_archive<P: Host>(
    ctx: &Context<'_, P>,
    call: &Call,
    publication: &DocumentationPublication,
    requires_possession: bool,
) -> Handled<P::Stream> {
    let urls = ctx.config.archive_urls.as_ref().ok_or_else(no_signer)?;
    let archive = &publication.archive;
    let object = match requires_possession {
        true => documenter::staged_key(publication).into(),
        false => archive.archive_key().into(),
    };
    let name = FILENAME.to_owned();
    let missing = stored_archives::missing(ctx, name, object, archive.size, urls, &call.origin);
    let missing = vec![missing];
    let reply = json::reply(202, &DocumentationAnswer::Incomplete { missing })?;
    Ok(Outcome::new(reply, AuditDetails::None))
}

fn no_documentation(package: &Package, version: &Version) -> Problem {
    let address = package.address();
    Problem::NotFound(format!("{address} {version} has no documentation"))
}
