//! Other URLs for the registries of hostnames.

use std::str::FromStr;

use terrace_core::model::name::Hostname;

use crate::credentials::{Token, TokenHost};
use crate::http::BaseUrl;

/// Another URL for the registry of a hostname, from the operator.
#[derive(Debug, Clone)]
pub(crate) struct HostOverride {
    pub(crate) hostname: Hostname,
    pub(super) url: BaseUrl,
    /// The host that a stored token must belong to.
    pub(super) token_host: TokenHost,
    /// The token that the operator gives, instead of a stored one.
    pub(super) token: Option<Token>,
}

impl HostOverride {
    /// Returns the registry at a URL, which may have a port or be an IP address. `hostname` names it in requests.
    pub(crate) fn at(hostname: Hostname, url: BaseUrl, token: Option<Token>) -> Self {
        Self {
            hostname,
            token_host: TokenHost::of(&url),
            url,
            token,
        }
    }
}

impl FromStr for HostOverride {
    type Err = String;

    /// Parses `HOSTNAME=https://HOST[:PORT]`.
    fn from_str(text: &str) -> Result<Self, String> {
        let shape = || "write it as HOSTNAME=https://HOST[:PORT]".to_owned();
        let (hostname, url) = text.split_once('=').ok_or_else(shape)?;
        let hostname: Hostname = hostname.parse().map_err(|error| format!("{error}"))?;
        let url = BaseUrl::parse(url).map_err(|error| format!("{error}: {}", shape()))?;
        if !url.is_https() {
            return Err(shape());
        }
        Ok(Self {
            token_host: TokenHost::from(&hostname),
            hostname,
            url,
            token: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_override_is_a_hostname_and_an_https_address() {
        let text = "registry.example.com=https://10.0.0.5:8443/";
        let host_override: HostOverride = text.parse().unwrap();
        assert_eq!(host_override.url.origin(), "https://10.0.0.5:8443");
        for wrong in [
            "registry.example.com",
            "hosted=https://10.0.0.5",
            "registry.example.com=http://10.0.0.5",
            "registry.example.com=https://u@10.0.0.5",
            "registry.example.com=https://10.0.0.5/v1",
            "registry.example.com=10.0.0.5",
        ] {
            assert!(wrong.parse::<HostOverride>().is_err(), "{wrong}");
        }
    }
}
