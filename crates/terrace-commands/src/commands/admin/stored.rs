//! Everything that a registry stores: its documents, and the bytes that they refer to.

use std::collections::{BTreeMap, BTreeSet};

use terrace_base::time::UnixTime;
use terrace_core::api::admin::{DocumentedAnswer, DocumentedArchive, FactBody, StoredArchive};
use terrace_core::api::endpoint::DOCUMENTED;
use terrace_core::maintenance::audit::{AuditChain, AuditEntry, AuditError};
use terrace_core::maintenance::garbage::{GarbageDocument, GarbageState};
use terrace_core::maintenance::restore::Restored;
use terrace_core::model::oci::Digest;
use terrace_core::storage::key::{AUDIT, BytesKey, FactKey, GARBAGE, RELEASES};

use crate::error::Failure;
use crate::output::{Output, plural};
use crate::registry::client::{Call, Client};

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

/// The prefixes of pushed documents that other pushed documents refer to: tags refer to manifests, for
/// example. Those that refer to the rest come first.
const LISTED_TWICE: [&str; 2] = ["oci/manifests/", "oci/links/"];

/// Passes every document with this key prefix to `take`. Returns the keys that the registry does not know, after a warning
/// about each.
pub(crate) fn each_fact(
    client: &Client<'_>,
    prefix: &str,
    output: &Output,
    mut take: impl FnMut(FactBody) -> Result<(), Failure>,
) -> Result<Vec<String>, Failure> {
    let (mut count, mut unknown) = (0_u64, BTreeSet::new());
    let mut pushed = BTreeSet::new();
    // A manifest or tag that a client pushes during the listing may be listed without the documents that
    // it refers to, because they were stored earlier, in a part that is already listed. So those documents
    // are listed again.
    let again: &[&str] = match prefix {
        "" => &LISTED_TWICE,
        _ => &[],
    };
    for prefix in [prefix].iter().chain(again) {
        each_page(|after| {
            let page = client.facts(prefix, after)?;
            unknown.extend(page.unknown);
            for key in page.unreadable {
                take(FactBody {
                    key,
                    document: String::new(),
                })?;
            }
            for fact in page.facts {
                let is_pushed = LISTED_TWICE.iter().any(|it| fact.key.starts_with(it));
                if is_pushed && !pushed.insert(fact.key.clone()) {
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
    for key in &unknown {
        output.warning(&format!(
            "{key:?} is skipped: it is not the key of a document"
        ));
    }
    Ok(unknown.into_iter().collect())
}

/// Passes every release to `take`.
///
/// # Errors
/// A document below the releases is none that this version knows. It may refer to any archive, so nothing is removed.
pub(super) fn each_release(
    client: &Client<'_>,
    output: &Output,
    take: impl FnMut(FactBody) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let unknown = each_fact(client, RELEASES, output, take)?;
    not_understood(unknown)
}

/// Rejects documents that may refer to any archive.
pub(super) fn not_understood(keys: Vec<String>) -> Result<(), Failure> {
    let reason = |key| {
        format!(
            "{key:?} is not a document that this version of terrace can read, and may refer to any archive: nothing is removed while \
             it exists"
        )
    };
    match keys.is_empty() {
        true => Ok(()),
        false => Err(Failure::Refused(keys.iter().map(reason).collect())),
    }
}

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

/// Returns every documented version with its archive.
///
/// # Errors
/// A document about documentation cannot be read.
pub(super) fn documented(client: &Client<'_>) -> Result<Vec<DocumentedArchive>, Failure> {
    let (mut all, mut unknown) = (Vec::new(), Vec::new());
    each_page(|after| {
        let page: DocumentedAnswer = client.call(Call::get(&DOCUMENTED).query("after", after))?;
        all.extend(page.documented);
        unknown.extend(page.unknown);
        Ok(page.next)
    })?;
    not_understood(unknown).map(|()| all)
}

/// Returns every mark with its document, by the keys of the marked bytes.
pub(super) fn marks(
    client: &Client<'_>,
    output: &Output,
) -> Result<BTreeMap<String, (GarbageDocument, FactBody)>, Failure> {
    let mut marks = BTreeMap::new();
    each_fact(client, GARBAGE, output, |fact| {
        if let Some(FactKey::Garbage(bytes)) = FactKey::parse(&fact.key) {
            let mark: GarbageDocument = serde_json::from_str(&fact.document)
                .map_err(|error| Failure::Unexpected(format!("{}: {error}", fact.key)))?;
            marks.insert(bytes.to_string(), (mark, fact));
        }
        Ok(())
    })?;
    Ok(marks)
}

/// Returns the tombstones among the marks: those of erased bytes.
pub(super) fn tombstones(
    client: &Client<'_>,
    output: &Output,
) -> Result<BTreeMap<String, (GarbageDocument, FactBody)>, Failure> {
    let mut marks = marks(client, output)?;
    marks.retain(|_, (mark, _)| mark.state == GarbageState::Erased);
    Ok(marks)
}

/// Returns the digest in a key of bytes.
pub(super) fn digest_of(key: &str) -> Option<Digest> {
    BytesKey::parse_key(key).map(|key| key.digest())
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
    /// The digests of the erased archives.
    pub(super) erased_digests: BTreeSet<Digest>,
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
        let erased = entry.erased();
        self.erased_digests
            .extend(erased.iter().filter_map(|key| digest_of(key)));
        self.erased.extend(erased);
        for (keys, key) in [
            (&mut self.published, entry.published()),
            (&mut self.written, entry.wrote()),
        ] {
            if let Some(key) = key {
                keys.entry(key.to_string()).or_insert(entry.number);
            }
        }
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
    /// The digests that were erased. A tombstone covers all bytes with its digest.
    erased: BTreeSet<Digest>,
    /// The errors in documents that no registry can have written.
    pub(super) wrong: Vec<String>,
}

impl References {
    /// Reads all documents, and passes them to `take`. `compare` gets each with the log so far, as an older copy has it. The log is
    /// listed before the releases: every release that the listed entries record was committed earlier.
    pub(super) fn read(
        client: &Client<'_>,
        output: &Output,
        mut compare: impl FnMut(&FactBody, &Log),
        mut take: impl FnMut(&FactBody) -> Result<(), Failure>,
    ) -> Result<Self, Failure> {
        let mut references = Self::default();
        each_fact(client, "", output, |fact| {
            compare(&fact, &references.log);
            references.add(&fact);
            take(&fact)
        })?;
        for (_, fact) in tombstones(client, output)?.into_values() {
            references.add(&fact);
            take(&fact)?;
        }
        Ok(references)
    }

    /// Adds a document.
    pub(super) fn add(&mut self, fact: &FactBody) {
        let FactBody { key, document } = fact;
        self.there.insert(key.clone());
        if Log::has(key) {
            self.log.add(document);
            return;
        }
        let parsed = FactKey::parse(key);
        let read = parsed
            .as_ref()
            .ok_or_else(|| "this version of terrace does not know this kind of document".to_owned())
            .and_then(|key| Restored::parse(key, document));
        let restored = match read {
            Ok(restored) => restored,
            Err(reason) => {
                self.wrong.push(format!("{key}: {reason}"));
                return;
            }
        };
        if let Some(FactKey::Garbage(bytes)) = parsed {
            self.erased.insert(bytes.digest());
        }
        for needed in restored.bytes {
            let place = self.bytes.entry(needed.key.to_string());
            let (_, size) = place.or_insert_with(|| (key.clone(), needed.size));
            *size = size.or(needed.size);
        }
        if let Some(needed) = restored.fact {
            self.facts.insert(needed.to_string(), key.clone());
        }
    }

    /// Describes all references to bytes or documents that are missing or have another size.
    pub(super) fn dangling(&self, stored: &BTreeMap<String, StoredArchive>) -> Vec<String> {
        let mut found = self.missing(stored);
        for (key, (by, size)) in &self.bytes {
            if let (Some(stored), Some(size)) = (stored.get(key), size)
                && stored.size != *size
            {
                found.push(format!(
                    "{key} has {}, but {size} according to {by}",
                    plural(stored.size, "byte")
                ));
            }
        }
        let missing = self.facts.iter();
        let missing = missing.filter(|(key, _)| !self.there.contains(*key));
        found.extend(missing.map(|(key, by)| self::missing(key, by)));
        found
    }

    /// Describes the references to bytes that are not stored and were not erased.
    pub(super) fn missing<T>(&self, stored: &BTreeMap<String, T>) -> Vec<String> {
        let absent = self.bytes.iter();
        let absent = absent.filter(|(key, _)| !stored.contains_key(*key) && !self.is_erased(key));
        absent.map(|(key, (by, _))| missing(key, by)).collect()
    }

    /// Warns of the references to bytes that were erased and are not stored: these are not missing, and no copy restores them.
    pub(super) fn warn_of_erased<T>(&self, stored: &BTreeMap<String, T>, output: &Output) {
        let erased = self.bytes.iter();
        let erased = erased.filter(|(key, _)| !stored.contains_key(*key) && self.is_erased(key));
        for (key, (by, _)) in erased {
            output.warning(&format!(
                "{key} was erased, so {by}, which refers to it, cannot be installed or pulled: erase that as well (terrace admin \
                 erase), unless it is documentation, which the repair removes"
            ));
        }
    }

    /// Returns whether the digest of bytes was erased.
    pub(super) fn is_erased(&self, key: &str) -> bool {
        digest_of(key).is_some_and(|digest| self.erased.contains(&digest))
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
fn missing(key: &str, by: &str) -> String {
    format!("{key} is missing, but {by} refers to it")
}
