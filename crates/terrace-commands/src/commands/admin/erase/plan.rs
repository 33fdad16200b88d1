//! The versions, archives and pushed content to erase, and everything that refers to them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_core::api::admin::{DocumentedArchive, ErasureAnswer, FactBody};
use terrace_core::maintenance::restore::Restored;
use terrace_core::model::oci::Digest;
use terrace_core::storage::key::{ARCHIVES, ArchiveKey, ArchiveKind, BytesKey, FactKey};
use terrace_core::storage::release::Release;

use super::super::pushed::{ManifestSpec, PushedContent, Repositories};
use super::super::stored::{
    all_archives, digest_of, documented, each_release, not_understood, tombstones,
};
use crate::args::PackageSpec;
use crate::error::Failure;
use crate::output::Output;
use crate::registry::client::Client;

/// The subject of an erasure.
pub(crate) enum Subject<'a> {
    /// All versions of a package, or one of them.
    Versions(&'a PackageSpec),
    /// Archives with these digests.
    Archives(&'a [Sha256]),
    /// Manifests, with everything that they refer to.
    Manifests(&'a [ManifestSpec]),
    /// Blobs with these digests.
    Blobs(&'a [Digest]),
}

/// A version to erase.
pub(super) struct ErasedRelease {
    /// `ADDRESS@VERSION`.
    pub(super) name: String,
    pub(super) address: String,
    pub(super) version: String,
    /// The storage keys of its archives. The registry removes the documentation.
    pub(super) archives: BTreeSet<String>,
}

/// Those that have an archive or a digest, by the key or the digest.
type Users = BTreeMap<String, BTreeSet<String>>;

/// The versions, archives and pushed content to erase.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) releases: Vec<ErasedRelease>,
    /// The storage keys of the archives.
    pub(super) erased: BTreeSet<String>,
    /// The digests of the pushed content, with the repositories that have it. An erased archive is in them if a repository has
    /// its bytes.
    pub(super) contents: BTreeMap<Digest, Repositories>,
    /// The digests of manifests, and of those that the operator has named.
    manifests: BTreeSet<Digest>,
    named: BTreeSet<Digest>,
    /// The archives and digests that stay, with everything else that refers to them.
    kept: Users,
    /// The documentation that stays, with the versions with other archives that have it.
    kept_documentation: Users,
    /// The versions, repositories and manifests that will lack erased bytes.
    broken: Users,
    /// The versions, archives and digests that were erased before, with the times. Their erasure is sent again, in case it was
    /// interrupted.
    done: BTreeMap<String, UnixTime>,
}

/// What a registry has, and what has it.
struct Known {
    pushed: PushedContent,
    /// The storage keys of the archives.
    archives: BTreeMap<Digest, BTreeSet<String>>,
    /// The digests of everything that is stored.
    stored: BTreeSet<Digest>,
    erased_at: BTreeMap<Digest, UnixTime>,
    /// The versions that have an archive.
    users: Users,
}

impl Known {
    fn read(
        client: &Client<'_>,
        users: Users,
        is_pushed: bool,
        output: &Output,
    ) -> Result<Self, Failure> {
        let (pushed, damaged) = PushedContent::read_most(client, output)?;
        if is_pushed {
            not_understood(damaged)?;
        } else {
            for key in damaged {
                output.warning(&format!(
                    "{key:?} cannot be read: its repository keeps everything that it has"
                ));
            }
        }
        let (stored, _) = all_archives(client, output)?;
        let tombstones = tombstones(client, output)?;
        let erased_at = tombstones.iter();
        let erased_at =
            erased_at.filter_map(|(key, (mark, _))| Some((digest_of(key)?, mark.since)));
        let mut archives: BTreeMap<Digest, BTreeSet<String>> = BTreeMap::new();
        let keys = stored.keys().chain(tombstones.keys()).chain(users.keys());
        for key in keys.filter(|key| key.starts_with(ARCHIVES)) {
            if let Some(digest) = digest_of(key) {
                archives.entry(digest).or_default().insert(key.clone());
            }
        }
        Ok(Self {
            pushed,
            erased_at: erased_at.collect(),
            archives,
            stored: stored.keys().filter_map(|key| digest_of(key)).collect(),
            users,
        })
    }

    fn keys(&self, digest: Digest) -> impl Iterator<Item = &String> {
        self.archives.get(&digest).into_iter().flatten()
    }

    fn is_stored(&self, digest: Digest) -> bool {
        self.stored.contains(&digest) || !self.pushed.repositories(digest).is_empty()
    }

    /// Returns everything that has a digest, apart from these versions, this content and its repositories.
    fn others(
        &self,
        digest: Digest,
        releases: &BTreeSet<String>,
        (targets, homes): (&BTreeSet<Digest>, &Repositories),
    ) -> BTreeSet<String> {
        let manifests = self.pushed.referring(digest, targets);
        // A repository that has content without a manifest that refers to it, as after an erasure of the manifest, does not
        // use it.
        let elsewhere = self.pushed.repositories(digest).into_iter();
        let elsewhere = elsewhere.filter(|it| !homes.contains(it) && self.pushed.uses(it, digest));
        let elsewhere = elsewhere.map(|name| format!("the repository {name}"));
        let users = self.keys(digest).filter_map(|key| self.users.get(key));
        let users = users.flat_map(|users| users.difference(releases).cloned());
        manifests.chain(elsewhere).chain(users).collect()
    }
}

impl Plan {
    /// Reads everything that refers to archives, and decides what is erased.
    pub(super) fn of(
        client: &Client<'_>,
        subject: &Subject<'_>,
        everywhere: bool,
        output: &Output,
    ) -> Result<Self, Failure> {
        let mut plan = Self::default();
        let users = plan.read_releases(client, subject, output)?;
        let is_pushed = matches!(subject, Subject::Manifests(_) | Subject::Blobs(_));
        let known = Known::read(client, users, is_pushed, output)?;
        let (mut targets, homes) = plan.targets(client, subject, &known)?;
        let names = |digest: Digest| -> Vec<String> {
            match is_pushed {
                true => vec![digest.to_string()],
                false => known.keys(digest).cloned().collect(),
            }
        };
        for digest in &targets {
            if let Some(since) = known.erased_at.get(digest)
                && !(is_pushed && known.is_stored(*digest))
            {
                let names = names(*digest).into_iter();
                plan.done.extend(names.map(|name| (name, *since)));
            }
        }
        let mut losing: BTreeSet<String> = plan.releases.iter().map(|it| it.name.clone()).collect();
        loop {
            let others = |digest: &Digest| known.others(*digest, &losing, (&targets, &homes));
            let in_use = targets.iter().map(|digest| (*digest, others(digest)));
            let in_use = in_use.filter(|(_, users)| !users.is_empty());
            let in_use: BTreeMap<Digest, BTreeSet<String>> = in_use.collect();
            let by_name = in_use.iter().flat_map(|(digest, users)| {
                let names = names(*digest).into_iter();
                names.map(|name| (name, users.clone()))
            });
            if everywhere {
                plan.broken = by_name.collect();
                break;
            }
            if in_use.is_empty() {
                break;
            }
            plan.kept.extend(by_name);
            // Content that only these refer to is in use now as well.
            targets.retain(|digest| !in_use.contains_key(digest));
        }
        // The rest of a manifest that was named and stays is not erased either.
        if !plan.named.is_subset(&targets) {
            targets.clear();
        }
        for digest in targets {
            plan.erased.extend(known.keys(digest).cloned());
            let repositories = known.pushed.repositories(digest);
            if known.pushed.is_manifest(digest) {
                plan.manifests.insert(digest);
            }
            if is_pushed || !repositories.is_empty() {
                plan.contents.insert(digest, repositories);
            }
        }
        // The registry keeps the documentation of the versions that lose theirs, if a version with other archives has it as
        // well.
        losing.extend(plan.broken.values().flatten().cloned());
        for (key, names) in &known.users {
            let others: BTreeSet<String> = names.difference(&losing).cloned().collect();
            let is_shared = !others.is_empty() && !names.is_disjoint(&losing);
            if is_shared && documentation_digest(key).is_some() && !plan.erased.contains(key) {
                plan.kept_documentation.insert(key.clone(), others);
            }
        }
        Ok(plan)
    }

    /// Returns the digests that an erasure is about, and the repositories that lose them.
    fn targets(
        &mut self,
        client: &Client<'_>,
        subject: &Subject<'_>,
        known: &Known,
    ) -> Result<(BTreeSet<Digest>, Repositories), Failure> {
        let missing =
            |what: &str| Failure::Missing(format!("there is no {what} at {}", client.url()));
        let is_erased = |digest: &Digest| known.erased_at.contains_key(digest);
        let (mut targets, mut homes) = (BTreeSet::new(), Repositories::new());
        match subject {
            Subject::Versions(_) => {
                let archives = self.releases.iter().flat_map(|it| &it.archives);
                targets.extend(archives.filter_map(|key| digest_of(key)));
            }
            Subject::Archives(digests) => {
                for digest in digests.iter().copied().map(Digest::Sha256) {
                    if !known.archives.contains_key(&digest) {
                        return Err(missing(&format!("archive {digest}")));
                    }
                    targets.insert(digest);
                }
            }
            Subject::Manifests(specs) => {
                for spec in *specs {
                    // An erased one was erased after everything that it referred to.
                    let manifest = known.pushed.manifest(spec, is_erased);
                    let manifest = manifest.ok_or_else(|| missing(&format!("manifest {spec}")))?;
                    let repository = spec.repository.to_string();
                    known
                        .pushed
                        .add_references(&repository, manifest, &mut targets);
                    targets.insert(manifest);
                    self.named.insert(manifest);
                    homes.insert(repository);
                }
            }
            Subject::Blobs(digests) => {
                for digest in digests.iter().copied() {
                    if !known.is_stored(digest) && !is_erased(&digest) {
                        return Err(missing(&format!("blob {digest}")));
                    }
                    targets.insert(digest);
                    homes.extend(known.pushed.repositories(digest));
                }
            }
        }
        Ok((targets, homes))
    }

    /// Returns whether something stays, because others have it as well.
    pub(super) fn keeps_some(&self) -> bool {
        !self.kept.is_empty() || !self.kept_documentation.is_empty()
    }

    /// Returns whether everything that was named stays.
    pub(super) fn is_empty(&self) -> bool {
        self.releases.is_empty() && self.erased.is_empty() && self.contents.is_empty()
    }

    /// Rejects a plan that erases nothing.
    pub(super) fn check(&self, output: &Output) -> Result<(), Failure> {
        if !self.is_empty() {
            return Ok(());
        }
        let mut lines = self.kept_lines(output);
        lines.push("nothing is erased".to_owned());
        Err(Failure::Refused(lines))
    }

    /// Returns whether a version, an archive or a digest was erased before.
    pub(super) fn is_done(&self, name: &str) -> bool {
        self.done.contains_key(name)
    }

    /// Returns everything for programs.
    pub(super) fn report(&self, status: &str, answers: &[ErasureAnswer]) -> Value {
        let releases: Vec<&String> = self.releases.iter().map(|it| &it.name).collect();
        let kept = self.kept.iter().chain(&self.kept_documentation);
        let kept: BTreeMap<_, _> = kept.collect();
        let done = self.done.iter();
        let done: BTreeMap<&String, String> =
            done.map(|(name, time)| (name, time.to_string())).collect();
        let uploads_end = answers.iter().filter_map(|it| it.uploads_end).max();
        let left = answers.iter().flat_map(|it| &it.left_in_fallback);
        let left: BTreeSet<&String> = left.collect();
        json!({
            "status": status,
            "releases": releases,
            "erased": self.erased,
            "kept": kept,
            "broken": self.broken,
            "contents": self.contents,
            "already_erased": done,
            "uploads_end": uploads_end.map(|it| it.to_string()),
            "left_in_fallback": left,
        })
    }

    /// Orders pushed content: manifests are erased after everything that they refer to, so that the same command continues an
    /// interrupted erasure.
    pub(super) fn rank(&self, digest: &Digest) -> (bool, bool) {
        (self.manifests.contains(digest), self.named.contains(digest))
    }

    /// Returns everything that was erased before or stays, and the consequences for others, one line each.
    pub(super) fn notes(&self, output: &Output) -> Vec<String> {
        let done = self.done.iter();
        let done = done.map(|(name, time)| format!("{name} was already erased at {time}"));
        let mut lines: Vec<String> = done.collect();
        lines.extend(self.kept_lines(output));
        lines.extend(self.broken.iter().map(|(key, users)| {
            match documentation_digest(key).is_some() {
                true => format!(
                    "the documentation of {} is removed, because it is {key}: add it again without the secret (terrace docs add)",
                    listed(users)
                ),
                false => format!(
                    "{} cannot be installed or pulled without {key}: erase this as well",
                    listed(users)
                ),
            }
        }));
        lines
    }

    /// Returns everything that stays, one line each, with the command that erases what a repeated command would not know:
    /// documentation, and a layer once its manifest is erased.
    fn kept_lines(&self, output: &Output) -> Vec<String> {
        let erase = |option: &str| {
            output.command(format_args!(
                "admin erase {option} --everywhere --reason REASON"
            ))
        };
        let kept = self.kept.iter().map(|(key, users)| {
            let later = match key.contains('/') {
                true => String::new(),
                false => format!("; later, `{}` does it", erase(&format!("--blob {key}"))),
            };
            format!(
                "{key} stays, because {} also has it: with --everywhere it is erased there as well{later}",
                listed(users)
            )
        });
        let documentation = self.kept_documentation.iter().map(|(key, users)| {
            let digest = documentation_digest(key).map(|it| it.to_string());
            format!(
                "{key} stays, because it is also the documentation of {}: to erase it there as well, run `{}`",
                listed(users),
                erase(&format!("--archive {}", digest.unwrap_or_default()))
            )
        });
        kept.chain(documentation).collect()
    }

    /// Reads all releases and documentation, and keeps the releases to erase. Returns the users of archives.
    fn read_releases(
        &mut self,
        client: &Client<'_>,
        subject: &Subject<'_>,
        output: &Output,
    ) -> Result<Users, Failure> {
        let (mut users, mut damaged) = (Users::new(), Vec::new());
        each_release(client, output, |fact| {
            self.read_release(&fact, subject, &mut users)
                .unwrap_or_else(|| damaged.push(fact.key));
            Ok(())
        })?;
        not_understood(damaged)?;
        for DocumentedArchive { key, archive } in documented(client)? {
            let name = match FactKey::parse(&key) {
                Some(FactKey::Documentation(package, version)) => {
                    format!("{}@{version}", package.address())
                }
                _ => key,
            };
            users.entry(archive).or_default().insert(name);
        }
        match subject {
            Subject::Versions(spec) if self.releases.is_empty() => Err(Failure::Missing(format!(
                "nothing is published as {spec} at {}",
                client.url()
            ))),
            _ => Ok(users),
        }
    }

    /// Reads a release; `None` if it is damaged.
    fn read_release(
        &mut self,
        fact: &FactBody,
        subject: &Subject<'_>,
        users: &mut Users,
    ) -> Option<()> {
        let key = FactKey::parse(&fact.key)?;
        let FactKey::Release(package, version) = &key else {
            return None;
        };
        Restored::parse(&key, &fact.document).ok()?;
        let release = Release::from_document(fact.document.as_bytes()).ok()?;
        let name = format!("{}@{version}", package.address());
        let archives: BTreeSet<String> = match &release {
            Release::Erased(tombstone) => {
                let archives = tombstone.archives.iter().map(|it| it.0);
                let archives = archives.filter(|it| it.kind != ArchiveKind::Documentation);
                archives.map(|it| it.to_string()).collect()
            }
            release => {
                let stored = release.stored();
                stored.iter().map(|it| it.key.to_string()).collect()
            }
        };
        for archive in &archives {
            let users = users.entry(archive.clone()).or_default();
            users.extend(release.erased().is_none().then(|| name.clone()));
        }
        if let Subject::Versions(spec) = subject
            && spec.package == *package
            && spec.version.as_ref().is_none_or(|wanted| wanted == version)
        {
            if let Some(tombstone) = release.erased() {
                self.done.insert(name.clone(), tombstone.erased_at);
            }
            self.releases.push(ErasedRelease {
                name,
                address: package.address(),
                version: version.to_string(),
                archives,
            });
        }
        Some(())
    }
}

/// Returns the digest in the key of an archive of documentation; `None` for other archives.
fn documentation_digest(key: &str) -> Option<Sha256> {
    match BytesKey::parse_key(key)? {
        BytesKey::Archive(ArchiveKey {
            digest,
            kind: ArchiveKind::Documentation,
        }) => Some(digest),
        _ => None,
    }
}

fn listed(names: &BTreeSet<String>) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.join(", ")
}
