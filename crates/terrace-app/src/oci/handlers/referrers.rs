//! Lists the referrers of a manifest.

use terrace_base::percent::encode;
use terrace_core::auth::access::Visibility;
use terrace_core::http::form::Query;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::Reply;
use terrace_core::model::oci::{Digest, RepositoryName};
use terrace_core::oci::pushed::PushedPath;
use terrace_core::read;

use crate::context::Context;
use crate::failure::Failure;
use crate::host::Host;
use crate::oci::{pushed_contents, referrers};
use crate::outcome::{Call, Handled};

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
    let part = referrers::part(ctx, repository, subject, last, filter.as_deref()).await?;
    let mut reply = read::referrers(&part.descriptors);
    if filter.is_some() {
        reply = reply.with("oci-filters-applied", "artifactType");
    }
    if let Some(next) = part.next {
        let path = PushedPath::Referrers(subject).location(repository);
        let filter = filter.map(|it| format!("&artifactType={}", encode(&it)));
        let filter = filter.unwrap_or_default();
        let link = format!("<{path}?last={next}{filter}>; rel=\"next\"");
        reply = reply.with("link", link);
    }
    Ok(reply)
}
