//! Proxies in front of the server that are trusted in their statements about a client.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use terrace_base::network::Network;

/// The client of a request, as far as the host knows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Client {
    /// The address of the client.
    pub(crate) address: IpAddr,
    /// Whether its connection has TLS.
    pub(crate) is_secure: bool,
}

/// The proxies that are trusted, if any.
#[derive(Debug, Clone, Default)]
pub(crate) struct TrustedProxies {
    networks: Vec<Network>,
    /// Whether a header of another peer was reported.
    untrusted: Arc<AtomicBool>,
}

impl TrustedProxies {
    pub(crate) fn new(networks: Vec<Network>) -> Self {
        Self {
            networks,
            ..Self::default()
        }
    }

    pub(crate) fn include(&self, address: IpAddr) -> bool {
        self.networks
            .iter()
            .any(|network| network.contains(address))
    }

    /// Returns the client of a request that `peer` has sent, and a notice for the log. The headers `X-Forwarded-For` and
    /// `X-Forwarded-Proto` count only if the peer is a trusted proxy: any client can send them.
    ///
    /// Each proxy appends the address of its own peer to `X-Forwarded-For`, so the client is the last address that is not a
    /// trusted proxy's. Earlier ones are the statements of others.
    ///
    /// The notice is returned once: a proxy that is not configured sends such headers with every request.
    pub(crate) fn client(
        &self,
        peer: IpAddr,
        is_secure: bool,
        header: impl Fn(&str) -> Option<String>,
    ) -> (Client, Option<String>) {
        let direct = Client {
            address: peer.to_canonical(),
            is_secure,
        };
        if !self.include(peer) {
            return (direct, self.untrusted(direct.address, header));
        }
        let chain = header(FORWARDED_FOR).unwrap_or_default();
        let mut address = direct.address;
        for before in chain.rsplit(',') {
            let Some(before) = address_of(before.trim()) else {
                break;
            };
            address = before.to_canonical();
            if !self.include(address) {
                break;
            }
        }
        let scheme = header(FORWARDED_PROTO);
        let scheme = scheme.as_deref().and_then(|all| all.rsplit(',').next());
        let client = Client {
            address,
            is_secure: scheme.map_or(is_secure, |it| it.trim().eq_ignore_ascii_case("https")),
        };
        (client, None)
    }

    fn untrusted(&self, peer: IpAddr, header: impl Fn(&str) -> Option<String>) -> Option<String> {
        let mut names = [FORWARDED_FOR, FORWARDED_PROTO].into_iter();
        let name = names.find(|name| header(name).is_some())?;
        let is_first = !self.untrusted.swap(true, Relaxed);
        is_first.then(|| {
            format!(
                "{peer} sends {name}, which is ignored, because it is no trusted proxy; if it is yours, start the server with \
                 --trust-proxy {peer}"
            )
        })
    }
}

const FORWARDED_FOR: &str = "x-forwarded-for";
const FORWARDED_PROTO: &str = "x-forwarded-proto";

/// Returns an address, which may be in brackets and have a port, as Azure's gateways send it.
fn address_of(text: &str) -> Option<IpAddr> {
    let bare = text.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    let with_port = || Some(text.parse::<SocketAddr>().ok()?.ip());
    bare.unwrap_or(text).parse().ok().or_else(with_port)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_client_is_named_only_by_trusted_proxies() {
        let trusted = ["10.0.0.0/8", "127.0.0.1"].map(|it| it.parse().unwrap());
        let proxies = TrustedProxies::new(trusted.into());
        let client = |peer, chain: Option<&str>, proto: Option<&str>| {
            let header = |name: &str| {
                let value = if name == "x-forwarded-for" {
                    chain
                } else {
                    proto
                };
                value.map(str::to_owned)
            };
            let (client, _) = proxies.client(ip(peer), false, header);
            (client.address.to_string(), client.is_secure)
        };
        let evil = Some("198.51.100.1");
        assert_eq!(
            client("203.0.113.9", evil, Some("https")),
            ("203.0.113.9".to_owned(), false)
        );
        assert_eq!(
            client("127.0.0.1", evil, Some("https")),
            ("198.51.100.1".to_owned(), true)
        );
        assert_eq!(
            client("::ffff:127.0.0.1", None, None),
            ("127.0.0.1".to_owned(), false)
        );
        // The first address is the client's own statement.
        let chain = Some("192.0.2.1, 198.51.100.1, 10.0.0.2");
        assert_eq!(
            client("10.0.0.1", chain, Some("http, https")).0,
            "198.51.100.1"
        );
        let broken = Some("198.51.100.1, unknown");
        assert_eq!(client("10.0.0.1", broken, None).0, "10.0.0.1");
        for (chain, address) in [
            ("203.0.113.5:51008", "203.0.113.5"),
            ("[2001:db8::7]:51008, 10.0.0.2:80", "2001:db8::7"),
            ("[2001:db8::7]", "2001:db8::7"),
            ("2001:db8::7", "2001:db8::7"),
        ] {
            assert_eq!(client("10.0.0.1", Some(chain), None).0, address);
        }
    }

    #[test]
    fn a_proxy_that_is_not_trusted_is_reported_once() {
        let proxies = TrustedProxies::new(vec!["10.0.0.0/8".parse().unwrap()]);
        let notice = |peer, name: &'static str, value: &str| {
            let header = |asked: &str| (asked == name).then(|| value.to_owned());
            proxies.client(ip(peer), false, header).1
        };
        assert_eq!(notice("10.0.0.1", FORWARDED_PROTO, "https"), None);
        assert_eq!(notice("192.0.2.1", "host", "r.example"), None);
        let untrusted = notice("192.0.2.1", FORWARDED_PROTO, "https").unwrap();
        assert!(untrusted.contains("--trust-proxy 192.0.2.1"), "{untrusted}");
        assert_eq!(notice("192.0.2.2", FORWARDED_FOR, "192.0.2.1"), None);
    }
}
