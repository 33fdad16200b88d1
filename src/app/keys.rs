//! The signing keys of a namespace: one small document, changed by compare-and-swap.

use terrace_core::admin::SigningKeysDocument;
use terrace_core::key::FactKey;
use terrace_core::limits;
use terrace_core::name::Namespace;
use terrace_core::openpgp::{KeyId, SigningKey, parse_signing_keys};
use terrace_core::problem::Problem;
use terrace_core::release::SigningKeyDocument;
use terrace_core::reply::{CachePolicy, Reply};

use super::{App, BUSY_TRIES, Failure};
use crate::store::{Clock as _, Condition, Facts as _, Platform, StoreError};

/// A change of the document: whether it changes anything, or why it cannot be made.
type Change<'a> = &'a dyn Fn(&mut SigningKeysDocument) -> Result<bool, Problem>;

impl<P: Platform> App<'_, P> {
    pub(super) async fn list_signing_keys(
        &self,
        namespace: &Namespace,
    ) -> Result<Reply<P::Stream>, Failure> {
        let (document, _) = self.keys_document(namespace).await?;
        Ok(answer(200, &document))
    }

    pub(super) async fn add_signing_keys(
        &self,
        namespace: &Namespace,
        body: &[u8],
    ) -> Result<Reply<P::Stream>, Failure> {
        let text = std::str::from_utf8(body).map_err(|_| {
            Problem::BadRequest("the body is not text: send the key in ASCII armour".to_owned())
        })?;
        let added: Vec<SigningKeyDocument> = parse_signing_keys(text)
            .map_err(|error| Problem::Invalid(vec![error.to_string()]))?
            .iter()
            .map(SigningKeyDocument::from)
            .collect();
        self.change_keys(namespace, &|document| add(document, &added))
            .await
    }

    pub(super) async fn remove_signing_key(
        &self,
        namespace: &Namespace,
        key_id: KeyId,
    ) -> Result<Reply<P::Stream>, Failure> {
        let key_id = key_id.to_string();
        self.change_keys(namespace, &|document| {
            let before = document.keys.len();
            document.keys.retain(|key| key.key_id != key_id);
            if document.keys.len() == before {
                let message = format!("namespace {namespace} has no signing key {key_id}");
                return Err(Problem::NotFound(message));
            }
            Ok(true)
        })
        .await
    }

    /// The namespace's keys, ready to verify with.
    pub(super) async fn signing_keys(
        &self,
        namespace: &Namespace,
    ) -> Result<Vec<SigningKey>, Failure> {
        let (document, _) = self.keys_document(namespace).await?;
        let mut keys = Vec::new();
        for key in &document.keys {
            let parsed = parse_signing_keys(&key.ascii_armor)
                .map_err(|error| Failure::Corrupt(format!("key {}: {error}", key.key_id)))?;
            keys.extend(parsed);
        }
        Ok(keys)
    }

    /// Reads, changes and writes until nobody else wrote in between.
    async fn change_keys(
        &self,
        namespace: &Namespace,
        change: Change<'_>,
    ) -> Result<Reply<P::Stream>, Failure> {
        let mut tries = 1;
        loop {
            let (mut document, condition) = self.keys_document(namespace).await?;
            if !change(&mut document)? {
                return Ok(answer(200, &document));
            }
            let text = serde_json::to_string(&document)
                .map_err(|error| Failure::Corrupt(error.to_string()))?;
            let key = FactKey::SigningKeys(namespace.clone());
            let written = self.platform.facts().put(&key, &text, &[], condition).await;
            match written {
                Ok(Some(_)) => return Ok(answer(200, &document)),
                Ok(None) => {}
                Err(StoreError::Busy(_)) if tries < BUSY_TRIES => {
                    tries += 1;
                    self.platform.clock().sleep(1).await;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn keys_document(
        &self,
        namespace: &Namespace,
    ) -> Result<(SigningKeysDocument, Condition), Failure> {
        let key = FactKey::SigningKeys(namespace.clone());
        let Some(fact) = self.platform.facts().get(&key).await? else {
            return Ok((SigningKeysDocument::default(), Condition::Absent));
        };
        let document = serde_json::from_slice(&fact.bytes)
            .map_err(|error| Failure::Corrupt(format!("{key}: {error}")))?;
        Ok((document, Condition::Unchanged(fact.etag)))
    }
}

/// Adds keys; one that is there is replaced, since its owner may have prolonged it.
fn add(document: &mut SigningKeysDocument, added: &[SigningKeyDocument]) -> Result<bool, Problem> {
    let before = document.keys.clone();
    for key in added {
        let known = document
            .keys
            .iter_mut()
            .find(|known| known.fingerprint == key.fingerprint);
        match known {
            Some(known) => known.clone_from(key),
            None => document.keys.push(key.clone()),
        }
    }
    if document.keys.len() > limits::KEYS {
        let most = limits::KEYS;
        let reason = format!("a namespace may have {most} signing keys at most; remove one first");
        return Err(Problem::Invalid(vec![reason]));
    }
    Ok(document.keys != before)
}

fn answer<S>(status: u16, document: &SigningKeysDocument) -> Reply<S> {
    let text = serde_json::to_string(document).unwrap_or_default();
    Reply::json(status, CachePolicy::NoStore, text)
}
