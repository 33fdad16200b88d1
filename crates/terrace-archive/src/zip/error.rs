//! Faults of one entry of a zip.

/// A reason why an entry of a zip cannot be unpacked, or why some reader would unpack it differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    /// The directory points to bytes that are not a local header.
    #[error("there is no local header at byte {0}, where the zip's central directory locates it")]
    NoLocalHeader(u64),
    /// The local header has another name.
    #[error("its local header has another name than the zip's central directory")]
    LocalName,
    /// The local header has other flags, among those that change how the entry is read.
    #[error(
        "its local header has flags {local:#06x}, but the zip's central directory has {directory:#06x}"
    )]
    LocalFlags {
        /// The flags in the local header.
        local: u16,
        /// The flags in the directory.
        directory: u16,
    },
    /// The local header has another value for a field.
    #[error(
        "its local header has {field} {local}, but the zip's central directory has {directory}"
    )]
    Local {
        /// The name of the field.
        field: &'static str,
        /// The value in the local header.
        local: u64,
        /// The value in the directory.
        directory: u64,
    },
    /// The data descriptor after the content is missing, or has other values.
    #[error(
        "no data descriptor with the checksum and sizes of the zip's central directory follows it"
    )]
    Descriptor,
    /// Corrupt deflate data.
    #[error("the deflated data are corrupt")]
    Corrupt,
    /// The deflated data reach past their declared length.
    #[error("the deflated data do not end within their {0} bytes")]
    CutOff(u64),
    /// The deflated data end before their declared length.
    #[error("the deflated data end {0} bytes before their declared end")]
    EndsEarly(u64),
    /// The entry unpacks to more than it declares.
    #[error("it unpacks to more than its declared {0} bytes")]
    TooLong(u64),
    /// The entry unpacks to less than it declares.
    #[error("it unpacks to {unpacked} bytes, but declares {declared}")]
    TooShort {
        /// The declared number of bytes.
        declared: u64,
        /// The number of unpacked bytes.
        unpacked: u64,
    },
    /// The content has another checksum.
    #[error("its content has CRC32 {unpacked:08x}, but declares {declared:08x}")]
    Checksum {
        /// The declared checksum.
        declared: u32,
        /// The checksum of the unpacked bytes.
        unpacked: u32,
    },
}
