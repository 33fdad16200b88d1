//! The modules and versions of a collection, before anything is packed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use terrace_core::model::address::ModuleAddress;
use terrace_core::model::version::Version;

use super::address::{Named, is_selected, listed};
use super::planned::{Origin, Plan, PlannedModule, PlannedVersion};
use super::report::Row;
use crate::commands::publish::SourceArguments;
use crate::commands::publish::modules::CollectionArguments;
use crate::error::Failure;
use crate::output::{Output, plural};
use crate::source::collection::tree::{CommitTree, DiskTree, Tree};
use crate::source::collection::{
    CHECKOUTS, FoundModule, TaggedModule, TaggedModules, directories, modules, patterns, tagged,
};
use crate::source::git::{Repository, Tag, check_url, is_url};
use crate::source::pattern::{Captures, Field, Pattern};

/// The parts of the address of a module.
const ADDRESS_PARTS: usize = 3;

/// A version of a module with an address that is not known yet.
struct Candidate {
    module: FoundModule,
    version: PlannedVersion,
}

/// Returns the versions of a collection.
///
/// # Errors
/// There is no collection at this place, or it has no modules or no versions.
pub(super) fn plan(arguments: &CollectionArguments, output: &Output) -> Result<Plan, Failure> {
    for field in [Field::Version, Field::Path] {
        if arguments.address.has(field) {
            return Err(Failure::Usage(format!(
                "--address {}: an address has the fields {{name}} and {{system}} only",
                arguments.address
            )));
        }
    }
    if arguments.address.parts().len() != ADDRESS_PARTS {
        return Err(Failure::Usage(format!(
            "--address {}: write it as namespace/name/system, such as 'acme/{{name}}/aws'",
            arguments.address
        )));
    }
    let mut found = Found::default();
    match (&arguments.version, is_url(&arguments.place)) {
        (Some(_), true) => {
            return Err(Failure::Usage(
                "--version publishes the files of a directory, and the repository is a URL: clone it first, or name the \
                 versions by --tag"
                    .to_owned(),
            ));
        }
        (Some(version), false) => found.directory(version, arguments)?,
        (None, true) => {
            check_url(&arguments.place).map_err(Failure::Usage)?;
            let repository = Repository::clone(&arguments.place, output).map_err(Failure::Local)?;
            found.repository(repository, arguments)?;
        }
        (None, false) => found.local(Path::new(&arguments.place), arguments, output)?,
    }
    let source = SourceArguments {
        source: arguments.source.clone(),
        commit: None,
        no_source: arguments.no_source,
    };
    for origin in &mut found.origins {
        origin.source = source.find(&origin.directory, output)?.url;
    }
    let plan = found.into_plan(arguments)?;
    if plan.modules.is_empty() && plan.problems.is_empty() {
        return Err(Failure::refused(
            "no version is left: check --only, --since and the tags of these modules",
        ));
    }
    Ok(plan)
}

/// The candidates.
#[derive(Default)]
struct Found {
    origins: Vec<Origin>,
    candidates: Vec<Candidate>,
    ignored_tags: Vec<String>,
}

impl Found {
    /// Finds the modules in the working tree of a directory.
    fn directory(
        &mut self,
        version: &Version,
        arguments: &CollectionArguments,
    ) -> Result<(), Failure> {
        let top = existing(Path::new(&arguments.place))?;
        let tree = DiskTree { top: &top };
        let paths = directories(&arguments.paths, &arguments.address, &tree);
        let paths = paths.map_err(Failure::refused)?;
        let is_given = !arguments.paths.is_empty();
        let modules = modules(&paths, is_given, &tree).map_err(Failure::refused)?;
        if modules.is_empty() {
            return Err(no_modules(&paths));
        }
        let origin = self.add_origin(top.clone(), None);
        self.candidates
            .extend(modules.into_iter().map(|module| Candidate {
                version: PlannedVersion {
                    version: version.clone(),
                    origin,
                    directory: module.directory.clone(),
                    tag: None,
                },
                module,
            }));
        Ok(())
    }

