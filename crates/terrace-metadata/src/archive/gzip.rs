//! Gzip members (RFC 1952) without a name and a time.

use miniz_oxide::deflate::compress_to_vec;
use miniz_oxide::inflate::TINFLStatus;
use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

/// Another level would result in other bytes.
const LEVEL: u8 = 9;

/// The header: deflate, no flags, no time, no extra flags, an unknown system.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// The length of the checksum and the size after the contents.
const TRAILER_BYTES: usize = 8;

/// The reasons why a member cannot be read, besides contents that are too long.
const WRONG_HEADER: &str = "a member does not begin with the header that this command writes";
const WRONG_DATA: &str = "the compressed data of a member is not valid";
const WRONG_CHECKSUM: &str = "the checksum of a member does not match its contents";

/// Returns contents as a gzip member.
pub(super) fn member(contents: &[u8]) -> Vec<u8> {
    let mut member = HEADER.to_vec();
    member.extend(compress_to_vec(contents, LEVEL));
    member.extend(crc32fast::hash(contents).to_le_bytes());
    member.extend(size(contents).to_le_bytes());
    member
}

/// Returns the maximum length of a member: deflate stores data that it cannot compress, with 5 bytes for each 32 KiB.
pub(super) fn max_length(contents: usize) -> usize {
    contents + contents / 1024 + HEADER.len() + TRAILER_BYTES + 1024
}

/// Returns the contents of the first member, up to `limit` bytes, and the length of the member.
pub(super) fn contents(bytes: &[u8], limit: usize) -> Result<(Vec<u8>, usize), String> {
    let data = bytes.strip_prefix(&HEADER).ok_or(WRONG_HEADER)?;
    let mut contents = vec![0; limit];
    let (status, consumed, written) = decompress(
        &mut DecompressorOxide::new(),
        data,
        &mut contents,
        0,
        TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF,
    );
    match status {
        TINFLStatus::Done => {}
        TINFLStatus::HasMoreOutput => {
            return Err(format!(
                "the contents of a member have more than {limit} bytes"
            ));
        }
        _ => return Err(WRONG_DATA.to_owned()),
    }
    contents.truncate(written);
    let trailer = data.get(consumed..consumed + TRAILER_BYTES);
    let mut expected = crc32fast::hash(&contents).to_le_bytes().to_vec();
    expected.extend(size(&contents).to_le_bytes());
    if trailer != Some(expected.as_slice()) {
        return Err(WRONG_CHECKSUM.to_owned());
    }
    Ok((contents, HEADER.len() + consumed + TRAILER_BYTES))
}

/// Returns the size modulo 2^32, as the trailer holds it.
fn size(contents: &[u8]) -> u32 {
    u32::try_from(contents.len() as u64 & u64::from(u32::MAX)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_damaged_member_is_rejected() {
        let good = member(b"text text text text");
        let mut other = good.clone();
        *other.last_mut().unwrap() ^= 1;
        let too_long = "the contents of a member have more than 3 bytes";
        for (bytes, limit, error) in [
            (&good[..], 3, too_long),
            (&good[1..], 99, WRONG_HEADER),
            (&good[..good.len() - 1], 99, WRONG_CHECKSUM),
            (&good[..12], 99, WRONG_DATA),
            (&other, 99, WRONG_CHECKSUM),
        ] {
            assert_eq!(contents(bytes, limit), Err(error.to_owned()));
        }
    }

    #[test]
    fn data_that_cannot_be_compressed_stays_below_the_maximum() {
        let mut state = 1_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        })
        .take(300_000)
        .collect();
        let length = member(&noise).len();
        assert!(
            length > noise.len() && length <= max_length(noise.len()),
            "{length}"
        );
    }

    proptest! {
        #[test]
        fn a_member_is_read_as_written(bytes: Vec<u8>, after: Vec<u8>) {
            let mut packed = member(&bytes);
            let length = packed.len();
            packed.extend(after);
            prop_assert_eq!(contents(&packed, bytes.len()), Ok((bytes, length)));
        }

        #[test]
        fn no_bytes_panic(mut bytes: Vec<u8>, limit in 0_usize..99) {
            let _ = contents(&bytes, limit);
            bytes.splice(0..0, HEADER);
            let _ = contents(&bytes, limit);
        }
    }
}
