//! Paths that a module refers to, and those among them that lead out of its package.
//!
//! Clients download the package of a module as a whole, and refuse a call of a module outside of it.

use std::collections::{BTreeMap, BTreeSet};

use terrace_base::untrusted::quoted;
use terrace_metadata::{ModuleSource, is_submodule};

use crate::archive::pack::{Extent, below};

/// The start of a path below the directory of a module, in a template.
const MODULE_PATH: &str = "${path.module}/";

/// The place that a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// A directory of the package, such as `modules/vpc`; empty for its top.
    Inside(String),
    /// A place outside.
    Outside,
}

/// The calls that leave a package.
#[derive(Debug, Default)]
pub(crate) struct Escapes<'s> {
    /// Those that consumers of the module fail with.
    pub(crate) fatal: Vec<&'s ModuleSource>,
    /// Those of directories that consumers do not reach, such as examples and tests.
    pub(crate) harmless: Vec<&'s ModuleSource>,
}

/// Returns the calls that leave a package. Its module is in the directory `top`, which is empty for the top of the
/// package.
pub(crate) fn escapes<'s>(sources: &'s [ModuleSource], top: &str) -> Escapes<'s> {
    let calls = by_directory(sources);
    let starts = calls.keys().copied();
    let reached = reached(&calls, starts.filter(|it| is_offered(it, top)));
    let leaves = |call: &&ModuleSource| {
        let place = local(directory_of(&call.file), &call.source);
        place == Some(Place::Outside) || call.source.starts_with('/')
    };
    let escapes = calls.into_values().flatten().filter(leaves);
    let (fatal, harmless) = escapes.partition(|call| reached.contains(directory_of(&call.file)));
    Escapes { fatal, harmless }
}

/// Returns a call in a message.
pub(crate) fn named(call: &ModuleSource) -> String {
    let line = call.line.map(|line| format!(":{line}"));
    let line = line.unwrap_or_default();
    format!("{}{line}: the source {}", call.file, quoted(&call.source))
}

/// Returns the calls of each directory.
pub(crate) fn by_directory(sources: &[ModuleSource]) -> BTreeMap<&str, Vec<&ModuleSource>> {
    let mut calls: BTreeMap<&str, Vec<&ModuleSource>> = BTreeMap::new();
    for source in sources {
        let directory = directory_of(&source.file);
        calls.entry(directory).or_default().push(source);
    }
    calls
}

/// Returns the directories from which a walk starts, and those that their modules call.
pub(crate) fn reached<'a>(
    calls: &BTreeMap<&str, Vec<&ModuleSource>>,
    starts: impl Iterator<Item = &'a str>,
) -> BTreeSet<String> {
    let mut reached: BTreeSet<String> = BTreeSet::new();
    let mut open: Vec<String> = starts.map(str::to_owned).collect();
    while let Some(directory) = open.pop() {
        for call in calls.get(directory.as_str()).into_iter().flatten() {
            if let Some(Place::Inside(place)) = local(&directory, &call.source)
                && !reached.contains(&place)
            {
                open.push(place);
            }
        }
        reached.insert(directory);
    }
    reached
}

/// Returns the paths in a configuration file that start with `${path.module}` and lead out of the packed parts of a
/// package, with their lines.
pub(crate) fn outside_files(file: &str, text: &str, packed: &Extent) -> Vec<(usize, String)> {
    let is_packed = |path: &str| match resolve(directory_of(file), path) {
        Place::Inside(place) => packed.has(&place),
        Place::Outside => false,
    };
    let outside = module_paths(text).filter(|(_, path)| !is_packed(path));
    outside
        .map(|(line, path)| (line, format!("{MODULE_PATH}{path}")))
        .collect()
}

/// Returns the literal starts of the paths below the directory of a module, with their lines.
pub(crate) fn module_paths(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate();
    lines.flat_map(|(index, line)| {
        line.match_indices(MODULE_PATH).map(move |(at, _)| {
            let rest = line.get(at + MODULE_PATH.len()..).unwrap_or_default();
            let end = rest.find(['"', '$', '}', ' ', ')']);
            let path = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
            (index + 1, path)
        })
    })
}

/// Returns whether a directory is that of the module in `top`, or that of a submodule which it offers to its consumers.
pub(crate) fn is_offered(directory: &str, top: &str) -> bool {
    below(directory, top).is_some_and(|below| below.is_empty() || is_submodule(below))
}

