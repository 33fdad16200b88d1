//! The modules of another registry: their versions, and the location of each.

use terrace_base::untrusted;
use terrace_core::model::address::ModuleAddress;
use terrace_core::model::name::Hostname;
use terrace_core::model::version::Version;
use terrace_core::upstream::origin::{
    Fetched, ORIGIN_PACKAGE_BYTES, ORIGIN_VERSIONS_BYTES, OriginVersion, Service,
};

use super::Upstream;
use super::module_list::module_versions;
use super::module_location::ModuleLocation;
use crate::error::Failure;
use crate::output::Output;

/// The module service of another registry.
#[derive(Debug, Clone)]
pub(crate) struct ModuleRegistry {
    /// The name under which requests belong to the registry.
    pub(crate) hostname: Hostname,
    /// The registry in messages.
    pub(crate) shown: String,
    pub(crate) service: Service,
    /// The options that give its token, for the middle of a sentence.
    pub(crate) token_options: &'static str,
}

impl ModuleRegistry {
    /// Returns the versions of a module, in ascending order. Warns about those that no client can request.
    pub(crate) fn versions(
        &self,
        upstream: &Upstream<'_>,
        address: &ModuleAddress,
        output: &Output,
    ) -> Result<Vec<OriginVersion>, Failure> {
        let path = format!("{}/versions", path(address));
        let fetch = self
            .service
            .fetch(&path, ORIGIN_VERSIONS_BYTES, "version list");
        let fetched = upstream.fetch(&fetch, &self.hostname)?;
        self.check_status(&fetched, "version list")?;
        if fetched.body.len() as u64 > ORIGIN_VERSIONS_BYTES {
            let reason = format!("the version list is larger than {ORIGIN_VERSIONS_BYTES} bytes");
            return Err(Failure::refused(reason));
        }
        let listed = module_versions(&fetched.body).map_err(|error| {
            Failure::refused(format!(
                "the version list is not a document that clients can parse: {error}"
            ))
        })?;
        let mut versions: Vec<Version> = Vec::new();
        for version in listed {
            match version.parse() {
                Ok(parsed) => versions.push(parsed),
                Err(error) => output.warning(&format!("{address}: skipped: {error}")),
            }
        }
        versions.sort();
        versions.dedup();
        let found = versions.into_iter().map(|version| OriginVersion {
            version,
            protocols: Vec::new(),
            platforms: Vec::new(),
        });
        Ok(found.collect())
    }

    /// Returns the location of a version's package.
    pub(crate) fn locate(
        &self,
        upstream: &Upstream<'_>,
        address: &ModuleAddress,
        version: &Version,
    ) -> Result<ModuleLocation, Failure> {
        let path = format!("{}/{version}/download", path(address));
        let fetch = self
            .service
            .fetch(&path, ORIGIN_PACKAGE_BYTES, "module download");
        let (fetched, header) = upstream.fetch_with_location(&fetch, &self.hostname)?;
        self.check_status(&fetched, "module download")?;
        ModuleLocation::read(&fetched, header.as_deref()).map_err(Failure::refused)
    }

    /// Turns an unsuccessful status into a failure.
    fn check_status(&self, fetched: &Fetched, what: &str) -> Result<(), Failure> {
        let (shown, token_options) = (&self.shown, self.token_options);
        match fetched.status {
            200 | 204 => Ok(()),
            404 => Err(Failure::refused(format!(
                "{what}: not available from {shown} (status 404)"
            ))),
            // Terrareg, for example, wants an analytics token, which is no token for access.
            status @ (401 | 403) => Err(Failure::NotAllowed(format!(
                "{what}: {shown} denies access (status {status}{}): give its token with {token_options}\
                 TF_TOKEN_<hostname> or `terraform login`",
                reason(&fetched.body)
            ))),
            status => Err(Failure::refused(format!(
                "{what}: {shown} responded with the unexpected status {status}"
            ))),
        }
    }
}

/// Returns the path of a module in its registry.
pub(crate) fn path(address: &ModuleAddress) -> String {
    let (namespace, name) = (&address.namespace, &address.name);
    format!("{namespace}/{name}/{}", address.system)
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
