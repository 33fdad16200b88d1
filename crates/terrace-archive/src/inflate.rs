//! Incremental inflating, with the checksum of the inflated bytes.
//!
//! It uses `miniz_oxide` directly and not through `flate2`, because the inflater there depends on the rest of the build.
//! So the Worker and the command read the same bytes in the same way.

use crc32fast::Hasher;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};

/// The maximum distance of a back-reference in deflate data, and the maximum length of a piece.
const WINDOW_BYTES: usize = 32 * 1024;

/// Inflates raw deflate data, the format that gzip and zip share.
pub(super) struct Inflater {
    inflate: Box<DecompressorOxide>,
    crc: Hasher,
    amount: u32,
    window: Box<[u8]>,
    /// The position in the window of the next byte.
    at: usize,
    /// Whether the window holds only bytes of the current data. Until then the data may not refer to bytes
    /// before their first one; clients refuse data that do.
    is_full: bool,
}

/// The result of one call.
pub(super) struct Inflated<'a> {
    /// The inflated bytes.
    pub(super) piece: &'a [u8],
    /// The number of bytes read.
    pub(super) read: usize,
    /// Whether the data ended.
    pub(super) ended: bool,
}

/// The bytes are not valid deflate data.
#[derive(Debug)]
pub(super) struct Corrupt;

impl Default for Inflater {
    fn default() -> Self {
        Self {
            inflate: Box::default(),
            crc: Hasher::new(),
            amount: 0,
            window: vec![0; WINDOW_BYTES].into_boxed_slice(),
            at: 0,
            is_full: false,
        }
    }
}

impl Inflater {
    /// Inflates at most one piece. Each call before the end consumes input or produces output; without input,
    /// it produces the output pending from earlier input.
    pub(super) fn inflate(&mut self, bytes: &[u8]) -> Result<Inflated<'_>, Corrupt> {
        let (start, flags) = (self.at, self.flags());
        let (status, read, made) =
            decompress(&mut self.inflate, bytes, &mut self.window, start, flags);
        let ended = match status {
            TINFLStatus::Done => true,
            TINFLStatus::HasMoreOutput | TINFLStatus::NeedsMoreInput => false,
            _ => return Err(Corrupt),
        };
        if !ended && read == 0 && made == 0 && !bytes.is_empty() {
            // Neither input nor output space is short here, so the loop would never end.
            return Err(Corrupt);
        }
        self.at = start + made;
        if self.at == WINDOW_BYTES {
            self.at = 0;
            self.is_full = true;
        }
        let piece = self.window.get(start..start + made).ok_or(Corrupt)?;
        self.crc.update(piece);
        let length = u32::try_from(made).map_err(|_| Corrupt)?;
        self.amount = self.amount.wrapping_add(length);
        Ok(Inflated { piece, read, ended })
    }

    /// In a buffer that does not wrap, every distance must point to a byte that was written.
    fn flags(&self) -> u32 {
        use inflate_flags::{TINFL_FLAG_HAS_MORE_INPUT, TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF};
        if self.is_full {
            TINFL_FLAG_HAS_MORE_INPUT
        } else {
            TINFL_FLAG_HAS_MORE_INPUT | TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF
        }
    }

    /// Adds uncompressed bytes to the checksum.
    pub(super) fn copy(&mut self, bytes: &[u8]) {
        self.crc.update(bytes);
    }

    /// Returns the CRC32 of all bytes since the last reset.
    pub(super) fn crc(&self) -> u32 {
        self.crc.clone().finalize()
    }

    /// Returns the number of bytes inflated since the last reset, modulo 2³².
    pub(super) fn amount(&self) -> u32 {
        self.amount
    }

    /// Resets the state for other data.
    pub(super) fn reset(&mut self) {
        self.inflate.init();
        self.crc.reset();
        self.amount = 0;
        self.at = 0;
        self.is_full = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Fixed;

    const FAR: usize = WINDOW_BYTES;

    /// Inflates the bytes in pieces of this size.
    fn inflated(inflater: &mut Inflater, bytes: &[u8], size: usize) -> Result<Vec<u8>, Corrupt> {
        let mut out = Vec::new();
        for mut piece in bytes.chunks(size) {
            while !piece.is_empty() {
                let inflated = inflater.inflate(piece)?;
                out.extend_from_slice(inflated.piece);
                piece = &piece[inflated.read..];
                if inflated.ended {
                    return Ok(out);
                }
            }
        }
        panic!("the data do not end")
    }

    fn literals(count: usize) -> Vec<u8> {
        (0..count).map(|at| (at * 7 + at / 251) as u8).collect()
    }

    #[test]
    fn only_a_distance_to_a_byte_that_was_written_is_followed() {
        for (before, distance) in [
            (0, 1),
            (0, FAR),
            (1, 1),
            (1, 2),
            (2, 1),
            (100, 100),
            (100, 101),
            (FAR - 300, FAR - 300),
            (FAR - 300, FAR - 299),
            (FAR - 259, FAR),
            (FAR - 2, FAR - 1),
            (FAR - 1, FAR - 1),
            (FAR - 1, FAR),
            (FAR, FAR),
            (FAR + 1, FAR),
            (FAR + 1, 1),
            (2 * FAR + 5, FAR),
        ] {
            for length in [3, 258] {
                let mut expected = literals(before);
                let stream = Fixed::new()
                    .literals(&expected)
                    .copy(length, distance)
                    .ended();
                for size in [1, 13, stream.len()] {
                    let mut inflater = Inflater::default();
                    let out = inflated(&mut inflater, &stream, size);
                    assert_eq!(
                        out.is_ok(),
                        distance <= before,
                        "{before} {distance} {size}"
                    );
                    let Ok(out) = out else { continue };
                    while expected.len() < before + length {
                        expected.push(expected[expected.len() - distance]);
                    }
                    assert!(out == expected, "{before} {length} {distance} {size}");
                    assert_eq!(inflater.crc(), crate::testing::crc(&expected));
                    assert_eq!(inflater.amount() as usize, expected.len());
                }
            }
        }
    }

    #[test]
    fn data_after_a_reset_cannot_refer_to_the_data_before_it() {
        let before = Fixed::new().literals(&literals(2 * FAR)).ended();
        let after = Fixed::new().literals(b"abc").copy(3, 4).ended();
        let mut inflater = Inflater::default();
        inflated(&mut inflater, &before, before.len()).unwrap();
        inflater.reset();
        assert!(inflated(&mut inflater, &after, after.len()).is_err());
    }
}
