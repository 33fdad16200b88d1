//! `terrace admin verify`.

use std::path::Path;

use serde_json::json;
use terrace_core::api::admin::{FailoverAnswer, StoredArchive, VerifyAnswer, VerifyBody};
use terrace_core::api::endpoint::{FAILOVER, VERIFY};
use terrace_core::storage::key::GARBAGE;

use super::loss::{
    AcceptedLoss, Older, comparing, has_old_archives, lost_documents, lost_releases,
};
use super::replicate::{Difference, compare};
use super::stored::{References, all_archives, each_page};
use crate::commands::connection::Session;
use crate::error::Failure;
use crate::output::{Output, bytes, plural};
use crate::registry::client::{Call, Client};

/// Checks that everything stored is intact, also in the second bucket. Changes nothing.
pub(crate) fn verify(
    quick: bool,
    copy: Option<&Path>,
    accepted: &[AcceptedLoss],
    session: Session<'_>,
) -> Result<(), Failure> {
    let output = session.output;
    let client = session.connect()?;
    let mut older = copy
        .map(|copy| Older::open(copy, client.url(), accepted.to_vec()))
        .transpose()?;
    if !quick {
        check_may_hash(&client)?;
    }
    // Archives are listed after the documents that refer to them, because a publish stores the archives
    // first.
    let began = client.archives(None, false)?.now;
    // The log may grow in the meantime, and never shrinks.
    let newest = client.audit(u64::MAX, 0)?.newest;
    let references = References::read(&client, output, comparing(&mut older), |_| Ok(()))?;
    // A tombstone describes no archive that is stored.
    let documents = references.there.iter();
    let documents = documents.filter(|key| !key.starts_with(GARBAGE)).count();
    output.progress(&format!("read {}", plural(documents, "document")));
    let (stored, _) = all_archives(&client, output)?;
    let mut wrong = references.wrong.clone();
    wrong.extend(references.dangling(&stored));
    references.warn_of_erased(&stored, output);
    wrong.extend(references.returned(&stored));
    wrong.extend(lost_releases(&references, newest, accepted));
    wrong.extend(lost_documents(&references));
    if let Some(older) = older {
        wrong.extend(older.losses(&references, output));
    }
    if documents == 0 && has_old_archives(&stored, began) {
        wrong.push(format!(
            "there are {} archives, but no documents: everything that describes them is missing",
            stored.len()
        ));
    }
    let (hashed, copy) = match quick {
        true => (None, None),
        false => (
            Some(rehash(&client, output, &mut wrong)?),
            compare_buckets(&client, &references, output, &mut wrong)?,
        ),
    };
    if !wrong.is_empty() {
        return Err(Failure::Refused(wrong));
    }
    let is_orphan = |(key, archive): &(&String, &StoredArchive)| {
        !references.bytes.contains_key(*key) && archive.stored_at < began
    };
    let orphans = stored.iter().filter(is_orphan);
    let orphans = total(orphans.map(|(_, archive)| archive));
    let archives = total(stored.values());
    let audit_entries = references.log.length();
    let hashing = match hashed {
        Some(hashed) => format!("{} were hashed again", bytes(hashed)),
        None => "nothing was hashed".to_owned(),
    };
    let mut lines = vec![format!(
        "{} and {} ({}) are intact; {hashing}",
        plural(documents, "document"),
        plural(archives.0, "archive"),
        bytes(archives.1)
    )];
    lines.extend(copy.as_ref().map(|copy| match copy.missing {
        0 => "the second bucket has all of them".to_owned(),
        missing => format!(
            "the second bucket lacks {missing} ({}); `terrace admin replicate` copies them",
            bytes(copy.missing_bytes)
        ),
    }));
    if let Some(first) = copy.iter().flat_map(|copy| &copy.surplus).next() {
        lines.push(format!(
            "only the second bucket has archives that nothing refers to, such as {first}; `terrace admin replicate --dry-run --json` \
             names them (surplus), and nothing removes them from there"
        ));
    }
    if orphans.0 > 0 {
        lines.push(format!(
            "{} ({}) without a release or a repository; `terrace admin gc` removes those that are old enough",
            plural(orphans.0, "archive"),
            bytes(orphans.1)
        ));
    }
    let report = json!({
        "status": "ok",
        "documents": documents,
        "audit_entries": audit_entries,
        "archives": archives.0,
        "bytes": archives.1,
        "hashed_bytes": hashed,
        "orphans": orphans.0,
        "orphan_bytes": orphans.1,
        "missing_in_fallback": copy.as_ref().map(|copy| copy.missing),
    });
    output.result(&lines, &report);
    Ok(())
}

/// Returns the number of archives, and their bytes.
fn total<'a>(archives: impl Iterator<Item = &'a StoredArchive>) -> (u64, u64) {
    archives.fold((0, 0), |(count, bytes), it| (count + 1, bytes + it.size))
}

/// Compares the two buckets, if the registry has two, and adds faults of the second one to `wrong`. This needs the scope admin,
/// like hashing.
fn compare_buckets(
    client: &Client<'_>,
    references: &References,
    output: &Output,
    wrong: &mut Vec<String>,
) -> Result<Option<Difference>, Failure> {
    let state: FailoverAnswer = client.call(Call::get(&FAILOVER))?;
    if !state.configured {
        return Ok(None);
    }
    output.progress("comparing the two buckets");
    let found = match compare(client, true, |_| Ok(None)) {
        Ok(found) => found,
        Err(failure) => {
            wrong.push(format!("the buckets cannot be compared: {failure}"));
            return Ok(None);
        }
    };
    for key in &found.erased {
        wrong.push(format!(
            "{key} was erased or is being removed, and the second bucket still has it; the scheduled copy removes it"
        ));
    }
    // Those that the main bucket has lost, and those that were collected as garbage while the second one did not answer.
    let lost = found
        .surplus
        .iter()
        .filter(|key| references.bytes.contains_key(*key));
    for key in lost {
        wrong.push(format!(
            "{key} is missing only in the main bucket: publish or push the same contents again, or take it from the second bucket"
        ));
    }
    Ok(Some(found))
}

/// Checks that the token suffices to have the stored bytes hashed, before everything is read.
fn check_may_hash(client: &Client<'_>) -> Result<(), Failure> {
    let caller = client.presented_token()?;
    match caller.is_admin() {
        true => Ok(()),
        false => Err(Failure::NotAllowed(format!(
            "the registry hashes stored bytes only for a token with the scope admin, and this one has {}: use another token, or \
             --quick, which hashes nothing and needs the scope backup",
            caller.scopes.join(" ")
        ))),
    }
}

/// Lets the registry hash all stored bytes again. Returns their number.
fn rehash(client: &Client<'_>, output: &Output, wrong: &mut Vec<String>) -> Result<u64, Failure> {
    let mut hashed = 0;
    each_page(|after| {
        let body = VerifyBody {
            after: after.map(str::to_owned),
        };
        let step: VerifyAnswer = client.call(Call::post(&VERIFY).json(&body)?)?;
        hashed += step.bytes;
        wrong.extend(step.wrong.into_iter().map(|it| match it.digest {
            Some(digest) => format!("{} has other contents, with the digest {digest}", it.key),
            None => format!("{} was removed before it could be hashed", it.key),
        }));
        if step.next.is_some() {
            output.progress(&format!("hashed {}", bytes(hashed)));
        }
        Ok(step.next)
    })?;
    Ok(hashed)
}
