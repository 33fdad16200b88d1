//! The signing keys of several namespaces.

use terrace_core::api::admin::{PresentedToken, SigningKeysDocument};
use terrace_core::model::name::Namespace;

use crate::commands::admin::stored::each_page;
use crate::error::Failure;
use crate::registry::client::Client;

/// The key prefix of the documents with the signing keys of a namespace.
const KEYS: &str = "keys/";

/// Passes the keys of every namespace to `take`, and the storage keys of damaged documents to `is_damaged`. Only the scopes
/// admin and backup suffice.
pub(crate) fn each_namespace(
    client: &Client<'_>,
    mut take: impl FnMut(Namespace, SigningKeysDocument),
    mut is_damaged: impl FnMut(&str),
) -> Result<(), Failure> {
    each_page(|after| {
        let page = client.facts(KEYS, after)?;
        for key in &page.unreadable {
            is_damaged(key);
        }
        for fact in &page.facts {
            let malformed =
                || Failure::Unexpected(format!("{}: the document is damaged", fact.key));
            let name = fact.key.strip_prefix(KEYS);
            let namespace = name.and_then(|name| name.parse().ok());
            let keys = serde_json::from_str(&fact.document).map_err(|_| malformed())?;
            take(namespace.ok_or_else(malformed)?, keys);
        }
        Ok(page.next)
    })
}

/// Returns the namespaces that a token administers by name.
pub(crate) fn administered_by(caller: &PresentedToken) -> impl Iterator<Item = Namespace> {
    let scopes = caller.scopes.iter();
    scopes.filter_map(|scope| scope.strip_prefix("admin:")?.parse().ok())
}
