//! Everything that a registry has stored: its documents, and the bytes that they refer to.

use std::collections::{BTreeMap, BTreeSet};

use terrace_base::time::UnixTime;
use terrace_core::api::admin::{FactBody, StoredArchive};
use terrace_core::maintenance::audit::{AuditChain, AuditEntry, AuditError};
use terrace_core::maintenance::restore::Restored;
use terrace_core::storage::key::{AUDIT, FactKey};

use crate::error::Failure;
use crate::output::{Output, plural};
use crate::registry::client::Client;

/// Gives every document whose key begins like this, one after the other, and tells how many.
pub(super) fn each_fact(
    client: &Client<'_>,
    prefix: &str,
    output: &Output,
    take: impl FnMut(FactBody) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let pass_over = |key: &String| {
        output.warning(&format!("{key:?} is no key of a document: passed over"));
    };
    each_fact_or(client, prefix, output, take, pass_over)
}

/// The same, with something else to do about keys that the registry knows nothing about.
pub(super) fn each_fact_or(
    client: &Client<'_>,
    prefix: &str,
    output: &Output,
    mut take: impl FnMut(FactBody) -> Result<(), Failure>,
    mut pass_over: impl FnMut(&String),
) -> Result<u64, Failure> {
    let mut count = 0;
    let mut pushed = BTreeSet::new();
    // What a client pushes while this goes on may be listed without what it refers to, which was stored
    // before, and has been listed before: so what others refer to is listed again.
    let again: &[&str] = match prefix {
        "" => &LISTED_TWICE,
        _ => &[],
    };
    for (at, prefix) in [prefix].iter().chain(again).enumerate() {
        let mut after: Option<String> = None;
        loop {
            let page = client.facts(prefix, after.as_deref())?;
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
            match page.next {
                Some(next) if after.as_ref() != Some(&next) => after = Some(next),
                _ => break,
            }
            if count % 1_000 < 40 {
                output.progress(&format!("read {}", plural(count, "document")));
            }
        }
    }
    Ok(count)
}

/// What others that are pushed refer to, those first that refer to the rest: tags refer to manifests.
const LISTED_TWICE: [&str; 2] = ["oci/manifests/", "oci/links/"];

/// All stored bytes, by their keys, and the registry's time when it began to list them.
pub(super) fn all_archives(
    client: &Client<'_>,
    output: &Output,
) -> Result<(BTreeMap<String, StoredArchive>, UnixTime), Failure> {
    let mut all = BTreeMap::new();
    let mut after: Option<String> = None;
    let mut began = None;
    loop {
        let page = client.archives(after.as_deref(), false)?;
        began = began.or(Some(page.now));
        for key in &page.unknown {
            output.warning(&format!("{key:?} is no key of an archive: passed over"));
        }
        let stored = page.archives.into_iter();
        all.extend(stored.map(|stored| (stored.key.clone(), stored)));
        match page.next {
            Some(next) if after.as_ref() != Some(&next) => after = Some(next),
            _ => return Ok((all, began.unwrap_or_default())),
        }
    }
}

/// The audit log, whose entries come one after the other.
#[derive(Debug, Default)]
pub(super) struct Log {
    chain: AuditChain,
    /// Where it breaks, if it does.
    pub(super) fault: Option<AuditError>,
    /// The releases that were published, each with the number of the first entry that tells so. Entries after
    /// a break count, too.
    pub(super) published: BTreeMap<String, u64>,
    /// Other documents that were written and that nothing removes, in the same way.
    pub(super) written: BTreeMap<String, u64>,
}

impl Log {
    /// Whether a document is an entry.
    pub(super) fn has(key: &str) -> bool {
        key.starts_with(AUDIT)
    }

    /// Takes in an entry.
    pub(super) fn add(&mut self, text: &str) {
        if self.fault.is_none() {
            self.fault = self.chain.follow(text).err();
        }
        let Ok(entry) = serde_json::from_str::<AuditEntry>(text) else {
            return;
        };
        for (keys, key) in [
            (&mut self.published, entry.published()),
            (&mut self.written, entry.wrote()),
        ] {
            if let Some(key) = key {
                keys.entry(key.to_string()).or_insert(entry.number);
            }
        }
    }

    /// How many entries there are, as far as it is whole.
    pub(super) fn length(&self) -> u64 {
        self.chain.length()
    }
}

/// What documents refer to.
#[derive(Debug, Default)]
pub(super) struct References {
    pub(super) log: Log,
    /// Bytes, each with one document that refers to it, and what that says about their number.
    pub(super) bytes: BTreeMap<String, (String, Option<u64>)>,
    /// Documents, each with one that refers to it.
    facts: BTreeMap<String, String>,
    /// Documents that are there.
    pub(super) there: BTreeSet<String>,
    /// Documents that no registry has written.
    pub(super) wrong: Vec<String>,
    /// Bytes about whose number documents disagree.
    disagreeing: Vec<String>,
}

impl References {
    /// Takes in a document.
    pub(super) fn add(&mut self, fact: &FactBody) {
        let FactBody { key, document } = fact;
        self.there.insert(key.clone());
        if Log::has(key) {
            self.log.add(document);
            return;
        }
        let read = FactKey::parse(key)
            .ok_or_else(|| "this terrace knows no such document".to_owned())
            .and_then(|key| Restored::parse(&key, document));
        let restored = match read {
            Ok(restored) => restored,
            Err(reason) => {
                self.wrong.push(format!("{key}: {reason}"));
                return;
            }
        };
        for needed in restored.bytes {
            let place = self.bytes.entry(needed.key.to_string());
            let (by, size) = place.or_insert_with(|| (key.clone(), needed.size));
            match (*size, needed.size) {
                (Some(one), Some(other)) if one != other => self.disagreeing.push(format!(
                    "{} has {} by {by} and {other} by {key}",
                    needed.key,
                    plural(one, "byte")
                )),
                (None, told) => *size = told,
                _ => {}
            }
        }
        if let Some(needed) = restored.fact {
            self.facts.insert(needed.to_string(), key.clone());
        }
    }

    /// Everything that is referred to and is not there as it should be.
    pub(super) fn dangling(&self, stored: &BTreeMap<String, StoredArchive>) -> Vec<String> {
        let mut found = self.disagreeing.clone();
        for (key, (by, size)) in &self.bytes {
            match (stored.get(key), size) {
                (None, _) => found.push(format!("{key} is missing, which {by} refers to")),
                (Some(stored), Some(size)) if stored.size != *size => found.push(format!(
                    "{key} has {}, and {size} by {by}",
                    plural(stored.size, "byte")
                )),
                _ => {}
            }
        }
        let missing = self.facts.iter();
        let missing = missing.filter(|(key, _)| !self.there.contains(*key));
        found.extend(missing.map(|(key, by)| format!("{key} is missing, which {by} refers to")));
        found
    }
}
