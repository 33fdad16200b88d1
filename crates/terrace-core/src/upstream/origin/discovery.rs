//! Discovery of a host's provider service (clients.md 1).

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Fetch, Fetched, OriginError, URL_RULE, invalid};
use crate::model::name::Hostname;

/// Maximum size of another registry's discovery document: the limit that clients apply (OpenTofu `svchost`,
/// `maxDiscoDocBytes`).
const ORIGIN_DISCOVERY_BYTES: u64 = 1024 * 1024;

/// The provider service of a host: all of its resources are below this URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// The final URL of the discovery document.
    base: String,
    /// The path or URL of the service, relative to `base`. Ends in `/`, or is empty.
    directory: String,
}

/// The relevant part of the document. Other services are ignored, whatever their type.
#[derive(Deserialize)]
struct Document {
    #[serde(rename = "providers.v1")]
    providers: Option<String>,
}

/// The part of the document that names the module service.
#[derive(Deserialize)]
struct ModulesDocument {
    #[serde(rename = "modules.v1")]
    modules: Option<String>,
}

impl Service {
    /// Returns the request for the discovery document of a host, at port 443.
    pub fn discover(hostname: &Hostname) -> Fetch {
        Self::discover_at(&format!("https://{hostname}"))
    }

    /// Returns the request for the discovery document of `origin`, a scheme and a host with or without a
    /// port.
    pub fn discover_at(origin: &str) -> Fetch {
        Fetch {
            base: None,
            reference: format!("{origin}/.well-known/terraform.json"),
            max_bytes: ORIGIN_DISCOVERY_BYTES,
            with_token: true,
            what: "discovery document",
        }
    }

    /// Parses the response to [`discover`](Self::discover).
    ///
    /// # Errors
    /// The reason why no provider can be requested from this host.
    pub fn read(fetched: &Fetched) -> Result<Self, OriginError> {
        let document: Document = take_document(fetched)?;
        let reference = document.providers.ok_or(OriginError::NoProviders)?;
        Self::at(&reference, fetched)
    }

    /// Parses the module service from the response to [`discover`](Self::discover); `None` if the host has none.
    ///
    /// # Errors
    /// The response is not a discovery document.
    pub fn read_modules(fetched: &Fetched) -> Result<Option<Self>, OriginError> {
        let document: ModulesDocument = take_document(fetched)?;
        let reference = document.modules;
        reference.map(|it| Self::at(&it, fetched)).transpose()
    }

    fn at(reference: &str, fetched: &Fetched) -> Result<Self, OriginError> {
        Ok(Self {
            base: fetched.final_url.clone(),
            directory: directory(reference)?,
        })
    }

    /// Returns the request for a resource of the service.
    pub fn fetch(&self, path: &str, max_bytes: u64, what: &'static str) -> Fetch {
        Fetch {
            base: Some(self.base.clone()),
            reference: format!("{}{path}", self.directory),
            max_bytes,
            with_token: true,
            what,
        }
    }
}

fn take_document<T: DeserializeOwned>(fetched: &Fetched) -> Result<T, OriginError> {
    let fetch = Service::discover_at("");
    fetch.take(fetched)?;
    let content_type = fetched.content_type.as_deref().unwrap_or_default();
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    if !media_type.eq_ignore_ascii_case("application/json") {
        let rule = "clients accept only application/json";
        return Err(invalid("its Content-Type", content_type, rule));
    }
    fetch.take_json(fetched)
}

/// Returns the directory of a reference: relative paths are appended to it, so that one resolution has the
/// same result as the two of clients. Without a trailing `/` they drop the last segment (clients.md 1.4).
fn directory(reference: &str) -> Result<String, OriginError> {
    let error = || invalid("the URL of the service", reference, URL_RULE);
    if !is_clean(reference) || reference.starts_with("//") {
        return Err(error());
    }
    let whole = reference.split(['?', '#']).next().unwrap_or_default();
    let (origin, path) = match whole.split_once("://") {
        None => (String::new(), whole),
        Some((scheme, rest)) => {
            let end = rest.find('/').unwrap_or(rest.len());
            let (authority, path) = rest.split_at_checked(end).ok_or_else(error)?;
            let path = if path.is_empty() { "/" } else { path };
            (format!("{scheme}://{authority}"), path)
        }
    };
    let upper = path.rsplit_once('/').map(|(upper, _)| format!("{upper}/"));
    Ok(origin + &upper.unwrap_or_default())
}

