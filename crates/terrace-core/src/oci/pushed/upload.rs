//! Incomplete uploads.

use serde::{Deserialize, Serialize};

use crate::http::oci_error::{OciCode, OciError};
use crate::limits;
use crate::model::oci::{RepositoryName, UploadId};
use crate::storage::key::ChunkKey;

/// The received part of an upload: consecutive chunks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UploadSession {
    repository: String,
    chunks: Vec<Chunk>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Chunk {
    length: u64,
    writer: u64,
}

impl UploadSession {
    /// Creates an empty upload.
    pub fn new(repository: &RepositoryName) -> Self {
        Self {
            repository: repository.to_string(),
            chunks: Vec::new(),
        }
    }

    /// Returns whether the upload belongs to this repository.
    pub fn is_of(&self, repository: &RepositoryName) -> bool {
        self.repository == repository.as_str()
    }

    /// Returns the number of bytes received.
    pub fn size(&self) -> u64 {
        let lengths = self.chunks.iter().map(|chunk| chunk.length);
        lengths.fold(0, u64::saturating_add)
    }

    /// Returns whether no bytes have been received.
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Returns the received chunks, with their lengths in bytes.
    pub fn chunks(&self, upload: UploadId) -> Vec<(ChunkKey, u64)> {
        let mut offset = 0_u64;
        let chunk = |chunk: &Chunk| {
            let Chunk { length, writer } = *chunk;
            let key = ChunkKey {
                upload,
                offset,
                writer,
            };
            offset = offset.saturating_add(length);
            (key, length)
        };
        self.chunks.iter().map(chunk).collect()
    }

    /// Appends the chunks of one request.
    ///
    /// # Errors
    /// If there are too many chunks.
    pub fn add(&mut self, writer: u64, lengths: &[u64]) -> Result<(), OciError> {
        let lengths = lengths.iter().filter(|length| **length > 0);
        let chunks = lengths.map(|&length| Chunk { length, writer });
        self.chunks.extend(chunks);
        let limit = limits::UPLOAD_CHUNKS;
        if self.chunks.len() > limit {
            let message = format!("an upload may have at most {limit} chunks: send larger chunks");
            return Err(OciError::new(OciCode::SizeInvalid, message).with_status(413));
        }
        Ok(())
    }

    /// Checks that a chunk continues the upload, and returns the length that its range states. A chunk without a
    /// range continues it.
    ///
    /// # Errors
    /// 416 if the chunk does not; 400 for an invalid range, or one of another length than the body.
    pub fn accepts(
        &self,
        range: Option<&str>,
        length: Option<u64>,
    ) -> Result<Option<u64>, OciError> {
        let Some(range) = range else { return Ok(None) };
        let (first, stated) = content_range(range).ok_or_else(|| {
            let message =
                "Content-Range must contain the first and the last byte of the chunk, as in 0-1023";
            OciError::new(OciCode::BlobUploadInvalid, message)
        })?;
        if first != self.size() {
            let message = format!(
                "the chunk does not continue the upload: its first byte must be {}",
                self.size()
            );
            return Err(OciError::new(OciCode::BlobUploadInvalid, message).with_status(416));
        }
        if length.is_some_and(|length| length != stated) {
            let message = "Content-Range does not match the length of the body";
            return Err(OciError::new(OciCode::SizeInvalid, message));
        }
        Ok(Some(stated))
    }

    /// Returns the `Range` header for the received bytes. The header cannot express that there are none.
    pub fn range(&self) -> String {
        format!("0-{}", self.size().saturating_sub(1))
    }
}

/// Parses a byte range `{first}-{last}`, both inclusive. Returns its first byte and its length.
fn content_range(text: &str) -> Option<(u64, u64)> {
    // Some clients write the range as in HTTP.
    let text = text.strip_prefix("bytes ").unwrap_or(text);
    let text = text.split('/').next()?;
    let (first, last) = text.split_once('-')?;
    let number = |text: &str| {
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<u64>().ok())?
    };
    let (first, last) = (number(first)?, number(last)?);
    (first <= last && last < u64::MAX).then(|| (first, last - first + 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pinned::assert_pinned;
    use terrace_base::time::UnixTime;

    const NOW: UnixTime = UnixTime(1_800_000_000);

    fn session(lengths: &[u64]) -> UploadSession {
        let mut session = UploadSession::new(&RepositoryName::parse("a/b").unwrap());
        session.add(7, lengths).unwrap();
        session
    }

    #[test]
    fn the_size_of_an_upload_saturates() {
        let chunks = r#"[{"length":1,"writer":7},{"length":18446744073709551615,"writer":7}]"#;
        let text = format!(r#"{{"repository":"acme/things","chunks":{chunks}}}"#);
        let session: UploadSession = serde_json::from_str(&text).unwrap();
        assert_eq!(session.size(), u64::MAX);
        assert_eq!(session.chunks(UploadId::new(NOW, [0; 16])).len(), 2);
    }

    #[test]
    fn the_document_is_pinned() {
        let text = serde_json::to_string(&session(&[3, 4])).unwrap();
        let chunks = r#"[{"length":3,"writer":7},{"length":4,"writer":7}]"#;
        assert_pinned(
            &text,
            &format!(r#"{{"repository":"a/b","chunks":{chunks}}}"#),
        );
    }

    #[test]
    fn chunks_are_consecutive() {
        let upload = UploadId::new(NOW, [1; 16]);
        let session = session(&[3, 0, 4]);
        let chunks: Vec<(u64, u64)> = session
            .chunks(upload)
            .iter()
            .map(|(key, length)| (key.offset, *length))
            .collect();
        assert_eq!((session.size(), chunks), (7, vec![(0, 3), (3, 4)]));
        assert_eq!(session.range(), "0-6");
        let mut whole = self::session(&[1; limits::UPLOAD_CHUNKS]);
        assert_eq!(whole.add(7, &[1]).unwrap_err().status(), 413);
    }

    #[test]
    fn a_chunk_must_continue_the_upload() {
        let session = session(&[10]);
        let status = |range, length| session.accepts(range, length).map_err(|e| e.status());
        assert_eq!(status(None, Some(5)), Ok(None));
        assert_eq!(status(Some("10-14"), Some(5)), Ok(Some(5)));
        assert_eq!(status(Some("bytes 10-14/15"), Some(5)), Ok(Some(5)));
        assert_eq!(status(Some("10-14"), None), Ok(Some(5)));
        assert_eq!(status(Some("10-14"), Some(4)), Err(400));
        for range in ["0-4", "9-13", "11-15", "20-24"] {
            assert_eq!(status(Some(range), Some(5)), Err(416), "{range}");
        }
        for range in [
            "",
            "10",
            "10-",
            "-14",
            "14-10",
            "+10-14",
            "10-99999999999999999999",
        ] {
            assert_eq!(status(Some(range), Some(5)), Err(400), "{range}");
        }
    }
}
