//! Modules: the details of the root module, its submodules and its examples.

mod blocks;
mod context;
mod example;
mod part;
mod provider;
mod readme;

use std::mem;

use terrace_core::documentation::{Contents, ModuleDetails, ModulePart, NamedPart};
use terrace_core::limits::{DOCUMENTATION_PAGES, MODULE_PARTS};

use crate::draft::Draft;
use crate::module::part::PartReader;
use crate::source::{Client, SourceFile, Tree};
use crate::text::{Messages, shown};

/// The directory of the submodules.
const SUBMODULES: &str = "modules";

/// The directory of the examples.
const EXAMPLES: &str = "examples";

/// Directories of a submodule that have no submodules: consumers call none of its examples and tests.
const NOT_CALLED: [&str; 4] = ["example", "examples", "test", "tests"];

/// Returns whether a directory of a module is offered to consumers as a submodule, if it has configuration.
pub fn is_submodule(directory: &str) -> bool {
    let Some((SUBMODULES, name)) = directory.split_once('/') else {
        return false;
    };
    !is_hidden(name)
        && !name
            .split('/')
            .skip(1)
            .any(|part| NOT_CALLED.contains(&part))
}

/// Returns whether a path is in a hidden directory, such as the modules that `terraform init` has installed.
fn is_hidden(path: &str) -> bool {
    path.split('/').any(|part| part.starts_with('.'))
}

/// Extracts the details of a module from the files of its directory tree. The pages are the files of its examples.
///
/// A file that cannot be read costs only itself, or only one of its blocks: see [`ModulePart::errors`].
pub fn module_details(files: &[SourceFile<'_>]) -> Draft {
    let tree = Tree::new(files);
    let mut reader = ModuleReader {
        tree: &tree,
        parts: PartReader::default(),
        notes: Messages::default(),
        pages: Vec::new(),
    };
    let details = ModuleDetails {
        root: reader.part(""),
        submodules: reader.named_parts(SUBMODULES),
        examples: reader.named_parts(EXAMPLES),
        attachments: Vec::new(),
    };
    Draft {
        contents: Contents::Module(details),
        notes: reader.notes.finish(),
        pages: reader.pages,
        warnings: Vec::new(),
    }
}

struct ModuleReader<'t, 'a> {
    tree: &'t Tree<'a>,
    parts: PartReader,
    notes: Messages,
    pages: Vec<Vec<u8>>,
}

impl ModuleReader<'_, '_> {
    fn part(&mut self, directory: &str) -> ModulePart {
        let tofu = self.tree.configuration(directory, Client::OpenTofu);
        let mut files = self.tree.configuration(directory, Client::Terraform);
        let is_opentofu_only = files.is_empty() && !tofu.is_empty();
        if is_opentofu_only {
            files.clone_from(&tofu);
        }
        let mut part = self.parts.read(&files, &mut self.notes);
        part.is_opentofu_only = is_opentofu_only;
        let paths = files.iter().map(|it| it.file.path);
        if paths.ne(tofu.iter().map(|it| it.file.path)) {
            add_opentofu(&mut part, self.parts.read(&tofu, &mut self.notes));
        }
        part.readme = readme::readme(self.tree.files(directory), &mut self.notes);
        part
    }

    /// Returns the directories below `parent` that have configuration files, at any depth, or a README directly below it.
    fn named_parts(&mut self, parent: &str) -> Vec<NamedPart> {
        let mut parts = Vec::new();
        for name in self.tree.directories(parent) {
            let directory = format!("{parent}/{name}");
            let is_part = match parent {
                SUBMODULES => is_submodule(&directory),
                _ => !is_hidden(name),
            };
            let is_described =
                || !name.contains('/') && readme::file(self.tree.files(&directory)).is_some();
            let is_empty = self
                .tree
                .configuration(&directory, Client::OpenTofu)
                .is_empty();
            if !is_part || is_empty && !is_described() {
                continue;
            }
            if parts.len() == MODULE_PARTS {
                self.notes.add(format!(
                    "{parent} has more than {MODULE_PARTS} directories; the others are left out"
                ));
                break;
            }
            let name = match name.parse() {
                Ok(name) => name,
                Err(error) => {
                    let directory = shown(&directory);
                    self.notes.add(format!("{directory} was skipped: {error}"));
                    continue;
                }
            };
            let part = self.part(&directory);
            let files = match parent {
                EXAMPLES => self.files(&directory),
                _ => Vec::new(),
            };
            parts.push(NamedPart { name, part, files });
        }
        parts
    }

    fn files(&mut self, directory: &str) -> Vec<terrace_core::documentation::Page> {
        let mut found = Vec::new();
        for (name, file) in self.tree.files(directory) {
            let Some((page, contents)) = example::page(name, file, &mut self.notes) else {
                continue;
            };
            if self.pages.len() == DOCUMENTATION_PAGES {
                self.notes.add(format!(
                    "{} was left out, because documentation has at most {DOCUMENTATION_PAGES} pages",
                    shown(file.path)
                ));
                continue;
            }
            found.push(page);
            self.pages.push(contents);
        }
        found
    }
}

/// Adds a directory as OpenTofu reads it, if that differs from Terraform's view. Each error is reported once.
fn add_opentofu(part: &mut ModulePart, mut opentofu: ModulePart) {
    let mut errors = mem::take(&mut part.errors);
    let others = mem::take(&mut opentofu.errors).into_iter();
    let others: Vec<_> = others.filter(|it| !errors.contains(it)).collect();
    errors.extend(others);
    if opentofu != *part {
        part.opentofu = Some(Box::new(opentofu));
    }
    part.errors = errors;
}

#[cfg(test)]
mod tests;
