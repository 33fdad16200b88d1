//! Pages, and their places in the archive.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::limits;
use crate::model::relative_path::RelativePath;

/// Maximum length of the gzip member of a page. Incompressible contents grow by 5 bytes for each 16 KiB and by the 18
/// bytes of the frame (RFC 1951, section 3.2.4; RFC 1952); the rest is room for other encoders.
const PAGE_MEMBER_BYTES: u32 = limits::PAGE_BYTES + 16 * 1024;

/// The name of a page within its kind, and a segment of its path: 1 to 128 ASCII letters, digits, dots, dashes and
/// underscores, of which the first is not a dot.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageName(String);

/// The error for a text that is not the name of a page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not the name of a page: 1 to {max} letters, digits, dots, dashes and underscores, and no dot at the start",
    max = limits::PAGE_NAME_BYTES
)]
pub struct PageNameError(String);

/// The place of a gzip member in the archive, and the length of its contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The number of bytes between the end of the head and the member.
    pub offset: u64,
    /// The length of the member, in bytes.
    pub length: u32,
    /// The length of its contents, in bytes. Decompression stops there.
    pub size: u32,
}

/// A file that readers can open, such as a file of an example.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// The name of the file.
    pub name: RelativePath,
    /// Its place in the archive.
    pub member: Member,
    /// Whether the file was cut at [`limits::PAGE_BYTES`].
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_truncated: bool,
}

impl PageName {
    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PageName {
    type Err = PageNameError;

    fn from_str(text: &str) -> Result<Self, PageNameError> {
        let is_inner =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        let is_name = (1..=limits::PAGE_NAME_BYTES).contains(&text.len())
            && text.bytes().all(is_inner)
            && !text.starts_with('.');
        if is_name {
            Ok(Self(text.to_owned()))
        } else {
            Err(PageNameError(
                text.chars().take(limits::PAGE_NAME_BYTES).collect(),
            ))
        }
    }
}

crate::model::text_display!(PageName);

terrace_base::text_serde!(PageName);

impl Member {
    /// Returns whether the member lies within `available` bytes after the head, and is within the limits.
    pub fn is_within(&self, available: u64) -> bool {
        let end = self.offset.checked_add(u64::from(self.length));
        end.is_some_and(|end| end <= available)
            && (1..=PAGE_MEMBER_BYTES).contains(&self.length)
            && self.size <= limits::PAGE_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_segment_of_a_path() {
        for name in [
            "index",
            "aws_instance",
            "getting-started",
            "v1.2",
            "_private",
        ] {
            assert_eq!(
                name.parse::<PageName>().map(|it| it.to_string()),
                Ok(name.to_owned())
            );
        }
        let long = "a".repeat(limits::PAGE_NAME_BYTES + 1);
        for name in [
            "", ".", "..", ".hidden", "a/b", "a b", "é", "a\0", "%2e", &long,
        ] {
            assert!(name.parse::<PageName>().is_err(), "{name}");
        }
    }

    #[test]
    fn a_member_lies_within_the_archive() {
        let member = |offset, length, size| Member {
            offset,
            length,
            size,
        };
        assert!(member(0, 10, 5).is_within(10));
        assert!(!member(1, 10, 5).is_within(10));
        assert!(!member(0, 0, 5).is_within(10));
        assert!(!member(u64::MAX, 10, 5).is_within(10));
        assert!(!member(0, 10, limits::PAGE_BYTES + 1).is_within(10));
        let longest = PAGE_MEMBER_BYTES;
        assert!(member(0, longest, 5).is_within(u64::MAX));
        assert!(!member(0, longest + 1, 5).is_within(u64::MAX));
    }
}
