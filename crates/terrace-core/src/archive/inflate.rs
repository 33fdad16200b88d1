//! Inflating piece by piece, with the checksum of what comes out.

use flate2::{Crc, Decompress, FlushDecompress, Status};

/// Inflated bytes are handed on in pieces of this size.
const PIECE_BYTES: usize = 32 * 1024;

/// Inflates raw deflate data, the kind that gzip and zip have in common.
pub(super) struct Inflater {
    inflate: Decompress,
    crc: Crc,
    piece: Box<[u8]>,
}

/// What one call has inflated.
pub(super) struct Inflated<'a> {
    /// The bytes that came out.
    pub(super) piece: &'a [u8],
    /// How many went in.
    pub(super) read: usize,
    /// Whether the data end here.
    pub(super) ended: bool,
}

/// The bytes are no deflate data.
pub(super) struct Corrupt;

impl Inflater {
    pub(super) fn new() -> Self {
        Self {
            inflate: Decompress::new(false),
            crc: Crc::new(),
            piece: vec![0; PIECE_BYTES].into_boxed_slice(),
        }
    }

    /// Inflates one piece at most. Of bytes that are not its end it reads some or makes some; of no
    /// bytes it makes what is left from those before.
    pub(super) fn inflate(&mut self, bytes: &[u8]) -> Result<Inflated<'_>, Corrupt> {
        let (before_in, before_out) = (self.inflate.total_in(), self.inflate.total_out());
        let status = self
            .inflate
            .decompress(bytes, &mut self.piece, FlushDecompress::None)
            .map_err(|_| Corrupt)?;
        let read = usize::try_from(self.inflate.total_in() - before_in).map_err(|_| Corrupt)?;
        let made = usize::try_from(self.inflate.total_out() - before_out).map_err(|_| Corrupt)?;
        let ended = status == Status::StreamEnd;
        if !ended && read == 0 && made == 0 && !bytes.is_empty() {
            // Neither input nor output is short here, so it would go on like this for ever.
            return Err(Corrupt);
        }
        let piece = self.piece.get(..made).ok_or(Corrupt)?;
        self.crc.update(piece);
        Ok(Inflated { piece, read, ended })
    }

    /// Takes bytes that are not compressed into the checksum.
    pub(super) fn copy(&mut self, bytes: &[u8]) {
        self.crc.update(bytes);
    }

    /// The CRC32 of all that came out since the last reset.
    pub(super) fn crc(&self) -> u32 {
        self.crc.sum()
    }

    /// How many bytes came out since the last reset, modulo 2³².
    pub(super) fn amount(&self) -> u32 {
        self.crc.amount()
    }

    /// Makes ready for other data.
    pub(super) fn reset(&mut self) {
        self.inflate.reset(false);
        self.crc.reset();
    }
}
