//! Lists the referrers of a manifest from the facts, so that the list is always current.

use std::cell::RefCell;

use serde::Deserialize;
use terrace_base::percent::encode;
use terrace_core::auth::access::Visibility;
use terrace_core::http::form::Query;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Reply;
use terrace_core::model::oci::{Digest, RepositoryName};
use terrace_core::oci::pushed::{RepositoryPath, may_be_of_type};
use terrace_core::read;
use terrace_core::storage::key::{FactKey, PushedFact};

use crate::concurrent::{Boxed, CONCURRENT_ACTIONS, all};
use crate::context::Context;
use crate::failure::Failure;
use crate::host::{Facts as _, Host};
use crate::oci::pushed_contents;
use crate::outcome::{Call, Handled};

/// Maximum number of descriptors in one list of referrers. Each is read from storage.
const REFERRERS_AT_ONCE: u32 = 100;

/// Maximum size of the descriptors in one list of referrers, in bytes: what clients read of a manifest
/// (clients.md 6.8), less the envelope.
const REFERRERS_BYTES: usize = 4 * 1024 * 1024 - 1024;

/// A part of a list of referrers.
#[derive(Default)]
struct ReferrerPage {
    descriptors: Vec<String>,
    /// The length of the descriptors, in bytes.
    bytes: usize,
    /// The cursor of the next part, if there is one.
    next: Option<Digest>,
}

impl ReferrerPage {
    /// Adds a descriptor, unless the list would become too long. Returns whether it did.
    fn takes(&mut self, descriptor: String) -> bool {
        // Includes the comma.
        let bytes = self.bytes + descriptor.len() + 1;
        let fits = bytes <= REFERRERS_BYTES || self.descriptors.is_empty();
        if fits {
            self.bytes = bytes;
            self.descriptors.push(descriptor);
        }
        fits
    }
}

/// The part of a descriptor that a filter examines.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Filtered {
    #[serde(default)]
    artifact_type: Option<String>,
}

/// Lists the referrers of a manifest that the caller may read. For any other, replies as if it did not exist.
pub(crate) async fn list<P: Host>(
    ctx: &Context<'_, P>,
    call: Call,
    repository: RepositoryName,
    subject: Digest,
) -> Handled<P::Stream> {
    let query = call.query();
    let reply = match pushed_contents::visibility(ctx, &call.caller, &repository) {
        Visibility::Unauthenticated => return Err(Problem::no_token().into()),
        Visibility::Public => reply(ctx, &repository, subject, query).await?,
        Visibility::Private => reply(ctx, &repository, subject, query).await?.private(),
        Visibility::Hidden => reply(ctx, &RepositoryName::hidden(), subject, query).await?,
    };
    Ok(reply.into())
}

async fn reply<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    subject: Digest,
    query: Query<'_>,
) -> Result<Reply<P::Stream>, Failure> {
    let filter = query.value("artifactType");
    let last = query.value("last");
    let last = last.and_then(|last| Digest::parse(&last).ok());
    let part = part(ctx, repository, subject, last, filter.as_deref()).await?;
    let mut reply = read::referrers(&part.descriptors);
    if filter.is_some() {
        reply = reply.with("oci-filters-applied", "artifactType");
    }
    if let Some(next) = part.next {
        let path = RepositoryPath::Referrers(subject).location(repository);
        let filter = filter.map(|it| format!("&artifactType={}", encode(&it)));
        let filter = filter.unwrap_or_default();
        let link = format!("<{path}?last={next}{filter}>; rel=\"next\"");
        reply = reply.with("link", link);
    }
    Ok(reply)
}

async fn part<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    subject: Digest,
    last: Option<Digest>,
    filter: Option<&str>,
) -> Result<ReferrerPage, Failure> {
    let prefix = PushedFact::referrers_of(repository, &subject);
    let last = last.map(|digest| digest.to_string());
    let limit = REFERRERS_AT_ONCE;
    let facts = ctx.host.facts();
    let page = facts.list(&prefix, last.as_deref(), limit).await?;
    let (mut wanted, mut listed) = (Vec::new(), None);
    for fact in page.facts {
        listed = Digest::parse(&fact.name).ok();
        if filter.is_none_or(|filter| may_be_of_type(&fact.metadata, filter)) {
            wanted.extend(listed);
        }
    }
    let mut part = ReferrerPage::default();
    for some in wanted.chunks(CONCURRENT_ACTIONS) {
        let texts = descriptors(ctx, repository, subject, some).await?;
        for (digest, text) in some.iter().zip(texts) {
            if let Some(text) = text
                && is_wanted(&text, filter)?
                && !part.takes(text)
            {
                return Ok(part);
            }
            part.next = Some(*digest);
        }
    }
    part.next = listed.filter(|_| page.is_truncated);
    Ok(part)
}

/// Returns the descriptors of these referrers; `None` for one that was deleted while it was being pushed.
async fn descriptors<P: Host>(
    ctx: &Context<'_, P>,
    repository: &RepositoryName,
    subject: Digest,
    digests: &[Digest],
) -> Result<Vec<Option<String>>, Failure> {
    let facts = ctx.host.facts();
    let texts = RefCell::new(vec![None; digests.len()]);
    let texts_here = &texts;
    let get = |(at, digest): (usize, &Digest)| -> Boxed<'_> {
        let manifest = PushedFact::Manifest(repository.clone(), *digest);
        let referrer = PushedFact::Referrer(repository.clone(), subject, *digest);
        Box::pin(async move {
            if facts.revision(&FactKey::Pushed(manifest)).await?.is_none() {
                return Ok(());
            }
            let fact = facts.get(&FactKey::Pushed(referrer)).await?;
            let text = fact.map(|fact| String::from_utf8(fact.bytes));
            if let Some(place) = texts_here.borrow_mut().get_mut(at) {
                *place = text.transpose().map_err(Failure::corrupt)?;
            }
            Ok(())
        })
    };
    all(digests.iter().enumerate().map(get).collect()).await?;
    Ok(texts.into_inner())
}

fn is_wanted(descriptor: &str, filter: Option<&str>) -> Result<bool, Failure> {
    let Some(filter) = filter else {
        return Ok(true);
    };
    let read: Filtered = serde_json::from_slice(descriptor.as_bytes()).map_err(Failure::corrupt)?;
    Ok(read.artifact_type.as_deref() == Some(filter))
}
