//! The audit log: an append-only chain of entries. Each contains the digest of the previous one.
//!
//! An entry that is changed or removed breaks the chain after it. Removing the newest entries does not: that
//! shows only in comparison with a copy, or with the [`AuditHead`], which anyone who may delete entries may
//! also overwrite.

use serde::{Deserialize, Serialize};

use crate::api::route::{AdminRoute, ApiRoute, Route};
use crate::model::package::Package;
use crate::model::provenance::Provenance;
use crate::model::status::{ACTIVE, BLOCKED, Reason, UNBLOCKED};
use crate::model::token_id::TokenId;
use crate::storage::key::FactKey;
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;

/// An entry of the audit log: one change. The next entry contains the digest of its text, byte for byte.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    /// The number of the entry, counted from 1.
    pub number: u64,
    /// The time of the change.
    pub at: UnixTime,
    /// The caller: `root` with the mark of the admin token's key, or a token by its ID and name.
    pub by: String,
    /// The verified claims of the caller, if it is a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub provenance: Option<Provenance>,
    /// The client's address as the platform reports it; empty if it does not.
    pub from: String,
    /// The method and the path of the request.
    pub what: String,
    /// The change of a status that the request made; `None` for every other change, and in entries of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<StatusChange>,
    /// The status of the response.
    pub status: u16,
    /// The digest of the request's body, if it had one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<Sha256>,
    /// The digest of the previous entry; for the first entry, that of the empty text.
    pub previous: Sha256,
}

/// The change of the status of a package, a version or a signing key, or of the bucket that serves downloads. The states are
/// texts, because a later version may know more of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusChange {
    /// The state before the request: `active` without a status. A repeated request finds the state that the first one set.
    pub from: String,
    /// The state after it.
    pub to: String,
    /// The reason that the request gives.
    pub reason: String,
}

impl StatusChange {
    /// Returns the change between two states, which are absent without a status.
    pub fn of_states<S: ToString>([from, to]: [Option<S>; 2], reason: &Reason) -> Self {
        let name = |state: Option<S>| state.map_or_else(|| ACTIVE.to_owned(), |it| it.to_string());
        Self {
            from: name(from),
            to: name(to),
            reason: reason.to_string(),
        }
    }

    /// Returns the change of a block: whether one applied, and applies, to the provider or version. A version remains blocked
    /// while its provider is.
    pub fn of_block(is_blocked: [bool; 2], reason: &Reason) -> Self {
        let [from, to] = is_blocked.map(|it| if it { BLOCKED } else { UNBLOCKED }.to_owned());
        Self {
            from,
            to,
            reason: reason.to_string(),
        }
    }
}

impl AuditEntry {
    /// Returns the key of the release that exists after this change, if it was a successful publish:
    /// including one that found the same release already published.
    pub fn published(&self) -> Option<FactKey> {
        if !matches!(self.status, 200 | 201) {
            return None;
        }
        let path = self.what.strip_prefix("PUT ")?;
        match Route::parse(path).ok()? {
            Route::Admin(AdminRoute::PublishProvider(address, version)) => {
                Some(FactKey::Release(Package::Provider(address), version))
            }
            Route::Admin(AdminRoute::PublishModule(address, version)) => {
                Some(FactKey::Release(Package::Module(address), version))
            }
            Route::Admin(AdminRoute::MirroredRelease(address, version)) => {
                Some(FactKey::Release(Package::Mirrored(address), version))
            }
            _ => None,
        }
    }

    /// Returns the key of another document that this change wrote and that the registry never removes: the
    /// statuses of a package, the keys of a namespace, the revocation of a token, or a removed rule.
    pub fn wrote(&self) -> Option<FactKey> {
        if self.status != 200 {
            return None;
        }
        if let Some(id) = self.revoked() {
            return Some(FactKey::Revocation(id));
        }
        let (method, path) = self.what.split_once(' ')?;
        match (method, Route::parse(path).ok()?) {
            ("PUT", Route::Admin(AdminRoute::Status(package, _))) => Some(FactKey::Status(package)),
            (
                "PUT",
                Route::Admin(
                    AdminRoute::SigningKeys(namespace) | AdminRoute::SigningKey(namespace, _),
                ),
            ) => Some(FactKey::SigningKeys(namespace)),
            ("DELETE", Route::Admin(AdminRoute::Rule(id))) => Some(FactKey::Rule(id)),
            _ => None,
        }
    }

