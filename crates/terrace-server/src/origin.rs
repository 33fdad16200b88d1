//! The hostnames that are served. A client chooses the header `Host` freely, and the registry's own URLs follow it.

use std::net::IpAddr;

use terrace_base::url;
use terrace_core::model::name::Hostname;

/// The hostnames that are served: those of the configuration, the address that the server listens at, and loopback.
#[derive(Debug, Clone)]
pub(crate) struct ServedHosts {
    configured: Vec<Hostname>,
    listened: Option<IpAddr>,
}

impl ServedHosts {
    pub(crate) fn new(configured: Vec<Hostname>, listened: IpAddr) -> Self {
        let listened = (!listened.is_unspecified()).then_some(listened);
        Self {
            configured,
            listened,
        }
    }

    /// Returns whether requests for this authority, `host[:port]`, are answered. Any port counts: one in front of this server
    /// may differ from its own.
    pub(crate) fn include(&self, authority: &str) -> bool {
        let (host, port) = url::split_port(authority);
        if port.is_some_and(|port| port.parse::<u16>().is_err()) {
            return false;
        }
        let name = host.strip_suffix('.').unwrap_or(host);
        if name.eq_ignore_ascii_case("localhost") {
            return true;
        }
        let bare = name.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
        match bare.unwrap_or(name).parse::<IpAddr>() {
            Ok(address) => address.is_loopback() || Some(address) == self.listened,
            Err(_) => self
                .configured
                .iter()
                .any(|known| known.as_str().eq_ignore_ascii_case(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_configured_hostnames_the_own_address_and_loopback_are_served() {
        let hostnames = vec!["registry.example.com".parse().unwrap()];
        let hosts = ServedHosts::new(hostnames, "10.0.0.7".parse().unwrap());
        for served in [
            "localhost",
            "LOCALHOST:8080",
            "127.0.0.1:8080",
            "127.1.2.3",
            "[::1]:8080",
            "10.0.0.7:8080",
            "registry.example.com",
            "Registry.Example.com.:8443",
        ] {
            assert!(hosts.include(served), "{served}");
        }
        for other in [
            "",
            ":8080",
            "evil.example",
            "registry.example.com.evil.example",
            "user@registry.example.com",
            "registry.example.com:x",
            "registry.example.com:99999",
            "registry.example.com/path",
            "10.0.0.8",
            "0.0.0.0:8080",
            "localhost.evil.example",
        ] {
            assert!(!hosts.include(other), "{other}");
        }
    }

    #[test]
    fn an_unspecified_address_is_no_hostname() {
        let hosts = ServedHosts::new(Vec::new(), "0.0.0.0".parse().unwrap());
        assert!(!hosts.include("0.0.0.0:8080"));
        assert!(hosts.include("127.0.0.1:8080"));
    }
}
