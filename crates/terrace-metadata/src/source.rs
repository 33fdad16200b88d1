//! The files of a directory tree, and the configuration files that clients read from one directory.

use std::collections::{BTreeMap, BTreeSet};

/// A file of a directory tree.
#[derive(Debug, Clone, Copy)]
pub struct SourceFile<'a> {
    /// The path below the root of the tree, with `/` between its parts.
    pub path: &'a str,
    /// The contents.
    pub bytes: &'a [u8],
}

/// The files by their directories.
#[derive(Debug)]
pub(crate) struct Tree<'a>(BTreeMap<&'a str, BTreeMap<&'a str, SourceFile<'a>>>);

/// A configuration file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConfigurationFile<'a> {
    pub(crate) file: SourceFile<'a>,
    pub(crate) syntax: Syntax,
    /// Whether its blocks are merged into those of the other files.
    pub(crate) is_override: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    Native,
    Json,
}

/// A client. OpenTofu reads files that Terraform ignores.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Client {
    Terraform,
    OpenTofu,
}

impl<'a> Tree<'a> {
    pub(crate) fn new(files: &[SourceFile<'a>]) -> Self {
        let mut directories: BTreeMap<&str, BTreeMap<&str, SourceFile<'_>>> = BTreeMap::new();
        for file in files {
            let path = file.path.strip_prefix("./").unwrap_or(file.path);
            let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
            directories
                .entry(directory)
                .or_default()
                .insert(name, SourceFile { path, ..*file });
        }
        Self(directories)
    }

    /// Returns the files of a directory, ascending by name.
    pub(crate) fn files(&self, directory: &str) -> impl Iterator<Item = (&'a str, SourceFile<'a>)> {
        let files = self.0.get(directory).into_iter().flatten();
        files.map(|(name, file)| (*name, *file))
    }

    /// Returns the paths of the directories below `parent`, at any depth, that have files, ascending.
    pub(crate) fn directories(&self, parent: &str) -> BTreeSet<&'a str> {
        let below = self
            .0
            .keys()
            .filter_map(|directory| directory.strip_prefix(parent)?.strip_prefix('/'));
        below.collect()
    }

    /// Returns the configuration files of a directory in the order in which a client reads them: the override files last.
    pub(crate) fn configuration(
        &self,
        directory: &str,
        client: Client,
    ) -> Vec<ConfigurationFile<'a>> {
        let names = self.files(directory).map(|(name, _)| name);
        let names: BTreeSet<&str> = names
            .filter(|name| client == Client::OpenTofu || !is_of_opentofu(name))
            .collect();
        let files = self.files(directory);
        let (overrides, mut files): (Vec<_>, Vec<_>) = files
            .filter(|(name, _)| names.contains(name) && !is_ignored(name))
            .filter_map(|(name, file)| configuration_file(name, file, &names))
            .partition(|file| file.is_override);
        files.extend(overrides);
        files
    }
}

/// Returns whether only OpenTofu reads a file of this name.
fn is_of_opentofu(name: &str) -> bool {
    name.ends_with(".tofu") || name.ends_with(".tofu.json")
}

/// Returns whether clients ignore a file as hidden, or as the work of an editor.
fn is_ignored(name: &str) -> bool {
    name.starts_with('.') || name.ends_with('~') || name.starts_with('#') && name.ends_with('#')
}

/// The extensions of configuration files, each with the extension that OpenTofu reads instead.
const EXTENSIONS: [(Syntax, &str, Option<&str>); 4] = [
    (Syntax::Native, ".tf", Some(".tofu")),
    (Syntax::Json, ".tf.json", Some(".tofu.json")),
    (Syntax::Native, ".tofu", None),
    (Syntax::Json, ".tofu.json", None),
];

/// Returns the syntax of the file of this name, if a client reads it as a part of a configuration.
pub(crate) fn syntax_of(name: &str) -> Option<Syntax> {
    let mut extensions = EXTENSIONS.into_iter();
    let found = extensions.find(|(_, extension, _)| name.ends_with(extension));
    found
        .map(|(syntax, _, _)| syntax)
        .filter(|_| !is_ignored(name))
}

fn configuration_file<'a>(
    name: &str,
    file: SourceFile<'a>,
    names: &BTreeSet<&str>,
) -> Option<ConfigurationFile<'a>> {
    let (syntax, base, other) = EXTENSIONS
        .into_iter()
        .find_map(|(syntax, extension, other)| {
            Some((syntax, name.strip_suffix(extension)?, other))
        })?;
    // OpenTofu ignores a file if it also finds the name with its own extension.
    let is_shadowed = other.is_some_and(|other| names.contains(format!("{base}{other}").as_str()));
    (!is_shadowed).then_some(ConfigurationFile {
        file,
        syntax,
        is_override: base == "override" || base.ends_with("_override"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(names: &[&str], client: Client) -> Vec<String> {
        let files: Vec<_> = names
            .iter()
            .map(|path| SourceFile { path, bytes: b"" })
            .collect();
        let tree = Tree::new(&files);
        let files = tree.configuration("", client);
        files.iter().map(|it| it.file.path.to_owned()).collect()
    }

    #[test]
    fn override_files_are_read_last_and_others_than_configuration_not() {
        let names = [
            "a_override.tf",
            "main.tf",
            "override.tf.json",
            "z.tf.json",
            "README.md",
            // These are hidden, or the work of editors.
            ".main.tf",
            "main.tf~",
            "#main.tf#",
            // These are not.
            "#x.tf",
            "~.tf",
        ];
        assert_eq!(
            configuration(&names, Client::Terraform),
            [
                "#x.tf",
                "main.tf",
                "z.tf.json",
                "~.tf",
                "a_override.tf",
                "override.tf.json"
            ]
        );
    }

    #[test]
    fn a_tofu_file_shadows_the_file_of_the_same_name_and_syntax_for_opentofu() {
        let names = [
            "main.tf",
            "main.tofu",
            "main.tf.json",
            "x.tf.json",
            "x.tofu.json",
            "y.tf",
        ];
        assert_eq!(
            configuration(&names, Client::OpenTofu),
            ["main.tf.json", "main.tofu", "x.tofu.json", "y.tf"]
        );
        assert_eq!(
            configuration(&names, Client::Terraform),
            ["main.tf", "main.tf.json", "x.tf.json", "y.tf"]
        );
    }

    #[test]
    fn directories_are_below_their_parent_at_any_depth() {
        let files = [
            "modules/a/main.tf",
            "modules/b/c/main.tf",
            "modules/main.tf",
            "modulesx/d/e",
        ];
        let files: Vec<_> = files
            .iter()
            .map(|path| SourceFile { path, bytes: b"" })
            .collect();
        let tree = Tree::new(&files);
        assert_eq!(tree.directories("modules"), BTreeSet::from(["a", "b/c"]));
    }
}
