//! The contents of a module's archive that decide whether it may be published: secrets, and configuration.

use std::io::Read as _;

use terrace_archive::{ArchiveFormat, SecretFile, secret_file};

use crate::archive::Archive;
use crate::archive::secrets::secret_in;

/// The part of each file that is searched for secrets.
const SEARCHED_BYTES: u64 = 16 * 1024 * 1024;

/// The contents of an archive.
#[derive(Debug, Default)]
pub(crate) struct PackageContents {
    /// The files that hold secrets, with their kinds, in the order of the archive.
    pub(crate) secrets: Vec<(String, SecretFile)>,
    /// The files that `is_wanted` selects.
    pub(crate) files: Vec<(String, Vec<u8>)>,
}

impl Archive {
    /// Reads the contents of a module's archive, and keeps the files for which `is_wanted` holds.
    ///
    /// # Errors
    /// The archive cannot be read.
    pub(crate) fn contents(
        &self,
        format: ArchiveFormat,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<PackageContents, String> {
        let mut contents = PackageContents::default();
        let read = self.each_file(format, |path, reader| {
            let mut bytes = Vec::new();
            reader.take(SEARCHED_BYTES).read_to_end(&mut bytes)?;
            let kind = secret_file(path).or_else(|| secret_in(&bytes));
            contents
                .secrets
                .extend(kind.map(|kind| (path.to_owned(), kind)));
            if is_wanted(path) {
                contents.files.push((path.to_owned(), bytes));
            }
            Ok(())
        });
        read.map_err(|error| format!("{}: {error}", self.filename))?;
        Ok(contents)
    }
}
