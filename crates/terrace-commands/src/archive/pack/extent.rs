//! The parts of a directory that are packed.

/// Directories with everything in them. Paths have `/` between their parts; the top is the empty path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Extent(Vec<String>);

impl Extent {
    /// Returns the extent of a whole directory.
    pub(crate) fn whole() -> Self {
        Self(vec![String::new()])
    }

    /// Returns the extent of some directories, of which none is below another one.
    pub(crate) fn of(directories: impl IntoIterator<Item = String>) -> Self {
        let mut sorted: Vec<String> = directories.into_iter().collect();
        sorted.sort();
        let mut kept = Self(Vec::new());
        for directory in sorted {
            if !kept.has(&directory) {
                kept.0.push(directory);
            }
        }
        kept
    }

    /// Returns the directories, ascending.
    pub(crate) fn directories(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Returns whether a path is part of the extent.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.directories().any(|one| below(path, one).is_some())
    }

    /// Returns whether a directory of the extent is below a path.
    pub(crate) fn is_below(&self, path: &str) -> bool {
        self.directories().any(|one| below(one, path).is_some())
    }
}

/// Returns the path of a name, or of a path, in a directory.
pub(crate) fn joined(directory: &str, name: &str) -> String {
    match directory {
        "" => name.to_owned(),
        directory if name.is_empty() => directory.to_owned(),
        directory => format!("{directory}/{name}"),
    }
}

/// Returns the rest of a path that is a directory, or is below it.
pub(crate) fn below<'p>(path: &'p str, directory: &str) -> Option<&'p str> {
    match (directory, path.strip_prefix(directory)?) {
        ("", rest) | (_, rest @ "") => Some(rest),
        (_, rest) => rest.strip_prefix('/'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_below_whole_names_only() {
        assert_eq!(below("a/b", ""), Some("a/b"));
        assert_eq!(below("a/b", "a"), Some("b"));
        assert_eq!(below("a", "a"), Some(""));
        assert_eq!(below("ab", "a"), None);
        assert_eq!(below("a", "a/b"), None);
    }

    #[test]
    fn an_extent_has_what_is_in_its_directories_and_is_below_their_parents() {
        let directories = ["b/c", "a", "a/x", "b/c"].map(str::to_owned);
        let extent = Extent::of(directories);
        assert_eq!(extent.directories().collect::<Vec<_>>(), ["a", "b/c"]);
        for (path, is_part, is_parent) in [
            ("a", true, true),
            ("a/x/main.tf", true, false),
            ("", false, true),
            ("b", false, true),
            ("b/c", true, true),
            ("b/cd", false, false),
            ("README.md", false, false),
        ] {
            assert_eq!(extent.has(path), is_part, "{path}");
            assert_eq!(extent.is_below(path), is_parent, "{path}");
        }
        assert!(Extent::whole().has("any/file"));
    }
}
