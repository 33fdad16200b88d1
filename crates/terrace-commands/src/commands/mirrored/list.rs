//! `terrace mirror list` and `terrace mirror blocks`.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::json;
use terrace_base::time::UnixTime;
use terrace_core::api::admin::FactBody;
use terrace_core::auth::oidc::{MirrorBlock, RuleDocument, RuleKind};
use terrace_core::model::address::MirroredAddress;
use terrace_core::model::mirrored_part::MirroredPart;
use terrace_core::model::package::Package;
use terrace_core::model::rule_id::RuleId;
use terrace_core::model::status::{ReleaseState, ReleaseStatus, StatusDocument};
use terrace_core::model::version::Version;
use terrace_core::storage::key::{FactKey, RULES};
use terrace_core::storage::release::Release;

use crate::args::{MirrorListArguments, MirrorPart, RegistryArguments};
use crate::commands::connection::connect;
use crate::error::Failure;
use crate::output::{Column, Output, Screen, Table, bytes, plural, shown};
use crate::registry::client::Client;

/// The keys of the releases of providers.
const RELEASES_OF_PROVIDERS: &str = "releases/providers/";

/// The hosted providers. Their keys are between those of mirrored ones.
const HOSTED: &str = "hosted/";

/// A stored version of a mirrored provider.
#[derive(Debug, Serialize)]
struct Line {
    address: String,
    version: Version,
    /// `active`, `deprecated`, `withdrawn`, `revoked`, `blocked` or `erased`.
    state: String,
    reason: Option<String>,
    /// The platforms of the stored packages.
    platforms: Vec<String>,
    /// The platforms that its origin offers, and that no client has requested yet.
    offered: Vec<String>,
    /// The length of all stored packages, in bytes.
    size: u64,
}

/// A block of all providers of a namespace or host.
#[derive(Debug)]
pub(super) struct BlockedPart {
    pub(super) id: RuleId,
    pub(super) block: MirrorBlock,
    pub(super) created: UnixTime,
    by: String,
}

/// A block: of a version, of a provider, or of the providers of a namespace or host.
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
    let parts = blocked_parts(&client, output)?;
    let mut lines = Vec::new();
    each_mirrored(
        &client,
        RELEASES_OF_PROVIDERS,
        &part,
        output,
        |key, document| {
            if let FactKey::Release(Package::Mirrored(address), _) = key {
                let release = Release::from_document(document.as_bytes());
                let release =
                    release.map_err(|error| Failure::Unexpected(format!("{key}: {error}")))?;
                let of_part = parts.iter().find(|it| it.block.providers.includes(address));
                lines.push(Line::of(
                    address,
                    &release,
                    statuses.get(&address.to_string()),
                    of_part,
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
    let parts = blocked_parts(&client, output)?;
    let mut lines: Vec<BlockLine> = parts.iter().map(BlockLine::of_part).collect();
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
    fn of(
        address: &MirroredAddress,
        release: &Release,
        statuses: Option<&StatusDocument>,
        part: Option<&BlockedPart>,
    ) -> Self {
        let version = release.version();
        let status = statuses.and_then(|it| it.shown(version));
        let own = status.map(|it| (it.state, it.reason.to_string()));
        let is_blocked = own
            .as_ref()
            .is_some_and(|(state, _)| *state == ReleaseState::Blocked);
        let of_part = part.filter(|_| !is_blocked);
        let of_part = of_part.map(|it| (ReleaseState::Blocked, it.block.reason.to_string()));
        let (state, reason) = of_part.or(own).unzip();
        let mut line = Self {
            address: address.to_string(),
            version: version.clone(),
            state: state.map_or_else(|| "active".to_owned(), |it| it.to_string()),
            reason,
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

    fn of_part(part: &BlockedPart) -> Self {
        Self {
            address: part.block.providers.to_string(),
            version: None,
            reason: part.block.reason.to_string(),
            at: part.created.to_string(),
            by: part.by.clone(),
        }
    }
}

/// Returns the blocks of namespaces and hosts, the oldest first.
pub(super) fn blocked_parts(
    client: &Client<'_>,
    output: &Output,
) -> Result<Vec<BlockedPart>, Failure> {
    let mut parts = Vec::new();
    each_mirrored(client, RULES, "", output, |key, document| {
        let FactKey::Rule(id) = key else {
            return Ok(());
        };
        let rule: RuleDocument = serde_json::from_str(document)
            .map_err(|error| Failure::Unexpected(format!("{key}: {error}")))?;
        if rule.kind != RuleKind::Block || !rule.is_active() {
            return Ok(());
        }
        let parsed = rule.parse();
        let parsed = parsed.map_err(|error| Failure::Unexpected(format!("{key}: {error}")))?;
        parts.extend(parsed.block().map(|block| BlockedPart {
            id: *id,
            block: block.clone(),
            created: rule.created,
            by: rule.by.clone(),
        }));
        Ok(())
    })?;
    parts.sort_by_key(|part| part.created);
    Ok(parts)
}

/// Returns the providers of a namespace or host of which a version is stored.
pub(super) fn stored_providers(
    client: &Client<'_>,
    part: &MirroredPart,
    output: &Output,
) -> Result<BTreeSet<MirroredAddress>, Failure> {
    let mut providers = BTreeSet::new();
    let prefix = format!("{part}/");
    each_mirrored(client, RELEASES_OF_PROVIDERS, &prefix, output, |key, _| {
        if let FactKey::Release(Package::Mirrored(address), _) = key {
            providers.insert(address.clone());
        }
        Ok(())
    })?;
    Ok(providers)
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
        "statuses/providers/",
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
    let part = match kind.starts_with("statuses") && part.matches('/').count() == 3 {
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
