//! The directories that a module needs, and the package that holds all of them.

use std::collections::BTreeSet;

use terrace_base::untrusted::quoted;
use terrace_metadata::{SourceFile, module_sources};

use super::tree::Tree;
use crate::archive::pack::{Extent, below, joined};
use crate::source::local_paths::{Place, directory_of, highest, is_offered, local, named};

/// Maximum number of directories that are read for one module.
const MOST_DIRECTORIES: usize = 10_000;

/// The package of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PackagePlace {
    /// The directory that is the top of the package; empty for the top of the tree.
    pub(crate) directory: String,
    /// The directory of the module in the package; empty for its top.
    pub(crate) subdir: String,
    /// The directories in the package: that of the module, and those of the modules that it calls outside of its own.
    pub(crate) extent: Extent,
}

/// Returns the package of the module in a directory: that directory and those of every module that it calls, in the lowest
/// directory that no path of a call leaves, so that the paths stay the same.
///
/// # Errors
/// A call leads out of the tree or to a directory without a module, or a file cannot be read.
pub(crate) fn package(tree: &dyn Tree, module: &str) -> Result<PackagePlace, String> {
    let mut open = offered(tree, module)?;
    let mut reached = BTreeSet::new();
    let mut top = module.to_owned();
    while let Some(directory) = open.pop() {
        if reached.len() > MOST_DIRECTORIES {
            return Err(format!(
                "{module} calls modules in more than {MOST_DIRECTORIES} directories"
            ));
        }
        let files = tree.configuration(&directory)?;
        let files: Vec<SourceFile<'_>> = files
            .iter()
            .map(|(path, bytes)| SourceFile { path, bytes })
            .collect();
        for call in module_sources(&files) {
            let from = directory_of(&call.file);
            let place = local(from, &call.source);
            if let Some(Place::Inside(_)) = place {
                top = common(&top, &highest(from, &call.source));
            }
            match place {
                Some(Place::Inside(place)) if reached.contains(&place) => {}
                Some(Place::Inside(place)) => {
                    // The contents of these directories are packed anyway.
                    let mut packed = [module, &directory].into_iter();
                    let is_packed = packed.any(|top| below(&place, top).is_some());
                    if !is_packed && !tree.has_configuration(&place)? {
                        return Err(format!(
                            "{} leads to {}, which is no directory with configuration",
                            named(&call),
                            quoted(&place)
                        ));
                    }
                    open.push(place);
                }
                Some(Place::Outside) => {
                    return Err(format!(
                        "{} leads out of the repository, so no package can contain it",
                        named(&call)
                    ));
                }
                None => {}
            }
        }
        reached.insert(directory);
    }
    let reached = reached.into_iter();
    let directory = top;
    let in_package = |path: &str| below(path, &directory).unwrap_or_default().to_owned();
    Ok(PackagePlace {
        subdir: in_package(module),
        extent: Extent::of(reached.map(|path| in_package(&path))),
        directory,
    })
}

/// Returns a module's directory, and those of the submodules that it offers.
fn offered(tree: &dyn Tree, module: &str) -> Result<Vec<String>, String> {
    let mut found = vec![module.to_owned()];
    let mut next = 0;
    while let Some(directory) = found.get(next).cloned() {
        next += 1;
        for (name, is_directory) in tree.names(&directory)? {
            let path = joined(&directory, &name);
            let is_parent = || path == joined(module, "modules");
            if !is_directory || !(is_parent() || is_offered(&path, module)) {
                continue;
            }
            if found.len() > MOST_DIRECTORIES {
                return Err(format!(
                    "{module} has more than {MOST_DIRECTORIES} directories"
                ));
            }
            found.push(path);
        }
    }
    Ok(found)
}

/// Returns the lowest directory above or at both.
fn common(one: &str, other: &str) -> String {
    let pairs = one.split('/').zip(other.split('/'));
    let same = pairs.take_while(|(one, other)| one == other);
    same.map(|(part, _)| part).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::collection::tree::DiskTree;

    /// Returns the directory, the module and the parts of the package that holds a module.
    fn package_of(files: &[(&str, &str)], module: &str) -> Result<[String; 3], String> {
        let top = tempfile::tempdir().unwrap();
        for (path, source) in files {
            let path = top.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(
                path,
                format!("module \"x\" {{\n  source = \"{source}\"\n}}\n"),
            )
            .unwrap();
        }
        let place = package(&DiskTree { top: top.path() }, module)?;
        let parts: Vec<&str> = place.extent.directories().collect();
        Ok([place.directory, place.subdir, parts.join(" ")])
    }

    /// A tree in which each directory has one more.
    struct Bottomless;

    impl Tree for Bottomless {
        fn names(&self, _: &str) -> Result<Vec<(String, bool)>, String> {
            Ok(vec![("modules".to_owned(), true)])
        }

        fn read(&self, _: &str) -> Result<Vec<u8>, String> {
            Ok(Vec::new())
        }
    }

    #[test]
    fn directories_as_deep_as_a_strange_repository_likes_are_an_error() {
        let error = package(&Bottomless, "a").unwrap_err();
        assert!(error.contains("more than 10000 directories"), "{error}");
    }

    #[test]
    fn the_package_holds_the_modules_that_are_called_and_no_other() {
        let sibling = [
            ("modules/a/main.tf", "../b"),
            ("modules/b/main.tf", ""),
            ("modules/other/main.tf", "../b"),
        ];
        let chain = [
            ("modules/a/main.tf", "../b"),
            ("modules/b/main.tf", "../../shared/c"),
            ("shared/c/main.tf", "./d"),
            ("shared/other/main.tf", ""),
        ];
        let circle = [("a/main.tf", "../b"), ("b/main.tf", "../a")];
        let parent = [("a/b/main.tf", "../"), ("a/main.tf", "")];
        let example = [("a/main.tf", "./x"), ("a/examples/e/main.tf", "../../../b")];
        let submodule = [
            ("a/main.tf", ""),
            ("a/modules/x/y/main.tf", "../../../../b"),
            ("b/main.tf", ""),
        ];
        let through_the_top = [("m/a/main.tf", "../../m/b"), ("m/b/main.tf", "")];
        for (files, module, place) in [
            (&sibling[..], "modules/a", ["modules", "a", "a b"]),
            (&sibling, "modules/b", ["modules/b", "", ""]),
            (
                &chain,
                "modules/a",
                ["", "modules/a", "modules/a modules/b shared/c"],
            ),
            (&circle, "a", ["", "a", "a b"]),
            (&parent, "a/b", ["a", "b", ""]),
            (&example, "a", ["a", "", ""]),
            (&submodule, "a", ["", "a", "a b"]),
            (&through_the_top, "m/a", ["", "m/a", "m/a m/b"]),
        ] {
            let place = Ok(place.map(str::to_owned));
            assert_eq!(package_of(files, module), place, "{files:?}");
        }
    }

    #[test]
    fn a_call_of_a_place_without_a_module_is_an_error_that_names_its_line() {
        for (source, end) in [
            (
                "../../b",
                "leads out of the repository, so no package can contain it",
            ),
            (
                "../b",
                "leads to \"b\", which is no directory with configuration",
            ),
        ] {
            let error = package_of(&[("a/main.tf", source)], "a").unwrap_err();
            assert_eq!(error, format!("a/main.tf:2: the source {source:?} {end}"));
        }
    }
}
