//! `terrace token revoke ID`.

use serde_json::json;
use terrace_core::api::admin::RevokedToken;
use terrace_core::api::endpoint::TOKEN;
use terrace_core::model::token_id::TokenId;

use crate::commands::connection::Session;
use crate::error::Failure;
use crate::registry::client::Call;

/// Revokes tokens by their IDs.
pub(super) fn by_id(ids: &[TokenId], session: Session<'_>) -> Result<(), Failure> {
    let output = session.output;
    let client = session.connect()?;
    let mut unknown = Vec::new();
    for id in ids {
        let revoked: RevokedToken = client.call(Call::delete(&TOKEN).with(id))?;
        if !revoked.known {
            unknown.push(id.to_string());
        }
    }
    let ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
    // An operator in a hurry must not believe that a token is revoked if its ID was mistyped.
    let known = ids.iter().filter(|id| !unknown.contains(id));
    let known: Vec<&str> = known.map(String::as_str).collect();
    let text = match known.is_empty() {
        true => String::new(),
        false => format!(
            "{} revoked; this takes effect everywhere within a minute",
            known.join(", ")
        ),
    };
    let report = json!({ "revoked": ids, "unknown": unknown });
    let mut reasons = Vec::new();
    if !unknown.is_empty() {
        reasons.push(format!(
            "the registry has no record of a token with the ID {}, and revoked the ID anyway: unless it belongs to \
             an OCI client or a CI job, check the ID",
            unknown.join(", ")
        ));
    }
    let worst = (!reasons.is_empty()).then(|| Failure::Refused(reasons.clone()));
    output.outcome(text, report, worst, reasons)
}
