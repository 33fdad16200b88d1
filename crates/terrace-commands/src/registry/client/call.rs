//! A request to an endpoint of the registry.

use std::fmt::Display;

use serde::Serialize;
use terrace_base::percent::encode;
use terrace_core::api::endpoint::Endpoint;
use terrace_core::model::package::Package;
use terrace_core::model::version::Version;
use ureq::http::Method;

use crate::error::Failure;

/// A request: a method of an endpoint, with the parameters of its path, those of its query, and a body.
pub(crate) struct Call {
    pub(super) method: Method,
    /// The path, in which `{` begins a parameter that has no value yet.
    pub(super) path: String,
    /// The text and its media type.
    pub(super) body: Option<(String, &'static str)>,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) paths: &'static [&'static str],
}

impl Call {
    pub(crate) fn get(endpoint: &'static Endpoint) -> Self {
        Self::new(Method::GET, endpoint)
    }

    pub(crate) fn put(endpoint: &'static Endpoint) -> Self {
        Self::new(Method::PUT, endpoint)
    }

    pub(crate) fn post(endpoint: &'static Endpoint) -> Self {
        Self::new(Method::POST, endpoint)
    }

    pub(crate) fn delete(endpoint: &'static Endpoint) -> Self {
        Self::new(Method::DELETE, endpoint)
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    fn new(method: Method, endpoint: &'static Endpoint) -> Self {
        let paths = endpoint.paths;
        let path = paths.first().copied().unwrap_or_default().to_owned();
        Self {
            method,
            path,
            body: None,
            headers: vec![("accept", "application/json".to_owned())],
            paths,
        }
    }

    /// Sets the next parameter of the path.
    pub(crate) fn with(mut self, value: impl Display) -> Self {
        if let Some((before, rest)) = self.path.split_once('{')
            && let Some((_, after)) = rest.split_once('}')
        {
            self.path = format!("{before}{value}{after}");
        }
        self
    }

    /// Sets the parameters that name a package, in the path for its kind.
    pub(crate) fn of(mut self, package: &Package) -> Self {
        let kind = match package {
            Package::Provider(_) => "/providers/",
            Package::Module(_) => "/modules/",
            Package::Mirrored(_) => "/mirror/",
        };
        let path = self.paths.iter().find(|path| path.contains(kind));
        self.path = path.copied().unwrap_or_default().to_owned();
        // The hostname of a mirrored module comes before its namespace, without a parameter of its own.
        let mut names: Vec<String> = package
            .address()
            .rsplitn(3, '/')
            .map(str::to_owned)
            .collect();
        names.reverse();
        names.into_iter().fold(self, Self::with)
    }

    /// Sets the parameters that name a version.
    pub(crate) fn of_version(self, package: &Package, version: &Version) -> Self {
        self.of(package).with(version)
    }

    /// Adds a parameter to the query, if it has a value.
    pub(crate) fn query(mut self, name: &str, value: Option<impl Display>) -> Self {
        if let Some(value) = value {
            let separator = if self.path.contains('?') { '&' } else { '?' };
            let value = encode(&value.to_string());
            self.path = format!("{}{separator}{name}={value}", self.path);
        }
        self
    }

    /// Sets the body to a document.
    pub(crate) fn json(self, body: &impl Serialize) -> Result<Self, Failure> {
        let text = serde_json::to_string(body);
        let text = text.map_err(|error| Failure::Unexpected(error.to_string()))?;
        Ok(self.text(text, "application/json"))
    }

    /// Sets the body.
    pub(crate) fn text(self, text: impl Into<String>, media_type: &'static str) -> Self {
        Self {
            body: Some((text.into(), media_type)),
            ..self
        }
    }
}
