//! Archives: staged, stored, and streamed at signed URLs.

pub(crate) mod archive_transfers;
pub(crate) mod cached_archives;
pub(crate) mod staging;
pub(crate) mod stored_archives;
