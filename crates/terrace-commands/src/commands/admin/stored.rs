//! Everything that a registry stores: its documents, and the bytes that they refer to.

use std::collections::{BTreeMap, BTreeSet};

use terrace_base::time::UnixTime;
use terrace_core::api::admin::{DocumentedArchive, FactBody, StoredArchive};
use terrace_core::maintenance::audit::{AuditChain, AuditEntry, AuditError};
use terrace_core::maintenance::garbage::{GarbageDocument, GarbageState};
use terrace_core::maintenance::restore::Restored;
use terrace_core::model::oci::Digest;
use terrace_core::storage::documentation::DocumentationDocument;
use terrace_core::storage::key::{AUDIT, BytesKey, FactKey, GARBAGE, PushedFact};

use crate::error::Failure;
use crate::output::{Output, plural};
use crate::registry::client::Client;

/// Asks for page after page of a listing. `ask` gets the cursor of a page, and returns that of the next one.
pub(crate) fn each_page(
    mut ask: impl FnMut(Option<&str>) -> Result<Option<String>, Failure>,
) -> Result<(), Failure> {
    let mut after: Option<String> = None;
    loop {
        match ask(after.as_deref())? {
            Some(next) if after.as_ref() != Some(&next) => after = Some(next),
            _ => return Ok(()),
        }
    }
}

/// Passes every document with this key prefix to `take`. Returns the number of documents.
pub(crate) fn each_fact(
    client: &Client<'_>,
    prefix: &str,
    output: &Output,
    take: impl FnMut(FactBody) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let pass_over = |key: &String| {
        output.warning(&format!(
            "{key:?} is skipped: it is not the key of a document"
        ));
    };
    each_fact_or(client, prefix, output, take, pass_over)
}

/// Does the same as [`each_fact`], and passes keys that the registry does not know to `pass_over`.
pub(super) fn each_fact_or(
    client: &Client<'_>,
    prefix: &str,
    output: &Output,
    mut take: impl FnMut(FactBody) -> Result<(), Failure>,
    mut pass_over: impl FnMut(&String),
) -> Result<u64, Failure> {
    let mut count = 0;
    let mut pushed = BTreeSet::new();
    // A manifest or tag that a client pushes during the listing may be listed without the documents that
    // it refers to, because they were stored earlier, in a part that is already listed. So those documents
    // are listed again.
    let again: &[&str] = match prefix {
        "" => &LISTED_TWICE,
        _ => &[],
    };
    for (at, prefix) in [prefix].iter().chain(again).enumerate() {
        each_page(|after| {
            let page = client.facts(prefix, after)?;
            if at == 0 {
                page.unknown.iter().for_each(&mut pass_over);
            }
            for key in page.unreadable {
                take(FactBody {
                    key,
                    document: String::new(),
                })?;
            }
            for fact in page.facts {
                let is_referred_to = LISTED_TWICE
                    .iter()
                    .any(|prefix| fact.key.starts_with(prefix));
                if is_referred_to && !pushed.insert(fact.key.clone()) {
                    continue;
                }
                count += 1;
                take(fact)?;
            }
            if page.next.is_some() && count % 1_000 < 40 {
                output.progress(&format!("read {}", plural(count, "document")));
            }
            Ok(page.next)
        })?;
    }
    Ok(count)
}

/// The prefixes of pushed documents that other pushed documents refer to: tags refer to manifests, for
/// example. Those that refer to the rest come first.
const LISTED_TWICE: [&str; 2] = ["oci/manifests/", "oci/links/"];

/// Lists all stored bytes by their keys. Returns them with the registry's time at the start of the listing.
pub(super) fn all_archives(
    client: &Client<'_>,
    output: &Output,
) -> Result<(BTreeMap<String, StoredArchive>, UnixTime), Failure> {
    let mut all = BTreeMap::new();
    let mut began = None;
    each_page(|after| {
        let page = client.archives(after, false)?;
        began = began.or(Some(page.now));
        for key in &page.unknown {
            output.warning(&format!(
                "{key:?} is skipped: it is not the key of an archive"
            ));
        }
        let stored = page.archives.into_iter();
        all.extend(stored.map(|stored| (stored.key.clone(), stored)));
        Ok(page.next)
    })?;
    Ok((all, began.unwrap_or_default()))
}

/// Passes every documented version with its archive to `take`, and keys that the registry cannot read to `pass_over`.
pub(super) fn each_documented(
    client: &Client<'_>,
    mut take: impl FnMut(DocumentedArchive),
    mut pass_over: impl FnMut(&String),
) -> Result<(), Failure> {
    each_page(|after| {
        let page = client.documented(after)?;
        page.unknown.iter().for_each(&mut pass_over);
        page.documented.into_iter().for_each(&mut take);
        Ok(page.next)
    })
}

