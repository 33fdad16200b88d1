//! Parser of a header block.

use super::until_nul;

/// The fields of a header block that describe its entry.
pub(super) struct Header {
    pub(super) name: Vec<u8>,
    pub(super) link: Vec<u8>,
    pub(super) mode: u32,
    pub(super) size: u64,
    pub(super) type_flag: u8,
}

/// A reason why a block is not a header.
pub(super) enum HeaderError {
    Checksum,
    /// The field of this name is not a number, or has an impossible value.
    Number(&'static str),
}

#[derive(Clone, Copy, PartialEq)]
enum Format {
    V7,
    Ustar,
    Star,
    Gnu,
}

impl Header {
    pub(super) fn read(block: &[u8]) -> Result<Self, HeaderError> {
        check_sum(block)?;
        let format = format(block);
        // Go refuses an entry if any of its numbers is invalid, used or not.
        let mode = number(block, 100, 8, "mode")?;
        number(block, 108, 8, "user id")?;
        number(block, 116, 8, "group id")?;
        let size = number(block, 124, 12, "size")?;
        number(block, 136, 12, "time")?;
        if format != Format::V7 {
            number(block, 329, 8, "device number")?;
            number(block, 337, 8, "device number")?;
        }
        let prefix = match format {
            Format::V7 => &[],
            Format::Ustar => field(block, 345, 155),
            Format::Star => {
                number(block, 476, 12, "access time")?;
                number(block, 488, 12, "change time")?;
                field(block, 345, 131)
            }
            Format::Gnu => {
                // Where these are not times, Go treats them as a prefix of the name; other readers do not.
                for start in [345, 357] {
                    if block.get(start).is_some_and(|first| *first != 0) {
                        number(block, start, 12, "access or change time")?;
                    }
                }
                &[]
            }
        };
        Ok(Self {
            name: joined(until_nul(prefix), until_nul(field(block, 0, 100))),
            link: until_nul(field(block, 157, 100)).to_vec(),
            mode: u32::try_from(mode).map_err(|_| HeaderError::Number("mode"))?,
            size: u64::try_from(size).map_err(|_| HeaderError::Number("size"))?,
            type_flag: block.get(156).copied().unwrap_or_default(),
        })
    }
}

fn joined(prefix: &[u8], name: &[u8]) -> Vec<u8> {
    if prefix.is_empty() {
        name.to_vec()
    } else {
        [prefix, b"/", name].concat()
    }
}

fn format(block: &[u8]) -> Format {
    match (
        field(block, 257, 6),
        field(block, 263, 2),
        field(block, 508, 4),
    ) {
        (b"ustar\0", _, b"tar\0") => Format::Star,
        (b"ustar\0", _, _) => Format::Ustar,
        (b"ustar ", b" \0", _) => Format::Gnu,
        _ => Format::V7,
    }
}

/// Checks the sum of all bytes, with the sum's own field taken as spaces. Old writers summed signed bytes.
fn check_sum(block: &[u8]) -> Result<(), HeaderError> {
    let declared = octal(field(block, 148, 8)).ok_or(HeaderError::Checksum)?;
    let bytes = block.iter().enumerate().map(|(at, byte)| {
        if (148..156).contains(&at) {
            b' '
        } else {
            *byte
        }
    });
    let unsigned: i64 = bytes.clone().map(i64::from).sum();
    let signed: i64 = bytes.map(|byte| i64::from(byte.cast_signed())).sum();
    if declared == unsigned || declared == signed {
        Ok(())
    } else {
        Err(HeaderError::Checksum)
    }
}

fn field(block: &[u8], start: usize, length: usize) -> &[u8] {
    block.get(start..start + length).unwrap_or_default()
}

fn number(
    block: &[u8],
    start: usize,
    length: usize,
    name: &'static str,
) -> Result<i64, HeaderError> {
    let field = field(block, start, length);
    let value = match field.first() {
        Some(first) if first & 0x80 != 0 => base_256(field),
        _ => octal(field),
    };
    value.ok_or(HeaderError::Number(name))
}

/// Parses octal digits between spaces and NULs; an empty field is zero.
fn octal(field: &[u8]) -> Option<i64> {
    let is_padding = |byte: &u8| matches!(byte, b' ' | 0);
    let start = field
        .iter()
        .position(|byte| !is_padding(byte))
        .unwrap_or(field.len());
    let end = field
        .iter()
        .rposition(|byte| !is_padding(byte))
        .map_or(start, |last| last + 1);
    until_nul(field.get(start..end)?)
        .iter()
        .try_fold(0i64, |value, byte| match byte {
            b'0'..=b'7' => value.checked_mul(8)?.checked_add(i64::from(byte - b'0')),
            _ => None,
        })
}

/// Parses a big-endian two's complement number. Its first bit marks this encoding.
fn base_256(field: &[u8]) -> Option<i64> {
    let (first, rest) = field.split_first()?;
    let negative = first & 0x40 != 0;
    // The mark is not part of the number: replace it by the sign.
    let first = if negative { first | 0x80 } else { first & 0x7f };
    rest.iter()
        .try_fold(i64::from(first.cast_signed()), |value, byte| {
            value.checked_mul(256).map(|value| value | i64::from(*byte))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octal_numbers_are_read_between_their_padding() {
        for (text, value) in [
            (&b"0000644\0"[..], Some(0o644)),
            (b"   644 \0", Some(0o644)),
            (b"\0\0\0\0", Some(0)),
            (b"", Some(0)),
            (b"77777777777\0", Some(0o77_777_777_777)),
            (b"12\x0034", Some(0o12)),
            (b"8", None),
            (b"-1", None),
            (b"+1", None),
            (b"1 2", None),
            (b"7777777777777777777777777", None),
        ] {
            assert_eq!(octal(text), value, "{text:?}");
        }
    }

    #[test]
    fn base_256_numbers_keep_their_sign() {
        for (bytes, value) in [
            (&[0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0][..], Some(256)),
            (
                &[
                    0x80, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
                ][..],
                Some(0x7fff_ffff_ffff_ffff),
            ),
            (&[0xff; 12][..], Some(-1)),
            (&[0xff, 0xff, 0xfe][..], Some(-2)),
            (&[0x80, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0][..], None),
            (&[0x81, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0][..], None),
        ] {
            assert_eq!(base_256(bytes), value, "{bytes:?}");
        }
    }
}
