//! Restrictions on the destinations of requests to an origin.
//!
//! An origin's responses contain URLs, and redirects may lead anywhere. Without a guard, the operator of an
//! origin could make the machine that mirrors it send requests to its own network (SSRF). The guard checks
//! the parts of a URL only. The driver passes the addresses that a name resolves to, where it can see them,
//! to [`Guard::check_address`].

// Only the address types: `core` has no sockets.
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::limits;
use terrace_base::url::{Url, is_number, split_port};
use terrace_presign::Endpoint;

/// The parts of an absolute URL that a guard checks, as parsed by its driver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UrlParts<'u> {
    /// The scheme without its `:`.
    pub scheme: &'u str,
    /// Whether the URL contains a user name or a password.
    pub has_userinfo: bool,
    /// A name, an IPv4 address, or an IPv6 address with or without its brackets.
    pub host: &'u str,
    /// The port, if the URL has one.
    pub port: Option<u16>,
}

impl<'u> From<&'u Url> for UrlParts<'u> {
    fn from(url: &'u Url) -> Self {
        Self {
            scheme: url.scheme().as_str(),
            has_userinfo: false,
            host: url.host(),
            port: url.port(),
        }
    }
}

/// The hosts that may be contacted: those of the public internet, and those that the operator has named.
///
/// Any port but 0 is allowed. Registries on ports such as 8443 exist, and scanning other ports of public
/// hosts with TLS reveals nothing that anyone could not find out directly.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Guard {
    named: Vec<(String, u16)>,
    /// Whether the named hosts may be contacted without TLS.
    may_be_plain: bool,
}

/// The reason why a URL must not be contacted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{REFUSAL} {host:?}: {rule}")]
pub struct GuardError {
    host: String,
    rule: &'static str,
    is_private: bool,
}

impl GuardError {
    /// Returns whether [`Guard::naming`] would allow the host: it belongs to a private network, and everything else
    /// about the URL is allowed.
    pub fn is_private(&self) -> bool {
        self.is_private
    }
}

/// The beginning of the message of a [`GuardError`].
pub const REFUSAL: &str = "refusing to contact";

const HTTPS_PORT: u16 = 443;

impl Guard {
    /// Allows the public internet only.
    pub fn public() -> Self {
        Self::default()
    }

    /// Additionally allows exactly this host with this port, which the operator has named. The host may be
    /// private; TLS is still required.
    #[must_use]
    pub fn naming(mut self, host: &str, port: u16) -> Self {
        self.named.push((folded(host), port));
        self
    }

    /// Returns the guard of requests to an S3 endpoint that a setting names, which may be private, and is contacted without TLS
    /// if the setting says so. No client chooses the URLs for it.
    pub fn of_endpoint(endpoint: &Endpoint) -> Self {
        let (host, port) = split_port(endpoint.authority());
        let port = port.and_then(|port| port.parse().ok());
        Self {
            may_be_plain: endpoint.is_plain(),
            ..Self::public().naming(host, port.unwrap_or(HTTPS_PORT))
        }
    }

    /// Checks whether a request may be sent to this URL.
    ///
    /// # Errors
    /// The host, and the rule that forbids it.
    pub fn check(&self, url: UrlParts<'_>) -> Result<(), GuardError> {
        let error = |rule, is_private| GuardError {
            host: url.host.chars().take(limits::ORIGIN_TEXT_CHARS).collect(),
            rule,
            is_private,
        };
        let refused = |rule| Err(error(rule, false));
        let is_plain = url.scheme.eq_ignore_ascii_case("http");
        let is_https = url.scheme.eq_ignore_ascii_case("https");
        if !(is_https || is_plain && self.may_be_plain && self.names(url.host, url.port)) {
            return refused("only https is allowed");
        }
        if url.has_userinfo {
            return refused("the URL contains a user name or a password");
        }
        if url.port == Some(0) {
            return refused("port 0 is not valid");
        }
        if self.names(url.host, url.port) {
            return Ok(());
        }
        match forbidden_host(&folded(url.host)) {
            Some(rule) => Err(error(rule, true)),
            None => Ok(()),
        }
    }

