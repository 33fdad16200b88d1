//! Streams to and from files. Each holds one piece in memory, and reads or writes the next when the other end is ready.

use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream;
use terrace_core::model::oci::Digest;

use super::tree::{Temporary, Tree};
use crate::arriving::Arriving;
use crate::blocking::blocking;
use crate::hashing::Hasher;
use crate::stream::ByteStream;
use crate::volume::{VolumeFile, read_range};

/// The length of a piece that is read or written at once, in bytes: long enough that the switch between threads costs little.
pub(super) const PIECE_BYTES: usize = 256 * 1024;

/// The length of a piece that is sent to a client: each client that stops to receive holds one or two in memory.
const SENT_BYTES: usize = 64 * 1024;

/// A file that is being received.
#[derive(Debug)]
pub(super) struct Receiving {
    pub(super) file: Temporary,
    pub(super) hasher: Option<Hasher>,
}

impl Receiving {
    pub(super) fn begin(tree: &Tree, digest: Option<Digest>) -> io::Result<Self> {
        Ok(Self {
            file: tree.begin()?,
            hasher: digest.map(Hasher::like),
        })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(hasher) = &mut self.hasher {
            hasher.update(bytes);
        }
        self.file.write(bytes)
    }
}

/// Writes the next bytes to a file, `most` at most.
pub(super) async fn receive(
    arriving: &mut Arriving,
    mut receiving: Receiving,
    most: u64,
) -> io::Result<Receiving> {
    let mut left = most;
    loop {
        let (mut pieces, mut length) = (Vec::new(), 0);
        while length < PIECE_BYTES && left > 0 {
            let wanted = usize::try_from(left).unwrap_or(usize::MAX);
            let piece = arriving.next(wanted.min(PIECE_BYTES)).await?;
            if piece.is_empty() {
                break;
            }
            length += piece.len();
            left = left.saturating_sub(u64::try_from(piece.len()).map_err(io::Error::other)?);
            pieces.push(piece);
        }
        if pieces.is_empty() {
            return Ok(receiving);
        }
        receiving = blocking(move || {
            for piece in &pieces {
                receiving.write(piece)?;
            }
            Ok(receiving)
        })
        .await?;
    }
}

/// Returns a part of a file as a stream. It fails if the file ends before.
pub(super) fn stream_of(file: Box<dyn VolumeFile>, offset: u64, length: u64) -> ByteStream {
    let file: Arc<dyn VolumeFile> = file.into();
    let pieces = stream::try_unfold((offset, length), move |(offset, left)| {
        let file = Arc::clone(&file);
        async move {
            if left == 0 {
                return Ok(None);
            }
            let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(SENT_BYTES);
            let piece = blocking(move || read_range(&*file, offset, wanted)).await?;
            let read = u64::try_from(piece.len()).map_err(io::Error::other)?;
            match read {
                0 => Err(io::ErrorKind::UnexpectedEof.into()),
                read => Ok(Some((Bytes::from(piece), (offset + read, left - read)))),
            }
        }
    });
    Box::pin(pieces)
}
