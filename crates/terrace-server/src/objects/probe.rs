//! The probe of a store: whether it checks the conditions of writes. Documentation does not tell, as stores that claim the API
//! of S3 may ignore a header that they do not know.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;

use object_store::{Error, ObjectStore, ObjectStoreExt as _, PutMode, PutPayload, UpdateVersion};

use super::{described, path_of, unusable};
use crate::stores::OpenError;
use crate::volume::now;

/// The prefix of the objects that probes write and remove. Nothing below it is ever copied.
const PROBES: &str = "leases/probes/";

/// Tries a creation and a change that must fail, and those that must not.
pub(super) async fn probe(store: &dyn ObjectStore, name: &str) -> Result<(), OpenError> {
    let failed = |error: Error| unusable(name, &described(&error));
    let unique = RandomState::new().hash_one(now());
    let path = path_of(format!("{PROBES}{unique:016x}")).map_err(failed)?;
    let lacks = operations(store, &path).await;
    let removed = store.delete(&path).await;
    let lacks = lacks.map_err(failed)?;
    removed.map_err(failed)?;
    // Without the conditions, concurrent publishes would lose versions.
    lacks.map_or(Ok(()), |lacks| {
        Err(OpenError::Unsuitable(format!(
            "{name} cannot be used: {lacks}. Choose a store that checks the conditions of writes (If-None-Match and If-Match), \
             or a directory"
        )))
    })
}

/// Returns the operation that the store lacks.
async fn operations(
    store: &dyn ObjectStore,
    path: &object_store::path::Path,
) -> Result<Option<&'static str>, Error> {
    let put = |text: &'static str, mode: PutMode| {
        store.put_opts(path, PutPayload::from_static(text.as_bytes()), mode.into())
    };
    let first = match put("1", PutMode::Create).await {
        Err(Error::NotImplemented { .. } | Error::NotSupported { .. }) => {
            return Ok(Some("it cannot create an object only if there is none"));
        }
        first => UpdateVersion::from(first?),
    };
    match put("2", PutMode::Create).await {
        Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => {}
        Ok(_) => {
            return Ok(Some(
                "it has replaced an object that was to be created only if there was none",
            ));
        }
        Err(error) => return Err(error),
    }
    match put("3", PutMode::Update(first.clone())).await {
        Err(Error::NotImplemented { .. } | Error::NotSupported { .. }) => {
            return Ok(Some("it cannot replace an object only if it is unchanged"));
        }
        Err(error) => return Err(error),
        Ok(_) => {}
    }
    match put("4", PutMode::Update(first)).await {
        Err(Error::Precondition { .. } | Error::AlreadyExists { .. }) => Ok(None),
        Ok(_) => Ok(Some(
            "it has replaced an object that was changed, although it was to be replaced only if it was unchanged",
        )),
        Err(error) => Err(error),
    }
}
