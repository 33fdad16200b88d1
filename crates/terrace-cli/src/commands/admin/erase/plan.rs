//! The versions and archives to erase, and everything that refers to them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use terrace_base::digest::Sha256;
use terrace_core::api::admin::FactBody;
use terrace_core::maintenance::restore::Restored;
use terrace_core::model::package::Package;
use terrace_core::storage::documentation::DocumentationDocument;
use terrace_core::storage::key::{ARCHIVES, DOCUMENTATION, FactKey, RELEASES};
use terrace_core::storage::key::{ArchiveKey, ArchiveKind, BytesKey, PushedFact};
use terrace_core::storage::release::Release;

use super::super::stored::{all_archives, each_documented, each_fact, each_fact_or};
use crate::args::PackageSpec;
use crate::error::Failure;
use crate::output::Output;
use crate::registry::client::Client;

/// The prefix of the documents that give repositories their blobs.
const LINKS: &str = "oci/links/";

/// The subject of an erasure.
pub(super) enum Subject<'a> {
    /// All versions of a package, or one of them.
    Versions(&'a PackageSpec),
    /// Archives with these digests.
    Archives(&'a [Sha256]),
}

/// A version to erase.
pub(super) struct ErasedRelease {
    /// `ADDRESS@VERSION`.
    pub(super) name: String,
    pub(super) address: String,
    pub(super) version: String,
    /// The storage keys of its archives, and of those of its documentation.
    pub(super) archives: BTreeSet<String>,
}

/// The versions and archives to erase.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) releases: Vec<ErasedRelease>,
    /// The storage keys of the archives.
    pub(super) erased: BTreeSet<String>,
    /// The archives that stay, with everything else that refers to them.
    kept: BTreeMap<String, BTreeSet<String>>,
    /// The versions that will lack an erased archive.
    broken: BTreeMap<String, BTreeSet<String>>,
    /// The pushed repositories that have the same bytes as a blob.
    blobs: BTreeMap<String, BTreeSet<String>>,
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
        let named = match subject {
            Subject::Versions(spec) => {
                plan.read_documentation(client, spec, output)?;
                plan.releases
                    .iter()
                    .flat_map(|it| it.archives.clone())
                    .collect()
            }
            Subject::Archives(digests) => keys_of(client, digests, output)?,
        };
        let targets: BTreeSet<String> = plan.releases.iter().map(|it| it.name.clone()).collect();
        for key in named {
            let others = users.0.remove(&key).unwrap_or_default();
            let others: BTreeSet<String> = others.difference(&targets).cloned().collect();
            match (others.is_empty(), everywhere) {
                (true, _) => {}
                (false, true) => {
                    plan.broken.insert(key.clone(), others);
                }
                (false, false) => {
                    plan.kept.insert(key, others);
                    continue;
                }
            }
            plan.erased.insert(key);
        }
        plan.read_links(client, output)?;
        if plan.releases.is_empty() && plan.erased.is_empty() {
            let kept = plan.kept_lines();
            return Err(Failure::Refused(kept));
        }
        Ok(plan)
    }

    /// Returns the archives that stay, and the consequences for others, one line each.
    pub(super) fn notes(&self) -> Vec<String> {
        let mut lines = self.kept_lines();
        lines.extend(self.broken.iter().map(|(key, users)| {
            format!(
                "{} cannot be installed without {key}: erase this as well",
                listed(users)
            )
        }));
        lines.extend(self.blobs.iter().map(|(key, repositories)| {
            format!(
                "{} has a pushed blob with the bytes of {key}, which stays: delete it with an OCI client",
                listed(repositories)
            )
        }));
        lines
    }

    /// Returns everything for programs.
    pub(super) fn report(&self, status: &str, uploads_end: Option<String>) -> Value {
        let releases: Vec<&String> = self.releases.iter().map(|it| &it.name).collect();
        json!({
            "status": status,
            "releases": releases,
            "erased": self.erased,
            "kept": self.kept,
            "broken": self.broken,
            "blobs": self.blobs,
            "uploads_end": uploads_end,
        })
    }

    fn kept_lines(&self) -> Vec<String> {
        let line = |(key, users): (&String, &BTreeSet<String>)| {
            format!(
                "{key} stays, because {} also has it: with --everywhere it is erased there as well",
                listed(users)
            )
        };
        self.kept.iter().map(line).collect()
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
            Release::Erased(tombstone) => tombstone
                .archives
                .iter()
                .map(|it| it.0.to_string())
                .collect(),
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
            self.releases.push(ErasedRelease {
                name,
                address: package.address(),
                version: version.to_string(),
                archives,
            });
        }
        Some(())
    }

    /// Adds the archives of the documentation of the versions, those of earlier documentation as well.
    fn read_documentation(
        &mut self,
        client: &Client<'_>,
        spec: &PackageSpec,
        output: &Output,
    ) -> Result<(), Failure> {
        let prefix = FactKey::documentation_of(&spec.package);
        each_fact(client, &prefix, output, |fact| {
            let version = fact.key.strip_prefix(&prefix).unwrap_or_default();
            let mut releases = self.releases.iter_mut();
            let Some(release) = releases.find(|it| it.version == version) else {
                return Ok(());
            };
            let document = DocumentationDocument::from_document(fact.document.as_bytes());
            let document =
                document.map_err(|error| Failure::Unexpected(format!("{}: {error}", fact.key)))?;
            let digests = document.history.iter().map(|change| change.archive);
            for digest in digests.chain([document.archive.sha256]) {
                let kind = ArchiveKind::Documentation;
                release
                    .archives
                    .insert(ArchiveKey { digest, kind }.to_string());
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Finds the pushed blobs with the bytes of erased archives.
    fn read_links(&mut self, client: &Client<'_>, output: &Output) -> Result<(), Failure> {
        let digests: BTreeMap<String, String> = self
            .erased
            .iter()
            .filter_map(|key| Some((BytesKey::parse_key(key)?.digest().to_string(), key.clone())))
            .collect();
        each_fact(client, LINKS, output, |fact| {
            if let Some(FactKey::Pushed(PushedFact::Link(repository, digest))) =
                FactKey::parse(&fact.key)
                && let Some(key) = digests.get(&digest.to_string())
            {
                let repositories = self.blobs.entry(key.clone()).or_default();
                repositories.insert(repository.to_string());
            }
            Ok(())
        })?;
        Ok(())
    }
}

impl Users {
    fn add(&mut self, archive: String, name: String) {
        self.0.entry(archive).or_default().insert(name);
    }
}

/// Returns the name of a version from its key.
fn name_of(key: &str) -> Option<String> {
    let (package, version) = key.rsplit_once('/')?;
    let package = Package::parse_key(package)?;
    Some(format!("{}@{version}", package.address()))
}

/// Returns the keys of the stored archives with these digests.
fn keys_of(
    client: &Client<'_>,
    digests: &[Sha256],
    output: &Output,
) -> Result<BTreeSet<String>, Failure> {
    let (stored, _) = all_archives(client, output)?;
    let mut keys = BTreeSet::new();
    for digest in digests {
        let start = format!("{ARCHIVES}{digest}.");
        let found: Vec<&String> = stored
            .keys()
            .filter(|key| key.starts_with(&start))
            .collect();
        if found.is_empty() {
            let message = format!("the registry has no archive with the SHA-256 {digest}");
            return Err(Failure::Missing(message));
        }
        keys.extend(found.into_iter().cloned());
    }
    Ok(keys)
}

fn listed(names: &BTreeSet<String>) -> String {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    names.join(", ")
}
