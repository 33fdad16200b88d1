//! What publishing a provider and a module have in common: describe, send what is missing, repeat.

use std::collections::BTreeMap;

use serde::Serialize;
use terrace_core::admin::{PublishAnswer, Published};

use crate::client::Client;
use crate::error::Failure;
use crate::output::Output;
use crate::source::Archive;
use crate::upload::upload;

/// How often the registry may ask for archives. Once is usual; again when an upload went wrong.
const ROUNDS: usize = 4;

/// What is printed by `--json`.
#[derive(Serialize)]
struct Report<'a> {
    status: &'static str,
    address: &'a str,
    version: &'a str,
    url: &'a str,
    uploaded: usize,
    warnings: &'a [String],
}

/// Publishes what `body` describes at `path`.
pub(crate) fn publish(
    client: &Client,
    path: &str,
    body: &str,
    archives: &BTreeMap<String, Archive>,
    output: &Output,
) -> Result<(), Failure> {
    let mut uploaded = 0;
    for _ in 0..ROUNDS {
        match client.publish(path, body)? {
            PublishAnswer::Created(published) => {
                report(client, "created", &published, uploaded, output);
                return Ok(());
            }
            PublishAnswer::Unchanged(published) => {
                report(client, "unchanged", &published, uploaded, output);
                return Ok(());
            }
            PublishAnswer::Conflict { errors } => return Err(Failure::Conflict(errors)),
            PublishAnswer::Invalid { errors } => return Err(Failure::Refused(errors)),
            PublishAnswer::Incomplete { missing } => {
                uploaded += missing.len();
                upload(client.anonymous(), missing, archives, output)?;
            }
        }
    }
    Err(Failure::Unexpected(
        "the registry keeps asking for archives that were sent; run the same command again"
            .to_owned(),
    ))
}

fn report(
    client: &Client,
    status: &'static str,
    published: &Published,
    uploaded: usize,
    output: &Output,
) {
    let Published {
        address,
        version,
        warnings,
    } = published;
    for warning in warnings {
        output.warning(warning);
    }
    let url = client.url();
    let text = match status {
        "created" => format!("published {address} {version} to {url}"),
        _ => format!("{address} {version} is already published at {url}, with the same bytes"),
    };
    let report = Report {
        status,
        address,
        version,
        url,
        uploaded,
        warnings,
    };
    output.result(&text, &report);
}

/// What would be sent, for `--dry-run`.
pub(crate) fn report_dry_run(
    address: &str,
    version: &str,
    archives: &[(String, &Archive)],
    output: &Output,
) {
    let list: Vec<_> = archives
        .iter()
        .map(|(name, archive)| {
            serde_json::json!({ "filename": name, "sha256": archive.sha256, "size": archive.size })
        })
        .collect();
    let mut text =
        format!("{address} {version} can be published; nothing was sent. It would send:");
    for (name, archive) in archives {
        text.push_str(&format!(
            "\n  {name} ({} bytes, sha256 {})",
            archive.size, archive.sha256
        ));
    }
    let document = serde_json::json!({
        "status": "dry_run", "address": address, "version": version, "archives": list,
    });
    output.result(&text, &document);
}