/// Returns the place that the source of a call leads to, if it is a relative path, by the rule of the clients.
pub(crate) fn local(directory: &str, source: &str) -> Option<Place> {
    let is_local = ["./", "../", ".\\", "..\\"]
        .iter()
        .any(|start| source.starts_with(start));
    is_local.then(|| resolve(directory, &source.replace('\\', "/")))
}

/// Returns the highest directory that a relative path passes through, if it starts and ends below the top.
pub(crate) fn highest(directory: &str, path: &str) -> String {
    let parts: Vec<&str> = directory.split('/').filter(|it| !it.is_empty()).collect();
    let (mut depth, mut least) = (parts.len(), parts.len());
    for part in path.split(['/', '\\']) {
        match part {
            "" | "." => {}
            ".." => depth = depth.saturating_sub(1),
            _ => depth += 1,
        }
        least = least.min(depth);
    }
    parts.get(..least).unwrap_or_default().join("/")
}

/// Returns the directory of a file.
pub(crate) fn directory_of(file: &str) -> &str {
    file.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// Follows a relative path from a directory of the package. A path that leaves the package and comes back has left it:
/// the name of the package's directory is that of the client's cache.
pub(crate) fn resolve(directory: &str, path: &str) -> Place {
    let mut parts: Vec<&str> = directory.split('/').filter(|it| !it.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => return Place::Outside,
            ".." => {}
            name => parts.push(name),
        }
    }
    Place::Inside(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(file: &str, source: &str) -> ModuleSource {
        ModuleSource {
            file: file.to_owned(),
            line: Some(2),
            source: source.to_owned(),
            version: None,
            is_computed: false,
        }
    }

    #[test]
    fn a_path_is_resolved_from_the_directory_of_its_file() {
        let inside = |path: &str| Some(Place::Inside(path.to_owned()));
        for (directory, source, place) in [
            ("", "./a", inside("a")),
            ("modules/a", "../b", inside("modules/b")),
            ("examples/x", "../..", inside("")),
            ("", "..", None),
            ("", "../b", Some(Place::Outside)),
            ("a", "../../a/c", Some(Place::Outside)),
            ("a", "..\\..\\b", Some(Place::Outside)),
            ("", "acme/b/aws", None),
            ("", "git::https://example.com/b", None),
        ] {
            assert_eq!(local(directory, source), place, "{source}");
        }
    }

    #[test]
    fn calls_that_leave_the_package_are_fatal_where_consumers_reach_them() {
        let sources = [
            call("main.tf", "./modules/a"),
            call("modules/a/main.tf", "../../../common"),
            call("examples/x/main.tf", "../../"),
            call("examples/x/other.tf", "../../../sibling"),
            call("b.tf", "/srv/modules/b"),
            call("vpc/main.tf", "../common"),
            call("common/main.tf", "../../far"),
        ];
        for (top, fatal, harmless) in [
            (
                "",
                &["b.tf", "modules/a/main.tf"][..],
                &["common/main.tf", "examples/x/other.tf"][..],
            ),
            (
                "vpc",
                &["common/main.tf"],
                &["b.tf", "examples/x/other.tf", "modules/a/main.tf"],
            ),
        ] {
            let escapes = escapes(&sources, top);
            let files = |calls: &[&ModuleSource]| -> Vec<String> {
                calls.iter().map(|call| call.file.clone()).collect()
            };
            assert_eq!(files(&escapes.fatal), fatal);
            assert_eq!(files(&escapes.harmless), harmless);
        }
    }

    #[test]
    fn a_file_beside_the_packed_directories_is_outside_of_the_package() {
        let text = "a = file(\"${path.module}/x\")\nb = file(\"${path.module}/../c/x\")\n";
        let outside = |file, packed: &Extent| outside_files(file, text, packed).len();
        let whole = Extent::whole();
        assert_eq!(
            (outside("a/main.tf", &whole), outside("main.tf", &whole)),
            (0, 1)
        );
        let packed = |other: &str| Extent::of(["a", other].map(str::to_owned));
        assert_eq!(outside("a/main.tf", &packed("c")), 0);
        let found = outside_files("a/main.tf", text, &packed("d"));
        assert_eq!(found, [(2, "${path.module}/../c/x".to_owned())]);
    }
}
