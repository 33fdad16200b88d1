//! Bounds how often somebody may guess.

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
        let window = self.failures.get(address);
        window.is_some_and(|window| window.is_open(now) && window.count >= most)
    }

    /// Counts one more, and tells whether that are too many.
    pub fn count(&mut self, address: &str, most: u32, now: UnixTime) -> bool {
        if self.failures.len() >= limits::THROTTLED_ADDRESSES {
            self.failures.retain(|_, window| window.is_open(now));
        }
        if self.failures.len() >= limits::THROTTLED_ADDRESSES {
            self.failures.clear();
        }
        let fresh = Window {
            began: now,
            count: 0,
        };
        let window = self.failures.entry(address.to_owned()).or_insert(fresh);
        if !window.is_open(now) {
            *window = fresh;
        }
        window.count = window.count.saturating_add(1);
        window.count > most
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
    fn it_does_not_grow_without_end() {
        let mut throttle = Throttle::default();
        for n in 0..limits::THROTTLED_ADDRESSES * 3 {
            throttle.count(&n.to_string(), 1, NOW);
            assert!(throttle.failures.len() <= limits::THROTTLED_ADDRESSES);
        }
    }
}