    /// Returns the ID of the token that this change revoked, if it was one of these changes: by an administrator with a
    /// request that names the token, or by the token itself.
    pub fn revoked(&self) -> Option<TokenId> {
        let what = self.what.strip_prefix("DELETE ")?;
        let (own, path) = match what.split_once(REVOKES) {
            Some((own, path)) => (Some(own), path),
            None => (None, what),
        };
        let is_own = |own| Route::parse(own) == Ok(Route::Api(ApiRoute::Token));
        match Route::parse(path).ok()? {
            Route::Admin(AdminRoute::Token(id)) if own.is_none_or(is_own) => Some(id),
            _ => None,
        }
    }

    /// Returns the keys of the release and the archives that this change erased. A request that failed names those that it has
    /// erased already, and the repair those that such a request has left.
    pub fn erased(&self) -> Vec<String> {
        let Some((request, names)) = self.what.split_once(ERASES) else {
            return Vec::new();
        };
        let is_erasure = matches!(self.status, 200 | 500 | 503)
            && (request == REPAIRS
                || request.strip_prefix("POST ").is_some_and(|path| {
                    Route::parse(path) == Ok(Route::Admin(AdminRoute::Erasures))
                }));
        let names = names.split(ERASED_SEPARATOR).filter(|_| is_erasure);
        let key = |name: &str| match FactKey::parse_release(name) {
            Some(release) => release.to_string(),
            None => name.to_owned(),
        };
        names.map(key).collect()
    }
}

/// The caller of the entries that the repair adds.
pub const REPAIR: &str = "repair";
/// The request of these entries: an operator sends it for the same repair.
pub const REPAIRS: &str = "POST /admin/v1/reindex";
/// Begins the path of the token that an entry of its own revocation adds to the path.
pub const REVOKES: &str = " revokes ";
/// Begins the names that an entry of an erasure adds to the path.
pub const ERASES: &str = " erases ";
/// Separates these names.
pub const ERASED_SEPARATOR: &str = ", ";

/// A hint at the newest entry, to find the end of the log without a walk. It may be outdated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditHead {
    /// The number of the entry; 0 if there is none.
    pub number: u64,
}

/// The place where a chain breaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuditError {
    /// An entry cannot be parsed.
    #[error("entry {0} cannot be read: it was changed")]
    Unreadable(u64),
    /// An entry is missing.
    #[error("entry {0} is missing")]
    Missing(u64),
    /// An entry does not contain the digest of the previous one.
    #[error("entry {0} does not contain the digest of entry {prev}: one of them was changed", prev = .0 - 1)]
    Broken(u64),
}

/// A walk over a chain from its beginning.
#[derive(Debug)]
pub struct AuditChain {
    next: u64,
    previous: Sha256,
}

impl Default for AuditChain {
    fn default() -> Self {
        Self {
            next: 1,
            previous: Sha256::of(b""),
        }
    }
}

impl AuditChain {
    /// Advances by one entry, given by its text.
    ///
    /// # Errors
    /// The place where the chain breaks.
    pub fn follow(&mut self, text: &str) -> Result<AuditEntry, AuditError> {
        let unreadable = |_| AuditError::Unreadable(self.next);
        let entry: AuditEntry = serde_json::from_slice(text.as_bytes()).map_err(unreadable)?;
        if entry.number != self.next {
            return Err(AuditError::Missing(self.next));
        }
        if entry.previous != self.previous {
            return Err(AuditError::Broken(self.next));
        }
        self.next += 1;
        self.previous = Sha256::of(text.as_bytes());
        Ok(entry)
    }

