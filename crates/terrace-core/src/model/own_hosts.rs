//! The hostnames under which clients request the registry's own providers.

use crate::model::address::MirroredAddress;
use crate::model::name::Hostname;
use crate::model::package::Package;
use terrace_base::url;

/// The registry's own hostnames: the hostname of the request, and those in the configuration.
///
/// Packages under these names are hosted here only; nothing under them is ever mirrored.
#[derive(Debug, Clone, Copy)]
pub struct OwnHosts<'a> {
    authority: &'a str,
    configured: &'a [Hostname],
}

impl<'a> OwnHosts<'a> {
    /// Returns the hostnames of a registry that was reached at `origin`, such as `https://host[:port]`.
    pub fn new(origin: &'a str, configured: &'a [Hostname]) -> Self {
        Self {
            authority: url::authority(origin),
            configured,
        }
    }

    /// Returns the names by which configurations may name the registry: that of the request, with its port, and the configured
    /// ones.
    pub fn names(self) -> impl Iterator<Item = &'a str> {
        let configured = self.configured.iter().map(Hostname::as_str);
        let others = configured.filter(move |name| *name != self.authority);
        std::iter::once(self.authority).chain(others)
    }

    /// Returns whether providers of this hostname are the registry's own. The port is ignored, because an
    /// address in a mirror cannot have one (clients.md 5.6).
    pub fn include(&self, hostname: &Hostname) -> bool {
        let (host, _) = url::split_port(self.authority);
        // A name with its final dot is the same name.
        let host = host.strip_suffix('.').unwrap_or(host);
        hostname.as_str().eq_ignore_ascii_case(host) || self.configured.contains(hostname)
    }

    /// Returns whether a source address that begins with `authority`, a hostname with or without a port, is the registry's
    /// own.
    pub fn include_authority(&self, authority: &str) -> bool {
        let (host, _) = url::split_port(authority);
        authority.eq_ignore_ascii_case(self.authority)
            || host.parse().is_ok_and(|hostname| self.include(&hostname))
    }

    /// Returns the package, as a hosted one if its hostname is the registry's own.
    pub fn hosted(&self, package: Package) -> Package {
        match package {
            Package::Mirrored(address) => self.package(address),
            Package::Module(address)
                if address.hostname.as_ref().is_some_and(|it| self.include(it)) =>
            {
                Package::Module(address.without_hostname())
            }
            package => package,
        }
    }

    /// Returns the package of an address in the mirror: a hosted one if the hostname is the registry's own.
    pub fn package(&self, address: MirroredAddress) -> Package {
        if self.include(&address.hostname) {
            Package::Provider(address.provider)
        } else {
            Package::Mirrored(address)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostname_is_the_registrys_own_if_it_is_requested_or_configured() {
        let configured = ["registry.example.com".parse().unwrap()];
        for origin in ["https://Own.example.com:8443", "https://own.example.com."] {
            let own = OwnHosts::new(origin, &configured);
            for (hostname, is_own) in [
                ("own.example.com", true),
                ("registry.example.com", true),
                ("example.com", false),
                ("registry.opentofu.org", false),
            ] {
                let found = own.include(&hostname.parse().unwrap());
                assert_eq!(found, is_own, "{origin} {hostname}");
            }
        }
    }
}