    /// Checks whether a connection may be made to `address`, to which the host of a checked URL resolves.
    ///
    /// # Errors
    /// The host, and the rule that forbids it.
    pub fn check_address(
        &self,
        host: &str,
        port: Option<u16>,
        address: IpAddr,
    ) -> Result<(), GuardError> {
        match forbidden_address(address) {
            Some(rule) if !self.names(host, port) => Err(GuardError {
                host: host.chars().take(limits::ORIGIN_TEXT_CHARS).collect(),
                rule,
                is_private: true,
            }),
            _ => Ok(()),
        }
    }

    fn names(&self, host: &str, port: Option<u16>) -> bool {
        let (host, port) = (folded(host), port.unwrap_or(HTTPS_PORT));
        self.named
            .iter()
            .any(|(named, at)| *named == host && *at == port)
    }
}

/// Returns whether a host is this machine: `localhost`, or an address of the loopback interface.
pub fn is_loopback(host: &str) -> bool {
    let host = folded(host);
    host == "localhost" || host.parse().is_ok_and(|it: IpAddr| it.is_loopback())
}

/// Normalises a host: lower case, without the final dot of a fully qualified name, and without brackets.
fn folded(host: &str) -> String {
    let bare = host.strip_suffix('.').unwrap_or(host);
    let address = bare.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
    address.unwrap_or(bare).to_ascii_lowercase()
}

fn forbidden_host(host: &str) -> Option<&'static str> {
    if host.contains(':') {
        return match host.parse() {
            Ok(address) => forbidden_address(address),
            Err(_) => Some("it is not a valid IPv6 address"),
        };
    }
    let last = host.rsplit('.').next().unwrap_or_default();
    if is_number(last) {
        return match host.parse() {
            Ok(address) => forbidden_address(IpAddr::V4(address)),
            // Such as 127.1, 0x7f.0.0.1, 0177.0.0.1 and 2130706433.
            Err(_) => Some("an IPv4 address must be four decimal numbers"),
        };
    }
    forbidden_name(host)
}

fn forbidden_name(host: &str) -> Option<&'static str> {
    let is_label = |label: &str| {
        (1..=limits::PROVIDER_PART_BYTES).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    if host.len() > limits::HOSTNAME_BYTES || !host.split('.').all(is_label) {
        return Some("it is not a domain name in its ASCII form");
    }
    let is_below = |domain: &str| {
        host.strip_suffix(domain)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    // RFC 6761, RFC 6762, RFC 8375, and ICANN's reservation of 2024.
    let private = ["localhost", "local", "internal", "home.arpa"];
    let is_private = !host.contains('.') || private.into_iter().any(is_below);
    is_private.then_some(
        "it belongs to this machine or a private network, as names without a dot and those below localhost, local, internal and \
         home.arpa do",
    )
}

fn forbidden_address(address: IpAddr) -> Option<&'static str> {
    let is_public = match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    };
    (!is_public).then_some(
        "the address is not one of the public internet: it belongs to this machine or a private network, or is reserved",
    )
}

/// IANA's IPv4 special-purpose address registry, except for its globally reachable blocks.
fn is_public_v4(address: Ipv4Addr) -> bool {
    !matches!(
        address.octets(),
        // Unspecified, and this machine.
        [0 | 127, ..]
            // Private, shared by carrier-grade NAT, and link-local.
            | [10, ..]
            | [172, 16..=31, ..]
            | [192, 168, ..]
            | [100, 64..=127, ..]
            | [169, 254, ..]
            // Reserved, and for documentation.
            | [192, 0, 0 | 2, _]
            | [198, 51, 100, _]
            | [203, 0, 113, _]
            | [192, 88, 99, _]
            | [198, 18..=19, ..]
            // Multicast, and reserved.
            | [224..=255, ..]
    )
}

