//! The versions of a provider at its origin (clients.md 2.1).

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde::Deserialize;

use super::{Fetch, Fetched, OriginError, Service, plain, shortened};
use crate::limits;
use crate::model::address::MirroredAddress;
use crate::model::platform::Platform;
use crate::model::protocol_version::ProtocolVersion;
use crate::model::version::Version;
use crate::upstream::origin::ORIGIN_VERSIONS_BYTES;
use terrace_base::sort;

/// The versions of one provider, ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OriginVersions {
    /// The versions, without duplicates.
    pub versions: Vec<OriginVersion>,
    /// The skipped entries with their reasons; at most [`limits::REASONS`] lines.
    pub skipped: Vec<String>,
    /// The origin's warnings for its users, without control characters.
    pub warnings: Vec<String>,
}

/// A version of the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginVersion {
    /// The version in canonical form: an origin's `1.0` is requested as `1.0.0` (clients.md 2.1.3).
    pub version: Version,
    /// The listed plugin protocols, without malformed ones.
    pub protocols: Vec<ProtocolVersion>,
    /// The listed platforms. Clients do not read this list, so it may be empty although platforms exist
    /// (clients.md 2.1.2).
    pub platforms: Vec<Platform>,
}

#[derive(Deserialize)]
struct Document {
    versions: Option<Vec<VersionBody>>,
    warnings: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct VersionBody {
    version: String,
    protocols: Option<Vec<String>>,
    platforms: Option<Vec<PlatformBody>>,
}

#[derive(Deserialize)]
struct PlatformBody {
    os: String,
    arch: String,
}

impl OriginVersions {
    /// Returns the request for the versions of a provider.
    pub fn ask(service: &Service, address: &MirroredAddress) -> Fetch {
        let path = format!("{}/versions", address.provider);
        service.fetch(&path, ORIGIN_VERSIONS_BYTES, "version list")
    }

