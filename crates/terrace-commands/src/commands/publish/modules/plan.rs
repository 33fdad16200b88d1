//! The modules and versions of a collection, before anything is packed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use terrace_core::model::address::ModuleAddress;
use terrace_core::model::version::Version;

use super::SHOWN_NAMES;
use super::address::{address, is_selected, shown};
use super::planned::{Origin, PlannedVersion};
use super::report::{refused, version_of};
use crate::commands::publish::modules::CollectionArguments;
use crate::commands::report::VersionReport;
use crate::error::Failure;
use crate::output::{Output, few, plural};
use crate::source::collection::tree::{CommitTree, DiskTree, Tree};
use crate::source::collection::{CHECKOUTS, FoundModule, directories, modules, patterns, tagged};
use crate::source::git::{Repository, Tag, check_url, is_url};
use crate::source::pattern::{Field, Pattern};

/// The parts of the address of a module.
const ADDRESS_PARTS: usize = 3;

/// The versions to publish.
pub(super) struct Plan {
    /// The modules, ascending by address.
    pub(super) modules: Vec<PlannedModule>,
    /// The modules and versions that cannot be published.
    pub(super) problems: Vec<VersionReport>,
    pub(super) ignored_tags: Vec<String>,
}

/// A module with its versions, ascending.
pub(super) struct PlannedModule {
    pub(super) address: ModuleAddress,
    pub(super) versions: Vec<PlannedVersion>,
}

/// Returns the versions of a collection.
///
/// # Errors
/// There is no collection at this place, or it has no modules or no versions.
pub(super) fn plan(arguments: &CollectionArguments, output: &Output) -> Result<Plan, Failure> {
    let address = &arguments.address;
    let has_others = address.has(Field::Version) || address.has(Field::Path);
    if address.parts().len() != ADDRESS_PARTS || has_others {
        return Err(Failure::Usage(format!(
            "--address {address}: write it as namespace/name/system, such as 'acme/{{name}}/aws', with the fields {{name}} \
             and {{system}} only"
        )));
    }
    let mut found = Found {
        arguments,
        output,
        versions: Vec::new(),
        ignored_tags: Vec::new(),
    };
    match &arguments.version {
        Some(version) => found.directory(version)?,
        None if is_url(&arguments.place) => {
            check_url(&arguments.place).map_err(Failure::Usage)?;
            let repository = Repository::clone(&arguments.place, output).map_err(Failure::Local)?;
            found.repository(repository)?;
        }
        None => found.local(Path::new(&arguments.place))?,
    }
    let plan = found.into_plan();
    if plan.modules.is_empty() && plan.problems.is_empty() {
        return Err(Failure::refused(
            "no version is left: check --only, --since and the tags of these modules",
        ));
    }
    Ok(plan)
}

/// The versions that are found, with addresses that are not known yet.
struct Found<'a> {
    arguments: &'a CollectionArguments,
    output: &'a Output,
    versions: Vec<PlannedVersion>,
    ignored_tags: Vec<String>,
}