/// Reads the times of the tombstones, by the keys of the erased bytes.
pub(super) fn tombstones(
    client: &Client<'_>,
    output: &Output,
) -> Result<BTreeMap<String, UnixTime>, Failure> {
    let mut times = BTreeMap::new();
    each_mark(client, output, |bytes, mark, _| {
        if mark.state == GarbageState::Erased {
            times.insert(bytes, mark.since);
        }
        Ok(())
    })?;
    Ok(times)
}

/// Passes every tombstone of an archive or a digest to `take`.
pub(super) fn each_tombstone(
    client: &Client<'_>,
    output: &Output,
    mut take: impl FnMut(FactBody) -> Result<(), Failure>,
) -> Result<(), Failure> {
    each_mark(client, output, |_, mark, fact| match mark.state {
        GarbageState::Erased => take(fact),
        GarbageState::Marked | GarbageState::Kept | GarbageState::Removing => Ok(()),
    })
}

/// Passes the key of the bytes, the mark, and the document of every mark to `take`.
pub(super) fn each_mark(
    client: &Client<'_>,
    output: &Output,
    mut take: impl FnMut(String, GarbageDocument, FactBody) -> Result<(), Failure>,
) -> Result<(), Failure> {
    each_fact(client, GARBAGE, output, |fact| {
        let Some(FactKey::Garbage(bytes)) = FactKey::parse(&fact.key) else {
            return Ok(());
        };
        let mark = serde_json::from_str(&fact.document)
            .map_err(|error| Failure::Unexpected(format!("{}: {error}", fact.key)))?;
        take(bytes.to_string(), mark, fact)
    })
    .map(drop)
}

/// Returns the archive that a document about documentation refers to.
pub(super) fn documentation_archive(document: &str) -> Option<String> {
    let document = DocumentationDocument::from_document(document.as_bytes()).ok()?;
    Some(document.archive.archive_key().to_string())
}

/// The audit log. Its entries are added in order.
#[derive(Debug, Default)]
pub(super) struct Log {
    chain: AuditChain,
    /// The first break in the chain of entries.
    pub(super) fault: Option<AuditError>,
    /// The releases that were published, each with the number of the first entry that records it. Entries
    /// after a break count as well.
    pub(super) published: BTreeMap<String, u64>,
    /// Other documents that were written and are never removed, each with the number of the first entry that
    /// records it.
    pub(super) written: BTreeMap<String, u64>,
    /// The releases, archives and digests that were erased.
    pub(super) erased: BTreeSet<String>,
}

impl Log {
    /// Returns whether a document is an entry of the log.
    pub(super) fn has(key: &str) -> bool {
        key.starts_with(AUDIT)
    }

    /// Adds an entry.
    pub(super) fn add(&mut self, text: &str) {
        if self.fault.is_none() {
            self.fault = self.chain.follow(text).err();
        }
        let Ok(entry) = serde_json::from_str::<AuditEntry>(text) else {
            return;
        };
        self.erased.extend(entry.erased());
        for (keys, key) in [
            (&mut self.published, entry.published()),
            (&mut self.written, entry.wrote()),
        ] {
            if let Some(key) = key {
                keys.entry(key.to_string()).or_insert(entry.number);
            }
        }
    }

    /// Returns whether an entry records the erasure of these bytes, or of others with the same digest.
    pub(super) fn has_erased(&self, digest: Digest) -> bool {
        let mut erased = self.erased.iter();
        erased.any(|key| BytesKey::parse_key(key).is_some_and(|key| key.digest() == digest))
    }

    /// Returns the number of entries before the first break.
    pub(super) fn length(&self) -> u64 {
        self.chain.length()
    }
}

/// The references of documents to bytes and to other documents.
#[derive(Debug, Default)]
pub(super) struct References {
    pub(super) log: Log,
    /// The bytes that documents refer to, each with one such document and the size that it gives.
    pub(super) bytes: BTreeMap<String, (String, Option<u64>)>,
    /// The documents that others refer to, each with one such document.
    facts: BTreeMap<String, String>,
    /// The documents that exist.
    pub(super) there: BTreeSet<String>,
    /// The archives and blobs that were erased.
    pub(super) erased: BTreeSet<String>,
    /// Their digests. A tombstone covers all bytes with its digest.
    digests: BTreeSet<String>,
    /// The errors in documents that no registry can have written.
    pub(super) wrong: Vec<String>,
    /// Messages about bytes for which documents give different sizes.
    disagreeing: Vec<String>,
}

