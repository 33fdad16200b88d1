//! The files that documentation is extracted from: those of an archive, or of a provider's repository.
//!
//! A file that cannot be read costs only itself.

mod archive;
mod directory;

use std::io::Read;

use terrace_base::untrusted;
use terrace_metadata::SourceFile;

use crate::output::bytes;

pub(crate) use archive::{
    CONFIGURATION_ENDINGS, is_configuration, module_directory_files, module_files, zip_files,
};
pub(crate) use directory::{
    REPOSITORY_PREFIX, has_configuration, has_documentation, is_module, is_provider, provider_files,
};

/// Maximum number of files that are read. An archive of a module may have 20,000.
const MOST_FILES: usize = 25_000;

/// Maximum number of bytes of one file that are read: room for a README that is cut afterwards.
const FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Number of bytes after which no further file is read. All are in memory at once.
const TOTAL_BYTES: u64 = 512 * 1024 * 1024;

/// Files with their paths, which have `/` between their parts.
#[derive(Debug, Default)]
pub(crate) struct DocumentationFiles {
    files: Vec<(String, Vec<u8>)>,
    total: u64,
    /// Warnings about files that are left out.
    pub(crate) problems: Vec<String>,
}

impl DocumentationFiles {
    /// Returns the files for the extraction.
    pub(crate) fn sources(&self) -> Vec<SourceFile<'_>> {
        let files = self.files.iter();
        files
            .map(|(path, bytes)| SourceFile { path, bytes })
            .collect()
    }

    /// Reads a file, up to a limit.
    fn add(&mut self, path: &str, reader: impl Read) {
        if self.files.len() >= MOST_FILES || self.total >= TOTAL_BYTES {
            let most = bytes(TOTAL_BYTES);
            let omitted =
                format!("at most {MOST_FILES} files and {most} are read for documentation");
            if self.problems.last() != Some(&omitted) {
                self.problems.push(omitted);
            }
            return;
        }
        let mut contents = Vec::new();
        if let Err(error) = reader.take(FILE_BYTES + 1).read_to_end(&mut contents) {
            return self.leave_out(path, &error);
        }
        let length = u64::try_from(contents.len()).unwrap_or(u64::MAX);
        if length > FILE_BYTES {
            return self.leave_out(path, &format!("it has more than {}", bytes(FILE_BYTES)));
        }
        self.total += length;
        self.files.push((path.to_owned(), contents));
    }

    fn leave_out(&mut self, path: &str, reason: &dyn ToString) {
        let (path, reason) = (untrusted::line(path), reason.to_string());
        self.problems
            .push(format!("{path}: left out of the documentation: {reason}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_beyond_the_limits_is_left_out_with_a_reason() {
        let mut files = DocumentationFiles::default();
        files.add("a\n.md", std::io::repeat(b'a'));
        assert_eq!(files.sources().len(), 0);
        let expected = "a\\n.md: left out of the documentation: it has more than 64.00 MiB";
        assert_eq!(files.problems, [expected]);
    }

    #[test]
    fn files_beyond_the_number_are_left_out_with_one_warning() {
        let mut files = DocumentationFiles::default();
        for number in 0..MOST_FILES + 2 {
            files.add(&number.to_string(), &b"x"[..]);
        }
        assert_eq!(files.sources().len(), MOST_FILES);
        assert_eq!(files.problems.len(), 1);
    }
}
