//! Compares stored indices with their expected documents.

use terrace_core::http::reply::Body;
use terrace_core::limits;
use terrace_core::model::version::Version;
use terrace_core::read::StoredIndex;
use terrace_core::storage::index_document::IndexDocument;
use terrace_core::storage::key::IndexKey;

use crate::host::{Host, Indices as _};
use crate::repair::step::RepairStep;

/// The result of comparing one index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compared {
    /// KV has this index, byte for byte.
    Same,
    /// KV does not have the key.
    Missing,
    /// KV has something else, or cannot be read.
    Different,
}

/// The difference between KV and a few indices, some of which should be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Difference {
    /// There is none.
    None,
    /// An expected index is missing, or has other contents.
    Contents,
    /// KV has an index that should be missing.
    Surplus,
}

/// An index as a bulk read of KV returns it; `None` if it is missing.
type Found<P> = Option<StoredIndex<<P as Host>::Stream>>;

impl<P: Host> RepairStep<'_, '_, P> {
    /// Reads at most [`limits::INDICES_AT_ONCE`] indices in one operation; `None` if KV cannot be read.
    async fn read(&mut self, keys: &[&IndexKey]) -> Option<Vec<Found<P>>> {
        self.count_reads(keys.len());
        let indices = self.ctx.host.indices();
        let read = indices.get_all(keys, limits::LIST_CACHE_SECONDS).await;
        let log = |error| self.ctx.host.log(&format!("storage: {error}"));
        read.map_err(log).ok()
    }

    /// Compares indices. Versions with the same bytes share the index of their digest, which names
    /// the version that wrote it last: it may be any that `is_installable`.
    pub(crate) async fn compare(
        &mut self,
        expected: &[&(IndexKey, IndexDocument)],
        is_installable: &dyn Fn(&Version) -> bool,
    ) -> Vec<Compared> {
        let mut compared = Vec::new();
        for some in expected.chunks(limits::INDICES_AT_ONCE) {
            let keys: Vec<&IndexKey> = some.iter().map(|(key, _)| key).collect();
            match self.read(&keys).await {
                Some(found) => {
                    let results = some.iter().zip(found);
                    compared.extend(results.map(|(it, found)| of(found, &it.1, is_installable)));
                }
                None => compared.extend(some.iter().map(|_| Compared::Different)),
            }
        }
        compared
    }

    /// Returns whether KV has all of these indices.
    pub(super) async fn all_same(&mut self, expected: &[(IndexKey, IndexDocument)]) -> bool {
        self.all_same_shared(expected, &|_| false).await
    }

    /// Returns whether KV has all of these indices, as [`RepairStep::compare`] compares them.
    pub(super) async fn all_same_shared(
        &mut self,
        expected: &[(IndexKey, IndexDocument)],
        is_installable: &dyn Fn(&Version) -> bool,
    ) -> bool {
        let expected: Vec<&(IndexKey, IndexDocument)> = expected.iter().collect();
        let compared = self.compare(&expected, is_installable).await;
        compared.iter().all(|it| *it == Compared::Same)
    }

    /// Compares a few indices in one operation, some of which should be missing. If KV cannot be read, all of them differ.
    pub(super) async fn difference(
        &mut self,
        expected: &[(IndexKey, IndexDocument)],
        missing: &[IndexKey],
    ) -> Difference {
        let present = expected.iter().map(|(key, _)| key);
        let keys: Vec<&IndexKey> = present.chain(missing).collect();
        let (is_same, has_surplus) = match self.read(&keys).await {
            None => (false, !missing.is_empty()),
            Some(found) => {
                let mut found = found.into_iter();
                let same = |(found, (_, expected)): (_, &(_, IndexDocument))| {
                    of(found, expected, &|_| false) == Compared::Same
                };
                let is_same = found
                    .by_ref()
                    .zip(expected)
                    .map(same)
                    .fold(true, |all, it| all & it);
                (is_same, found.any(|found| found.is_some()))
            }
        };
        match (is_same, has_surplus) {
            (_, true) => Difference::Surplus,
            (false, false) => Difference::Contents,
            (true, false) => Difference::None,
        }
    }
}

fn of<S>(
    found: Option<StoredIndex<S>>,
    expected: &IndexDocument,
    is_installable: &dyn Fn(&Version) -> bool,
) -> Compared {
    let Some(mut found) = found else {
        return Compared::Missing;
    };
    let version = found.metadata.content.as_mut();
    if let Some(version) = version.and_then(|content| content.version.as_mut())
        && is_installable(version)
        && let Some(content) = &expected.metadata.content
        && let Some(expected) = &content.version
    {
        version.clone_from(expected);
    }
    let is_text = matches!(&found.body, Body::Text(text) if *text == expected.text);
    match is_text && found.metadata == expected.metadata {
        true => Compared::Same,
        false => Compared::Different,
    }
}
