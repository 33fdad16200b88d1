//! The signing keys of several namespaces.

use terrace_core::api::admin::SigningKeysDocument;
use terrace_core::model::name::Namespace;

use crate::commands::admin::stored::each_page;
use crate::error::Failure;
use crate::output::Output;
use crate::registry::client::Client;

/// The key prefix of the documents with the signing keys of a namespace.
const KEYS: &str = "keys/";

/// Returns the keys of every namespace, and warns about damaged documents. Only the scopes admin and backup suffice.
pub(crate) fn of_all_namespaces(
    client: &Client<'_>,
    output: &Output,
) -> Result<Vec<(Namespace, SigningKeysDocument)>, Failure> {
    let mut found = Vec::new();
    each_page(|after| {
        let page = client.facts(KEYS, after)?;
        for key in &page.unreadable {
            output.warning(&format!(
                "{key} is damaged, so its keys were not considered: run {}",
                output.command("admin verify")
            ));
        }
        for fact in &page.facts {
            let malformed =
                || Failure::Unexpected(format!("{}: the document is damaged", fact.key));
            let name = fact.key.strip_prefix(KEYS);
            let namespace = name.and_then(|name| name.parse().ok());
            let keys = serde_json::from_str(&fact.document).map_err(|_| malformed())?;
            found.push((namespace.ok_or_else(malformed)?, keys));
        }
        Ok(page.next)
    })?;
    Ok(found)
}
