//! Routes of the provider network mirror.

use super::{mirrored, missing};
use crate::http::problem::Problem;
use crate::model::address::MirroredAddress;
use crate::model::name::Hostname;
use crate::model::version::Version;

/// A route of the network mirror, or of the lists of mirrored providers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MirrorRoute {
    /// `/mirror` and `/mirror/`: a snippet for the CLI configuration.
    Home,
    /// `/mirror/{hostname}/{namespace}/{type}/index.json`
    Versions(MirroredAddress),
    /// `/mirror/{hostname}/{namespace}/{type}/{version}.json`
    Packages(MirroredAddress, Version),
    /// `/origins/{hostname}/.well-known/terraform.json`: discovery for the lists of another registry's
    /// mirrored providers.
    OriginDiscovery(Hostname),
    /// `/origins/{hostname}/v1/providers/{namespace}/{type}/versions`
    OriginVersions(MirroredAddress),
}

impl MirrorRoute {
    /// Parses the segments after `/mirror`; `None` if they match no route.
    #[inline(never)]
    pub(super) fn parse(segments: &[&str]) -> Result<Option<Self>, Problem> {
        match segments {
            [] | [""] => Ok(Some(Self::Home)),
            [hostname, namespace, provider_type, file] => {
                let address = mirrored(hostname, namespace, provider_type).map_err(missing)?;
                Self::parse_file(address, file)
            }
            _ => Ok(None),
        }
    }

    fn parse_file(address: MirroredAddress, file: &str) -> Result<Option<Self>, Problem> {
        match file.strip_suffix(".json") {
            Some("index") => Ok(Some(Self::Versions(address))),
            Some(version) => {
                let version = Version::parse_request(version).map_err(missing)?;
                Ok(Some(Self::Packages(address, version)))
            }
            None => Ok(None),
        }
    }

    /// Parses the segments after `/origins/`; `None` if they match no route.
    #[inline(never)]
    pub(super) fn parse_origins(segments: &[&str]) -> Result<Option<Self>, Problem> {
        match segments {
            [hostname, ".well-known", "terraform.json"] => {
                let hostname = hostname.parse().map_err(missing)?;
                Ok(Some(Self::OriginDiscovery(hostname)))
            }
            [
                hostname,
                "v1",
                "providers",
                namespace,
                provider_type,
                "versions",
            ] => {
                let address = mirrored(hostname, namespace, provider_type).map_err(missing)?;
                Ok(Some(Self::OriginVersions(address)))
            }
            _ => Ok(None),
        }
    }
}

/// Rejects paths of a base URL without its final slash: clients replace the last segment of such a URL
/// (clients.md 5.1).
pub(super) fn check_base_url(hostname: &str, rest: &[&str]) -> Result<(), Problem> {
    match rest {
        [_, _, file] if hostname.contains('.') && file.ends_with(".json") => {
            Err(Problem::BadRequest(NO_SLASH.to_owned()))
        }
        _ => Ok(()),
    }
}

/// The error for a base URL without its final slash. It appears in the client's log and in a browser. With a
/// 404, the client would silently use another source.
const NO_SLASH: &str = "this is not a path of the network mirror: the url of network_mirror must end \
    in a slash, as in https://<this registry>/mirror/";
