//! Range requests (RFC 9110, section 14) with a single range, in bytes.

/// The requested part of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The whole object: the header is absent, malformed, or names several ranges.
    Whole,
    /// Bytes `first` to `last`, both included.
    Part {
        /// The offset of the first byte.
        first: u64,
        /// The offset of the last byte.
        last: u64,
    },
    /// A range that is not satisfiable.
    Nothing,
}

/// Parses a `Range` header for an object of `size` bytes.
pub fn wanted(header: &str, size: u64) -> Wanted {
    read(header, size).unwrap_or(Wanted::Whole)
}

fn read(header: &str, size: u64) -> Option<Wanted> {
    let (first, last) = header.trim().strip_prefix("bytes=")?.split_once('-')?;
    let number = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<u64>().unwrap_or(u64::MAX))
    };
    let (first, last) = match (first, last) {
        ("", length) => (size.saturating_sub(number(length)?), u64::MAX),
        (first, "") => (number(first)?, u64::MAX),
        (first, last) => (number(first)?, number(last)?),
    };
    let last = last.min(size.saturating_sub(1));
    Some(if first < size && first <= last {
        Wanted::Part { first, last }
    } else {
        Wanted::Nothing
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_range_is_clamped_to_the_size() {
        let part = |first, last| Wanted::Part { first, last };
        for (header, size, want) in [
            ("bytes=0-", 10, part(0, 9)),
            ("bytes=2-4", 10, part(2, 4)),
            ("bytes=2-99", 10, part(2, 9)),
            ("bytes=-3", 10, part(7, 9)),
            ("bytes=-99", 10, part(0, 9)),
            ("bytes=9-9", 10, part(9, 9)),
            ("bytes=10-", 10, Wanted::Nothing),
            ("bytes=10-20", 10, Wanted::Nothing),
            ("bytes=5-0", 10, Wanted::Nothing),
            ("bytes=-0", 10, Wanted::Nothing),
            ("bytes=0-", 0, Wanted::Nothing),
            ("bytes=99999999999999999999-", 10, Wanted::Nothing),
            ("bytes=0-1,3-4", 10, Wanted::Whole),
            ("bytes=a-b", 10, Wanted::Whole),
            ("bytes=-", 10, Wanted::Whole),
            ("bytes=1", 10, Wanted::Whole),
            ("lines=1-2", 10, Wanted::Whole),
            ("", 10, Wanted::Whole),
        ] {
            assert_eq!(wanted(header, size), want, "{header} of {size}");
        }
    }

    proptest! {
        #[test]
        fn a_part_lies_within_the_object(header in "bytes=[0-9]{0,4}-[0-9]{0,4}", size in 0u64..2_000) {
            if let Wanted::Part { first, last } = wanted(&header, size) {
                prop_assert!(first <= last && last < size);
            }
        }

        #[test]
        fn no_header_panics(header in "\\PC{0,40}", size in any::<u64>()) {
            let _ = wanted(&header, size);
        }
    }
}
