//! The links in the READMEs of a module.

use std::fs;
use std::path::Path;

use terrace_base::untrusted;
use terrace_metadata::{SourceFile, is_submodule};

use crate::archive::pack::joined;
use crate::commands::documentation::attachments::{place_of, targets};
use crate::source::documentation::DocumentationFiles;
use crate::source::git::Repository;
use crate::source::local_paths::{Place, directory_of};

/// Returns a problem for each link and image in a README of the module in `directory`, or in one of its submodules and
/// examples, that leads to no file of the repository around it.
pub(super) fn dead(directory: &Path, files: &DocumentationFiles) -> Vec<String> {
    let Ok(directory) = fs::canonicalize(directory) else {
        return Vec::new();
    };
    let top = Repository::around(&directory).unwrap_or_else(|| directory.clone());
    let module = directory.strip_prefix(&top).unwrap_or(Path::new(""));
    let module = module.to_string_lossy().replace('\\', "/");
    let mut problems = Vec::new();
    for file in files.sources().iter().filter(|file| is_shown(file)) {
        let text = String::from_utf8_lossy(file.bytes);
        let from = joined(&module, directory_of(file.path));
        for (target, _) in targets(&text) {
            // Outside of the repository, pages of its host may be meant, such as its issues.
            if let Place::Inside(place) = place_of(&target, &from)
                && !target.contains("://")
                && !top.join(place).exists()
            {
                let line = text.lines().position(|line| line.contains(&target));
                let line = line.map_or_else(String::new, |index| format!(":{}", index + 1));
                problems.push(format!(
                    "{}{line}: the link to {} leads to no file",
                    untrusted::line(file.path),
                    untrusted::line(&target)
                ));
            }
        }
    }
    problems
}

/// Returns whether a file is a README that the registry shows.
fn is_shown(file: &SourceFile<'_>) -> bool {
    let directory = directory_of(file.path);
    let name = file.path.rsplit('/').next().unwrap_or(file.path);
    let names = ["readme.md", "readme.markdown", "readme"];
    let is_readme = names.iter().any(|it| name.eq_ignore_ascii_case(it));
    is_readme
        && (directory.is_empty() || is_submodule(directory) || directory.starts_with("examples/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::documentation::module_directory_files;

    #[test]
    fn a_link_that_leads_to_no_file_of_the_repository_is_dead() {
        let repository = tempfile::tempdir().unwrap();
        let module = repository.path().join("modules/vpc");
        let readme = "[a](docs/missing.md#x) ![b](logo.png)\n<a href=\"./gone\">x</a> `[c](code.md)`\n\n\
            [ok](main.tf) [ok](examples/) [ok](my%20file) [other](../other) [top](/LICENSE) [d](../absent)\n\
            [issues](../../../../issues) [web](https://example.com/x) [here](#a) [mail](mailto:a@b)\n";
        for (path, text) in [
            (".git/HEAD", ""),
            ("LICENSE", ""),
            ("modules/other/main.tf", ""),
            ("modules/vpc/main.tf", ""),
            ("modules/vpc/my file", ""),
            ("modules/vpc/README.md", readme),
            (
                "modules/vpc/examples/x/README.md",
                "[main](../../main.tf) [e](main.tf)",
            ),
            ("modules/vpc/notes/README.md", "[f](nothing)"),
        ] {
            let path = repository.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let files = module_directory_files(&module).unwrap();
        assert_eq!(
            dead(&module, &files),
            [
                "README.md:4: the link to ../absent leads to no file",
                "README.md:2: the link to ./gone leads to no file",
                "README.md:1: the link to docs/missing.md#x leads to no file",
                "README.md:1: the link to logo.png leads to no file",
                "examples/x/README.md:1: the link to main.tf leads to no file",
            ]
        );
    }
}