    /// Finds the modules of a local repository, or of the repositories in a directory.
    fn local(
        &mut self,
        place: &Path,
        arguments: &CollectionArguments,
        output: &Output,
    ) -> Result<(), Failure> {
        let place = existing(place)?;
        if let Some(repository) = Repository::at(&place) {
            return self.repository(repository, arguments);
        }
        let mut checkouts = checkouts(&place);
        if checkouts.is_empty() {
            let shown = place.display();
            return Err(Failure::Usage(match Repository::around(&place) {
                Some(top) => format!(
                    "{shown} is a directory inside of a repository: name the repository, {}, and the directories in it \
                     with --path",
                    top.display()
                ),
                None => format!(
                    "{shown} is no git repository, and contains none, so no tags name versions: publish its files with \
                     --version"
                ),
            }));
        }
        let given = &arguments.paths;
        let usual = patterns(&CHECKOUTS);
        let paths = if given.is_empty() { &usual } else { given };
        checkouts.retain(|(name, _)| {
            let is_module = paths.iter().any(|path| path.captures(name).is_some());
            if !is_module {
                output.progress(&format!("skipped {name}: no --path is like this name"));
            }
            is_module
        });
        for (name, repository) in checkouts {
            let captures = paths.iter().find_map(|path| path.captures(&name));
            self.checkout(&name, repository, captures.unwrap_or_default(), arguments)?;
        }
        Ok(())
    }

    /// Adds the versions of a repository with many modules.
    fn repository(
        &mut self,
        repository: Repository,
        arguments: &CollectionArguments,
    ) -> Result<(), Failure> {
        let tags = repository.tags().map_err(Failure::Local)?;
        let newest = repository
            .head()
            .or(tags.last().map(|tag| tag.commit.clone()));
        let Some(newest) = newest else {
            return Err(Failure::refused("the repository has no commits"));
        };
        let objects = repository.objects().map_err(Failure::Local)?;
        let tree = CommitTree::at(&objects, &newest).map_err(Failure::Local)?;
        let paths = directories(&arguments.paths, &arguments.address, &tree);
        let paths = paths.map_err(Failure::refused)?;
        let is_given = !arguments.paths.is_empty();
        let known = modules(&paths, is_given, &tree).map_err(Failure::refused)?;
        let found = tagged(&tags, &arguments.tags, |tag| {
            modules(&paths, is_given, &CommitTree::at(&objects, &tag.commit)?)
        });
        let found = found.map_err(Failure::refused)?;
        if found.versions.is_empty() {
            return Err(match known.is_empty() {
                true => no_modules(&paths),
                false => no_versions(&known, &tags),
            });
        }
        let directory = repository.directory.clone();
        let origin = self.add_origin(directory, Some(repository));
        self.add(found, origin);
        Ok(())
    }

    /// Adds the versions of a repository with one module.
    fn checkout(
        &mut self,
        name: &str,
        repository: Repository,
        captures: Captures,
        arguments: &CollectionArguments,
    ) -> Result<(), Failure> {
        let tags = repository.tags().map_err(Failure::Local)?;
        let objects = repository.objects().map_err(Failure::Local)?;
        let found = tagged(&tags, &arguments.tags, |tag| {
            let tree = CommitTree::at(&objects, &tag.commit)?;
            let module = FoundModule {
                directory: String::new(),
                name: captures.name.clone(),
                system: captures.system.clone(),
            };
            let modules = vec![module].into_iter();
            Ok(modules
                .filter(|_| tree.has_configuration("").unwrap_or(false))
                .collect())
        });
        let mut found = found.map_err(Failure::refused)?;
        for tag in &mut found.ignored {
            *tag = format!("{name}: {tag}");
        }
        let directory = repository.directory.clone();
        let origin = self.add_origin(directory, Some(repository));
        self.add(found, origin);
        Ok(())
    }

    fn add_origin(&mut self, directory: PathBuf, repository: Option<Repository>) -> usize {
        self.origins.push(Origin {
            directory,
            repository,
            source: None,
        });
        self.origins.len() - 1
    }

    fn add(&mut self, found: TaggedModules, origin: usize) {
        self.ignored_tags.extend(found.ignored);
        let versions = found.versions.into_iter();
        self.candidates.extend(versions.map(
            |TaggedModule {
                 module,
                 version,
                 tag,
             }| Candidate {
                version: PlannedVersion {
                    version,
                    origin,
                    directory: module.directory.clone(),
                    tag: Some(tag),
                },
                module,
            },
        ));
    }

