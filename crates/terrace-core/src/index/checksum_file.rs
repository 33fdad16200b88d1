//! The index of a checksum file of a hosted provider: SHA256SUMS, or its signature. It follows from the bytes of the file alone, and
//! the digest in its key tells whether it does.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::storage::index_document::IndexDocument;
use crate::storage::key::ArchiveKey;
use terrace_base::digest::Sha256;

/// Returns the index of a checksum file.
pub fn document(bytes: &[u8]) -> IndexDocument {
    IndexDocument::new(STANDARD.encode(bytes))
}

/// Returns the bytes of a checksum file from the text of its index; `None` if it is not the index of this file.
pub fn bytes(file: &ArchiveKey, text: &str) -> Option<Vec<u8>> {
    let bytes = STANDARD.decode(text).ok()?;
    (Sha256::of(&bytes) == file.digest).then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::key::ArchiveKind;

    #[test]
    fn an_index_holds_the_bytes_of_its_file_and_of_no_other() {
        let signature = b"\x88\x75\x04\x00\xff";
        let file = ArchiveKey::of(signature, ArchiveKind::Signature);
        let IndexDocument { text, .. } = document(signature);
        assert_eq!(text, "iHUEAP8=");
        assert_eq!(bytes(&file, &text).as_deref(), Some(&signature[..]));
        for other in ["", "iHUEAP4=", "iHUEAP8", "no base64", "gone"] {
            assert_eq!(bytes(&file, other), None, "{other}");
        }
    }
}
