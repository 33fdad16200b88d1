//! The IDs of uploads.

use std::fmt;

use crate::http::oci_error::{OciCode, OciError};
use crate::limits;
use terrace_base::time::UnixTime;

/// The ID of an upload: a UUID that begins with its time (RFC 9562, version 7), so that abandoned uploads
/// come first in a listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UploadId(u128);

impl UploadId {
    /// Creates the ID of an upload that starts at `now`.
    pub fn new(now: UnixTime, random: [u8; 16]) -> Self {
        let time = u128::from(now.0.saturating_mul(1_000)) << 80;
        let rest = u128::from_be_bytes(random) & (u128::MAX >> 48);
        let version = 7 << 76;
        let variant = 2 << 62;
        let fixed = (0xf << 76) | (3 << 62);
        Self(time | (rest & !fixed) | version | variant)
    }

    /// Parses an ID in its canonical form only.
    pub fn parse(text: &str) -> Option<Self> {
        let digits: String = text.split('-').collect();
        let id = Self(u128::from_str_radix(&digits, 16).ok()?);
        (id.to_string() == text).then_some(id)
    }

    /// Returns the time when the upload started.
    pub fn began(self) -> UnixTime {
        let milliseconds = u64::try_from(self.0 >> 80).unwrap_or(u64::MAX);
        UnixTime(milliseconds / 1_000)
    }

    /// Returns whether the upload is too old to be completed.
    pub fn is_abandoned(self, now: UnixTime) -> bool {
        now.0.saturating_sub(self.began().0) > limits::UPLOAD_ABANDONED_SECONDS
    }

    /// Returns the error for an upload that does not exist.
    pub fn unknown() -> OciError {
        OciError::new(
            OciCode::BlobUploadUnknown,
            "there is no such upload in this repository: it was completed or cancelled, or has expired",
        )
    }
}

impl fmt::Display for UploadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |shift: u32, digits: u32| (self.0 >> shift) & ((1 << (digits * 4)) - 1);
        write!(
            f,
            "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
            part(96, 8),
            part(80, 4),
            part(64, 4),
            part(48, 4),
            part(0, 12)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixTime = UnixTime(1_800_000_000);

    #[test]
    fn an_id_is_a_uuid_with_its_time() {
        let id = UploadId::new(NOW, [0xff; 16]);
        assert_eq!(id.to_string(), "01a3185c-5000-7fff-bfff-ffffffffffff");
        assert_eq!(id.began(), NOW);
        assert!(id.to_string() < UploadId::new(NOW.plus(1), [0; 16]).to_string());
        assert!(!id.is_abandoned(NOW.plus(86_400)));
        assert!(id.is_abandoned(NOW.plus(86_401)));
    }
}
