//! The signing keys of a namespace: one small document, changed by compare-and-swap.

use std::collections::BTreeMap;

use terrace_core::api::admin::{KeyChangeAnswer, SigningKeysDocument, StandingBody};
use terrace_core::auth::access::Caller;
use terrace_core::http::problem::Problem;
use terrace_core::http::reply::{CachePolicy, Reply};
use terrace_core::index::ListedRelease;
use terrace_core::limits;
use terrace_core::model::name::Namespace;
use terrace_core::model::package::Package;
use terrace_core::model::status::{KeyState, KeyStatement, Reason, Standings};
use terrace_core::storage::key::FactKey;
use terrace_core::storage::release::{Release, SigningKeyDocument};
use terrace_openpgp::{KeyId, SigningKey, parse_signing_keys};

use super::standing::ACTIVE;
use super::tokens::{json, parse};
use super::{App, Failure};
use crate::store::{Clock as _, Condition, Facts as _, Platform};

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

    /// Says that a key is retired or revoked, or takes that back, and makes the indices of what it has
    /// signed what follows: some of them, and the answer tells where to go on.
    pub(super) async fn change_signing_key(
        &self,
        caller: &Caller,
        (namespace, key_id): (&Namespace, KeyId),
        body: &[u8],
        behind: Option<&str>,
    ) -> Result<Reply<P::Stream>, Failure> {
        let StandingBody { state, reason } = parse(body)?;
        let invalid = |error: &dyn ToString| Problem::Invalid(vec![error.to_string()]);
        let reason: Reason = reason.parse().map_err(|error| invalid(&error))?;
        let state: Option<KeyState> = match state.as_str() {
            ACTIVE => None,
            state => Some(state.parse().map_err(|error| invalid(&error))?),
        };
        let key_id = key_id.to_string();
        let statement = state.map(|state| KeyStatement {
            state,
            reason,
            at: self.platform.clock().now().0,
            by: caller.name(),
        });
        self.change_keys(namespace, &|document| {
            let is_known = document.keys.iter().any(|key| key.key_id == key_id);
            let before = document.statements.get(&key_id);
            if !is_known && before.is_none() {
                let message = format!("namespace {namespace} has no signing key {key_id}");
                return Err(Problem::NotFound(message));
            }
            let said = |it: &KeyStatement| (it.state, it.reason.clone());
            let changes = before.map(said) != statement.as_ref().map(said);
            if changes && behind.is_some() {
                let told =
                    "behind goes on with what was said before, and this was not: leave it out";
                return Err(Problem::BadRequest(told.to_owned()));
            }
            if changes {
                match statement.clone() {
                    Some(statement) => document.statements.insert(key_id.clone(), statement),
                    None => document.statements.remove(&key_id),
                };
            }
            Ok(changes)
        })
        .await?;
        let next = self.index_signed_by(namespace, &key_id, behind).await?;
        let (keys, _) = self.keys_document(namespace).await?;
        json(200, &KeyChangeAnswer { keys, next })
    }

    /// Makes the indices of what a key has signed anew; the name of the last release looked at, if there
    /// are more.
    async fn index_signed_by(
        &self,
        namespace: &Namespace,
        key_id: &str,
        behind: Option<&str>,
    ) -> Result<Option<String>, Failure> {
        let prefix = FactKey::releases_in(namespace);
        let most = limits::SIGNED_RELEASES_AT_ONCE;
        let page = self.platform.facts().list(&prefix, behind, most).await?;
        let mut packages: Vec<Package> = Vec::new();
        let began = self.operations();
        let (mut last, mut is_cut) = (None, page.is_cut);
        for fact in &page.facts {
            if self.operations() - began > limits::SIGNED_OPERATIONS {
                is_cut = true;
                break;
            }
            last = Some(fact.name.clone());
            let named = fact.name.split_once('/');
            let named = named.and_then(|(provider_type, version)| {
                let address = format!("{namespace}/{provider_type}").parse().ok()?;
                Some((Package::Provider(address), version.parse().ok()?))
            });
            let Some((package, version)) = named else {
                continue;
            };
            let Some(release) = self.release(&package, &version).await? else {
                continue;
            };
            if !matches!(&release, Release::Provider(it) if it.signing_key.key_id == key_id) {
                continue;
            }
            if !packages.contains(&package) {
                let change = FactKey::Change(package.clone());
                self.mark(&change).await?;
                packages.push(package);
            }
            self.index_version(&release).await?;
        }
        for package in &packages {
            self.index_versions(package).await?;
        }
        Ok(last.filter(|_| is_cut))
    }

    /// How many storage operations this request has taken.
    pub(super) fn operations(&self) -> u32 {
        let usage = self.platform.tally().usage();
        usage.kv.operations + usage.r2.operations
    }

    /// What is said of a hosted provider's versions because of the keys that signed them.
    pub(super) async fn judge(
        &self,
        package: &Package,
        releases: &[ListedRelease],
        standings: &mut Standings,
    ) -> Result<(), Failure> {
        let statements = self.judging_statements(package).await?;
        self.judge_by(&statements, package, releases, standings)
            .await
    }

    /// Does the same by statements about keys that were read before.
    pub(super) async fn judge_by(
        &self,
        statements: &BTreeMap<String, KeyStatement>,
        package: &Package,
        releases: &[ListedRelease],
        standings: &mut Standings,
    ) -> Result<(), Failure> {
        if statements.is_empty() {
            return Ok(());
        }
        for listed in releases {
            let key_id = match &listed.signing_key {
                Some(key_id) => Some(key_id.clone()),
                // It was published before objects told.
                None => match self.release(package, &listed.version).await? {
                    Some(Release::Provider(it)) => Some(it.signing_key.key_id),
                    _ => None,
                },
            };
            let said = key_id.as_ref().and_then(|id| statements.get(id));
            if let (Some(key_id), Some(said)) = (&key_id, said) {
                standings.judge(&listed.version, key_id, said);
            }
        }
        Ok(())
    }

    /// What is said of the keys of a hosted provider's namespace; nothing where none of them is revoked.
    pub(super) async fn judging_statements(
        &self,
        package: &Package,
    ) -> Result<BTreeMap<String, KeyStatement>, Failure> {
        let Package::Provider(address) = package else {
            return Ok(BTreeMap::new());
        };
        let (document, _) = self.keys_document(&address.namespace).await?;
        let mut statements = document.statements;
        if statements.values().all(|it| it.state != KeyState::Revoked) {
            statements.clear();
        }
        Ok(statements)
    }

    /// The namespace's keys, ready to verify with, and what is said of them.
    pub(super) async fn signing_keys(
        &self,
        namespace: &Namespace,
    ) -> Result<(Vec<SigningKey>, BTreeMap<String, KeyStatement>), Failure> {
        let (document, _) = self.keys_document(namespace).await?;
        let mut keys = Vec::new();
        for key in &document.keys {
            let parsed = parse_signing_keys(&key.ascii_armor)
                .map_err(|error| Failure::Corrupt(format!("key {}: {error}", key.key_id)))?;
            keys.extend(parsed);
        }
        Ok((keys, document.statements))
    }

    /// Reads, changes and writes until nobody else wrote in between.
    async fn change_keys(
        &self,
        namespace: &Namespace,
        change: Change<'_>,
    ) -> Result<Reply<P::Stream>, Failure> {
        loop {
            let (mut document, condition) = self.keys_document(namespace).await?;
            if !change(&mut document)? {
                return Ok(answer(200, &document));
            }
            let text = serde_json::to_string(&document)
                .map_err(|error| Failure::Corrupt(error.to_string()))?;
            let key = FactKey::SigningKeys(namespace.clone());
            let written = self.put_document(&key, &text, &[], condition).await?;
            if written.is_some() {
                return Ok(answer(200, &document));
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