impl Found<'_> {
    /// Finds the modules in the working tree of a directory.
    fn directory(&mut self, version: &Version) -> Result<(), Failure> {
        let top = existing(Path::new(&self.arguments.place))?;
        let tree = DiskTree { top: &top };
        let (paths, is_given) = self.paths(&tree)?;
        let modules = modules(&paths, is_given, &tree).map_err(Failure::refused)?;
        if modules.is_empty() {
            return Err(no_modules(&paths));
        }
        let origin = self.origin(top.clone(), None);
        let planned = |module| PlannedVersion {
            module,
            version: version.clone(),
            origin: Arc::clone(&origin),
            tag: None,
        };
        self.versions.extend(modules.into_iter().map(planned));
        Ok(())
    }

    /// Returns the patterns of the directories with modules, and whether the user has named them.
    fn paths(&self, tree: &dyn Tree) -> Result<(Vec<Pattern>, bool), Failure> {
        let given = &self.arguments.paths;
        let paths = directories(given, &self.arguments.address, tree);
        Ok((paths.map_err(Failure::refused)?, !given.is_empty()))
    }

    /// Finds the modules of a local repository, or of the repositories in a directory.
    fn local(&mut self, place: &Path) -> Result<(), Failure> {
        let place = existing(place)?;
        if let Some(repository) = Repository::at(&place) {
            return self.repository(repository);
        }
        let checkouts = checkouts(&place);
        if checkouts.is_empty() {
            return Err(Failure::Usage(format!(
                "{} is neither the top of a git repository nor a directory with some, so no tags name versions: name the top \
                 of the repository, and the directories in it with --path, or publish the files with --version",
                place.display()
            )));
        }
        let usual = patterns(&CHECKOUTS);
        let given = &self.arguments.paths;
        let paths = if given.is_empty() { &usual } else { given };
        for (name, repository) in checkouts {
            let Some(captures) = paths.iter().find_map(|path| path.captures(&name)) else {
                let skipped = format!("skipped {name}: no --path is like this name");
                self.output.progress(&skipped);
                continue;
            };
            let module = FoundModule {
                directory: String::new(),
                captures,
            };
            let tags = repository.tags().map_err(Failure::Local)?;
            let known = self.ignored_tags.len();
            self.tagged(repository, &tags, |tree| {
                let is_module = tree.has_configuration("")?;
                Ok(is_module.then(|| module.clone()).into_iter().collect())
            })?;
            for tag in self.ignored_tags.iter_mut().skip(known) {
                *tag = format!("{name}: {tag}");
            }
        }
        Ok(())
    }

    /// Adds the versions of a repository with many modules.
    fn repository(&mut self, repository: Repository) -> Result<(), Failure> {
        let tags = repository.tags().map_err(Failure::Local)?;
        let newest = repository.commit("HEAD");
        let newest = newest.or(tags.last().map(|tag| tag.commit.clone()));
        let newest = newest.ok_or_else(|| Failure::refused("the repository has no commits"))?;
        let objects = repository.objects().map_err(Failure::Local)?;
        let tree = CommitTree::at(&objects, &newest).map_err(Failure::Local)?;
        let (paths, is_given) = self.paths(&tree)?;
        let known = modules(&paths, is_given, &tree).map_err(Failure::refused)?;
        self.tagged(repository, &tags, |tree| modules(&paths, is_given, tree))?;
        match (self.versions.is_empty(), known.is_empty()) {
            (false, _) => Ok(()),
            (true, true) => Err(no_modules(&paths)),
            (true, false) => Err(no_versions(&known, &tags)),
        }
    }

    /// Adds the versions that the tags of a repository name. `modules` returns the modules of a commit.
    fn tagged(
        &mut self,
        repository: Repository,
        tags: &[Tag],
        modules: impl Fn(&CommitTree<'_>) -> Result<Vec<FoundModule>, String>,
    ) -> Result<(), Failure> {
        let objects = repository.objects().map_err(Failure::Local)?;
        let found = tagged(tags, &self.arguments.tags, |tag| {
            modules(&CommitTree::at(&objects, &tag.commit)?)
        });
        let found = found.map_err(Failure::refused)?;
        let origin = self.origin(repository.directory.clone(), Some(repository));
        let versions = found.versions.into_iter();
        let planned = |(module, version, tag)| PlannedVersion {
            module,
            version,
            origin: Arc::clone(&origin),
            tag: Some(tag),
        };
        self.versions.extend(versions.map(planned));
        self.ignored_tags.extend(found.ignored);
        Ok(())
    }

    fn origin(&self, directory: PathBuf, repository: Option<Repository>) -> Arc<Origin> {
        let source = self.arguments.repository.url(&directory, self.output);
        Arc::new(Origin {
            directory,
            repository,
            source,
        })
    }

    /// Gives each module its address, and removes the versions that the options exclude.
    fn into_plan(self) -> Plan {
        let mut problems = Vec::new();
        let mut by_module: BTreeMap<_, Vec<PlannedVersion>> = BTreeMap::new();
        for version in self.versions {
            let directory = version.origin.directory.clone();
            let key = (directory, version.module.captures.clone());
            by_module.entry(key).or_default().push(version);
        }
        let mut by_address: BTreeMap<ModuleAddress, Vec<PlannedVersion>> = BTreeMap::new();
        for versions in by_module.into_values() {
            let newest = versions.iter();
            let newest = newest.max_by(|one, other| one.version.cmp(&other.version));
            let Some(newest) = newest else { continue };
            let address = address(newest, &self.arguments.address);
            if !is_selected(&self.arguments.only, newest, address.as_ref().ok()) {
                continue;
            }
            match address {
                Ok(address) => by_address.entry(address).or_default().extend(versions),
                Err(reason) => problems.push(refused(shown(newest), None, newest, reason)),
            }
        }
        let mut modules = Vec::new();
        for (address, versions) in by_address {
            let versions = selected(versions, self.arguments);
            let versions = unique(&address, &versions, &mut problems);
            if !versions.is_empty() {
                modules.push(PlannedModule { address, versions });
            }
        }
        Plan {
            modules,
            problems,
            ignored_tags: self.ignored_tags,
        }
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
    versions: &[PlannedVersion],
    problems: &mut Vec<VersionReport>,
) -> Vec<PlannedVersion> {
    let content = |it: &PlannedVersion| {
        let commit = it.tag.as_ref().map(|tag| tag.commit.clone());
        (
            it.origin.directory.clone(),
            it.module.directory.clone(),
            commit,
        )
    };
    let place = |it: &PlannedVersion| match &it.tag {
        Some(tag) => format!("{} at tag {}", shown(it), tag.name),
        None => shown(it),
    };
    let mut kept = Vec::new();
    for same in versions.chunk_by(|one, other| one.version == other.version) {
        let Some((first, others)) = same.split_first() else {
            continue;
        };
        match others.iter().find(|it| content(it) != content(first)) {
            None => kept.push(first.clone()),
            Some(other) => {
                let reason = format!(
                    "both {} and {} are this version, so neither is published: choose with --tag or --path",
                    place(first),
                    place(other)
                );
                let version = version_of(first);
                problems.push(refused(address.to_string(), version, first, reason));
            }
        }
    }
    kept
}

fn existing(place: &Path) -> Result<PathBuf, Failure> {
    match place.is_dir() {
        true => Ok(place.to_owned()),
        false => Err(Failure::refused(format!(
            "{} is no directory of this machine",
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
    let mut found: Vec<(String, Repository)> = found.collect();
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
    let count = plural(modules.len(), "module");
    let tags = match tags {
        [] => "the repository has no tags".to_owned(),
        tags => format!(
            "the tags are {}",
            few(SHOWN_NAMES, tags.iter().map(|it| &it.name))
        ),
    };
    Failure::refused(format!(
        "no tag names a version of {count} ({}): {tags}. Describe them with --tag, such as '{{name}}/v{{version}}', or \
         publish the working tree with --version",
        few(SHOWN_NAMES, modules.iter().map(|it| &it.directory))
    ))
}