impl References {
    /// Adds a document.
    pub(super) fn add(&mut self, fact: &FactBody) {
        let FactBody { key, document } = fact;
        self.there.insert(key.clone());
        if Log::has(key) {
            self.log.add(document);
            return;
        }
        let read = FactKey::parse(key)
            .ok_or_else(|| "this version of terrace does not know this kind of document".to_owned())
            .and_then(|key| Restored::parse(&key, document));
        let restored = match read {
            Ok(restored) => restored,
            Err(reason) => {
                self.wrong.push(format!("{key}: {reason}"));
                return;
            }
        };
        if let Some(FactKey::Garbage(bytes)) = FactKey::parse(key) {
            self.erased.insert(bytes.to_string());
            self.digests.insert(bytes.digest().to_string());
        }
        for needed in restored.bytes {
            let place = self.bytes.entry(needed.key.to_string());
            let (by, size) = place.or_insert_with(|| (key.clone(), needed.size));
            match (*size, needed.size) {
                (Some(one), Some(other)) if one != other => self.disagreeing.push(format!(
                    "{} has {} according to {by}, but {other} according to {key}",
                    needed.key,
                    plural(one, "byte")
                )),
                (None, other) => *size = other,
                _ => {}
            }
        }
        if let Some(needed) = restored.fact {
            self.facts.insert(needed.to_string(), key.clone());
        }
    }

    /// Forgets a document that is left out of a copy, and its bytes, which were erased.
    pub(super) fn forget(&mut self, key: &str, bytes: &str) {
        self.there.remove(key);
        self.bytes.remove(bytes);
    }

    /// Describes all references to bytes or documents that are missing or have another size.
    pub(super) fn dangling(&self, stored: &BTreeMap<String, StoredArchive>) -> Vec<String> {
        let mut found = self.disagreeing.clone();
        for (key, (by, size)) in &self.bytes {
            match (stored.get(key), size) {
                (None, _) if self.is_erased(key) => {}
                (None, _) => found.push(missing(key, by)),
                (Some(stored), Some(size)) if stored.size != *size => found.push(format!(
                    "{key} has {}, but {size} according to {by}",
                    plural(stored.size, "byte")
                )),
                _ => {}
            }
        }
        let missing = self.facts.iter();
        let missing = missing.filter(|(key, _)| !self.there.contains(*key));
        found.extend(missing.map(|(key, by)| self::missing(key, by)));
        found
    }

    /// Warns of the references to bytes that were erased and are not stored: these are not missing, and no copy restores them.
    pub(super) fn warn_of_erased<T>(&self, stored: &BTreeMap<String, T>, output: &Output) {
        let erased = self.bytes.iter();
        let erased = erased.filter(|(key, _)| !stored.contains_key(*key) && self.is_erased(key));
        for (key, (by, _)) in erased {
            output.warning(&format!(
                "{key} was erased, so {by}, which refers to it, cannot be installed or pulled: {}",
                removal(by, output)
            ));
        }
    }

    /// Returns whether the digest of bytes was erased.
    pub(super) fn is_erased(&self, key: &str) -> bool {
        let digest = BytesKey::parse_key(key).map(|key| key.digest().to_string());
        digest.is_some_and(|digest| self.digests.contains(&digest))
    }

    /// Describes the erased bytes that exist.
    pub(super) fn returned(&self, stored: &BTreeMap<String, StoredArchive>) -> Vec<String> {
        let returned = stored.keys().filter(|key| self.is_erased(key));
        let describe = |key: &String| {
            format!(
                "{key} was erased, and is stored again, by an upload whose URL was signed before: the repair removes it, and so \
                 does `terrace admin gc --yes`"
            )
        };
        returned.map(describe).collect()
    }
}

/// Describes a reference to bytes or to a document that does not exist.
pub(super) fn missing(key: &str, by: &str) -> String {
    format!("{key} is missing, but {by} refers to it")
}

/// Returns the advice about a document that refers to erased bytes.
fn removal(key: &str, output: &Output) -> String {
    let subject = match FactKey::parse(key) {
        Some(FactKey::Release(package, version)) => format!("{}@{version}", package.address()),
        Some(FactKey::Pushed(PushedFact::Manifest(repository, digest))) => {
            format!("--manifest {repository}@{digest}")
        }
        Some(FactKey::Pushed(PushedFact::Link(_, digest))) => format!("--blob {digest}"),
        Some(FactKey::Documentation(..)) => {
            return "the repair of the registry removes it".to_owned();
        }
        _ => return "erase that as well".to_owned(),
    };
    format!(
        "to erase that as well, run `{}`",
        output.command(format_args!("admin erase {subject} --reason REASON"))
    )
}
