//! The modules of a repository with many of them, and the versions that its tags name.

pub(crate) mod reach;
pub(crate) mod tree;

use std::collections::BTreeMap;

use terrace_core::model::version::Version;

use self::tree::Tree;
use crate::archive::pack::joined;
use crate::source::git::Tag;
use crate::source::pattern::{Captures, Field, Pattern, version};

/// The patterns of directories in a repository, of which the first with a module applies.
const DIRECTORIES: [&str; 5] = [
    "modules/{name}",
    "modules/{system}/{name}",
    "terraform-{system}-{name}",
    "{name}",
    "{system}/{name}",
];

/// The patterns of directories with a repository of one module each.
pub(crate) const CHECKOUTS: [&str; 2] = ["terraform-{system}-{name}", "{name}"];

/// The patterns of tags that name a version of one module.
const TAGS_OF_MODULES: [&str; 8] = [
    "{path}/{version}",
    "{name}/{version}",
    "{path}-{version}",
    "{name}-{version}",
    "{path}@{version}",
    "{name}@{version}",
    "{system}-{name}-{version}",
    "{name}-{system}-{version}",
];

/// The pattern of tags that name a version of all modules.
const TAGS_OF_ALL: &str = "{version}";

/// Directories that do not count as modules unless a pattern names them.
const NO_MODULES: [&str; 8] = [
    "modules", "example", "examples", "test", "tests", "docs", "scripts", "fixtures",
];

/// A directory with a module, and what its path says about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundModule {
    pub(crate) directory: String,
    pub(crate) captures: Captures,
}

/// The versions of all modules that tags name.
#[derive(Debug, Default)]
pub(crate) struct TaggedModules {
    pub(crate) versions: Vec<(FoundModule, Version, Tag)>,
    /// The tags that name no version of a module.
    pub(crate) ignored: Vec<String>,
}

/// Returns the patterns of the directories with modules: the given ones, or the first usual one with a module in this tree.
///
/// # Errors
/// The tree has no modules in the usual places, or is a module itself.
pub(crate) fn directories(
    given: &[Pattern],
    address: &Pattern,
    tree: &dyn Tree,
) -> Result<Vec<Pattern>, String> {
    if !given.is_empty() {
        return Ok(given.to_vec());
    }
    if !address.has(Field::Name) && !address.has(Field::Path) {
        return Ok(patterns(&["."]));
    }
    if tree.has_configuration("")? {
        return Err(
            "the top of the repository is a module itself: to publish it, write its name into --address; to publish the \
             directories in it as modules of their own, add --path 'modules/{name}'"
                .to_owned(),
        );
    }
    for pattern in patterns(&DIRECTORIES) {
        if !modules(std::slice::from_ref(&pattern), false, tree)?.is_empty() {
            return Ok(vec![pattern]);
        }
    }
    Err(format!(
        "there is no configuration in any directory like {}: name the directories with --path",
        DIRECTORIES.join(", ")
    ))
}

/// Returns the modules of a tree in directories with one of these patterns. `is_given` is whether the user has named them.
///
/// # Errors
/// The tree cannot be read.
pub(crate) fn modules(
    patterns: &[Pattern],
    is_given: bool,
    tree: &dyn Tree,
) -> Result<Vec<FoundModule>, String> {
    let mut found: BTreeMap<String, FoundModule> = BTreeMap::new();
    for pattern in patterns {
        let mut directories = vec![(String::new(), Captures::default())];
        for part in pattern.parts() {
            let mut next = Vec::new();
            for (directory, captures) in directories {
                for (name, is_directory) in tree.names(&directory)? {
                    let is_usual = is_given || !NO_MODULES.contains(&name.as_str());
                    let is_literal = part.to_string() == name;
                    if !is_directory || !(is_usual || is_literal) {
                        continue;
                    }
                    if let Some(more) = part.captures(&name) {
                        let mut captures = captures.clone();
                        captures.extend(more);
                        next.push((joined(&directory, &name), captures));
                    }
                }
            }
            directories = next;
        }
        for (directory, captures) in directories {
            if !found.contains_key(&directory) && tree.has_configuration(&directory)? {
                let module = FoundModule {
                    directory: directory.clone(),
                    captures,
                };
                found.insert(directory, module);
            }
        }
    }
    Ok(found.into_values().collect())
}

/// Returns the versions that tags name, by the given patterns or the usual ones: tags of single modules, or, if there are
/// none, those of all modules.
///
/// # Errors
/// A tree cannot be read.
pub(crate) fn tagged(
    tags: &[Tag],
    given: &[Pattern],
    modules_at: impl Fn(&Tag) -> Result<Vec<FoundModule>, String>,
) -> Result<TaggedModules, String> {
    if !given.is_empty() {
        return by_patterns(tags, given, &modules_at);
    }
    let of_modules = by_patterns(tags, &patterns(&TAGS_OF_MODULES), &modules_at)?;
    if !of_modules.versions.is_empty() {
        return Ok(of_modules);
    }
    by_patterns(tags, &patterns(&[TAGS_OF_ALL]), &modules_at)
}

fn by_patterns(
    tags: &[Tag],
    patterns: &[Pattern],
    modules_at: &impl Fn(&Tag) -> Result<Vec<FoundModule>, String>,
) -> Result<TaggedModules, String> {
    let mut found = TaggedModules::default();
    for tag in tags {
        let matches = patterns.iter();
        let matches = matches.filter_map(|pattern| pattern.captures(&tag.name));
        let matches: Vec<Captures> = matches.collect();
        let modules = match matches.is_empty() {
            true => Vec::new(),
            false => modules_at(tag)?,
        };
        // The first pattern that names a module counts.
        let mut versions = matches.iter().map(|it| versions(it, &modules, tag));
        match versions.find(|versions| !versions.is_empty()) {
            Some(versions) => found.versions.extend(versions),
            None => found.ignored.push(tag.name.clone()),
        }
    }
    Ok(found)
}

/// Returns the versions of the modules that the fields of a tag name.
fn versions(
    captures: &Captures,
    modules: &[FoundModule],
    tag: &Tag,
) -> Vec<(FoundModule, Version, Tag)> {
    let named = captures.get(&Field::Version);
    let Some(version) = named.and_then(|it| version(it)) else {
        return Vec::new();
    };
    let is_named = |module: &&FoundModule| {
        captures.iter().all(|(field, value)| match field {
            Field::Version => true,
            Field::Path => module.directory == *value,
            Field::Name | Field::System => module.captures.get(field) == Some(value),
        })
    };
    let named = modules.iter().filter(is_named);
    named
        .map(|module| (module.clone(), version.clone(), tag.clone()))
        .collect()
}

/// Parses patterns of this program.
pub(crate) fn patterns(texts: &[&str]) -> Vec<Pattern> {
    texts.iter().filter_map(|text| text.parse().ok()).collect()
}
