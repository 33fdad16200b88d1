//! The versions, archives and pushed content to erase, and everything that refers to them.

mod notes;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use terrace_base::digest::Sha256;
use terrace_base::time::UnixTime;
use terrace_core::api::admin::FactBody;
use terrace_core::maintenance::restore::Restored;
use terrace_core::model::oci::Digest;
use terrace_core::model::package::Package;
use terrace_core::storage::key::{
    ARCHIVES, ArchiveKey, ArchiveKind, BytesKey, DOCUMENTATION, FactKey, RELEASES,
};
use terrace_core::storage::release::Release;

use super::super::pushed::{Digests, PushedContent, Repositories};
use super::super::stored::{all_archives, each_documented, each_fact_or, tombstones};
use crate::args::PackageSpec;
use crate::commands::admin::pushed::ManifestSpec;
use crate::error::Failure;
use crate::output::Output;
use crate::registry::client::Client;

/// The subject of an erasure.
pub(super) enum Subject<'a> {
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

/// The versions, archives and pushed content to erase.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) releases: Vec<ErasedRelease>,
    /// The storage keys of the archives.
    pub(super) erased: BTreeSet<String>,
    /// The digests of the pushed content, with the repositories that have it. An erased archive is in them if a repository has
    /// its bytes.
    pub(super) contents: BTreeMap<String, Repositories>,
    /// The digests of manifests, and of those that the operator has named.
    manifests: Digests,
    named: Digests,
    /// The archives and digests that stay, with everything else that refers to them.
    kept: BTreeMap<String, BTreeSet<String>>,
    /// The documentation that stays, with the versions with other archives that have it.
    kept_documentation: BTreeMap<String, BTreeSet<String>>,
    /// The versions, repositories and manifests that will lack erased bytes.
    broken: BTreeMap<String, BTreeSet<String>>,
    /// The versions, archives and digests that were erased before, with the times. Their erasure is sent again, in case it was
    /// interrupted.
    done: BTreeMap<String, UnixTime>,
}

/// The users of archives, by the keys of the archives.
#[derive(Default)]
struct Users(BTreeMap<String, BTreeSet<String>>);

impl Plan {
    /// Reads everything that refers to archives.
    pub(super) fn of(
        client: &Client<'_>,
        subject: &Subject<'_>,
        everywhere: bool,
        output: &Output,
    ) -> Result<Self, Failure> {
        let mut users = Users::default();
        let mut plan = Self::default();
        plan.read_releases(client, subject, &mut users, output)?;
        let (named, tombstones): (BTreeSet<String>, _) = match subject {
            Subject::Versions(_) => {
                let archives = plan.releases.iter().flat_map(|it| it.archives.clone());
                (archives.collect(), tombstones(client, output)?)
            }
            Subject::Archives(digests) => {
                let (stored, _) = all_archives(client, output)?;
                let tombstones = tombstones(client, output)?;
                let known = stored.keys().chain(tombstones.keys());
                (keys_of(digests, &known.collect::<Vec<_>>())?, tombstones)
            }
            Subject::Manifests(_) | Subject::Blobs(_) => {
                plan.read_contents(client, subject, &users, everywhere, output)?;
                return Ok(plan.with_named());
            }
        };
        let done = named.iter();
        let done = done.filter_map(|key| Some((key.clone(), *tombstones.get(key)?)));
        plan.done.extend(done);
        let pushed = PushedContent::read_links(client, output)?;
        let targets: BTreeSet<String> = plan.releases.iter().map(|it| it.name.clone()).collect();
        for key in named {
            let digest = BytesKey::parse_key(&key).map(|key| key.digest().to_string());
            let digest = digest.unwrap_or_default();
            let repositories = pushed.repositories(&digest);
            let others = users.0.remove(&key).unwrap_or_default();
            let mut others: BTreeSet<String> = others.difference(&targets).cloned().collect();
            let homes = repositories.iter();
            others.extend(homes.map(|name| format!("the repository {name}")));
            if !others.is_empty() && !everywhere {
                plan.kept.insert(key, others);
                continue;
            }
            if !others.is_empty() {
                plan.broken.insert(key.clone(), others);
            }
            if !repositories.is_empty() {
                plan.contents.insert(digest, repositories);
            }
            plan.erased.insert(key);
        }
        plan.keep_documentation(&users, targets);
        Ok(plan)
    }

    /// Notes the documentation of the versions that lose theirs, if a version with other archives has it as well: the registry
    /// keeps it there.
    fn keep_documentation(&mut self, users: &Users, mut losing: BTreeSet<String>) {
        losing.extend(self.broken.values().flatten().cloned());
        for (key, names) in &users.0 {
            let others: BTreeSet<String> = names.difference(&losing).cloned().collect();
            let is_shared = !others.is_empty() && !names.is_disjoint(&losing);
            if is_shared && documentation_digest(key).is_some() && !self.erased.contains(key) {
                self.kept_documentation.insert(key.clone(), others);
            }
        }
    }