/// IANA's global unicast allocations are allowed, except for blocks that are reserved or lead elsewhere. No client needs a public
/// IPv4 address in the form of an IPv6 one.
fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        // 6to4, and Teredo, protocol assignments and documentation.
        [0x2002, ..] | [0x2001, 0..=0x1ff | 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] => false,
        [first, ..] => (0x2000..=0x3fff).contains(&first),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn https(host: &str) -> UrlParts<'_> {
        UrlParts {
            scheme: "https",
            has_userinfo: false,
            host,
            port: None,
        }
    }

    #[test]
    fn only_this_machine_is_loopback() {
        for host in [
            "localhost",
            "LOCALHOST.",
            "127.0.0.1",
            "127.255.0.1",
            "[::1]",
            "::1",
        ] {
            assert!(is_loopback(host), "{host}");
        }
        for host in [
            "",
            "localhost.example.com",
            "a.localhost",
            "127.1",
            "0.0.0.0",
            "10.0.0.1",
            "[::]",
            "[::ffff:127.0.0.1]",
        ] {
            assert!(!is_loopback(host), "{host}");
        }
    }

    #[test]
    fn an_s3_endpoint_of_a_setting_may_be_private_and_without_tls_if_the_setting_says_so() {
        let plain = |host| UrlParts {
            scheme: "http",
            port: Some(9000),
            ..https(host)
        };
        let guard = |text: &str| Guard::of_endpoint(&Endpoint::parse(text).unwrap());
        assert_eq!(guard("https://10.0.0.1").check(https("10.0.0.1")), Ok(()));
        assert_eq!(
            guard("http://10.0.0.1:9000").check(plain("10.0.0.1")),
            Ok(())
        );
        assert_eq!(guard("http://[::1]:9000/s3").check(plain("[::1]")), Ok(()));
        for (endpoint, other) in [
            ("https://10.0.0.1", https("10.0.0.2")),
            ("https://10.0.0.1:9000", plain("10.0.0.1")),
            ("http://10.0.0.1:9000", plain("10.0.0.2")),
            ("http://10.0.0.1:9000", https("10.0.0.1")),
            ("http://10.0.0.1:9000", plain("example.com")),
        ] {
            assert!(
                guard(endpoint).check(other).is_err(),
                "{endpoint} {other:?}"
            );
        }
    }

    #[test]
    fn public_hosts_are_allowed_on_any_port() {
        for host in [
            "registry.opentofu.org",
            "Releases.HashiCorp.com",
            "registry.example.com.",
            "a_b.s3.amazonaws.com",
            "localhost.example.com",
            "xn--nser-0ra.example",
            "8.8.8.8",
            "192.0.1.1",
            "172.32.0.1",
            "100.128.0.1",
            "[2606:4700::6810:84e5]",
            "2a00:1450:4001::1",
        ] {
            for port in [None, Some(1), Some(443), Some(8443)] {
                let parts = UrlParts {
                    port,
                    ..https(host)
                };
                assert_eq!(Guard::public().check(parts), Ok(()), "{host}");
            }
        }
    }

    #[test]
    fn a_url_with_another_scheme_userinfo_or_port_zero_is_rejected() {
        let host = "registry.example.com";
        for scheme in ["http", "ftp", "file", "", "httpss"] {
            let parts = UrlParts {
                scheme,
                ..https(host)
            };
            let error = Guard::public().check(parts).unwrap_err().to_string();
            assert!(error.contains("https") && error.contains(host), "{error}");
            let private = UrlParts {
                scheme,
                ..https("10.0.0.1")
            };
            assert!(!Guard::public().check(private).unwrap_err().is_private());
        }
        let private = Guard::public().check(https("10.0.0.1")).unwrap_err();
        assert!(private.is_private());
        let with_userinfo = UrlParts {
            has_userinfo: true,
            ..https(host)
        };
        assert!(Guard::public().check(with_userinfo).is_err());
        let port_zero = UrlParts {
            port: Some(0),
            ..https(host)
        };
        assert!(Guard::public().check(port_zero).is_err());
    }

    #[test]
    fn private_and_reserved_addresses_are_rejected_in_any_spelling() {
        for host in [
            "0.0.0.0",
            "127.0.0.1",
            "127.255.0.1",
            "127.0.0.1.",
            "10.0.0.1",
            "172.16.0.1",
            "172.31.255.255",
            "192.168.1.1",
            "100.64.0.1",
            "169.254.169.254",
            "192.0.2.1",
            "198.51.100.1",
            "203.0.113.1",
            "192.0.0.8",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "127.1",
            "2130706433",
            "0x7f000001",
            "0x7f.0.0.1",
            "0X7F.0.0.0x1",
            "0177.0.0.1",
            "127.0.0.01",
            "8.8.8",
            "1.2.3.4.5",
            "256.1.1.1",
            "a.0x",
            "[::]",
            "[::1]",
            "::1",
            "[0:0:0:0:0:0:0:1]",
            "[::ffff:127.0.0.1]",
            "[::ffff:a00:1]",
            "[::127.0.0.1]",
            "[64:ff9b::7f00:1]",
            "[64:ff9b:1::1]",
            "[2002:7f00:1::]",
            "[2001:0:1::]",
            "[fc00::1]",
            "[fdff::1]",
            "[fe80::1]",
            "[fe80::1%25eth0]",
            "[ff02::1]",
            "[2001:db8::1]",
            "[3fff::1]",
            "[5f00::1]",
            "[127.0.0.1",
            "[127.0.0.1]",
        ] {
            let error = Guard::public().check(https(host)).unwrap_err().to_string();
            assert!(error.contains(&format!("{host:?}: ")), "{error}");
        }
    }

    #[test]
    fn names_of_private_networks_are_rejected() {
        for host in [
            "",
            ".",
            "localhost",
            "LOCALHOST.",
            "a.localhost",
            "printer.local",
            "metadata.google.internal",
            "nas.home.arpa",
            "vault",
            "a..b",
            "a b.example",
            "ünser.example",
            "%6c%6fcalhost",
            "a.example\u{0}",
        ] {
            let error = Guard::public().check(https(host)).unwrap_err().to_string();
            assert!(!error.contains(char::is_control), "{error:?}");
        }
    }

    #[test]
    fn only_a_named_host_may_be_private() {
        let guard = Guard::public()
            .naming("10.0.0.1", 8443)
            .naming("Vault", 443);
        let at = |host, port| {
            guard.check(UrlParts {
                port,
                ..https(host)
            })
        };
        assert_eq!(at("10.0.0.1", Some(8443)), Ok(()));
        assert_eq!(at("vault", None), Ok(()));
        assert_eq!(at("vault.", Some(443)), Ok(()));
        for (host, port) in [
            ("10.0.0.1", None),
            ("10.0.0.1", Some(8444)),
            ("10.0.0.2", Some(8443)),
            ("vault", Some(8443)),
            ("a.vault", Some(0)),
            ("localhost", None),
        ] {
            assert!(at(host, port).is_err(), "{host} {port:?}");
        }
        let http = UrlParts {
            scheme: "http",
            ..https("vault")
        };
        assert!(guard.check(http).is_err());
    }

    #[test]
    fn the_address_that_a_name_resolves_to_is_checked_by_the_same_rules() {
        let guard = Guard::public().naming("registry.corp.example", 443);
        let private: IpAddr = "10.0.0.1".parse().unwrap();
        let public: IpAddr = "8.8.8.8".parse().unwrap();
        assert!(guard.check_address("a.example", None, private).is_err());
        assert!(guard.check_address("a.example", None, public).is_ok());
        let named = "registry.corp.example";
        assert!(guard.check_address(named, None, private).is_ok());
        assert!(guard.check_address(named, Some(22), private).is_err());
    }
}
