//! Packets: a tag and a body (RFC 9580, section 4).

use super::OpenPgpError;
use super::bytes::Bytes;
use super::error::KeyName;

/// A reason why a packet, or a part of it, is not used. Go's library makes the same distinction, and its next
/// step depends on it (`errors.UnsupportedError` in `packet/reader.go`, `Next`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PacketError {
    /// Clients skip the packet as if it were absent.
    Skipped(String),
    /// Clients reject the whole input.
    Malformed(String),
}

impl PacketError {
    pub(super) fn malformed(reason: &str) -> Self {
        Self::Malformed(reason.to_owned())
    }

    pub(super) fn cut_off() -> Self {
        Self::malformed("the packet data are truncated")
    }

    /// Returns it as the reason why clients refuse this key. `Skipped` may come only from the primary key.
    pub(super) fn of_key(self, key: KeyName) -> OpenPgpError {
        match self {
            Self::Skipped(reason) => OpenPgpError::UnknownKey { key, reason },
            Self::Malformed(reason) => OpenPgpError::MalformedKey { key, reason },
        }
    }
}

/// A packet as in the input.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packet<'a> {
    pub(super) tag: u8,
    pub(super) body: &'a [u8],
    /// The bytes of header and body.
    pub(super) whole: &'a [u8],
}

/// The tags that the crate distinguishes (RFC 9580, section 5).
pub(super) mod tag {
    pub(crate) const SIGNATURE: u8 = 2;
    pub(crate) const ONE_PASS_SIGNATURE: u8 = 4;
    pub(crate) const SECRET_KEY: u8 = 5;
    pub(crate) const PUBLIC_KEY: u8 = 6;
    pub(crate) const SECRET_SUBKEY: u8 = 7;
    pub(crate) const COMPRESSED: u8 = 8;
    pub(crate) const MARKER: u8 = 10;
    pub(crate) const LITERAL: u8 = 11;
    pub(crate) const TRUST: u8 = 12;
    pub(crate) const USER_ID: u8 = 13;
    pub(crate) const PUBLIC_SUBKEY: u8 = 14;
    pub(crate) const USER_ATTRIBUTE: u8 = 17;
    pub(crate) const PADDING: u8 = 21;
    /// The first tag of non-critical packets: unknown ones are skipped (RFC 9580, section 4.3).
    pub(crate) const FIRST_NON_CRITICAL: u8 = 40;
}

/// Splits the input into packets.
///
/// Lengths meant only for streams of data (partial and indeterminate ones) are refused: no tool writes
/// keys or signatures with them.
pub(super) fn packets(input: &[u8]) -> Result<Vec<Packet<'_>>, PacketError> {
    let mut bytes = Bytes::new(input);
    let mut packets = Vec::new();
    while !bytes.is_empty() {
        let start = bytes;
        let (tag, length) = header(&mut bytes)?;
        let body = bytes.take(length).ok_or_else(PacketError::cut_off)?;
        let mut start = start;
        let whole = start.take(start.len() - bytes.len()).unwrap_or_default();
        packets.push(Packet { tag, body, whole });
    }
    Ok(packets)
}

/// Returns the tag of the first packet, whatever follows it.
pub(super) fn first_tag(input: &[u8]) -> Option<u8> {
    input.first().and_then(|first| tag_of(*first))
}

fn header(bytes: &mut Bytes<'_>) -> Result<(u8, usize), PacketError> {
    let first = bytes.u8().ok_or_else(PacketError::cut_off)?;
    let no_tag = || PacketError::malformed("a packet does not begin with a packet tag");
    let tag = tag_of(first).ok_or_else(no_tag)?;
    let length = match first & 0x40 {
        0 => old_length(first & 3, bytes)?,
        _ => new_length(bytes)?,
    };
    let length = length.ok_or_else(PacketError::cut_off)?;
    Ok((tag, usize::try_from(length).unwrap_or(usize::MAX)))
}

fn tag_of(first: u8) -> Option<u8> {
    match first & 0xC0 {
        0x80 => Some(first >> 2 & 0x0f),
        0xC0 => Some(first & 0x3f),
        _ => None,
    }
}

fn old_length(kind: u8, bytes: &mut Bytes<'_>) -> Result<Option<u32>, PacketError> {
    match kind {
        0 => Ok(bytes.u8().map(u32::from)),
        1 => Ok(bytes.u16().map(u32::from)),
        2 => Ok(bytes.u32()),
        _ => Err(PacketError::malformed("a packet has no length")),
    }
}

fn new_length(bytes: &mut Bytes<'_>) -> Result<Option<u32>, PacketError> {
    match bytes.u8() {
        Some(first @ 0..192) => Ok(Some(u32::from(first))),
        Some(first @ 192..224) => Ok(two_octet_length(first, bytes.u8())),
        Some(224..255) => Err(PacketError::malformed("a packet has a partial length")),
        Some(255) => Ok(bytes.u32()),
        None => Ok(None),
    }
}

fn two_octet_length(first: u8, second: Option<u8>) -> Option<u32> {
    Some((u32::from(first) - 192) * 256 + u32::from(second?) + 192)
}

/// Reads a subpacket. Its length includes the type octet (RFC 9580, section 5.2.3.7).
pub(super) fn subpacket<'a>(bytes: &mut Bytes<'a>) -> Result<(u8, &'a [u8]), PacketError> {
    let length = match bytes.u8() {
        Some(first @ 0..192) => Some(u32::from(first)),
        Some(first @ 192..255) => two_octet_length(first, bytes.u8()),
        Some(255) => bytes.u32(),
        None => None,
    };
    let content = length
        .and_then(|length| bytes.take(usize::try_from(length).ok()?))
        .ok_or_else(|| PacketError::malformed("a subpacket is truncated"))?;
    let (kind, content) = content
        .split_first()
        .ok_or_else(|| PacketError::malformed("a subpacket is empty"))?;
    Ok((*kind, content))
}
