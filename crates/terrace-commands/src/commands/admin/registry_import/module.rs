//! One version of a module: located, downloaded, and published.

use std::io::Read as _;

use serde::Deserialize;
use terrace_archive::ArchiveFormat;
use terrace_base::untrusted;
use terrace_core::model::address::ModuleAddress;
use terrace_core::model::subdir::Subdir;
use terrace_core::model::version::Version;
use terrace_core::upstream::origin::ORIGIN_PACKAGE_BYTES;
use terrace_core::upstream::origin::ORIGIN_VERSIONS_BYTES;
use terrace_core::upstream::origin::{Fetched, Service};

use super::{Import, Origin, Tried};
use crate::archive::Archive;
use crate::commands::publish::module;
use crate::error::Failure;
use crate::output::Output;
use crate::source::repository::ReleaseSource;
use crate::upstream::module_location::{LOCATION_HEADER, ModuleLocation};

/// The list of versions, as the protocol defines it.
#[derive(Deserialize)]
struct Document {
    modules: Vec<Module>,
}

#[derive(Deserialize)]
struct Module {
    #[serde(default)]
    versions: Option<Vec<Listed>>,
}

#[derive(Deserialize)]
struct Listed {
    version: String,
}

impl Origin<'_> {
    /// Returns the versions of a module, in ascending order. Warns about those that no client can request.
    pub(super) fn module_versions(
        &self,
        address: &ModuleAddress,
        output: &Output,
    ) -> Result<Vec<Version>, Failure> {
        let path = format!("{address}/versions");
        let service = self.module_service()?;
        let fetch = service.fetch(&path, ORIGIN_VERSIONS_BYTES, "version list");
        let fetched = self.upstream.fetch(&fetch, &self.hostname)?;
        self.check_status(&fetched, "version list")?;
        let document: Document = serde_json::from_slice(&fetched.body).map_err(|error| {
            Failure::refused(format!(
                "the version list is not a document that clients can parse: {error}"
            ))
        })?;
        let listed = document.modules.into_iter().next();
        let listed = listed.and_then(|it| it.versions).unwrap_or_default();
        let mut versions = Vec::new();
        for Listed { version } in listed {
            match version.parse() {
                Ok(parsed) => versions.push(parsed),
                Err(error) => output.warning(&format!("{address}: skipped: {error}")),
            }
        }
        versions.sort();
        versions.dedup();
        Ok(versions)
    }

    fn module_service(&self) -> Result<&Service, Failure> {
        let url = &self.url;
        let missing = || Failure::refused(format!("{url} has no registry of modules"));
        self.modules.as_ref().ok_or_else(missing)
    }

    /// Turns an unsuccessful status into a failure.
    fn check_status(&self, fetched: &Fetched, what: &str) -> Result<(), Failure> {
        let url = &self.url;
        match fetched.status {
            200 | 204 => Ok(()),
            404 => Err(Failure::refused(format!(
                "{what}: not available from {url} (status 404)"
            ))),
            // Terrareg, for example, wants an analytics token, which is no token for access.
            status @ (401 | 403) => Err(Failure::NotAllowed(format!(
                "{what}: {url} denies access (status {status}{}): give its token with --from-token-env, \
                 TF_TOKEN_<hostname> or `terraform login`",
                reason(&fetched.body)
            ))),
            status => Err(Failure::refused(format!(
                "{what}: {url} responded with the unexpected status {status}"
            ))),
        }
    }

    /// Returns the location of a version's archive.
    fn locate(
        &self,
        address: &ModuleAddress,
        version: &Version,
    ) -> Result<ModuleLocation, Failure> {
        let path = format!("{address}/{version}/download");
        let service = self.module_service()?;
        let fetch = service.fetch(&path, ORIGIN_PACKAGE_BYTES, "module download");
        let (fetched, header) =
            self.upstream
                .fetch_with_header(&fetch, &self.hostname, LOCATION_HEADER)?;
        self.check_status(&fetched, "module download")?;
        ModuleLocation::read(&fetched, header.as_deref())
            .map_err(|error| Failure::refused(error.to_string()))
    }
}

impl Import<'_> {
    /// Imports one version of a module.
    pub(super) fn module(&self, address: &ModuleAddress, version: &Version) -> Tried {
        let location = self.origin.locate(address, version)?;
        let filename = format!("{address} {version}");
        let archive = self.origin.upstream.download(
            &location.fetch,
            &self.origin.hostname,
            &filename,
            location.sha256,
        )?;
        let format = format(&archive, location.format)?;
        let subdir = subdir(&archive, format, location.subdir)?;
        let request = module::describe(
            (archive, format),
            (address, version),
            subdir.as_ref(),
            ReleaseSource::default(),
            self.output,
        )?;
        self.publish(&request)
    }
}

/// Returns the format that the location names, or else the one that the bytes begin as.
fn format(archive: &Archive, named: Option<ArchiveFormat>) -> Result<ArchiveFormat, Failure> {
    if let Some(named) = named {
        return Ok(named);
    }
    let mut start = [0; 4];
    let file = archive.source.open();
    let read = file.and_then(|mut file| file.read_exact(&mut start));
    match (read, start) {
        (Ok(()), [b'P', b'K', 3, 4]) => Ok(ArchiveFormat::Zip),
        (Ok(()), [0x1f, 0x8b, ..]) => Ok(ArchiveFormat::TarGz),
        _ => Err(Failure::refused(
            "the origin's location is neither a zip nor a tar.gz. If it is a repository, publish the module from there, \
             with `terrace publish modules GIT-URL` or `terrace publish module DIR`",
        )),
    }
}

/// Returns the directory of the module in the archive. A `*` in it means the only directory there, as for clients.
fn subdir(
    archive: &Archive,
    format: ArchiveFormat,
    named: Option<String>,
) -> Result<Option<Subdir>, Failure> {
    let Some(named) = named else {
        return Ok(None);
    };
    let refused = |reason: &dyn ToString| Failure::refused(reason.to_string());
    let path = match named.strip_prefix('*') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let top = archive.only_directory(format).map_err(|it| refused(&it))?;
            format!("{top}{rest}")
        }
        _ => named,
    };
    path.parse().map(Some).map_err(|error| refused(&error))
}

/// Returns the first line that a registry gives as the reason of a refusal, for the middle of a sentence. A page is none.
fn reason(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    match line {
        Some(line) if !line.starts_with('<') => format!(", {}", untrusted::quoted(line)),
        _ => String::new(),
    }
}
