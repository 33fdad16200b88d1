//! Tokens that are revoked before they expire, and digests that were erased.
//!
//! One index lists all of them, and each isolate caches it for a while, so that neither a request with a token nor a
//! download through the platform's cache of archives costs a read. `REVOCATIONS_SECONDS` and [`LIST_CACHE_SECONDS`](crate::limits::LIST_CACHE_SECONDS) together are the maximum time
//! for which a revoked token may still be accepted somewhere.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::model::oci::Digest;
use crate::model::token_id::TokenId;
use crate::storage::index_document::IndexDocument;
use terrace_base::time::UnixTime;
use terrace_base::{json, sort};

/// The stored revocation of a token, which is authoritative.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevocationDocument {
    /// The time from which the token is revoked. A rotated token stays valid for a while longer.
    pub from: UnixTime,
    /// The time when the token expires anyway, if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<UnixTime>,
}

/// The metadata names of `RevocationDocument::from` and `expires`.
const FROM: &str = "from";
const EXPIRES: &str = "expires";

impl RevocationDocument {
    /// Returns the whole document as the metadata of its object, so that a listing contains it.
    pub fn to_metadata(&self) -> Vec<(&'static str, String)> {
        let mut metadata = vec![(FROM, self.from.0.to_string())];
        metadata.extend(self.expires.map(|expires| (EXPIRES, expires.0.to_string())));
        metadata
    }

    /// Parses the metadata; `None` if a copy of the bucket has lost it.
    pub fn from_metadata(metadata: &[(String, String)]) -> Option<Self> {
        let value = |name: &str| {
            let found = metadata.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.parse().ok().map(UnixTime))
        };
        Some(Self {
            from: value(FROM)??,
            expires: match value(EXPIRES) {
                None => None,
                Some(expires) => Some(expires?),
            },
        })
    }
}

/// The number of digits by which the index names an erased digest. They identify it well enough: an archive with a digest
/// that begins with the same ones is only read from the bucket instead of the platform's cache.
const PREFIX_DIGITS: usize = 16;

/// All revoked tokens with the times from which they are revoked, and all erased digests, as stored in the index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Revocations {
    revoked: BTreeMap<String, UnixTime>,
    /// The first digits of the erased digests, ascending and without separators, so that parsing them costs nothing
    /// however many there are.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    erased: String,
}

impl Revocations {
    /// Collects the revocations of tokens that have not expired.
    pub fn of(all: impl IntoIterator<Item = (TokenId, RevocationDocument)>, now: UnixTime) -> Self {
        let matters = |document: &RevocationDocument| document.expires.is_none_or(|it| it >= now);
        let all = all.into_iter().filter(|(_, document)| matters(document));
        Self {
            revoked: sort::map(all.map(|(id, document)| (id.to_string(), document.from))),
            erased: String::new(),
        }
    }

    /// Adds erased digests, in any order.
    #[must_use]
    pub fn with_erased(mut self, digests: impl IntoIterator<Item = Digest>) -> Self {
        let prefixes: BTreeSet<String> = digests
            .into_iter()
            .map(|digest| digest.hex().chars().take(PREFIX_DIGITS).collect())
            .collect();
        self.erased = prefixes.into_iter().collect();
        self
    }

    /// Returns whether a digest was erased. A digest that begins like an erased one counts as well.
    pub fn may_have_erased(&self, digest: Digest) -> bool {
        let (prefixes, _) = self.erased.as_bytes().as_chunks::<PREFIX_DIGITS>();
        let hex = digest.hex();
        let prefix = hex.as_bytes().first_chunk::<PREFIX_DIGITS>();
        prefix.is_some_and(|prefix| prefixes.binary_search(prefix).is_ok())
    }

    /// Returns whether a token is revoked at this time.
    pub fn include(&self, id: TokenId, now: UnixTime) -> bool {
        let from = self.revoked.get(&id.to_string());
        from.is_some_and(|from| *from <= now)
    }

    /// Returns the index of all revoked tokens and erased digests.
    pub fn index(&self) -> IndexDocument {
        IndexDocument::new(json::to_string(self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_base::digest::Sha256;

    const NOW: UnixTime = UnixTime(1_800_000_000);

    fn id(text: &str) -> TokenId {
        text.parse().unwrap()
    }

    fn document(from: u64, expires: Option<u64>) -> RevocationDocument {
        RevocationDocument {
            from: UnixTime(from),
            expires: expires.map(UnixTime),
        }
    }

    #[test]
    fn a_token_is_revoked_from_the_time_of_its_revocation() {
        let dead = id("0000000000000001");
        let rotated = id("0000000000000002");
        let all = [
            (dead, document(NOW.0, None)),
            (rotated, document(NOW.0 + 60, Some(NOW.0 + 600))),
        ];
        let revocations = Revocations::of(all, NOW);
        assert!(revocations.include(dead, NOW));
        assert!(!revocations.include(rotated, NOW));
        assert!(revocations.include(rotated, NOW.plus(60)));
        assert!(!revocations.include(id("0000000000000003"), NOW));
    }

    #[test]
    fn an_expired_token_is_not_listed_as_revoked() {
        let all = [(id("0000000000000001"), document(0, Some(NOW.0 - 1)))];
        assert_eq!(Revocations::of(all, NOW), Revocations::default());
    }

    #[test]
    fn the_metadata_contains_the_whole_document() {
        for document in [document(1, Some(2)), document(1, None)] {
            let metadata = document.to_metadata().into_iter();
            let metadata: Vec<_> = metadata.map(|(k, v)| (k.to_owned(), v)).collect();
            assert_eq!(RevocationDocument::from_metadata(&metadata), Some(document));
        }
        assert_eq!(RevocationDocument::from_metadata(&[]), None);
    }

    #[test]
    fn an_erased_digest_is_found_by_its_first_digits() {
        let digest = |text: &str| Digest::Sha256(Sha256::of(text.as_bytes()));
        let erased: Vec<Digest> = ["c", "a", "b", "a"].map(digest).to_vec();
        let list = Revocations::default().with_erased(erased.iter().copied());
        let read: Revocations = serde_json::from_str(&list.index().text).unwrap();
        assert_eq!(read, list);
        assert_eq!(list.erased.len(), 3 * PREFIX_DIGITS);
        assert!(erased.iter().all(|digest| list.may_have_erased(*digest)));
        assert!(!list.may_have_erased(digest("d")));
        assert!(!Revocations::default().may_have_erased(digest("a")));
    }
}
