//! Paths that a module refers to, and those among them that lead out of its package.
//!
//! Clients download the package of a module as a whole, and refuse a call of a module outside of it.

use std::collections::{BTreeMap, BTreeSet};

use terrace_metadata::{ModuleSource, is_submodule};

use crate::archive::pack::{Extent, below};

/// The start of a path below the directory of a module, in a template.
const MODULE_PATH: &str = "${path.module}/";

/// The place that a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// A directory of the package, such as `modules/vpc`; empty for its top.
    Inside(String),
    /// A place outside, below the directory that is this number of levels above the package.
    Outside(usize),
}

/// A reference to a place outside of the package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Escape {
    /// The path of the file.
    pub(crate) file: String,
    /// The line, if it is known.
    pub(crate) line: Option<usize>,
    /// The reference as written.
    pub(crate) reference: String,
    /// The levels above the package; `None` if the path is absolute.
    pub(crate) levels: Option<usize>,
}

/// The references out of a package.
#[derive(Debug, Default)]
pub(crate) struct Escapes {
    /// Those that consumers of the module fail with.
    pub(crate) fatal: Vec<Escape>,
    /// Those of directories that consumers do not reach, such as examples and tests.
    pub(crate) harmless: Vec<Escape>,
}

/// Returns the calls that leave a package. Its module is in the directory `top`, which is empty for the top of the
/// package.
pub(crate) fn escapes(sources: &[ModuleSource], top: &str) -> Escapes {
    let calls = by_directory(sources);
    let starts = calls.keys().copied();
    let reached = reached(
        &calls,
        starts.filter(|directory| is_offered(directory, top)),
    );
    let mut escapes = Escapes::default();
    for (directory, calls) in calls {
        for call in calls {
            let levels = match local(directory, &call.source) {
                Some(Place::Outside(levels)) => Some(levels),
                None if is_absolute(&call.source) => None,
                _ => continue,
            };
            let escape = Escape {
                file: call.file.clone(),
                line: call.line,
                reference: call.source.clone(),
                levels,
            };
            match reached.contains(directory) {
                true => escapes.fatal.push(escape),
                false => escapes.harmless.push(escape),
            }
        }
    }
    escapes
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
/// package.
pub(crate) fn outside_files(file: &str, text: &str, packed: &Extent) -> Vec<Escape> {
    let found = module_paths(text).filter_map(|(line, path)| {
        let levels = match resolve(directory_of(file), path) {
            Place::Inside(place) if packed.has(&place) => return None,
            Place::Inside(_) => 0,
            Place::Outside(levels) => levels,
        };
        Some(Escape {
            file: file.to_owned(),
            line: Some(line),
            reference: format!("{MODULE_PATH}{path}"),
            levels: Some(levels),
        })
    });
    found.collect()
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

fn is_absolute(source: &str) -> bool {
    source.starts_with('/')
}

/// Returns the directory of a file.
pub(crate) fn directory_of(file: &str) -> &str {
    file.rsplit_once('/').map_or("", |(directory, _)| directory)
}

/// Follows a relative path from a directory of the package. A path that leaves the package and comes back has left it:
/// the name of the package's directory is that of the client's cache.
pub(crate) fn resolve(directory: &str, path: &str) -> Place {
    let mut parts: Vec<&str> = directory.split('/').filter(|it| !it.is_empty()).collect();
    let mut levels = 0;
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.pop().is_none() => levels += 1,
            ".." => {}
            name => parts.push(name),
        }
    }
    match levels {
        0 => Place::Inside(parts.join("/")),
        levels => Place::Outside(levels),
    }
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

    fn found(escapes: &[Escape]) -> Vec<(&str, &str)> {
        let found = escapes.iter();
        found
            .map(|it| (it.file.as_str(), it.reference.as_str()))
            .collect()
    }

    #[test]
    fn a_path_is_resolved_from_the_directory_of_its_file() {
        let inside = |path: &str| Some(Place::Inside(path.to_owned()));
        for (directory, source, place) in [
            ("", "./a", inside("a")),
            ("modules/a", "../b", inside("modules/b")),
            ("examples/x", "../..", inside("")),
            ("", "..", None),
            ("", "../b", Some(Place::Outside(1))),
            ("a", "../../../b/c", Some(Place::Outside(2))),
            ("a", "..\\..\\b", Some(Place::Outside(1))),
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
            call("recipe-ha/main.tf", "../../proj"),
            call("modules/a/examples/x/main.tf", "../../../../../b"),
            call("b.tf", "/srv/modules/b"),
        ];
        let escapes = escapes(&sources, "");
        let files = |escapes| {
            found(escapes)
                .into_iter()
                .map(|(file, _)| file)
                .collect::<Vec<_>>()
        };
        assert_eq!(files(&escapes.fatal), ["b.tf", "modules/a/main.tf"]);
        let harmless = [
            "examples/x/other.tf",
            "modules/a/examples/x/main.tf",
            "recipe-ha/main.tf",
        ];
        assert_eq!(files(&escapes.harmless), harmless);
    }

    #[test]
    fn only_modules_that_the_published_one_calls_matter_beside_it() {
        let sources = [
            call("vpc/main.tf", "../common"),
            call("common/main.tf", "../../far"),
            call("unrelated/main.tf", "../../away"),
        ];
        let escapes = escapes(&sources, "vpc");
        assert_eq!(found(&escapes.fatal), [("common/main.tf", "../../far")]);
        assert_eq!(
            found(&escapes.harmless),
            [("unrelated/main.tf", "../../away")]
        );
    }

    #[test]
    fn a_file_outside_is_found_by_the_path_of_the_module() {
        let text =
            "a = file(\"${path.module}/x.txt\")\nb = file(\"${path.module}/../shared/y.txt\")\n";
        let whole = Extent::whole();
        assert_eq!(outside_files("modules/a/main.tf", text, &whole), []);
        let escapes = outside_files("main.tf", text, &whole);
        assert_eq!(
            found(&escapes),
            [("main.tf", "${path.module}/../shared/y.txt")]
        );
        assert_eq!(escapes[0].line, Some(2));
    }

    #[test]
    fn a_file_beside_the_packed_directories_is_outside_of_the_package() {
        let text =
            "a = file(\"${path.module}/../common/x\")\nb = file(\"${path.module}/../${var.b}\")\n";
        let packed = Extent::of(["a", "common"].map(str::to_owned));
        let escapes = outside_files("a/main.tf", text, &packed);
        assert_eq!(found(&escapes), [("a/main.tf", "${path.module}/../")]);
    }
}