    /// Returns the plan without the rest of a manifest that was named and stays.
    fn with_named(mut self) -> Self {
        let keeps_named = self
            .named
            .iter()
            .any(|digest| self.kept.contains_key(digest));
        if keeps_named {
            self.erased.clear();
            self.contents.clear();
        }
        self
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

    /// Returns whether everything was erased before.
    pub(super) fn is_all_done(&self) -> bool {
        let releases = self.releases.iter().map(|it| &it.name);
        let mut all = releases.chain(&self.erased).chain(self.contents.keys());
        all.all(|name| self.is_done(name))
    }

    /// Reads pushed content, and decides which parts of it are erased.
    fn read_contents(
        &mut self,
        client: &Client<'_>,
        subject: &Subject<'_>,
        users: &Users,
        everywhere: bool,
        output: &Output,
    ) -> Result<(), Failure> {
        let pushed = PushedContent::read(client, output)?;
        let (stored, _) = all_archives(client, output)?;
        let keys: Vec<BytesKey> = stored
            .keys()
            .filter_map(|key| BytesKey::parse_key(key))
            .collect();
        let tombstones: BTreeMap<String, UnixTime> = tombstones(client, output)?
            .into_iter()
            .filter_map(|(key, since)| {
                Some((BytesKey::parse_key(&key)?.digest().to_string(), since))
            })
            .collect();
        let is_stored = |digest: &str| {
            !pushed.repositories(digest).is_empty()
                || keys.iter().any(|key| key.digest().to_string() == digest)
        };
        let is_erased = |digest: &str| tombstones.contains_key(digest);
        let (mut targets, homes) = targets_of(client, subject, &pushed, (&is_stored, &is_erased))?;
        let done = targets.iter().filter(|digest| !is_stored(digest));
        self.done = done
            .filter_map(|digest| Some((digest.clone(), *tombstones.get(digest)?)))
            .collect();
        if let Subject::Manifests(specs) = subject {
            self.named = specs
                .iter()
                .filter_map(|spec| pushed.manifest(spec))
                .collect();
        }
        loop {
            let in_use = |digest: &String| {
                let users = others(digest, (&targets, &homes), &pushed, users);
                (!users.is_empty()).then(|| (digest.clone(), users))
            };
            let in_use: BTreeMap<_, _> = targets.iter().filter_map(in_use).collect();
            if everywhere {
                self.broken = in_use;
                break;
            }
            if in_use.is_empty() {
                break;
            }
            // Content that only these refer to is in use now as well.
            targets.retain(|digest| !in_use.contains_key(digest));
            self.kept.extend(in_use);
        }
        for digest in targets {
            let of_digest = keys.iter().filter(|key| {
                matches!(key, BytesKey::Archive(_)) && key.digest().to_string() == digest
            });
            self.erased.extend(of_digest.map(ToString::to_string));
            let repositories = pushed.repositories(&digest);
            if pushed.is_manifest(&digest) {
                self.manifests.insert(digest.clone());
            }
            self.contents.insert(digest, repositories);
        }
        Ok(())
    }

    /// Returns everything for programs.
    pub(super) fn report(&self, status: &str, uploads_end: Option<String>) -> Value {
        let releases: Vec<&String> = self.releases.iter().map(|it| &it.name).collect();
        let kept = self.kept.iter().chain(&self.kept_documentation);
        let kept: BTreeMap<_, _> = kept.collect();
        let done = self.done.iter();
        let done: BTreeMap<&String, String> =
            done.map(|(name, time)| (name, time.to_string())).collect();
        json!({
            "status": status,
            "releases": releases,
            "erased": self.erased,
            "kept": kept,
            "broken": self.broken,
            "contents": self.contents,
            "already_erased": done,
            "uploads_end": uploads_end,
        })
    }

    /// Orders pushed content: manifests are erased after everything that they refer to, so that the same command continues an
    /// interrupted erasure.
    pub(super) fn rank(&self, digest: &str) -> (bool, bool) {
        (self.manifests.contains(digest), self.named.contains(digest))
    }

    /// Reads all releases, and keeps those to erase.
    fn read_releases(
        &mut self,
        client: &Client<'_>,
        subject: &Subject<'_>,
        users: &mut Users,
        output: &Output,
    ) -> Result<(), Failure> {
        let mut unknown = Vec::new();
        let mut not_understood = |key: &String| {
            unknown.push(format!(
                "{key:?} is not a release that this version of terrace knows, and may refer to any archive: nothing is erased"
            ));
        };
        let mut damaged = Vec::new();
        each_fact_or(
            client,
            RELEASES,
            output,
            |fact| {
                match self.read_release(&fact, subject, users) {
                    Some(()) => {}
                    None => damaged.push(fact.key),
                }
                Ok(())
            },
            &mut not_understood,
        )?;
        damaged.iter().for_each(not_understood);
        if !unknown.is_empty() {
            return Err(Failure::Refused(unknown));
        }
        let mut unreadable = Vec::new();
        each_documented(
            client,
            |documented| {
                let name = documented.key.strip_prefix(DOCUMENTATION);
                let name = name.and_then(name_of).unwrap_or(documented.key);
                users.add(documented.archive, name);
            },
            |key| {
                unreadable.push(format!(
                    "{key:?} cannot be read, and may refer to any archive: nothing is erased"
                ))
            },
        )?;
        if !unreadable.is_empty() {
            return Err(Failure::Refused(unreadable));
        }
        match (subject, self.releases.is_empty()) {
            (Subject::Versions(spec), true) => Err(Failure::Missing(format!(
                "nothing is published as {spec} at {}",
                client.url()
            ))),
            _ => Ok(()),
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
        let archives: BTreeSet<String> = match &release {
            Release::Erased(tombstone) => {
                let archives = tombstone.archives.iter().map(|it| it.0);
                let archives = archives.filter(|it| it.kind != ArchiveKind::Documentation);
                archives.map(|it| it.to_string()).collect()
            }
            _ => release
                .stored()
                .iter()
                .map(|it| it.key.to_string())
                .collect(),
        };
        let name = format!("{}@{version}", package.address());
        if release.erased().is_none() {
            for archive in &archives {
                users.add(archive.clone(), name.clone());
            }
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

impl Users {
    fn add(&mut self, archive: String, name: String) {
        self.0.entry(archive).or_default().insert(name);
    }
}

/// Returns the keys of the archives with these digests, among the known ones.
fn keys_of(digests: &[Sha256], known: &[&String]) -> Result<BTreeSet<String>, Failure> {
    let mut keys = BTreeSet::new();
    for digest in digests {
        let prefix = format!("{ARCHIVES}{digest}.");
        let mut found = known
            .iter()
            .filter(|key| key.starts_with(&prefix))
            .peekable();
        if found.peek().is_none() {
            let message = format!("the registry has no archive with the SHA-256 {digest}");
            return Err(Failure::Missing(message));
        }
        keys.extend(found.map(|key| (*key).clone()));
    }
    Ok(keys)
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

/// Returns the name of a version from its key.
fn name_of(key: &str) -> Option<String> {
    let (package, version) = key.rsplit_once('/')?;
    let package = Package::parse_key(package)?;
    Some(format!("{}@{version}", package.address()))
}

/// Returns the digests that an erasure is about, and the repositories of the manifests that it names.
fn targets_of(
    client: &Client<'_>,
    subject: &Subject<'_>,
    pushed: &PushedContent,
    (is_stored, is_erased): (impl Fn(&str) -> bool, impl Fn(&str) -> bool),
) -> Result<(Digests, Option<Repositories>), Failure> {
    let missing = |what: String| Failure::Missing(format!("{what} at {}", client.url()));
    let mut targets = Digests::new();
    match subject {
        Subject::Manifests(specs) => {
            let mut homes = Repositories::new();
            for spec in *specs {
                // An erased one was erased after everything that it referred to.
                let erased = || pushed.removed_manifest(spec).filter(|it| is_erased(it));
                let manifest = pushed.manifest(spec).or_else(erased);
                let manifest =
                    manifest.ok_or_else(|| missing(format!("there is no manifest {spec}")))?;
                let repository = spec.repository.to_string();
                pushed.add_references(&repository, &manifest, &mut targets);
                targets.insert(manifest);
                homes.insert(repository);
            }
            Ok((targets, Some(homes)))
        }
        Subject::Blobs(digests) => {
            for digest in *digests {
                let digest = digest.to_string();
                if !is_stored(&digest) && !is_erased(&digest) {
                    return Err(missing(format!("there is no blob {digest}")));
                }
                targets.insert(digest);
            }
            Ok((targets, None))
        }
        Subject::Versions(_) | Subject::Archives(_) => Ok((targets, None)),
    }
}

/// Returns everything that has a digest, apart from the erased content and its repositories.
fn others(
    digest: &str,
    (targets, homes): (&Digests, &Option<Repositories>),
    pushed: &PushedContent,
    users: &Users,
) -> BTreeSet<String> {
    let mut others = pushed.referring(digest, targets);
    if let Some(homes) = homes {
        let repositories = pushed.repositories(digest);
        // A repository that has content without a manifest that refers to it, as after an erasure of the manifest, does not
        // use it.
        let elsewhere = repositories
            .difference(homes)
            .filter(|name| pushed.uses(name, digest));
        others.extend(elsewhere.map(|name| format!("the repository {name}")));
    }
    let releases = users.0.iter().filter(|(key, _)| {
        BytesKey::parse_key(key).is_some_and(|key| key.digest().to_string() == digest)
    });
    others.extend(releases.flat_map(|(_, names)| names.clone()));
    others
}

fn listed(names: &BTreeSet<String>) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.join(", ")
}
