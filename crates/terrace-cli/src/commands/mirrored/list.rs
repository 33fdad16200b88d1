//! `terrace mirror list` and `terrace mirror blocks`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::json;
use terrace_core::api::admin::FactBody;
use terrace_core::model::address::MirroredAddress;
use terrace_core::model::package::Package;
use terrace_core::model::status::{ReleaseStatus, StatusDocument};
use terrace_core::model::version::Version;
use terrace_core::storage::key::FactKey;
use terrace_core::storage::release::Release;

use crate::args::{MirrorListArguments, MirrorPart, RegistryArguments};
use crate::commands::connection::connect;
use crate::error::Failure;
use crate::output::{Column, Output, Screen, Table, bytes, plural, shown};
use crate::registry::client::Client;

/// The hosted providers, whose keys are between those of mirrored ones.
const HOSTED: &str = "hosted/";

/// A stored version of a mirrored provider.
#[derive(Debug, Serialize)]
struct Line {
    address: String,
    version: Version,
    /// `active`, `deprecated`, `withdrawn`, `revoked`, `blocked` or `erased`.
    state: String,
    reason: Option<String>,
    /// The platforms whose packages are stored.
    platforms: Vec<String>,
    /// The platforms that its origin offers, and that no client has requested yet.
    offered: Vec<String>,
    /// The length of all stored packages, in bytes.
    size: u64,
}

/// A block.
#[derive(Debug, Serialize)]
struct BlockLine {
    address: String,
    version: Option<String>,
    reason: String,
    at: String,
    by: String,
}

/// Lists the stored versions of mirrored providers.
pub(super) fn list(
    arguments: &MirrorListArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let client = connect(registry, output)?;
    let part = arguments.part.as_ref().map(MirrorPart::as_key);
    let part = part.unwrap_or_default();
    let statuses = statuses(&client, &part, output)?;
    let mut lines = Vec::new();
    each_mirrored(
        &client,
        "releases/providers/",
        &part,
        output,
        |key, document| {
            if let FactKey::Release(Package::Mirrored(address), _) = key {
                let release = Release::from_document(document.as_bytes());
                let release =
                    release.map_err(|error| Failure::Unexpected(format!("{key}: {error}")))?;
                lines.push(Line::of(
                    address,
                    &release,
                    statuses.get(&address.to_string()),
                ));
            }
            Ok(())
        },
    )?;
    lines.sort_by(|one, other| (&one.address, &one.version).cmp(&(&other.address, &other.version)));
    let mut table = Table::new([
        Column::whole("PROVIDER"),
        Column::whole("VERSION"),
        Column::status("STATUS"),
        Column::left_out(1, "PLATFORMS"),
        Column::left_out(3, "OFFERED"),
        Column::left_out(2, "SIZE"),
        Column::wrapped("REASON"),
    ]);
    for line in &lines {
        table.row([
            line.address.clone(),
            line.version.to_string(),
            line.state.clone(),
            line.platforms.len().to_string(),
            line.offered.len().to_string(),
            bytes(line.size),
            shown(line.reason.as_ref()),
        ]);
    }
    let size = lines.iter().map(|line| line.size).sum::<u64>();
    let sum = format!("{}, {}", plural(lines.len(), "version"), bytes(size));
    let report = json!({ "status": "ok", "url": client.url(), "versions": lines });
    print(
        &table,
        "no provider of another registry is stored",
        Some(sum),
        &report,
        output,
    );
    Ok(())
}

/// Lists the blocks of providers and versions.
pub(super) fn blocks(registry: &RegistryArguments, output: &Output) -> Result<(), Failure> {
    let client = connect(registry, output)?;
    let mut lines = Vec::new();
    for (address, statuses) in statuses(&client, "", output)? {
        let whole = statuses.blocked.iter().map(|block| (None, block));
        let versions = statuses.blocked_versions.iter();
        let versions = versions.map(|(version, block)| (Some(version.clone()), block));
        for (version, block) in whole.chain(versions) {
            lines.push(BlockLine::of(address.clone(), version, block));
        }
    }
    let mut table = Table::new([
        Column::whole("BLOCKED"),
        Column::left_out(1, "SINCE"),
        Column::left_out(2, "BY"),
        Column::wrapped("REASON"),
    ]);
    for line in &lines {
        let version = line.version.as_ref().map(|version| format!("@{version}"));
        table.row([
            format!("{}{}", line.address, shown(version)),
            line.at.clone(),
            line.by.clone(),
            line.reason.clone(),
        ]);
    }
    let report = json!({ "status": "ok", "url": client.url(), "blocks": lines });
    print(
        &table,
        "nothing is blocked, except by TERRACE_PULL_BLOCK",
        None,
        &report,
        output,
    );
    Ok(())
}

