//! `terrace admin gc`.
//!
//! The marks are read before the releases and the documentation. So every archive that is removed was marked before these
//! were read, and an hour earlier than that (`terrace_core::maintenance::garbage` explains why this is
//! enough).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::json;
use terrace_base::time::UnixTime;
use terrace_core::api::admin::{GarbageAnswer, GarbageBody, MarkedBody, StoredArchive};
use terrace_core::api::endpoint;
use terrace_core::limits;
use terrace_core::maintenance::garbage::{GarbageDocument, GarbageState};
use terrace_core::model::oci::Digest;
use terrace_core::storage::key::{AUDIT, BLOBS};

use super::loss::{AcceptedLoss, has_old_archives, lost_releases};
use super::pushed::PushedContent;
use super::stored::{
    References, all_archives, digest_of, documented, each_fact, each_release, marks,
};
use crate::commands::connection::Session;
use crate::error::Failure;
use crate::output::{Output, bytes, plural};
use crate::registry::client::{Call, Client};

/// The operations on the archives and blobs that nothing refers to.
#[derive(Debug, Default)]
struct Plan {
    mark: Vec<String>,
    keep: Vec<String>,
    remove: Vec<MarkedBody>,
    /// The number of archives and blobs that were marked too recently to be removed.
    waiting: usize,
    bytes: u64,
}

/// Removes archives that neither a release nor documentation refers to, and blobs that no repository has, or lists them.
pub(crate) fn collect(
    older_than: Duration,
    yes: bool,
    accepted: &[AcceptedLoss],
    session: Session<'_>,
) -> Result<(), Failure> {
    let output = session.output;
    let client = session.connect()?;
    let plan = plan(&client, older_than, accepted, output)?;
    let count = plan.mark.len() + plan.remove.len() + plan.waiting;
    if !yes {
        for key in &plan.mark {
            output.progress(&format!("{key} would be marked"));
        }
        for marked in &plan.remove {
            output.progress(&format!("{} would be removed", marked.key));
        }
        let text = match count {
            0 => "there is nothing to remove".to_owned(),
            count => format!(
                "{} ({}) to remove: {} to mark, because nothing refers to them; {} to remove, marked more than an hour ago, or erased \
                 and stored again; {} marked less than an hour ago. Run the command with --yes to do this",
                plural(count, "object"),
                bytes(plan.bytes),
                plan.mark.len(),
                plan.remove.len(),
                plan.waiting
            ),
        };
        let remove: Vec<&String> = plan.remove.iter().map(|it| &it.key).collect();
        let report = json!({ "status": "dry_run", "mark": plan.mark, "remove": remove, "waiting": plan.waiting });
        output.result(&[text], &report);
        return Ok(());
    }
    let waiting = plan.waiting;
    let done = carry_out(&client, plan)?;
    for key in &done.removed {
        output.progress(&format!("removed {key}"));
    }
    let (removed, marked) = (done.removed.len(), done.marked.len());
    let mut text = format!("removed {removed}, marked {marked}");
    if marked + waiting > 0 {
        text.push_str("; run the command again in an hour to remove the marked archives and blobs");
    }
    let report = json!({
        "status": "ok",
        "removed": done.removed,
        "marked": done.marked,
        "kept": done.kept,
        "spared": done.spared,
    });
    output.result(&[text], &report);
    Ok(())
}

