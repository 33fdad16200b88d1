//! The time at which an origin published a version. The provider protocol has none; HashiCorp's public registry has a
//! description of each version, and Terrace serves the same shape.

use std::fmt::Display;

use serde::Deserialize;

use super::{Fetch, Fetched, Service};
use crate::model::version::Version;
use terrace_base::time::UnixTime;

/// Maximum size of another registry's description of a version. Descriptions of the largest providers, which list their
/// documents, are about 500 KB.
const ORIGIN_DESCRIPTION_BYTES: u64 = 2 * 1024 * 1024;

/// The time at which an origin published a version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublishedVersion {
    /// The version.
    pub version: Version,
    /// The time.
    pub published_at: UnixTime,
}

#[derive(Deserialize)]
struct Document {
    version: String,
    published_at: String,
}

impl PublishedVersion {
    /// Returns the request for the description of a version of the provider or module at this path of its service.
    pub fn ask(service: &Service, path: impl Display, version: &Version) -> Fetch {
        let path = format!("{path}/{version}");
        service.fetch(&path, ORIGIN_DESCRIPTION_BYTES, "description of a version")
    }

    /// Returns the time that the response to `fetch` gives for a version; `None` if it gives none, as most origins do.
    pub fn read(fetch: &Fetch, fetched: &Fetched, version: &Version) -> Option<Self> {
        let document: Document = fetch.take_json(fetched).ok()?;
        if Version::parse_request(&document.version).ok()? != *version {
            return None;
        }
        Some(Self {
            version: version.clone(),
            published_at: UnixTime::parse_utc(&document.published_at)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{answer, fetch};
    use super::*;

    #[test]
    fn a_description_gives_the_time_of_its_own_version_only() {
        let read = |body: &str| {
            let version = "1.2.0".parse().unwrap();
            let found = PublishedVersion::read(&fetch(), &answer(body), &version);
            found.map(|found| found.published_at.0)
        };
        let at = r#""published_at":"2013-05-24T00:00:01.5Z""#;
        assert_eq!(
            read(&format!(r#"{{"version":"1.2.0",{at}}}"#)),
            Some(1_369_353_601)
        );
        for body in [
            "",
            "{}",
            "[]",
            r#"{"version":"1.2.0"}"#,
            r#"{"version":"1.2.0","published_at":"yesterday"}"#,
            r#"{"version":"1.2.0","published_at":7}"#,
            &format!(r#"{{"version":"1.3.0",{at}}}"#),
        ] {
            assert_eq!(read(body), None, "{body}");
        }
    }
}