    /// The number of entries walked so far.
    pub fn length(&self) -> u64 {
        self.next - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pinned::assert_pinned;

    fn chain(length: u64) -> Vec<String> {
        let mut previous = Sha256::of(b"");
        let mut texts = Vec::new();
        for number in 1..=length {
            let entry = AuditEntry {
                number,
                at: UnixTime(number),
                by: "root".to_owned(),
                provenance: None,
                from: "192.0.2.1".to_owned(),
                what: "DELETE /admin/v1/tokens/0123456789abcdef".to_owned(),
                change: None,
                status: 204,
                sent: None,
                previous,
            };
            let text = serde_json::to_string(&entry).unwrap();
            previous = Sha256::of(text.as_bytes());
            texts.push(text);
        }
        texts
    }

    /// Returns the first entry of a chain with other contents.
    fn entry(what: &str, status: u16) -> AuditEntry {
        AuditEntry {
            what: what.to_owned(),
            status,
            ..serde_json::from_str(&chain(1)[0]).unwrap()
        }
    }

    fn walk(texts: &[String]) -> Result<u64, AuditError> {
        let mut chain = AuditChain::default();
        for text in texts {
            chain.follow(text)?;
        }
        Ok(chain.length())
    }

    #[test]
    fn a_revoked_token_is_known_from_both_ways_to_revoke_it() {
        let revoked = |what: &str| {
            let entry = entry(what, 200);
            assert_eq!(entry.wrote(), entry.revoked().map(FactKey::Revocation));
            entry.revoked().map(|id| id.to_string())
        };
        for what in [
            "DELETE /admin/v1/tokens/0123456789abcdef",
            "DELETE /api/v1/token revokes /admin/v1/tokens/0123456789abcdef",
        ] {
            assert_eq!(revoked(what).as_deref(), Some("0123456789abcdef"), "{what}");
        }
        for what in [
            "DELETE /api/v1/token",
            "GET /api/v1/token revokes /admin/v1/tokens/0123456789abcdef",
            "DELETE /admin/v1/tokens revokes /admin/v1/tokens/0123456789abcdef",
            "DELETE /api/v1/token revokes /admin/v1/tokens",
        ] {
            assert_eq!(revoked(what), None, "{what}");
        }
    }

    #[test]
    fn a_chain_is_walked_to_its_end() {
        assert_eq!(walk(&chain(5)), Ok(5));
        assert_eq!(walk(&[]), Ok(0));
    }

    #[test]
    fn an_entry_that_is_changed_removed_or_moved_is_detected() {
        let whole = chain(5);
        let mut changed = whole.clone();
        changed[2] = changed[2].replace("192.0.2.1", "192.0.2.2");
        assert_eq!(walk(&changed), Err(AuditError::Broken(4)));
        let mut missing = whole.clone();
        missing.remove(1);
        assert_eq!(walk(&missing), Err(AuditError::Missing(2)));
        let mut moved = whole.clone();
        moved.swap(1, 2);
        assert_eq!(walk(&moved), Err(AuditError::Missing(2)));
        let mut unreadable = whole;
        unreadable[0] = "{".to_owned();
        assert_eq!(walk(&unreadable), Err(AuditError::Unreadable(1)));
    }

    #[test]
    fn an_entry_of_a_publish_names_its_release() {
        let key_of = |what: &str, status| {
            let key = entry(what, status).published();
            key.map(|key| key.to_string())
        };
        for (what, key) in [
            (
                "PUT /admin/v1/providers/acme/widget/1.0.0",
                "releases/providers/hosted/acme/widget/1.0.0",
            ),
            (
                "PUT /admin/v1/modules/acme/vpc/aws/1.0.0",
                "releases/modules/acme/vpc/aws/1.0.0",
            ),
            (
                "PUT /admin/v1/mirror/registry.example.com/acme/widget/1.0.0",
                "releases/providers/registry.example.com/acme/widget/1.0.0",
            ),
        ] {
            for status in [200, 201] {
                assert_eq!(key_of(what, status).as_deref(), Some(key));
            }
            for status in [202, 409, 422, 503] {
                assert_eq!(key_of(what, status), None, "{status}");
            }
        }
        for what in [
            "PUT /admin/v1/modules/acme/vpc/aws/1.0.0/status",
            "DELETE /admin/v1/tokens/0123456789abcdef",
            "PUT /v2/team/tools/manifests/1.0.0",
            "GET /admin/v1/mirror/registry.example.com/acme/widget/1.0.0",
            "",
        ] {
            assert_eq!(key_of(what, 200), None, "{what}");
        }
    }

    #[test]
    fn an_entry_names_the_permanent_document_that_it_wrote() {
        let key_of = |what: &str, status| {
            let key = entry(what, status).wrote();
            key.map(|key| key.to_string())
        };
        for (what, key) in [
            (
                "PUT /admin/v1/modules/acme/vpc/aws/1.0.0/status",
                "statuses/modules/acme/vpc/aws",
            ),
            ("PUT /admin/v1/namespaces/acme/keys", "keys/acme"),
            (
                "PUT /admin/v1/namespaces/acme/keys/0123456789ABCDEF",
                "keys/acme",
            ),
            (
                "DELETE /admin/v1/tokens/0123456789abcdef",
                "revocations/0123456789abcdef",
            ),
        ] {
            assert_eq!(key_of(what, 200).as_deref(), Some(key));
            assert_eq!(key_of(what, 409), None, "{what}");
        }
        for what in [
            "DELETE /admin/v1/namespaces/acme/keys/0123456789ABCDEF",
            "PUT /admin/v1/modules/acme/vpc/aws/1.0.0",
            "POST /admin/v1/tokens",
            "",
        ] {
            assert_eq!(key_of(what, 200), None, "{what}");
        }
    }

    #[test]
    fn an_entry_of_an_erasure_names_everything_erased() {
        let erased = |what: &str, status| entry(what, status).erased();
        let what = "POST /admin/v1/erasures erases acme/vpc/aws@1.0.0, archives/x.zip";
        // A request that failed names the part that it has erased.
        for status in [200, 500, 503] {
            assert_eq!(
                erased(what, status),
                ["releases/modules/acme/vpc/aws/1.0.0", "archives/x.zip"]
            );
        }
        assert_eq!(erased(what, 409), [""; 0]);
        let repair = format!("{REPAIRS}{ERASES}archives/x.docs");
        assert_eq!(erased(&repair, 200), ["archives/x.docs"]);
        for what in [
            "POST /admin/v1/erasures",
            "PUT /admin/v1/erasures erases acme/vpc/aws@1.0.0",
            "POST /admin/v1/garbage erases acme/vpc/aws@1.0.0",
        ] {
            assert_eq!(erased(what, 200), [""; 0], "{what}");
        }
    }

    #[test]
    fn the_documents_are_pinned() {
        let first = chain(1).remove(0);
        let empty = Sha256::of(b"");
        let text = format!(
            r#"{{"number":1,"at":1,"by":"root","from":"192.0.2.1","what":"DELETE /admin/v1/tokens/0123456789abcdef","status":204,"previous":"{empty}"}}"#
        );
        assert_pinned(&first, &text);
        let mut changed: AuditEntry = serde_json::from_str(&first).unwrap();
        changed.change = Some(StatusChange {
            from: "active".to_owned(),
            to: "revoked".to_owned(),
            reason: "leaks".to_owned(),
        });
        let change = r#""change":{"from":"active","to":"revoked","reason":"leaks"},"status""#;
        assert_pinned(
            &serde_json::to_string(&changed).unwrap(),
            &text.replace("\"status\"", change),
        );
        let head = serde_json::to_string(&AuditHead { number: 7 }).unwrap();
        assert_pinned(&head, r#"{"number":7}"#);
    }
}
