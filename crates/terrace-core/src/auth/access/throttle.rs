//! Throttling of credential guesses.

use core::net::Ipv6Addr;
use std::collections::HashMap;

use terrace_base::time::UnixTime;

/// Maximum number of addresses for which an isolate counts invalid credentials.
const THROTTLED_ADDRESSES: usize = 1_000;

/// Counts requests with invalid credentials by client address, over one minute each. It only knows the
/// requests of its own isolate, and drops all entries rather than grow without bound.
#[derive(Debug, Default)]
pub struct Throttle {
    failures: HashMap<String, Window>,
}

#[derive(Debug, Clone, Copy)]
struct Window {
    began: UnixTime,
    count: u32,
}

impl Throttle {
    /// Counts a request, and returns the number within the minute.
    pub fn count(&mut self, address: &str, now: UnixTime) -> u32 {
        if self.failures.len() >= THROTTLED_ADDRESSES {
            self.failures.retain(|_, window| window.is_open(now));
        }
        if self.failures.len() >= THROTTLED_ADDRESSES {
            // A guesser with many addresses must not evict the entry of a guesser with one.
            self.failures.retain(|_, window| window.count > 1);
        }
        if self.failures.len() >= THROTTLED_ADDRESSES {
            self.failures.clear();
        }
        let fresh = Window {
            began: now,
            count: 0,
        };
        let window = self.failures.entry(network(address)).or_insert(fresh);
        if !window.is_open(now) {
            *window = fresh;
        }
        window.count = window.count.saturating_add(1);
        window.count
    }

    /// Removes one request from the count.
    pub fn forgive(&mut self, address: &str) {
        if let Some(window) = self.failures.get_mut(&network(address)) {
            window.count = window.count.saturating_sub(1);
        }
    }
}

/// Returns the network that an address belongs to: an IPv6 client usually controls 2⁶⁴ addresses
/// (<https://www.rfc-editor.org/rfc/rfc6177>).
pub fn network(address: &str) -> String {
    match address.parse::<Ipv6Addr>() {
        Ok(address) if address.to_ipv4_mapped().is_none() => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
        _ => address.to_owned(),
    }
}

impl Window {
    fn is_open(self, now: UnixTime) -> bool {
        now.0.saturating_sub(self.began.0) < 60
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixTime = UnixTime(1_800_000_000);

    #[test]
    fn guesses_are_counted_by_address_for_a_minute() {
        let mut throttle = Throttle::default();
        for count in 1..4 {
            assert_eq!(throttle.count("a", NOW), count);
        }
        assert_eq!(throttle.count("a", NOW.plus(59)), 4);
        assert_eq!(throttle.count("b", NOW), 1);
        assert_eq!(throttle.count("a", NOW.plus(60)), 1);
    }

    #[test]
    fn a_forgiven_request_is_not_counted() {
        let mut throttle = Throttle::default();
        throttle.count("a", NOW);
        throttle.count("a", NOW);
        throttle.forgive("a");
        throttle.forgive("b");
        assert_eq!(throttle.count("a", NOW), 2);
        assert_eq!(throttle.count("b", NOW), 1);
    }

    #[test]
    fn addresses_of_one_network_share_a_count() {
        let mut throttle = Throttle::default();
        throttle.count("2001:db8:1:2::1", NOW);
        assert_eq!(throttle.count("2001:db8:1:2:ffff:ffff:ffff:ffff", NOW), 2);
        assert_eq!(throttle.count("2001:db8:1:3::1", NOW), 1);
        throttle.count("::ffff:192.0.2.1", NOW);
        assert_eq!(throttle.count("::ffff:192.0.2.2", NOW), 1);
    }

    #[test]
    fn guesses_from_many_addresses_take_bounded_memory_and_do_not_evict_a_single_guesser() {
        let mut throttle = Throttle::default();
        throttle.count("a", NOW);
        throttle.count("a", NOW);
        for n in 0..THROTTLED_ADDRESSES * 3 {
            throttle.count(&n.to_string(), NOW);
            assert!(throttle.failures.len() <= THROTTLED_ADDRESSES);
        }
        assert_eq!(throttle.count("a", NOW), 3);
    }
}
