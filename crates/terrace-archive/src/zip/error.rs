//! What can be wrong with one entry of a zip.

/// Why an entry of a zip could not be unpacked, or by some reader as something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ContentError {
    /// The directory leads to something else.
    #[error("there is no local header at byte {0}, where the zip's directory says it is")]
    NoLocalHeader(u64),
    /// The local header has another name.
    #[error("its local header has another name than the zip's directory")]
    LocalName,
    /// The local header has other flags, of those that change how the entry is read.
    #[error("its local header has the flags {local:#06x}, the zip's directory {directory:#06x}")]
    LocalFlags {
        /// In the local header.
        local: u16,
        /// In the directory.
        directory: u16,
    },
    /// The local header says something else about the content.
    #[error("its local header has the {field} {local}, the zip's directory {directory}")]
    Local {
        /// Which field.
        field: &'static str,
        /// In the local header.
        local: u64,
        /// In the directory.
        directory: u64,
    },
    /// The data descriptor that should follow the content is not there, or says something else.
    #[error("no data descriptor with the checksum and sizes of the zip's directory follows it")]
    Descriptor,
    /// The deflated data are not.
    #[error("the deflated data are corrupt")]
    Corrupt,
    /// The deflated data do not end where they should.
    #[error("the deflated data do not end within their {0} bytes")]
    CutOff(u64),
    /// The deflated data end before they should.
    #[error("the deflated data end {0} bytes before their declared end")]
    EndsEarly(u64),
    /// It unpacks to more than it declares.
    #[error("it unpacks to more than the {0} bytes that it declares")]
    TooLong(u64),
    /// It unpacks to less than it declares.
    #[error("it unpacks to {unpacked} bytes, and declares {declared}")]
    TooShort {
        /// The bytes it declares.
        declared: u64,
        /// The bytes it unpacks to.
        unpacked: u64,
    },
    /// Its content has another checksum.
    #[error("its content has the CRC32 {unpacked:08x}, and declares {declared:08x}")]
    Checksum {
        /// The checksum it declares.
        declared: u32,
        /// The checksum of what it unpacks to.
        unpacked: u32,
    },
}
