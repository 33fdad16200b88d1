//! Range requests (RFC 9110, section 14) with a single range, in bytes.

/// The requested part of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteRange {
    /// The whole object: the header is absent, malformed, or names several ranges.
    Full,
    /// Bytes `first` to `last`, both included.
    Partial {
        /// The offset of the first byte.
        first: u64,
        /// The offset of the last byte.
        last: u64,
    },
    /// A range that is not satisfiable.
    Unsatisfiable,
}

/// Parses a `Range` header for an object of `size` bytes.
pub fn requested_range(header: &str, size: u64) -> ByteRange {
    read(header, size).unwrap_or(ByteRange::Full)
}

fn read(header: &str, size: u64) -> Option<ByteRange> {
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
        ByteRange::Partial { first, last }
    } else {
        ByteRange::Unsatisfiable
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_clamped_to_the_size() {
        let part = |first, last| ByteRange::Partial { first, last };
        for (header, size, want) in [
            ("bytes=0-", 10, part(0, 9)),
            ("bytes=2-4", 10, part(2, 4)),
            ("bytes=2-99", 10, part(2, 9)),
            ("bytes=-3", 10, part(7, 9)),
            ("bytes=-99", 10, part(0, 9)),
            ("bytes=9-9", 10, part(9, 9)),
            ("bytes=10-", 10, ByteRange::Unsatisfiable),
            ("bytes=10-20", 10, ByteRange::Unsatisfiable),
            ("bytes=5-0", 10, ByteRange::Unsatisfiable),
            ("bytes=-0", 10, ByteRange::Unsatisfiable),
            ("bytes=0-", 0, ByteRange::Unsatisfiable),
            ("bytes=99999999999999999999-", 10, ByteRange::Unsatisfiable),
            ("bytes=0-1,3-4", 10, ByteRange::Full),
            ("bytes=a-b", 10, ByteRange::Full),
            ("bytes=-", 10, ByteRange::Full),
            ("bytes=1", 10, ByteRange::Full),
            ("lines=1-2", 10, ByteRange::Full),
            ("", 10, ByteRange::Full),
        ] {
            assert_eq!(requested_range(header, size), want, "{header} of {size}");
        }
    }
}
