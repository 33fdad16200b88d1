//! The contents of an archive, checked by the core.

use std::collections::BTreeSet;
use std::io::{self, BufReader, Read as _, Seek as _, SeekFrom};

use terrace_archive::{
    ArchiveFormat, Entry, HEAD_BYTES, Heads, Step, TarGzInspector, ZipInspector,
    foreign_executable_warning, provider_package_warnings,
};
use terrace_core::api::admin::PackageBody;
use terrace_core::model::name::ProviderType;
use terrace_core::model::package_hash::PackageHash;
use terrace_core::model::platform::Platform;
use terrace_core::publish::{ExpectedArchive, ExpectedContents};
use terrace_core::storage::key::{ArchiveKey, ArchiveKind};

use crate::archive::{Archive, BUFFER_BYTES, each_chunk, hash};

/// The result of inspecting the zip of a provider.
#[derive(Debug)]
pub(crate) struct Inspected {
    /// The hash of the contents, unless there is an error in them.
    pub(crate) h1: Option<PackageHash>,
    /// The errors, for which a client would reject the zip.
    pub(crate) reasons: Vec<String>,
    /// The warnings: a client installs the zip, but the provider cannot start, or no client asks for its platform.
    pub(crate) remarks: Vec<String>,
    /// The one among them that the executable is for another platform.
    pub(crate) foreign: Option<String>,
}

impl Archive {
    /// Inspects the zip of a provider as the registry will, and unpacks it to check that it is intact.
    pub(crate) fn inspect_provider(
        &self,
        provider_type: &ProviderType,
        platform: &Platform,
    ) -> Inspected {
        let expected = ExpectedArchive {
            key: ArchiveKey {
                digest: self.sha256,
                kind: ArchiveKind::Archive(ArchiveFormat::Zip),
            },
            size: self.size,
            filename: self.filename.clone(),
            contents: ExpectedContents::Provider(provider_type.clone(), platform.clone()),
        };
        let entries = self.entries(&expected);
        let mut reasons = match &entries {
            Ok(entries) => expected.refusals(entries),
            Err(reason) => vec![reason.clone()],
        };
        let (mut h1, mut heads) = (None, Heads::default());
        if reasons.is_empty() {
            match self.unpacked() {
                Ok((hash, found)) => (h1, heads) = (Some(hash), found),
                Err(reason) => reasons.push(reason),
            }
        }
        let entries = entries.unwrap_or_default();
        let (provider_type, os) = (provider_type.as_str(), platform.os());
        let text = |remark: &dyn ToString| format!("{}: {}", self.filename, remark.to_string());
        let of = (os, platform.arch());
        let foreign = foreign_executable_warning(&entries, provider_type, of, &heads);
        let foreign = foreign.map(|it| text(&it));
        let warnings = provider_package_warnings(&entries, provider_type, os, &heads);
        let mut remarks: Vec<String> = warnings.iter().map(|it| text(it)).collect();
        remarks.extend(foreign.clone());
        remarks.extend(platform.known().err().map(|it| text(&it)));
        Inspected {
            h1,
            reasons,
            remarks,
            foreign,
        }
    }

    /// Returns the description of a provider's zip for a platform.
    pub(crate) fn package_body(&self, platform: &Platform, h1: Option<PackageHash>) -> PackageBody {
        PackageBody {
            os: platform.os().to_owned(),
            arch: platform.arch().to_owned(),
            filename: self.filename.clone(),
            sha256: self.sha256.to_string(),
            size: self.size,
            h1: h1.map(|h1| h1.to_string()),
        }
    }

    /// Returns the list of entries, as the registry will read it.
    pub(crate) fn entries(&self, expected: &ExpectedArchive) -> Result<Vec<Entry>, String> {
        self.list_with(expected.format(), expected.zip_inspector(self.size))
    }

    /// Returns the list of entries of an archive of any kind.
    pub(crate) fn list(&self, format: ArchiveFormat) -> Result<Vec<Entry>, String> {
        self.list_with(format, ZipInspector::new(self.size))
    }

    fn list_with(&self, format: ArchiveFormat, zip: ZipInspector) -> Result<Vec<Entry>, String> {
        let entries = match format {
            ArchiveFormat::Zip => self.zip_entries(zip),
            ArchiveFormat::TarGz => self.tar_gz_entries(),
        };
        entries.map_err(|reason| format!("{}: {reason}", self.filename))
    }

    /// Returns the only directory at the top of an archive.
    pub(crate) fn only_directory(&self, format: ArchiveFormat) -> Result<String, String> {
        let entries = self.list(format)?;
        let names = entries
            .iter()
            .map(|entry| entry.name.trim_start_matches("./"));
        let directories = names.filter_map(|name| name.split_once('/').map(|(top, _)| top));
        let directories: BTreeSet<&str> = directories.collect();
        match Vec::from_iter(directories).as_slice() {
            [one] => Ok((*one).to_owned()),
            several => Err(format!(
                "the archive has {} directories at its top, where the origin's location means the only one",
                several.len()
            )),
        }
    }

    /// Returns the `h1:` hash of a zip. This unpacks every entry, so it also detects damage.
    pub(crate) fn h1(&self) -> Result<PackageHash, String> {
        self.unpacked().map(|(h1, _)| h1)
    }

    /// Returns the `h1:` hash of a zip, and the heads of the files at its root.
    fn unpacked(&self) -> Result<(PackageHash, Heads), String> {
        let failed = |reason: &dyn ToString| format!("{}: {}", self.filename, reason.to_string());
        let file = self.source.open().map_err(|error| failed(&error))?;
        let file = BufReader::with_capacity(BUFFER_BYTES, file);
        let mut zip = zip::ZipArchive::new(file).map_err(|error| failed(&error))?;
        let (mut files, mut heads) = (Vec::new(), Heads::default());
        for index in 0..zip.len() {
            let mut entry = zip.by_index(index).map_err(|error| failed(&error))?;
            let name = String::from_utf8(entry.name_raw().to_vec());
            let name = name.map_err(|error| failed(&error))?;
            let damaged = |error: io::Error| failed(&format!("entry {name:?}: {error}"));
            let mut head = Vec::new();
            let start = entry.by_ref().take(HEAD_BYTES).read_to_end(&mut head);
            start.map_err(damaged)?;
            let (digest, _) = hash(&mut head.as_slice().chain(entry)).map_err(damaged)?;
            if !name.contains('/') {
                heads.insert(name.clone(), head);
            }
            files.push((name, digest));
        }
        let h1 = PackageHash::h1_of(files).map_err(|error| failed(&error))?;
        Ok((h1, heads))
    }

    fn zip_entries(&self, mut zip: ZipInspector) -> Result<Vec<Entry>, String> {
        let mut file = self.source.open().map_err(text)?;
        while let Step::Read { offset, len } = zip.next() {
            file.seek(SeekFrom::Start(offset)).map_err(text)?;
            let mut bytes = Vec::new();
            file.by_ref()
                .take(len)
                .read_to_end(&mut bytes)
                .map_err(text)?;
            zip.feed(&bytes).map_err(text)?;
        }
        zip.finish().map_err(text)
    }

    fn tar_gz_entries(&self) -> Result<Vec<Entry>, String> {
        let mut tar = TarGzInspector::default();
        let mut file = self.source.open().map_err(text)?;
        // An error here is permanent.
        each_chunk(&mut file, text, |chunk| tar.feed(chunk).map_err(text))?;
        tar.finish().map_err(text)
    }
}

fn text(error: impl ToString) -> String {
    error.to_string()
}
