//! `terrace admin verify`.

use std::path::Path;

use serde_json::{Value, json};
use terrace_core::api::admin::{StoredArchive, VerifyBody};

use super::loss::{Older, has_old_archives, lost_documents, lost_entries, lost_releases};
use super::replicate::{Difference, each_page};
use super::stored::{References, all_archives, each_fact, each_tombstone};
use crate::args::{AcceptedLoss, RegistryArguments};
use crate::commands::connection::connect;
use crate::error::Failure;
use crate::output::{Output, bytes, plural};
use crate::registry::client::Client;

/// Checks that everything stored is intact, also in the second bucket. Changes nothing.
pub(crate) fn verify(
    quick: bool,
    copy: Option<&Path>,
    accepted: &[AcceptedLoss],
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let client = connect(registry, output)?;
    let older = copy
        .map(|copy| Older::open(copy, client.url()))
        .transpose()?;
    let mut restarted = match &older {
        Some(older) => older.has_old_logs()?,
        None => false,
    };
    if !quick {
        check_may_hash(&client)?;
    }
    // Archives are listed after the documents that refer to them, because a publish stores the archives
    // first.
    let began = client.archives(None, false)?.now;
    // The log may grow in the meantime, and never shrinks.
    let newest = client.audit(u64::MAX, 0)?.newest;
    let mut references = References::default();
    let mut changed = Vec::new();
    // The log is listed before the releases: every release that the listed entries record was committed
    // earlier.
    let documents = each_fact(&client, "", output, |fact| {
        changed.extend(
            older
                .as_ref()
                .and_then(|older| older.change(&fact, &references.log, accepted)),
        );
        restarted |= older.as_ref().is_some_and(|it| it.has_other_entry(&fact));
        references.add(&fact);
        Ok(())
    })?;
    each_tombstone(&client, output, |fact| {
        references.add(&fact);
        Ok(())
    })?;
    output.progress(&format!("read {}", plural(documents, "document")));
    let (stored, _) = all_archives(&client, output)?;
    let mut wrong = references.wrong.clone();
    wrong.extend(references.dangling(&stored));
    references.warn_of_erased(&stored, output);
    wrong.extend(references.returned(&stored));
    wrong.extend(lost_entries(&references.log, newest, accepted));
    wrong.extend(lost_releases(&references, accepted));
    wrong.extend(lost_documents(&references));
    if let Some(older) = older {
        wrong.extend(older.losses(changed, &references, accepted));
        older.warn_of_erased(&references, output);
    }
    if documents == 0 && has_old_archives(&stored, began) {
        wrong.push(format!(
            "there are {} archives, but no documents: everything that describes them is missing",
            stored.len()
        ));
    }
    let hashed = match quick {
        true => None,
        false => Some(rehash(&client, output, &mut wrong)?),
    };
    let copy = match quick {
        true => None,
        false => compare_buckets(&client, &references, output, &mut wrong)?,
    };
    if !wrong.is_empty() {
        return Err(Failure::Refused(wrong));
    }
    let is_orphan = |(key, archive): &(&String, &StoredArchive)| {
        !references.bytes.contains_key(*key) && archive.stored_at < began
    };
    let orphans = stored.iter().filter(is_orphan);
    let intact = Intact {
        documents,
        audit_entries: references.log.length(),
        restarted,
        archives: Total::of(stored.values()),
        hashed,
        orphans: Total::of(orphans.map(|(_, archive)| archive)),
        copy,
    };
    output.result(&intact.lines(), &intact.report());
    Ok(())
}

/// A number of archives, and their bytes.
struct Total {
    count: u64,
    bytes: u64,
}

impl Total {
    fn of<'a>(archives: impl Iterator<Item = &'a StoredArchive>) -> Self {
        let none = Self { count: 0, bytes: 0 };
        archives.fold(none, |total, archive| Self {
            count: total.count + 1,
            bytes: total.bytes + archive.size,
        })
    }
}

/// The result of a verification without a fault.
struct Intact {
    documents: u64,
    audit_entries: u64,
    /// Whether the audit log started again after that of an older copy.
    restarted: bool,
    archives: Total,
    /// The bytes that were hashed; none if the archives were only listed.
    hashed: Option<u64>,
    /// Archives that nothing refers to.
    orphans: Total,
    /// The comparison with the second bucket.
    copy: Option<Difference>,
}

impl Intact {
    fn lines(&self) -> Vec<String> {
        let hashed = match self.hashed {
            Some(hashed) => format!("{} were hashed again", bytes(hashed)),
            None => "nothing was hashed".to_owned(),
        };
        let mut lines = vec![format!(
            "{} and {} ({}) are intact; {hashed}",
            plural(self.documents, "document"),
            plural(self.archives.count, "archive"),
            bytes(self.archives.bytes)
        )];
        if self.restarted {
            lines.push(
                "the audit log of the registry started again after the one of an older copy, as after a restore: compare the two if \
                 it was not restored"
                    .to_owned(),
            );
        }
        lines.extend(self.copy.as_ref().map(|copy| match copy.missing {
            0 => "the second bucket has all of them".to_owned(),
            missing => format!(
                "the second bucket lacks {missing} ({}); `terrace admin replicate` copies them",
                bytes(copy.missing_bytes)
            ),
        }));
        if let Some(first) = self.copy.iter().flat_map(|copy| &copy.surplus).next() {
            lines.push(format!(
                "only the second bucket has archives that nothing refers to, such as {first}; `terrace admin replicate --dry-run --json` \
                 names them (surplus), and nothing removes them from there"
            ));
        }
        if self.orphans.count > 0 {
            lines.push(format!(
                "{} ({}) without a release or a repository; `terrace admin gc` removes those that are old enough",
                plural(self.orphans.count, "archive"),
                bytes(self.orphans.bytes)
            ));
        }
        lines
    }

    fn report(&self) -> Value {
        json!({
            "status": "ok",
            "documents": self.documents,
            "audit_entries": self.audit_entries,
            "restarted": self.restarted,
            "archives": self.archives.count,
            "bytes": self.archives.bytes,
            "hashed_bytes": self.hashed,
            "orphans": self.orphans.count,
            "orphan_bytes": self.orphans.bytes,
            "missing_in_fallback": self.copy.as_ref().map(|copy| copy.missing),
        })
    }
}

/// Compares the two buckets, if the registry has two, and adds faults of the second one to `wrong`. This needs the scope admin,
/// like hashing.
fn compare_buckets(
    client: &Client<'_>,
    references: &References,
    output: &Output,
    wrong: &mut Vec<String>,
) -> Result<Option<Difference>, Failure> {
    let is_configured = match client.failover() {
        Ok(state) => state.configured,
        // The registry is older than this command.
        Err(Failure::Missing(_)) => false,
        Err(failure) => return Err(failure),
    };
    if !is_configured {
        return Ok(None);
    }
    output.progress("comparing the two buckets");
    let found = match each_page(client, true, |_| Ok(())) {
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
    let mut body = VerifyBody::default();
    let mut hashed = 0;
    loop {
        let step = client.verify(&body)?;
        hashed += step.bytes;
        wrong.extend(step.wrong.into_iter().map(|it| match it.digest {
            Some(digest) => format!("{} has other contents, with the digest {digest}", it.key),
            None => format!("{} was removed before it could be hashed", it.key),
        }));
        match step.next {
            Some(next) if body.after.as_ref() != Some(&next) => {
                output.progress(&format!("hashed {}", bytes(hashed)));
                body.after = Some(next);
            }
            _ => return Ok(hashed),
        }
    }
}