fn plan(
    client: &Client<'_>,
    older_than: Duration,
    accepted: &[AcceptedLoss],
    output: &Output,
) -> Result<Plan, Failure> {
    let (stored, now) = all_archives(client, output)?;
    let mut marks = marks(client, output)?;
    let mut references = References::default();
    // Before the releases: every release that this log records was committed earlier.
    let newest = client.audit(u64::MAX, 0)?.newest;
    let mut add = |fact| {
        references.add(&fact);
        Ok(())
    };
    each_fact(client, AUDIT, output, &mut add)?;
    // The releases are read after the marks.
    each_release(client, output, add)?;
    let documented = documented(client)?.into_iter().map(|it| it.archive);
    let documented: BTreeSet<String> = documented.collect();
    // The archives that such a document refers to are unknown.
    let mut unknown = references.wrong.clone();
    // The archives of a lost release are all that is left of it.
    unknown.extend(lost_releases(&references, newest, accepted));
    if references.there.is_empty()
        && has_old_archives(&stored, now)
        && !accepted.contains(&AcceptedLoss::AuditLog)
    {
        unknown.push(
            "there are archives, but neither releases nor an audit log: restore the missing documents from a copy \
             (terrace admin import), or accept that the log is lost (--accept-loss audit-log)"
                .to_owned(),
        );
    }
    if !unknown.is_empty() {
        return Err(Failure::Refused(unknown));
    }
    let used = used_blobs(client, &stored, output)?;
    let erased = marks
        .iter()
        .filter(|(_, (mark, _))| mark.state == GarbageState::Erased);
    let erased: BTreeMap<Digest, UnixTime> = erased
        .filter_map(|(key, (mark, _))| Some((digest_of(key)?, mark.since)))
        .collect();
    let mut plan = Plan::default();
    for (key, archive) in &stored {
        let mark = marks.remove(key).map(|(mark, _)| mark);
        if let Some(since) = digest_of(key).and_then(|digest| erased.get(&digest)) {
            // It was erased, and stored again.
            plan.bytes += archive.size;
            plan.remove.push(MarkedBody {
                key: key.clone(),
                marked_at: *since,
            });
            continue;
        }
        if references.bytes.contains_key(key) || documented.contains(key) || used.contains(key) {
            plan.keep.extend(mark.map(|_| key.clone()));
            continue;
        }
        if now.since(archive.stored_at) < older_than.as_secs() && mark.is_none() {
            continue;
        }
        plan.bytes += archive.size;
        plan.add(key.clone(), mark, now);
    }
    // Marks of archives and blobs that no longer exist.
    for (key, (mark, _)) in marks {
        match mark.state {
            GarbageState::Removing => plan.add(key, Some(mark), now),
            GarbageState::Marked | GarbageState::Kept => plan.keep.push(key),
            GarbageState::Erased => {}
        }
    }
    Ok(plan)
}

/// Returns the stored blobs that a repository has or a manifest refers to. Links and manifests are read after the marks, and
/// only if blobs are stored.
fn used_blobs(
    client: &Client<'_>,
    stored: &BTreeMap<String, StoredArchive>,
    output: &Output,
) -> Result<BTreeSet<String>, Failure> {
    let mut blobs: BTreeSet<String> = stored.keys().cloned().collect();
    blobs.retain(|key| key.starts_with(BLOBS));
    if !blobs.is_empty() {
        let pushed = PushedContent::read(client, output)?;
        blobs.retain(|key| digest_of(key).is_none_or(|digest| pushed.is_used(digest)));
    }
    Ok(blobs)
}

impl Plan {
    fn add(&mut self, key: String, mark: Option<GarbageDocument>, now: UnixTime) {
        match mark {
            None => self.mark.push(key),
            Some(mark) if mark.state == GarbageState::Kept => self.mark.push(key),
            Some(mark) if mark.is_settled(now) => self.remove.push(MarkedBody {
                key,
                marked_at: mark.since,
            }),
            Some(_) => self.waiting += 1,
        }
    }
}

fn carry_out(client: &Client<'_>, plan: Plan) -> Result<GarbageAnswer, Failure> {
    let most = limits::GARBAGE_AT_ONCE;
    let body = |mark: &[String], keep: &[String], remove: &[MarkedBody]| GarbageBody {
        mark: mark.to_vec(),
        keep: keep.to_vec(),
        remove: remove.to_vec(),
    };
    let kept = plan.keep.chunks(most).map(|some| body(&[], some, &[]));
    let removed = plan.remove.chunks(most).map(|some| body(&[], &[], some));
    let marks = plan.mark.chunks(most).map(|some| body(some, &[], &[]));
    let mut done = GarbageAnswer::default();
    for body in kept.chain(removed).chain(marks) {
        let answer: GarbageAnswer = client.call(Call::post(&endpoint::GARBAGE).json(&body)?)?;
        done.marked.extend(answer.marked);
        done.kept.extend(answer.kept);
        done.removed.extend(answer.removed);
        done.spared.extend(answer.spared);
    }
    Ok(done)
}
