//! Bounds how often somebody may guess.

use core::net::Ipv6Addr;
use std::collections::HashMap;

use crate::limits;
use crate::time::UnixTime;

/// Counts requests with wrong credentials by the address they come from, for a minute each. It knows
/// what one isolate has seen, and forgets everything rather than grow.
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
    /// Whether there were too many from an address, without counting one more.
    pub fn holds(&self, address: &str, most: u32, now: UnixTime) -> bool {
        let window = self.failures.get(&network(address));
        window.is_some_and(|window| window.is_open(now) && window.count >= most)
    }

    /// Counts one more, and tells whether that are too many.
    pub fn count(&mut self, address: &str, most: u32, now: UnixTime) -> bool {
        if self.failures.len() >= limits::THROTTLED_ADDRESSES {
            self.failures.retain(|_, window| window.is_open(now));
        }
        if self.failures.len() >= limits::THROTTLED_ADDRESSES {
            // Whoever guesses by many addresses shall not have those forgotten who guess by one.
            self.failures.retain(|_, window| window.count > 1);
        }
        if self.failures.len() >= limits::THROTTLED_ADDRESSES {
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
        window.count > most
    }
}

/// What an address belongs to whole: one of IPv6 comes with 2⁶⁴ others
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
    fn whoever_guesses_too_often_is_told_so_for_a_minute() {
        let mut throttle = Throttle::default();
        for _ in 0..3 {
            assert!(!throttle.count("a", 3, NOW));
        }
        assert!(throttle.holds("a", 3, NOW) && !throttle.holds("b", 3, NOW));
        assert!(throttle.count("a", 3, NOW.plus(59)));
        assert!(!throttle.holds("a", 3, NOW.plus(60)));
        assert!(!throttle.count("b", 3, NOW));
        assert!(!throttle.count("a", 3, NOW.plus(60)));
    }

    #[test]
    fn addresses_of_one_network_are_one() {
        let mut throttle = Throttle::default();
        throttle.count("2001:db8:1:2::1", 1, NOW);
        assert!(throttle.holds("2001:db8:1:2:ffff:ffff:ffff:ffff", 1, NOW));
        assert!(!throttle.holds("2001:db8:1:3::1", 1, NOW));
        throttle.count("::ffff:192.0.2.1", 1, NOW);
        assert!(!throttle.holds("::ffff:192.0.2.2", 1, NOW));
    }

    #[test]
    fn who_guesses_by_many_addresses_makes_nobody_forgotten() {
        let mut throttle = Throttle::default();
        throttle.count("a", 2, NOW);
        throttle.count("a", 2, NOW);
        for n in 0..limits::THROTTLED_ADDRESSES * 3 {
            throttle.count(&n.to_string(), 2, NOW);
        }
        assert!(throttle.holds("a", 2, NOW));
    }

    #[test]
    fn it_does_not_grow_without_end() {
        let mut throttle = Throttle::default();
        for n in 0..limits::THROTTLED_ADDRESSES * 3 {
            throttle.count(&n.to_string(), 1, NOW);
            assert!(throttle.failures.len() <= limits::THROTTLED_ADDRESSES);
        }
    }
}
