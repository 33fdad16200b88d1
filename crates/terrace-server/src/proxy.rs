//! Proxies in front of the server that are trusted in their statements about a client.

use std::net::IpAddr;

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
pub(crate) struct TrustedProxies(Vec<Network>);

impl TrustedProxies {
    pub(crate) fn new(networks: Vec<Network>) -> Self {
        Self(networks)
    }

    pub(crate) fn include(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address))
    }

    /// Returns the client of a request that `peer` has sent. The headers `X-Forwarded-For` and `X-Forwarded-Proto` count only
    /// if the peer is a trusted proxy: any client can send them.
    ///
    /// Each proxy appends the address of its own peer to `X-Forwarded-For`, so the client is the last address that is not a
    /// trusted proxy's. Earlier ones are the statements of others.
    pub(crate) fn client(
        &self,
        peer: IpAddr,
        is_secure: bool,
        header: impl Fn(&str) -> Option<String>,
    ) -> Client {
        let direct = Client {
            address: peer.to_canonical(),
            is_secure,
        };
        if !self.include(peer) {
            return direct;
        }
        let chain = header("x-forwarded-for").unwrap_or_default();
        let mut address = direct.address;
        for before in chain.rsplit(',') {
            let Ok(before) = before.trim().parse::<IpAddr>() else {
                break;
            };
            address = before.to_canonical();
            if !self.include(address) {
                break;
            }
        }
        let scheme = header("x-forwarded-proto");
        let scheme = scheme.as_deref().and_then(|all| all.rsplit(',').next());
        Client {
            address,
            is_secure: scheme.map_or(is_secure, |it| it.trim().eq_ignore_ascii_case("https")),
        }
    }
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
            let client = proxies.client(ip(peer), false, header);
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
    }
}
