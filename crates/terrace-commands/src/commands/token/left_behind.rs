//! The webhooks and signing keys that a person who leaves has added. They are named and never removed: others may depend on
//! them.

use serde_json::{Value, json};
use terrace_core::api::admin::{KeyAddition, PresentedToken, SigningKeysDocument, WebhookAnswer};
use terrace_core::model::name::Namespace;
use terrace_core::model::status::KeyState;
use terrace_openpgp::KeyId;

use crate::commands::key::{administered_by, each_namespace};
use crate::commands::person::{Belongings, Connection};
use crate::error::Failure;
use crate::output::{Output, plural};
use crate::registry::client::Client;

/// The webhooks and signing keys that are connected with a person, among those that the caller sees.
#[derive(Default)]
pub(super) struct LeftBehind {
    webhooks: Vec<(Connection, WebhookAnswer)>,
    keys: Vec<AddedKey>,
    /// The number of keys without a record of their addition.
    unrecorded: usize,
}

/// A signing key that is connected with a person.
struct AddedKey {
    connection: Connection,
    namespace: Namespace,
    key_id: KeyId,
    is_retired: bool,
    addition: KeyAddition,
}

impl LeftBehind {
    /// Finds them. Only an administrator of the registry sees webhooks, and the keys of every namespace.
    pub(super) fn of(
        belongings: &Belongings<'_>,
        caller: &PresentedToken,
        client: &Client<'_>,
        output: &Output,
    ) -> Result<Self, Failure> {
        let mut found = Self::default();
        if !caller.is_admin() {
            for namespace in administered_by(caller) {
                let keys = client.keys(&namespace)?;
                found.take_keys(belongings, namespace, keys);
            }
            return Ok(found);
        }
        let webhooks = client.webhooks()?.webhooks.into_iter();
        let connected = |it: WebhookAnswer| Some((belongings.connection_of(&it.by)?, it));
        found.webhooks = webhooks.filter_map(connected).collect();
        let is_damaged = |key: &str| {
            output.warning(&format!(
                "{key} is damaged, so its keys were not considered: run {}",
                output.command("admin verify")
            ));
        };
        let take = |namespace, keys| found.take_keys(belongings, namespace, keys);
        each_namespace(client, take, is_damaged)?;
        Ok(found)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.webhooks.is_empty() && self.keys.is_empty()
    }

    /// Names them, with the commands that remove them and their consequences.
    pub(super) fn warn(&self, person: &str, output: &Output) {
        for (connection, webhook) in &self.webhooks {
            let WebhookAnswer {
                id,
                host,
                namespaces,
                ..
            } = webhook;
            let owners = match namespaces.as_slice() {
                [] => "all namespaces".to_owned(),
                some => some.join(", "),
            };
            output.warning(&format!(
                "webhook {id}, which {} added, still sends the events of {owners} to {host}. It is not removed, because others may \
                 rely on it. To remove it: {}",
                adder(*connection, person),
                output.command(format_args!("webhook remove {id}"))
            ));
        }
        for AddedKey {
            connection,
            namespace,
            key_id,
            is_retired,
            ..
        } in &self.keys
        {
            let (state, stop) = match is_retired {
                true => ("is retired", "To remove it"),
                false => ("may still sign new versions", "To allow no new versions"),
            };
            output.warning(&format!(
                "signing key {key_id} of {namespace}, which {} added, {state}. It is neither removed nor revoked, because publishing \
                 and installations may depend on it. {stop}: {}; if {person} may \
                 have the private key, to block every version that it signed, which breaks their installation: {}",
                adder(*connection, person),
                output.command(format_args!("key remove {namespace} {key_id}")),
                output.command(format_args!(
                    "key revoke {namespace} {key_id} --reason REASON"
                ))
            ));
        }
        if self.unrecorded > 0 {
            output.warning(&format!(
                "who added {} is not known, because an earlier version of the registry did not record it: `{}` has the requests \
                 that added keys, with their callers",
                plural(self.unrecorded, "signing key"),
                output.command("admin audit")
            ));
        }
    }

    /// Returns the webhooks for programs.
    pub(super) fn webhooks(&self) -> Vec<Value> {
        let webhooks = self.webhooks.iter();
        let describe = |(_, it): &(Connection, WebhookAnswer)| json!({ "id": it.id, "name": it.name, "host": it.host, "namespaces": it.namespaces, "by": it.by });
        webhooks.map(describe).collect()
    }

    /// Returns the signing keys for programs.
    pub(super) fn keys(&self) -> Vec<Value> {
        let keys = self.keys.iter();
        let describe = |it: &AddedKey| {
            json!({
                "namespace": it.namespace.as_str(),
                "key_id": it.key_id,
                "added": it.addition.at.to_string(),
                "by": it.addition.by,
            })
        };
        keys.map(describe).collect()
    }

    fn take_keys(
        &mut self,
        belongings: &Belongings<'_>,
        namespace: Namespace,
        mut keys: SigningKeysDocument,
    ) {
        for key in keys.keys {
            let Some(addition) = keys.added.remove(&key.key_id) else {
                self.unrecorded += 1;
                continue;
            };
            let state = keys.statuses.get(&key.key_id).map(|it| it.state);
            // Nothing that a revoked key signed can be published or installed.
            if let Some(connection) = belongings.connection_of(&addition.by)
                && state != Some(KeyState::Revoked)
            {
                self.keys.push(AddedKey {
                    connection,
                    namespace: namespace.clone(),
                    key_id: key.key_id,
                    is_retired: state == Some(KeyState::Retired),
                    addition,
                });
            }
        }
    }
}

fn adder(connection: Connection, person: &str) -> String {
    match connection {
        Connection::Added | Connection::Names => person.to_owned(),
        Connection::AddedWithCreated => format!("a holder of a token that {person} created"),
    }
}