/// Returns whether every program parses a URL in the same way: some treat `\` as `/`, and drop tabs and line breaks.
pub(super) fn is_clean(reference: &str) -> bool {
    !reference.is_empty()
        && reference
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && byte != b'\\')
}

#[cfg(test)]
mod tests {
    use super::super::testing::answer;
    use super::*;

    fn read(body: &str) -> Result<Service, OriginError> {
        Service::read(&answer(body))
    }

    #[test]
    fn a_service_may_be_a_path_or_a_url_and_is_resolved_from_its_last_slash_1_3_1_4() {
        for (given, asked) in [
            ("/v1/providers/", "/v1/providers/a/b"),
            ("/v1/providers", "/v1/a/b"),
            ("v1/", "v1/a/b"),
            ("v1", "a/b"),
            ("/", "/a/b"),
            ("https://other.example/v1/", "https://other.example/v1/a/b"),
            ("https://other.example", "https://other.example/a/b"),
            ("https://other.example/v1", "https://other.example/a/b"),
            ("/v1/?a=/b/#/c/", "/v1/a/b"),
        ] {
            let body = format!(r#"{{"providers.v1": {given:?}, "modules.v1": 5}}"#);
            let service = read(&body).unwrap();
            let fetch = service.fetch("a/b", 1, "the test");
            assert_eq!(fetch.reference, asked, "{given}");
            assert_eq!(fetch.base.as_deref(), Some("https://origin.example/final"));
        }
    }

    #[test]
    fn only_application_json_is_a_discovery_document_1_1() {
        let labelled = |label: Option<&str>| {
            Service::read(&Fetched {
                content_type: label.map(str::to_owned),
                ..answer(r#"{"providers.v1": "/v1/"}"#)
            })
        };
        for good in ["application/json", "Application/JSON; charset=utf-8"] {
            assert!(labelled(Some(good)).is_ok(), "{good}");
        }
        for bad in [
            None,
            Some(""),
            Some("text/html"),
            Some("application/vnd.api+json"),
        ] {
            let error = labelled(bad).unwrap_err();
            assert!(error.to_string().contains("Content-Type"), "{error}");
        }
    }

    #[test]
    fn a_service_that_is_missing_or_not_a_url_is_rejected_1_2_1_6() {
        for body in [
            r#"{"providers.v1": 1}"#,
            r#"{"providers.v1": {"a": "/v1/"}}"#,
            r#"{"providers.v1": ["/v1/"]}"#,
            r#"{"providers.v1": ""}"#,
            r#"{"providers.v1": "//other.example/v1/"}"#,
            r#"{"providers.v1": "/v1\\providers/"}"#,
            r#"{"providers.v1": "/v1/\n"}"#,
            r#"{"providers.v1": "/v1/ "}"#,
            r#"{"providers.v1": "https://ünser.example/"}"#,
            r#"["/v1/"]"#,
        ] {
            assert!(read(body).is_err(), "{body}");
        }
        for body in [
            "{}",
            r#"{"providers.v2": "/v2/"}"#,
            r#"{"providers.v1": null}"#,
        ] {
            assert_eq!(read(body), Err(OriginError::NoProviders), "{body}");
        }
        // The module service is read beside that of providers.
        let modules = |body: &str| Service::read_modules(&answer(body));
        let body = r#"{"providers.v1": 5, "modules.v1": "/v1/modules/"}"#;
        let fetch = modules(body).unwrap().unwrap().fetch("a", 1, "the test");
        assert_eq!(fetch.reference, "/v1/modules/a");
        assert_eq!(modules(r#"{"providers.v1": "/v1/"}"#), Ok(None));
        assert!(modules(r#"{"modules.v1": "//other.example/"}"#).is_err());
        let hostile = format!(r#"{{"providers.v1": "\u001b{}"}}"#, "x".repeat(5000));
        let error = read(&hostile).unwrap_err().to_string();
        assert!(error.len() < 400 && !error.contains('\u{1b}'), "{error}");
    }
}