impl Line {
    fn of(address: &MirroredAddress, release: &Release, statuses: Option<&StatusDocument>) -> Self {
        let version = release.version();
        let status = statuses.and_then(|it| it.shown(version));
        let mut line = Self {
            address: address.to_string(),
            version: version.clone(),
            state: status.map_or_else(|| "active".to_owned(), |it| it.state.to_string()),
            reason: status.map(|it| it.reason.to_string()),
            platforms: Vec::new(),
            offered: Vec::new(),
            size: 0,
        };
        match release {
            Release::Mirrored(it) => {
                let stored = it.packages.iter();
                line.platforms = stored.map(|package| package.platform.to_string()).collect();
                let offered = it.offered.iter();
                line.offered = offered
                    .map(|package| package.platform.to_string())
                    .collect();
                line.size = it.packages.iter().map(|package| package.size).sum();
            }
            Release::Erased(tombstone) => {
                "erased".clone_into(&mut line.state);
                line.reason = Some(tombstone.reason.to_string());
            }
            Release::Provider(_) | Release::Module(_) => {}
        }
        line
    }
}

impl BlockLine {
    fn of(address: String, version: Option<String>, block: &ReleaseStatus) -> Self {
        Self {
            address,
            version,
            reason: block.reason.to_string(),
            at: block.at.to_string(),
            by: block.by.clone(),
        }
    }
}

/// Returns the statuses of the mirrored providers in a part of the mirror, by address.
fn statuses(
    client: &Client<'_>,
    part: &str,
    output: &Output,
) -> Result<BTreeMap<String, StatusDocument>, Failure> {
    let mut all = BTreeMap::new();
    each_mirrored(
        client,
        "standings/providers/",
        part,
        output,
        |key, document| {
            if let FactKey::Status(Package::Mirrored(address)) = key {
                let statuses: StatusDocument = serde_json::from_str(document)
                    .map_err(|error| Failure::Unexpected(format!("{key}: {error}")))?;
                all.insert(address.to_string(), statuses);
            }
            Ok(())
        },
    )?;
    Ok(all)
}

/// Passes each document about a mirrored provider of a part to `take`. Those about hosted providers are not requested.
fn each_mirrored(
    client: &Client<'_>,
    kind: &str,
    part: &str,
    output: &Output,
    mut take: impl FnMut(&FactKey, &str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    // The key of a provider ends with its type, or with a version after it.
    let part = match kind.starts_with("standings") && part.matches('/').count() == 3 {
        true => part.trim_end_matches('/'),
        false => part,
    };
    let prefix = format!("{kind}{part}");
    let hosted = format!("{kind}{HOSTED}");
    let mut after: Option<String> = None;
    loop {
        let page = client.facts(&prefix, after.as_deref())?;
        for key in page.unreadable.iter().chain(&page.unknown) {
            output.warning(&format!("{key:?} is skipped: it is not readable"));
        }
        for FactBody { key, document } in &page.facts {
            if let Some(key) = FactKey::parse(key) {
                take(&key, document)?;
            }
        }
        let Some(next) = page.next.filter(|next| after.as_ref() != Some(next)) else {
            return Ok(());
        };
        // In ASCII, `0` follows the slash.
        after = Some(match next.starts_with(&hosted) {
            true => format!("{}0", hosted.trim_end_matches('/')),
            false => next,
        });
    }
}

fn print(
    table: &Table,
    none: &str,
    sum: Option<String>,
    report: &serde_json::Value,
    output: &Output,
) {
    if table.is_empty() {
        return output.result(&[none], report);
    }
    let mut screen = Screen::new();
    screen.table(table);
    if let Some(sum) = sum {
        screen.title(&sum);
    }
    output.report(screen, report);
}
