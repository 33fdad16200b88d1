//! The files of an archive, or of a directory that could be packed.

use std::fs::File;
use std::io;
use std::path::Path;

use terrace_archive::ArchiveFormat;
use terrace_core::documentation::{image_type, is_license_file};
use terrace_core::model::subdir::Subdir;

use super::DocumentationFiles;
use crate::archive::Archive;
use crate::archive::pack::packable_files;

/// The endings of the names of configuration files.
pub(crate) const CONFIGURATION_ENDINGS: [&str; 4] = [".tf", ".tf.json", ".tofu", ".tofu.json"];

/// Reads the files of a packed module that its documentation can refer to, with paths below its directory.
///
/// # Errors
/// The archive cannot be read.
pub(crate) fn module_files(
    archive: &Archive,
    format: ArchiveFormat,
    subdir: Option<&Subdir>,
) -> Result<DocumentationFiles, String> {
    let prefix = subdir.map(|subdir| format!("{}/", subdir.as_str()));
    let wanted = |name: &str| {
        let path = name.strip_prefix(prefix.as_deref().unwrap_or_default())?;
        is_of_module(path).then(|| path.to_owned())
    };
    read(archive, format, wanted).map_err(|error| format!("{}: {error}", archive.filename))
}

/// Reads the files of a module's directory in the same way, without those that are never packed.
///
/// # Errors
/// All files that prevent packing.
pub(crate) fn module_directory_files(directory: &Path) -> Result<DocumentationFiles, Vec<String>> {
    let mut files = DocumentationFiles::default();
    for (name, path) in packable_files(directory)? {
        if !is_of_module(&name) {
            continue;
        }
        match File::open(&path) {
            Ok(file) => files.add(&name, file),
            Err(error) => files.leave_out(&name, &error),
        }
    }
    Ok(files)
}

/// Reads all files of a zip.
///
/// # Errors
/// The zip cannot be read.
pub(crate) fn zip_files(archive: &Archive) -> Result<DocumentationFiles, String> {
    let all = |name: &str| Some(name.to_owned());
    read(archive, ArchiveFormat::Zip, all).map_err(|error| format!("{}: {error}", archive.filename))
}

fn read(
    archive: &Archive,
    format: ArchiveFormat,
    wanted: impl Fn(&str) -> Option<String>,
) -> io::Result<DocumentationFiles> {
    let mut files = DocumentationFiles::default();
    archive.each_file(format, |name, contents| {
        if let Some(path) = wanted(name) {
            files.add(&path, contents);
        }
        Ok(())
    })?;
    Ok(files)
}

/// Returns whether the documentation of a module can refer to a file.
fn is_of_module(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_readme = name
        .get(..6)
        .is_some_and(|start| start.eq_ignore_ascii_case("readme"));
    let is_attached = image_type(name).is_some() || is_license_file(path);
    is_readme || is_attached || path.starts_with("examples/") || is_configuration(name)
}

/// Returns whether a file of this name is part of a configuration.
pub(crate) fn is_configuration(name: &str) -> bool {
    CONFIGURATION_ENDINGS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_that_documentation_can_refer_to_are_read() {
        for (path, expected) in [
            ("main.tf", true),
            ("main.tf.json", true),
            ("modules/a/x.tofu", true),
            ("readme", true),
            ("modules/a/README.md", true),
            ("examples/a/values.yaml", true),
            ("files/image.png", true),
            ("LICENSE", true),
            ("modules/a/LICENSE", false),
            ("tf", false),
            ("read", false),
        ] {
            assert_eq!(is_of_module(path), expected, "{path}");
        }
    }
}
