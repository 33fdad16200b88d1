//! What refers to a manifest: listed from the facts, so that it is always the newest.

use std::cell::RefCell;

use serde::Deserialize;
use terrace_base::percent::encode;
use terrace_core::http::form::Query;
use terrace_core::http::reply::Reply;
use terrace_core::limits;
use terrace_core::model::oci::{Digest, RepositoryName};
use terrace_core::oci::pushed::{PushedPath, may_be_of_type};
use terrace_core::read::referrers;
use terrace_core::storage::key::{FactKey, PushedFact};

use super::corrupt;
use crate::app::{AT_ONCE, App, Boxed, Failure, all};
use crate::store::{Facts as _, Platform};

/// A part of a list.
#[derive(Default)]
struct Part {
    descriptors: Vec<String>,
    /// How long they are.
    bytes: usize,
    /// Behind which one the next part begins, if there is one.
    behind: Option<Digest>,
}

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
        let last = query.value("last");
        let last = last.and_then(|last| Digest::parse(&last).ok());
        let part = self
            .part_of_referrers(repository, subject, last, filter.as_deref())
            .await?;
        let mut reply = referrers(&part.descriptors);
        if filter.is_some() {
            reply = reply.with("oci-filters-applied", "artifactType");
        }
        if let Some(behind) = part.behind {
            let path = PushedPath::Referrers(subject).location(repository);
            let filter = filter.map(|it| format!("&artifactType={}", encode(&it)));
            let filter = filter.unwrap_or_default();
            let link = format!("<{path}?last={behind}{filter}>; rel=\"next\"");
            reply = reply.with("link", link);
        }
        Ok(reply)
    }

    async fn part_of_referrers(
        &self,
        repository: &RepositoryName,
        subject: Digest,
        last: Option<Digest>,
        filter: Option<&str>,
    ) -> Result<Part, Failure> {
        let prefix = PushedFact::referrers_of(repository, &subject);
        let last = last.map(|digest| digest.to_string());
        let most = limits::REFERRERS_AT_ONCE;
        let facts = self.platform.facts();
        let page = facts.list(&prefix, last.as_deref(), most).await?;
        let (mut wanted, mut listed) = (Vec::new(), None);
        for fact in page.facts {
            listed = Digest::parse(&fact.name).ok();
            if filter.is_none_or(|filter| may_be_of_type(&fact.metadata, filter)) {
                wanted.extend(listed);
            }
        }
        let mut part = Part::default();
        for some in wanted.chunks(AT_ONCE) {
            let texts = self.descriptors(repository, subject, some).await?;
            for (digest, text) in some.iter().zip(texts) {
                if let Some(text) = text
                    && is_wanted(&text, filter)?
                    && !part.takes(text)
                {
                    return Ok(part);
                }
                part.behind = Some(*digest);
            }
        }
        part.behind = listed.filter(|_| page.is_cut);
        Ok(part)
    }

    /// How these are described; `None` of one that is gone, and was pushed while it was deleted.
    async fn descriptors(
        &self,
        repository: &RepositoryName,
        subject: Digest,
        digests: &[Digest],
    ) -> Result<Vec<Option<String>>, Failure> {
        let facts = self.platform.facts();
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
                    *place = text.transpose().map_err(corrupt)?;
                }
                Ok(())
            })
        };
        all(digests.iter().enumerate().map(get).collect()).await?;
        Ok(texts.into_inner())
    }
}

impl Part {
    /// Adds a descriptor, if the list does not become too long by it.
    fn takes(&mut self, descriptor: String) -> bool {
        // With the comma.
        let bytes = self.bytes + descriptor.len() + 1;
        let fits = bytes <= limits::REFERRERS_BYTES || self.descriptors.is_empty();
        if fits {
            self.bytes = bytes;
            self.descriptors.push(descriptor);
        }
        fits
    }
}

fn is_wanted(descriptor: &str, filter: Option<&str>) -> Result<bool, Failure> {
    let Some(filter) = filter else {
        return Ok(true);
    };
    let read: Filtered = serde_json::from_slice(descriptor.as_bytes()).map_err(corrupt)?;
    Ok(read.artifact_type.as_deref() == Some(filter))
}
