//! A registry in an object store.

use std::path::Path;

use terrace_commands::Failure;
use terrace_presign::Presigner;
use terrace_server::objects::{Connection, LocalPlace, ObjectStorage};

use super::{Storage, unopened};

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
    let objects = ObjectStorage::connect(connection, local).map_err(unopened);
    Ok((Storage::Objects(objects?), presigner))
}