    /// Parses the response to `fetch`, which [`ask`](Self::ask) returned.
    ///
    /// One invalid version does not affect the others: it is skipped, as in Terraform since 1.13.
    ///
    /// # Errors
    /// The reason for a missing list.
    pub fn read(fetch: &Fetch, fetched: &Fetched) -> Result<Self, OriginError> {
        let document: Document = fetch.take_json(fetched)?;
        let mut versions = BTreeMap::new();
        let mut skipped = Vec::new();
        for body in document.versions.unwrap_or_default() {
            match read_version(&body, &mut skipped) {
                Ok(found) => match versions.entry(found.version.clone()) {
                    Entry::Vacant(place) => {
                        place.insert(found);
                    }
                    Entry::Occupied(twice) => {
                        skip(
                            &mut skipped,
                            format!("version {} is listed twice", twice.key()),
                        );
                    }
                },
                Err(reason) => skip(&mut skipped, reason),
            }
        }
        let warnings = document.warnings.unwrap_or_default();
        Ok(Self {
            versions: versions.into_values().collect(),
            skipped,
            warnings: warnings
                .iter()
                .take(limits::REASONS)
                .map(|text| plain(text))
                .collect(),
        })
    }
}

fn read_version(body: &VersionBody, skipped: &mut Vec<String>) -> Result<OriginVersion, String> {
    let text = shortened(&body.version);
    // A leading "v" is an error in clients, so no configuration can depend on it.
    if body.version.starts_with(['v', 'V']) {
        return Err(format!("version {text:?} has a leading \"v\""));
    }
    let version = Version::parse_request(&body.version)
        .map_err(|_| format!("{text:?} is not a semantic version"))?;
    let mut platforms = Vec::new();
    for PlatformBody { os, arch } in body.platforms.iter().flatten() {
        match Platform::new(os, arch) {
            Ok(platform) if platforms.contains(&platform) => {}
            Ok(_) if platforms.len() >= limits::PLATFORMS => {
                let limit = limits::PLATFORMS;
                skip(
                    skipped,
                    format!("version {version} has more than {limit} platforms"),
                );
                break;
            }
            Ok(platform) => platforms.push(platform),
            Err(error) => skip(skipped, format!("version {version}: {error}")),
        }
    }
    sort::sort(&mut platforms);
    let protocols = body.protocols.iter().flatten();
    let mut protocols: Vec<ProtocolVersion> = protocols
        .take(limits::PROTOCOLS)
        .filter_map(|text| text.parse().ok())
        .collect();
    sort::sort(&mut protocols);
    protocols.dedup();
    Ok(OriginVersion {
        version,
        protocols,
        platforms,
    })
}

/// Adds the reason for a skipped entry. Their number is limited, because a hostile list could produce a million.
fn skip(skipped: &mut Vec<String>, reason: String) {
    if skipped.len() < limits::REASONS {
        skipped.push(reason);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::answer;
    use super::*;

    fn ask() -> Fetch {
        let discovery = answer(r#"{"providers.v1": "/v1/providers/"}"#);
        let service = Service::read(&discovery).unwrap();
        OriginVersions::ask(
            &service,
            &"registry.example.com/acme/widget".parse().unwrap(),
        )
    }

    fn read(body: &str) -> Result<OriginVersions, OriginError> {
        let fetch = ask();
        assert_eq!(fetch.reference, "/v1/providers/acme/widget/versions");
        assert!(fetch.with_token);
        OriginVersions::read(&fetch, &answer(body))
    }

    fn texts(list: &OriginVersions) -> Vec<String> {
        let text = |found: &OriginVersion| found.version.to_string();
        list.versions.iter().map(text).collect()
    }

    #[test]
    fn versions_are_sorted_and_have_protocols_and_platforms_2_1_1_2_1_2() {
        let list = read(
            r#"{"id": "x", "versions": [
                {"version": "1.10.0", "protocols": ["6.0", "5.0", "x"],
                 "platforms": [{"os": "linux", "arch": "arm64"}, {"os": "linux", "arch": "amd64"},
                               {"os": "linux", "arch": "amd64", "more": 1}]},
                {"version": "1.2.0-rc.1", "platforms": null},
                {"version": "1.2.0+build.5", "protocols": []}
            ], "warnings": ["be\u001b[31mware"]}"#,
        )
        .unwrap();
        assert_eq!(texts(&list), ["1.2.0-rc.1", "1.2.0+build.5", "1.10.0"]);
        let newest = list.versions.last().unwrap();
        let platforms: Vec<String> = newest.platforms.iter().map(ToString::to_string).collect();
        assert_eq!(platforms, ["linux_amd64", "linux_arm64"]);
        let protocols: Vec<String> = newest.protocols.iter().map(ToString::to_string).collect();
        assert_eq!(protocols, ["5.0", "6.0"]);
        assert_eq!(list.warnings, ["be\\u{1b}[31mware"]);
        assert!(list.skipped.is_empty());
    }

    #[test]
    fn an_invalid_version_is_skipped_with_a_reason_and_a_short_one_is_completed_2_1_3() {
        let list = read(
            r#"{"versions": [{"version": "v1.0.0"}, {"version": "latest\u001b"}, {"version": "1.0"},
                {"version": "1.0.0"}, {"version": ""}, {"version": "01.0.0"},
                {"version": "2.0.0", "platforms": [{"os": "lin_ux", "arch": "amd64"}]}]}"#,
        )
        .unwrap();
        assert_eq!(texts(&list), ["1.0.0", "2.0.0"]);
        assert_eq!(list.skipped.len(), 6, "{:?}", list.skipped);
        let skipped = list.skipped.join("\n");
        for part in [
            "\"v1.0.0\"",
            "latest\\u{1b}",
            "1.0.0 is listed twice",
            "lin_ux",
        ] {
            assert!(skipped.contains(part), "{part} is not in {skipped}");
        }
        assert!(list.versions[1].platforms.is_empty());
    }

    #[test]
    fn a_missing_list_is_empty_and_other_types_are_an_error_as_in_clients_2_1_6() {
        for body in ["{}", r#"{"versions": null}"#, r#"{"versions": []}"#] {
            assert!(read(body).unwrap().versions.is_empty(), "{body}");
        }
        for body in [
            r#"{"versions": {}}"#,
            r#"{"versions": "1.0.0"}"#,
            r#"{"versions": [{"version": 1}]}"#,
            r#"{"versions": [{}]}"#,
            r#"{"versions": [{"version": "1.0.0", "protocols": "5.0"}]}"#,
            r#"{"versions": [{"version": "1.0.0", "platforms": [{"os": "linux"}]}]}"#,
            r#"{"versions": [], "warnings": "a text"}"#,
        ] {
            let error = read(body).unwrap_err().to_string();
            assert!(error.contains("clients can parse"), "{body}: {error}");
        }
    }

    #[test]
    fn a_hostile_list_has_bounded_consequences() {
        let bad = vec![r#"{"version": "x"}"#; 10_000].join(",");
        let list = read(&format!(r#"{{"versions": [{bad}]}}"#)).unwrap();
        assert_eq!(list.skipped.len(), limits::REASONS);
        let platform = |n: u32| format!(r#"{{"os": "os{n}", "arch": "amd64"}}"#);
        let platforms: Vec<String> = (0..1000).map(platform).collect();
        let platforms = platforms.join(",");
        let body =
            format!(r#"{{"versions": [{{"version": "1.0.0", "platforms": [{platforms}]}}]}}"#);
        let list = read(&body).unwrap();
        assert_eq!(list.versions[0].platforms.len(), limits::PLATFORMS);
    }
}
