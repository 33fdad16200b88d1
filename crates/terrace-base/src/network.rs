//! Ranges of IP addresses.

use core::net::IpAddr;
use std::str::FromStr;

/// A range of addresses: `192.0.2.1`, or `192.0.2.0/24`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network {
    address: IpAddr,
    /// The number of leading bits that all addresses of the range share.
    length: u8,
}

/// The text is not a range of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it must be an IP address, such as 192.0.2.1, or a range of them, such as 192.0.2.0/24")]
pub struct NetworkError;

impl Network {
    /// Returns whether an address is in the range.
    pub fn contains(self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let bits = |address| match address {
            IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
            IpAddr::V6(address) => address.to_bits(),
        };
        let differing = bits(self.address) ^ bits(address);
        self.address.is_ipv4() == address.is_ipv4()
            && differing.leading_zeros() >= self.length.into()
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let (address, length) = match text.split_once('/') {
            Some((address, length)) => (address, Some(length)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| NetworkError)?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let length = length.map_or(Ok(most), str::parse);
        match length {
            Ok(length) if length <= most => Ok(Self { address, length }),
            _ => Err(NetworkError),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_contains_the_addresses_that_share_its_first_bits() {
        for (network, address, contains) in [
            ("10.1.2.3", "10.1.2.3", true),
            ("10.1.2.3", "10.1.2.4", false),
            ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false),
            ("10.0.0.0/8", "::ffff:10.1.1.1", true),
            ("0.0.0.0/0", "203.0.113.9", true),
            ("0.0.0.0/0", "::1", false),
            ("fd00::/8", "fdff::1", true),
            ("fd00::/8", "fe80::1", false),
        ] {
            let network: Network = network.parse().unwrap();
            assert_eq!(
                network.contains(address.parse().unwrap()),
                contains,
                "{network:?} {address}"
            );
        }
        for text in ["", "a", "10.0.0.0/33", "10.0.0.0/", "10.0.0/8", "::/129"] {
            assert!(text.parse::<Network>().is_err(), "{text}");
        }
    }
}
