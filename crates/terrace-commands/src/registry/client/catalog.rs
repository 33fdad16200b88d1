//! Requests to the catalogue.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use terrace_core::api::details::{
    NamespacePage, Navigation, PackageDetails, PackagePage, SearchPage, UsedByPage, VersionDetails,
};
use terrace_core::api::endpoint::{
    API_NAMESPACE, API_NAMESPACES, API_NAVIGATION, API_PACKAGE, API_SEARCH, API_USED_BY,
    API_VERSION,
};
use terrace_core::model::owner::Owner;
use terrace_core::model::package::Package;
use terrace_core::model::status::ReleaseState;
use terrace_core::model::version::Version;

use super::{Call, Client};
use crate::error::Failure;

/// An answer of the catalogue, and its text.
pub(crate) struct Answer<T> {
    pub(crate) value: T,
    /// The JSON document that the registry sent.
    pub(crate) text: String,
}

/// The part of a list to request. Fields that are `None` are left to the registry.
#[derive(Debug, Default)]
pub(crate) struct PageQuery {
    pub(crate) kind: Option<String>,
    pub(crate) limit: Option<u32>,
    /// The cursor of an earlier page.
    pub(crate) after: Option<String>,
}

impl PageQuery {
    /// Adds the parameters to a request.
    fn of(&self, call: Call) -> Call {
        let call = call.query("kind", self.kind.as_deref());
        let call = call.query("limit", self.limit);
        call.query("after", self.after.as_deref())
    }
}

impl Client<'_> {
    /// Returns a page of the namespaces that the caller may see.
    pub(crate) fn namespaces(&self, query: &PageQuery) -> Result<Answer<NamespacePage>, Failure> {
        self.catalog(query.of(Call::get(&API_NAMESPACES)), || {
            "namespaces".to_owned()
        })
    }

    /// Returns a page of the packages of a namespace.
    pub(crate) fn packages(
        &self,
        owner: &Owner,
        query: &PageQuery,
    ) -> Result<Answer<PackagePage>, Failure> {
        let call = query.of(Call::get(&API_NAMESPACE).with(owner));
        self.catalog(call, || format!("namespace {owner}"))
    }

    /// Returns a page of the packages whose newest documented version uses a package.
    pub(crate) fn used_by(
        &self,
        package: &Package,
        query: &PageQuery,
    ) -> Result<Answer<UsedByPage>, Failure> {
        let call = query.of(Call::get(&API_USED_BY).of(package));
        self.catalog(call, || format!("list of what uses {}", package.address()))
    }

    /// Returns a page of the packages and symbols that match all words.
    pub(crate) fn search(
        &self,
        words: &str,
        owner: Option<&Owner>,
        query: &PageQuery,
    ) -> Result<Answer<SearchPage>, Failure> {
        let call = Call::get(&API_SEARCH).query("q", Some(words));
        let call = query.of(call.query("namespace", owner));
        self.catalog(call, || "packages".to_owned())
    }

    /// Returns a package with its versions.
    pub(crate) fn package(&self, package: &Package) -> Result<Answer<PackageDetails>, Failure> {
        self.catalog(Call::get(&API_PACKAGE).of(package), || package.address())
    }

    /// Returns one version of a package.
    pub(crate) fn version(
        &self,
        package: &Package,
        version: &Version,
    ) -> Result<Answer<VersionDetails>, Failure> {
        self.catalog(Call::get(&API_VERSION).of_version(package, version), || {
            format!("{} {version}", package.address())
        })
    }

    /// Returns whether the registry has no such version.
    pub(crate) fn lacks_version(
        &self,
        package: &Package,
        version: &Version,
    ) -> Result<bool, Failure> {
        let answer = self.send(&Call::get(&API_VERSION).of_version(package, version))?;
        match answer.status {
            404 if answer.missing().is_some() => Ok(true),
            _ if answer.is_success() => Ok(false),
            _ => Err(self.failure(answer)),
        }
    }

    /// Returns the reason why a published version is revoked, if the catalogue says that it is.
    pub(crate) fn revocation(&self, package: &Package, version: &Version) -> Option<String> {
        let known = self.known_version(package, version).ok().flatten();
        let status = known?.version.status;
        let revoked = status.filter(|status| status.state == ReleaseState::Revoked);
        revoked.map(|status| status.reason.to_string())
    }

    /// Returns a version as the catalogue describes it; `None` if the caller sees none there.
    pub(crate) fn known_version(
        &self,
        package: &Package,
        version: &Version,
    ) -> Result<Option<VersionDetails>, Failure> {
        let answer = self.send(&Call::get(&API_VERSION).of_version(package, version))?;
        match answer.status {
            404 | 410 => Ok(None),
            _ => self.read(answer).map(Some),
        }
    }

    /// Returns the versions of a package in the catalogue; none if it has no such package.
    pub(crate) fn known_versions(&self, package: &Package) -> BTreeSet<Version> {
        let answer = self.send(&Call::get(&API_PACKAGE).of(package)).ok();
        let details: Option<PackageDetails> =
            answer.and_then(|answer| serde_json::from_str(&answer.text).ok());
        let versions = details.into_iter().flat_map(|details| details.versions);
        versions.map(|it| it.version).collect()
    }

    /// Returns the documents of one version.
    pub(crate) fn documents(
        &self,
        package: &Package,
        version: &Version,
    ) -> Result<Answer<Navigation>, Failure> {
        let call = Call::get(&API_NAVIGATION).of_version(package, version);
        self.catalog(call, || {
            format!("documentation of {} {version}", package.address())
        })
    }

    /// Requests a document about a subject that may not exist.
    fn catalog<T: DeserializeOwned>(
        &self,
        call: Call,
        subject: impl FnOnce() -> String,
    ) -> Result<Answer<T>, Failure> {
        let answer = self.send(&call)?;
        if let Some(message) = answer.missing() {
            let (subject, url) = (subject(), self.url());
            return Err(Failure::Missing(format!(
                "there is no {subject} at {url}, or it is private and the token, if any, may not read it: {message}"
            )));
        }
        let text = answer.text.clone();
        let value = self.read(answer)?;
        Ok(Answer { value, text })
    }
}
