//! Requests to the catalogue.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use terrace_base::percent::encode;
use terrace_core::model::owner::Owner;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use ureq::http::Method;

use super::{Call, Client, package_segments};
use crate::error::Failure;
use crate::http::Response;
use crate::registry::catalog::{
    NamespacesPage, Navigation, PackageDetails, PackagesPage, SearchPage, VersionDetails,
};

const API: &str = "/api/v1";

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
    fn parameters(&self) -> Vec<(&'static str, String)> {
        let limit = self.limit.map(|limit| limit.to_string());
        let parameters = [
            ("kind", self.kind.clone()),
            ("limit", limit),
            ("after", self.after.clone()),
        ];
        let given = parameters.into_iter();
        given
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }
}

impl Client<'_> {
    /// Returns a page of the namespaces that the caller may see.
    pub(crate) fn namespaces(&self, query: &PageQuery) -> Result<Answer<NamespacesPage>, Failure> {
        let path = with_query(format!("{API}/namespaces"), &query.parameters());
        self.catalog(path, || "namespaces".to_owned())
    }

    /// Returns a page of the packages of a namespace.
    pub(crate) fn packages(
        &self,
        owner: &Owner,
        query: &PageQuery,
    ) -> Result<Answer<PackagesPage>, Failure> {
        let path = with_query(format!("{API}/namespaces/{owner}"), &query.parameters());
        self.catalog(path, || format!("namespace {owner}"))
    }

    /// Returns a page of the packages and symbols that match all words.
    pub(crate) fn search(
        &self,
        words: &str,
        owner: Option<&Owner>,
        query: &PageQuery,
    ) -> Result<Answer<SearchPage>, Failure> {
        let mut parameters = vec![("q", words.to_owned())];
        parameters.extend(owner.map(|owner| ("namespace", owner.to_string())));
        parameters.extend(query.parameters());
        let path = with_query(format!("{API}/search"), &parameters);
        self.catalog(path, || "packages".to_owned())
    }

    /// Returns a package with its versions.
    pub(crate) fn package(&self, package: &Package) -> Result<Answer<PackageDetails>, Failure> {
        self.catalog(package_path(package), || package.address())
    }

    /// Returns one version of a package.
    pub(crate) fn version(
        &self,
        package: &Package,
        version: &Version,
    ) -> Result<Answer<VersionDetails>, Failure> {
        self.catalog(version_path(package, version), || {
            format!("{} {version}", package.address())
        })
    }

    /// Returns whether the registry has no such version. A registry without a catalogue is not asked further.
    pub(crate) fn lacks_version(
        &self,
        package: &Package,
        version: &Version,
    ) -> Result<bool, Failure> {
        let answer = self.get_answer(version_path(package, version))?;
        match answer.status {
            404 => self.has_catalog(),
            _ if answer.is_success() => Ok(false),
            _ => Err(self.failure(answer)),
        }
    }

    /// Returns the reason why a published version is revoked, if the catalogue says that it is.
    pub(crate) fn revocation(&self, package: &Package, version: &Version) -> Option<String> {
        let details = self.known_version(package, version)?;
        let status = details
            .line
            .status
            .filter(|status| status.state == "revoked");
        status.map(|status| status.reason.unwrap_or_default())
    }

    /// Returns a version as the catalogue describes it, if it does.
    pub(crate) fn known_version(
        &self,
        package: &Package,
        version: &Version,
    ) -> Option<VersionDetails> {
        let answer = self.get_answer(version_path(package, version)).ok()?;
        serde_json::from_str(&answer.text).ok()
    }

    /// Returns the versions of a package in the catalogue; none if it has no such package.
    pub(crate) fn known_versions(&self, package: &Package) -> BTreeSet<Version> {
        let answer = self.get_answer(package_path(package)).ok();
        let details: Option<PackageDetails> =
            answer.and_then(|answer| serde_json::from_str(&answer.text).ok());
        let versions = details.into_iter().flat_map(|details| details.versions);
        versions
            .filter_map(|line| line.version.parse().ok())
            .collect()
    }

    /// Returns the documents of one version.
    pub(crate) fn documents(
        &self,
        package: &Package,
        version: &Version,
    ) -> Result<Answer<Navigation>, Failure> {
        let path = format!("{}/{version}/docs", package_path(package));
        self.catalog(path, || {
            format!("documentation of {} {version}", package.address())
        })
    }

    /// Requests a document about a subject that may not exist.
    fn catalog<T: DeserializeOwned>(
        &self,
        path: String,
        subject: impl FnOnce() -> String,
    ) -> Result<Answer<T>, Failure> {
        let answer = self.get_answer(path)?;
        if answer.status == 404 {
            return Err(self.absent(answer, &subject())?);
        }
        let text = answer.text.clone();
        let value = self.read(answer)?;
        Ok(Answer { value, text })
    }

    /// Returns the failure that a subject is absent, or that the registry has no catalogue at all.
    fn absent(&self, answer: Response, subject: &str) -> Result<Failure, Failure> {
        let Some(message) = answer.missing() else {
            return Ok(self.failure(answer));
        };
        let url = self.url();
        if !self.has_catalog()? {
            return Ok(Failure::Missing(format!(
                "{url} has no catalogue: its version of Terrace is older than this command. Update the registry"
            )));
        }
        Ok(Failure::Missing(format!(
            "there is no {subject} at {url}, or it is private and the token, if any, may not read it: {message}"
        )))
    }

    /// Returns whether the registry has a catalogue, which its older versions lack.
    fn has_catalog(&self) -> Result<bool, Failure> {
        let first = PageQuery {
            limit: Some(1),
            ..PageQuery::default()
        };
        let path = with_query(format!("{API}/namespaces"), &first.parameters());
        Ok(self.get_answer(path)?.status != 404)
    }

    fn get_answer(&self, path: String) -> Result<Response, Failure> {
        self.send(&Call {
            method: Method::GET,
            path,
            body: None,
        })
    }
}

fn package_path(package: &Package) -> String {
    format!("{API}/{}", package_segments(package))
}

fn version_path(package: &Package, version: &Version) -> String {
    format!("{}/{version}", package_path(package))
}

fn with_query(path: String, parameters: &[(&str, String)]) -> String {
    let mut path = path;
    for (position, (name, value)) in parameters.iter().enumerate() {
        let separator = if position == 0 { '?' } else { '&' };
        path.push_str(&format!("{separator}{name}={}", encode(value)));
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameters_of_a_query_are_encoded() {
        let query = PageQuery {
            kind: Some("module".to_owned()),
            limit: None,
            after: Some("a/b&c".to_owned()),
        };
        let path = with_query("/p".to_owned(), &query.parameters());
        assert_eq!(path, "/p?kind=module&after=a%2Fb%26c");
        assert_eq!(with_query("/p".to_owned(), &[]), "/p");
    }
}
