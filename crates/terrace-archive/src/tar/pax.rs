//! Parser of the records of a pax header.

/// The values by which a pax header overrides the next entry. Empty values override nothing.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Pax {
    pub(super) path: Vec<u8>,
    pub(super) linkpath: Vec<u8>,
    pub(super) size: Option<u64>,
    pub(super) sparse: bool,
}

impl Pax {
    /// Reads repeated `<length> <key>=<value>\n`; the last of several values counts.
    ///
    /// Returns `None` if clients would refuse the header.
    pub(super) fn read(mut body: &[u8]) -> Option<Self> {
        let mut pax = Self::default();
        while !body.is_empty() {
            let (key, value, rest) = record(body)?;
            body = rest;
            match key {
                b"path" if !value.contains(&0) => pax.path = value.to_vec(),
                b"linkpath" if !value.contains(&0) => pax.linkpath = value.to_vec(),
                b"path" | b"linkpath" => return None,
                b"uname" | b"gname" if value.contains(&0) => return None,
                b"size" if value.is_empty() => pax.size = None,
                b"size" => pax.size = Some(u64::try_from(integer(value)?).ok()?),
                b"uid" | b"gid" if !value.is_empty() => {
                    integer(value)?;
                }
                b"mtime" | b"atime" | b"ctime" if !value.is_empty() => time(value)?,
                _ if key.starts_with(b"GNU.sparse.") => pax.sparse = true,
                _ => {}
            }
        }
        Some(pax)
    }
}

/// Returns the first record: its key, its value, and the remaining bytes.
fn record(body: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (digits, _) = cut(body, b' ')?;
    if digits.is_empty() || digits.len() > 9 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let length = usize::try_from(integer(digits)?).ok()?;
    let (record, rest) = body.split_at_checked(length)?;
    let record = record.get(digits.len() + 1..)?.strip_suffix(b"\n")?;
    let (key, value) = cut(record, b'=')?;
    (!key.is_empty() && !key.contains(&0)).then_some((key, value, rest))
}

fn cut(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let place = bytes.iter().position(|byte| *byte == at)?;
    Some((bytes.get(..place)?, bytes.get(place + 1..)?))
}

/// Parses a decimal number with an optional sign.
fn integer(text: &[u8]) -> Option<i64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// Parses seconds, with or without a fraction.
fn time(text: &[u8]) -> Option<()> {
    let (seconds, fraction) = cut(text, b'.').unwrap_or((text, b""));
    integer(seconds)?;
    fraction.iter().all(u8::is_ascii_digit).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_read_and_the_last_value_counts() {
        for (body, path, size) in [
            (
                &b"10 path=a\n10 path=b\n11 size=42\n21 mtime=1700000.123\n15 comment=a=b\n"[..],
                &b"b"[..],
                Some(42),
            ),
            (b"12 path=a\nb\n", b"a\nb", None),
            (b"8 path=\n8 size=\n9 mtime=\n", b"", None),
        ] {
            let pax = Pax::read(body).unwrap();
            assert_eq!((&*pax.path, pax.size), (path, size));
        }
    }

    #[test]
    fn malformed_records_are_refused() {
        assert!(Pax::read(b"10 path=a\n").is_some());
        for body in [
            &b"path=a\n"[..],
            b"10 path=a",
            b"8 path=a\n",
            b"11 path=a\n",
            b"99 path=a\n",
            b"-10 path=a\n",
            b"+10 path=a\n",
            b" path=a\n",
            b"0 path=a\n",
            b"4 =\n",
            b"7 =aaa\n",
            b"7 aaaa\n",
            b"11 path=\0a\n",
            b"10 si\0ze=1\n",
            b"12 size=-42\n",
            b"10 size=4x\n",
            b"8 uid=x\n",
            b"12 mtime=1.x\n",
            b"99999999999999999999 path=a\n",
        ] {
            assert_eq!(Pax::read(body), None, "{:?}", String::from_utf8_lossy(body));
        }
    }
}
