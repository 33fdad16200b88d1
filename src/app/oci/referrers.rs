//! What refers to a manifest: listed from the facts, so that it is always the newest.

use std::cell::RefCell;

use serde::Deserialize;
use terrace_core::key::{FactKey, PushedFact};
use terrace_core::limits;
use terrace_core::oci::pushed::PushedPath;
use terrace_core::oci::{Digest, Query, RepositoryName, encoded};
use terrace_core::read::referrers;
use terrace_core::reply::Reply;

use super::corrupt;
use crate::app::{App, Boxed, Failure, all};
use crate::store::{Facts as _, Platform};

/// How many descriptors are read at once. One may be as long as a manifest, and all of them lie in
/// memory.
const AT_ONCE: usize = 4;

/// What a filter looks at.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Filtered {
    #[serde(default)]
    artifact_type: Option<String>,
}

impl<P: Platform> App<'_, P> {
    pub(super) async fn referrers(
        &self,
        repository: &RepositoryName,
        subject: Digest,
        query: Query<'_>,
    ) -> Result<Reply<P::Stream>, Failure> {
        let filter = query.value("artifactType");
        let last = query
            .value("last")
            .and_then(|last| Digest::parse(&last).ok());
        let last = last.map(|digest| digest.to_string());
        let prefix = PushedFact::referrers_of(repository, &subject);
        let (facts, most) = (self.platform.facts(), limits::REFERRERS_AT_ONCE);
        let page = facts.list(&prefix, last.as_deref(), most).await?;
        let names = page.facts.into_iter().map(|fact| fact.name);
        let digests: Vec<Digest> = names.filter_map(|name| Digest::parse(&name).ok()).collect();
        let (mut shown, mut bytes) = (Vec::new(), 0);
        let (mut read, mut cut) = (None, page.is_cut);
        for digests in digests.chunks(AT_ONCE) {
            if bytes > limits::REFERRERS_BYTES {
                cut = true;
                break;
            }
            let texts = RefCell::new(vec![None; digests.len()]);
            let texts_here = &texts;
            let get = |(at, digest): (usize, &Digest)| -> Boxed<'_> {
                let fact = PushedFact::Referrer(repository.clone(), subject, *digest);
                Box::pin(async move {
                    let fact = facts.get(&FactKey::Pushed(fact)).await?;
                    let text = fact.map(|fact| String::from_utf8(fact.bytes));
                    if let Some(place) = texts_here.borrow_mut().get_mut(at) {
                        *place = text.transpose().map_err(corrupt)?;
                    }
                    Ok(())
                })
            };
            all(digests.iter().enumerate().map(get).collect()).await?;
            for text in texts.into_inner().into_iter().flatten() {
                if is_wanted(&text, filter.as_deref())? {
                    bytes += text.len();
                    shown.push(text);
                }
            }
            read = digests.last();
        }
        let mut reply = referrers(&shown);
        if filter.is_some() {
            reply = reply.with("oci-filters-applied", "artifactType");
        }
        if let Some(read) = read.filter(|_| cut) {
            let path = PushedPath::Referrers(subject).location(repository);
            let filter = filter.map(|it| format!("&artifactType={}", encoded(&it)));
            let filter = filter.unwrap_or_default();
            reply = reply.with(
                "link",
                format!("<{path}?last={read}{filter}>; rel=\"next\""),
            );
        }
        Ok(reply)
    }
}

fn is_wanted(descriptor: &str, filter: Option<&str>) -> Result<bool, Failure> {
    let Some(filter) = filter else {
        return Ok(true);
    };
    let read: Filtered = serde_json::from_slice(descriptor.as_bytes()).map_err(corrupt)?;
    Ok(read.artifact_type.as_deref() == Some(filter))
}
