//! A registry in an object store.

use std::path::Path;

use terrace_commands::Failure;
use terrace_presign::Presigner;
use terrace_server::objects::{Connection, LocalPlace, ObjectStorage, OpenError};

use super::Storage;

/// Opens the object store at a URL.
pub(super) fn open(
    url: &str,
    data: Option<&Path>,
    streams: bool,
) -> Result<(Storage, Option<Presigner>), Failure> {
    let connection = Connection::to(url);
    let connection = connection.map_err(|error| Failure::Usage(format!("--store: {error}")))?;
    let presigner = connection.presigner().filter(|_| !streams).cloned();
    let local = data.map_or(LocalPlace::Temporary, LocalPlace::Directory);
    let objects = ObjectStorage::connect(connection, local).map_err(|error| match error {
        OpenError::Unconditional { .. } | OpenError::Registry(_) | OpenError::InUse { .. } => {
            Failure::Usage(error.to_string())
        }
        OpenError::Store { .. } => Failure::Usage(format!(
            "{error}; check the URL, and the variables of the environment with its credentials and endpoint"
        )),
        OpenError::Local { .. } => Failure::Local(error.to_string()),
    });
    Ok((Storage::Objects(objects?), presigner))
}
