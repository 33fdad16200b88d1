//! The answer of a build without object stores.

use std::path::Path;

use terrace_commands::Failure;
use terrace_presign::Presigner;

use super::Storage;

/// Refuses the URL of an object store.
pub(super) fn open(
    _url: &str,
    _data: Option<&Path>,
    _streams: bool,
) -> Result<(Storage, Option<Presigner>), Failure> {
    Err(Failure::Usage(
        "--store: this terrace was built without object stores: build it with `cargo build -p terrace-cli --features \
         object-store`"
            .to_owned(),
    ))
}
