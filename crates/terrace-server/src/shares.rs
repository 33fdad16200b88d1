//! A resource of the process, of which no client takes more than half.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The resource: how much of it there is, and how much is taken.
#[derive(Debug)]
pub(crate) struct Shares {
    all: usize,
    taken: Mutex<HashMap<Option<IpAddr>, usize>>,
}

/// A part of it, which is returned when this value is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    of: Arc<Shares>,
    client: Option<IpAddr>,
    amount: usize,
}

impl Shares {
    pub(crate) fn new(all: usize) -> Arc<Self> {
        let taken = Mutex::default();
        Arc::new(Self { all, taken })
    }

    /// Takes a part for the client with this address; without one, for clients that nothing tells apart, such as those behind a
    /// proxy. `None` if too much is taken.
    pub(crate) fn take(self: &Arc<Self>, address: Option<IpAddr>, amount: usize) -> Option<Share> {
        let client = address.map(client);
        let mut taken = self.taken();
        let own = taken.get(&client).unwrap_or(&0) + amount;
        let sum = taken.values().sum::<usize>() + amount;
        let limit = if client.is_some() {
            self.all / 2
        } else {
            self.all
        };
        if own > limit || sum > self.all {
            return None;
        }
        taken.insert(client, own);
        let of = Arc::clone(self);
        Some(Share { of, client, amount })
    }

    fn taken(&self) -> MutexGuard<'_, HashMap<Option<IpAddr>, usize>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.of.taken();
        let left = taken.remove(&self.client).unwrap_or_default();
        if left > self.amount {
            taken.insert(self.client, left - self.amount);
        }
    }
}

/// Returns the address of a client, or that of its network: a client with IPv6 has a network of 64 bits
/// (<https://www.rfc-editor.org/rfc/rfc6177>).
fn client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_client_takes_half_and_all_clients_take_all() {
        let shares = Shares::new(10);
        let take = |address: &str, amount| shares.take(address.parse().ok(), amount);
        let half = [take("192.0.2.1", 2), take("::ffff:192.0.2.1", 3)];
        assert!(half.iter().all(Option::is_some));
        assert!(take("192.0.2.1", 1).is_none());
        let other = take("2001:db8::1", 4);
        assert!(take("2001:db8::ffff", 2).is_none());
        assert!(take("2001:db8:0:1::1", 2).is_none());
        let last = take("2001:db8:0:1::1", 1);
        drop((half, other));
        let unknown = take("-", 9);
        assert!(unknown.is_some() && take("-", 1).is_none());
        drop((last, unknown));
        assert!(shares.taken().is_empty());
    }
}