    /// Gives each module its address, and removes the versions that the options exclude.
    fn into_plan(self, arguments: &CollectionArguments) -> Result<Plan, Failure> {
        let mut problems = Vec::new();
        let mut by_module: BTreeMap<(usize, Option<String>, Option<String>), Vec<PlannedVersion>> =
            BTreeMap::new();
        for Candidate { module, version } in self.candidates {
            let key = (version.origin, module.name, module.system);
            by_module.entry(key).or_default().push(version);
        }
        let mut by_address: BTreeMap<ModuleAddress, Vec<PlannedVersion>> = BTreeMap::new();
        for ((_, name, system), mut versions) in by_module {
            versions.sort_by(|one, other| one.version.cmp(&other.version));
            let Some(newest) = versions.last() else {
                continue;
            };
            let named = Named {
                name,
                system,
                newest,
                origin: self.origins.get(newest.origin),
            };
            let address = named.address(&arguments.address);
            if !is_selected(&arguments.only, &named, address.as_ref().ok()) {
                continue;
            }
            match address {
                Ok(address) => by_address.entry(address).or_default().extend(versions),
                Err(reason) => {
                    let of = (named.shown(), None);
                    problems.push(Row::of_problem(of, &newest.directory, reason));
                }
            }
        }
        let mut modules = Vec::new();
        for (address, versions) in by_address {
            let versions = selected(versions, arguments);
            let versions = unique(&address, versions, &mut problems);
            if !versions.is_empty() {
                modules.push(PlannedModule { address, versions });
            }
        }
        Ok(Plan {
            origins: self.origins,
            modules,
            problems,
            ignored_tags: self.ignored_tags,
        })
    }
}

/// Returns the versions that `--since` and `--latest` leave, ascending.
fn selected(
    mut versions: Vec<PlannedVersion>,
    arguments: &CollectionArguments,
) -> Vec<PlannedVersion> {
    versions.sort_by(|one, other| one.version.cmp(&other.version));
    if let Some(since) = &arguments.since {
        versions.retain(|it| it.version >= *since);
    }
    if arguments.latest {
        let released = versions.iter().rev().find(|it| !it.version.is_prerelease());
        let newest = released.or(versions.last()).map(|it| it.version.clone());
        versions.retain(|it| Some(&it.version) == newest.as_ref());
    }
    versions
}

/// Returns each version once. Two tags may name the same one only if they are of one commit.
fn unique(
    address: &ModuleAddress,
    versions: Vec<PlannedVersion>,
    problems: &mut Vec<Row>,
) -> Vec<PlannedVersion> {
    let mut kept: Vec<PlannedVersion> = Vec::new();
    let place = |it: &PlannedVersion| match &it.tag {
        Some(tag) if it.directory.is_empty() => format!("tag {}", tag.name),
        Some(tag) => format!("{} at tag {}", it.directory, tag.name),
        None => it.directory.clone(),
    };
    let content = |it: &PlannedVersion| {
        let commit = it.tag.as_ref().map(|tag| tag.commit.clone());
        (it.origin, it.directory.clone(), commit)
    };
    let mut ambiguous = BTreeSet::new();
    for version in versions {
        match kept.last() {
            Some(last) if last.version == version.version && content(last) == content(&version) => {
            }
            Some(last) if last.version == version.version => {
                ambiguous.insert(version.version.to_string());
                let of = (address.to_string(), Some(version.version.to_string()));
                let reason = format!(
                    "both {} and {} are this version, so neither is published: choose with --tag or --path",
                    place(last),
                    place(&version)
                );
                problems.push(Row::of_problem(of, &version.directory, reason));
            }
            _ => kept.push(version),
        }
    }
    kept.retain(|it| !ambiguous.contains(&it.version.to_string()));
    kept
}

fn existing(place: &Path) -> Result<PathBuf, Failure> {
    match place.is_dir() {
        true => Ok(place.to_owned()),
        false => Err(Failure::refused(format!(
            "{} is neither a directory nor the URL of a repository",
            place.display()
        ))),
    }
}

/// Returns the repositories in a directory, ascending by name.
fn checkouts(place: &Path) -> Vec<(String, Repository)> {
    let entries = fs::read_dir(place).into_iter().flatten().flatten();
    let found = entries.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let repository = Repository::at(&entry.path())?;
        // A bare repository is usually named so.
        Some((name.trim_end_matches(".git").to_owned(), repository))
    });
    let mut found: Vec<(String, Repository)> = found.filter(|(name, _)| !name.is_empty()).collect();
    found.sort_by(|(one, _), (other, _)| one.cmp(other));
    found
}

fn no_modules(paths: &[Pattern]) -> Failure {
    let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
    Failure::refused(format!(
        "there is no configuration in any directory like {}: name the directories with --path",
        paths.join(", ")
    ))
}

fn no_versions(modules: &[FoundModule], tags: &[Tag]) -> Failure {
    let directories: Vec<&String> = modules.iter().map(|module| &module.directory).collect();
    let tags: Vec<&String> = tags.iter().map(|tag| &tag.name).collect();
    let tags = match tags.is_empty() {
        true => "the repository has no tags".to_owned(),
        false => format!("the tags are {}", listed(&tags)),
    };
    Failure::refused(format!(
        "no tag names a version of {} ({}): {tags}. Describe them with --tag, such as '{{name}}/v{{version}}', or publish \
         the working tree with --version",
        plural(modules.len(), "module"),
        listed(&directories)
    ))
}
