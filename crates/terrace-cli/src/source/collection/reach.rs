//! The directories that a module needs, and the package that holds all of them.

use std::collections::BTreeSet;

use terrace_metadata::{SourceFile, module_sources};

use super::tree::{Tree, joined};
use crate::source::local_paths::{Place, directory_of, is_installed, local};

/// Maximum number of directories that are read for one module.
const MOST_DIRECTORIES: usize = 10_000;

/// The package of a module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PackagePlace {
    /// The directory to pack; empty for the top of the tree.
    pub(crate) directory: String,
    /// The directory of the module in the package; empty for its top.
    pub(crate) subdir: String,
}

/// Returns the package of the module in a directory: that directory, or the one above that also has every module that it
/// calls.
///
/// # Errors
/// A call leads out of the tree, or a file cannot be read.
pub(crate) fn package(tree: &impl Tree, module: &str) -> Result<PackagePlace, String> {
    let mut open = installed(tree, module)?;
    let mut reached = BTreeSet::new();
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
            match local(directory_of(&call.file), &call.source) {
                Some(Place::Inside(place)) if !reached.contains(&place) => open.push(place),
                Some(Place::Outside(_)) => {
                    let line = call
                        .line
                        .map_or_else(String::new, |line| format!(":{line}"));
                    return Err(format!(
                        "{}{line}: the source {:?} leads out of the repository, so no package can contain it",
                        call.file, call.source
                    ));
                }
                _ => {}
            }
        }
        reached.insert(directory);
    }
    let directory = reached
        .iter()
        .fold(module.to_owned(), |one, other| common(&one, other));
    let subdir = match directory.as_str() {
        "" => module,
        directory => module
            .strip_prefix(directory)
            .unwrap_or_default()
            .trim_start_matches('/'),
    };
    Ok(PackagePlace {
        subdir: subdir.to_owned(),
        directory,
    })
}

/// Returns a module's directory, and those below it that consumers may install too.
fn installed(tree: &impl Tree, module: &str) -> Result<Vec<String>, String> {
    let mut found = vec![module.to_owned()];
    let mut next = 0;
    while let Some(directory) = found.get(next).cloned() {
        next += 1;
        for (name, is_directory) in tree.names(&directory)? {
            let path = joined(&directory, &name);
            if !is_directory || name.starts_with('.') || !is_installed(&path, module) {
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

    fn package_of(files: &[(&str, &str)], module: &str) -> Result<(String, String), String> {
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
        Ok((place.directory, place.subdir))
    }

    /// A tree in which each directory has one more.
    struct Bottomless;

    impl Tree for Bottomless {
        fn names(&self, _: &str) -> Result<Vec<(String, bool)>, String> {
            Ok(vec![("a".to_owned(), true)])
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
    fn the_package_holds_every_module_that_is_called() {
        let place = |directory: &str, subdir: &str| Ok((directory.to_owned(), subdir.to_owned()));
        let inside = [
            ("modules/a/main.tf", "./inner"),
            ("modules/a/inner/main.tf", "../other"),
        ];
        assert_eq!(package_of(&inside, "modules/a"), place("modules/a", ""));
        let sibling = [
            ("modules/a/main.tf", "../b"),
            ("modules/b/main.tf", "acme/c/aws"),
        ];
        assert_eq!(package_of(&sibling, "modules/a"), place("modules", "a"));
        assert_eq!(package_of(&sibling, "modules/b"), place("modules/b", ""));
        let chain = [
            ("modules/a/main.tf", "../b"),
            ("modules/b/main.tf", "../../shared/c"),
        ];
        assert_eq!(package_of(&chain, "modules/a"), place("", "modules/a"));
        let circle = [("a/main.tf", "../b"), ("b/main.tf", "../a")];
        assert_eq!(package_of(&circle, "a"), place("", "a"));
        let example = [
            ("m/a/main.tf", "./x"),
            ("m/a/examples/e/main.tf", "../../../b"),
        ];
        assert_eq!(package_of(&example, "m/a"), place("m/a", ""));
        let outside = package_of(&[("a/main.tf", "../../b")], "a").unwrap_err();
        assert!(
            outside.starts_with("a/main.tf:2: the source \"../../b\""),
            "{outside}"
        );
    }
}
