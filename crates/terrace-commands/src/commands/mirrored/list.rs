//! `terrace mirror list` and `terrace mirror blocks`.

use std::collections::{BTreeMap, BTreeSet};

use clap::Args;
use serde::Serialize;
use serde_json::json;
use terrace_base::time::UnixTime;
use terrace_core::api::admin::FactBody;
use terrace_core::auth::oidc::{MirrorBlock, RuleDocument, RuleKind};
use terrace_core::model::mirrored_part::MirroredPart;
use terrace_core::model::name::PUBLIC_HOSTS;
use terrace_core::model::package::Package;
use terrace_core::model::rule_id::RuleId;
use terrace_core::model::status::{ReleaseState, StatusDocument};
use terrace_core::model::version::Version;
use terrace_core::storage::key::{FactKey, RULES};
use terrace_core::storage::release::Release;

use super::{BlockSubject, mirrored};
use crate::args::PackageSpec;
use crate::commands::admin::stored::each_page;
use crate::commands::connection::Session;
use crate::error::Failure;
use crate::output::{Column, Output, Screen, Table, bytes, plural, shown};
use crate::registry::client::Client;

/// The part of a key of a hosted provider after the kind of document.
const HOSTED: &str = "/providers/hosted/";

#[derive(Debug, Args)]
pub(crate) struct MirrorListArguments {
    /// Only the packages of this registry, this namespace of it, or this package: hostname, hostname/namespace,
    /// hostname/namespace/type or hostname/namespace/name/system
    #[arg(value_name = "HOSTNAME[/NAMESPACE[/TYPE]]")]
    pub(crate) part: Option<BlockSubject>,
}

/// A stored version of a mirrored package.
#[derive(Debug, Serialize)]
struct Line {
    address: String,
    version: Version,
    /// `active`, `deprecated`, `withdrawn`, `revoked`, `blocked` or `erased`.
    state: String,
    reason: Option<String>,
    /// The platforms of the stored packages of a provider.
    platforms: Vec<String>,
    /// The platforms that its origin offers, and that no client has requested yet.
    offered: Vec<String>,
    /// The length of all stored archives, in bytes.
    size: u64,
}

/// A block of all packages of a namespace or host.
#[derive(Debug)]
pub(super) struct BlockedPart {
    pub(super) id: RuleId,
    pub(super) block: MirrorBlock,
    pub(super) created: UnixTime,
    by: String,
}

/// A block: of a version, of a package, or of the packages of a namespace or host.
#[derive(Debug, Serialize)]
struct BlockLine {
    address: String,
    version: Option<String>,
    reason: String,
    at: String,
    by: String,
}

/// Lists the stored versions of mirrored packages.
pub(super) fn list(arguments: &MirrorListArguments, session: Session<'_>) -> Result<(), Failure> {
    let (client, output) = (session.connect()?, session.output);
    let part = arguments.part.as_ref();
    if let Some(BlockSubject::Package(spec)) = part {
        let spec = mirrored(spec, &client)?;
        if spec.is_version() {
            return Err(Failure::Usage(format!(
                "{spec} is a version, and all versions are listed: leave out what follows the @"
            )));
        }
    }
    let statuses = statuses(&client, part, output)?;
    let parts = blocked_parts(&client, output)?;
    let mut lines = Vec::new();
    each_mirrored(&client, "releases", part, output, |package, document| {
        let release = Release::from_document(document.as_bytes()).ok()?;
        let of_part = parts.iter().find(|it| it.block.providers.owns(package));
        let address = package.address();
        let statuses = statuses.get(&address);
        lines.push(Line::of(address, &release, statuses, of_part));
        Some(())
    })?;
    lines.sort_by(|one, other| (&one.address, &one.version).cmp(&(&other.address, &other.version)));
    let mut table = Table::new([
        Column::whole("PACKAGE"),
        Column::whole("VERSION"),
        Column::status("STATUS"),
        Column::left_out(1, "PLATFORMS"),
        Column::left_out(3, "OFFERED"),
        Column::left_out(2, "SIZE"),
        Column::wrapped("REASON"),
    ]);
    for line in &lines {
        let is_module = line.address.split('/').count() == 4;
        let count = |platforms: &[String]| match is_module {
            true => "-".to_owned(),
            false => platforms.len().to_string(),
        };
        table.row([
            line.address.clone(),
            line.version.to_string(),
            line.state.clone(),
            count(&line.platforms),
            count(&line.offered),
            bytes(line.size),
            shown(line.reason.as_ref()),
        ]);
    }
    let size = lines.iter().map(|line| line.size).sum::<u64>();
    let sum = format!("{}, {}", plural(lines.len(), "version"), bytes(size));
    let report = json!({ "status": "ok", "url": client.url(), "versions": lines });
    print(
        &table,
        "no package of another registry is stored",
        Some(sum),
        &report,
        output,
    );
    Ok(())
}

/// Lists the blocks of packages and versions.
pub(super) fn blocks(session: Session<'_>) -> Result<(), Failure> {
    let (client, output) = (session.connect()?, session.output);
    let parts = blocked_parts(&client, output)?;
    let of_parts = parts.into_iter().map(|part| BlockLine {
        address: part.block.providers.to_string(),
        version: None,
        reason: part.block.reason.to_string(),
        at: part.created.to_string(),
        by: part.by,
    });
    let mut lines: Vec<BlockLine> = of_parts.collect();
    for (address, statuses) in statuses(&client, None, output)? {
        let whole = statuses.blocked.iter().map(|block| (None, block));
        let versions = statuses.blocked_versions.iter();
        let versions = versions.map(|(version, block)| (Some(version.clone()), block));
        for (version, block) in whole.chain(versions) {
            lines.push(BlockLine {
                address: address.clone(),
                version,
                reason: block.reason.to_string(),
                at: block.at.to_string(),
                by: block.by.clone(),
            });
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
        address: String,
        release: &Release,
        statuses: Option<&StatusDocument>,
        part: Option<&BlockedPart>,
    ) -> Self {
        let version = release.version();
        let own = statuses.and_then(|it| it.shown(version));
        let own = own.map(|it| (it.state, it.reason.to_string()));
        let of_part = part.map(|it| (ReleaseState::Blocked, it.block.reason.to_string()));
        let (state, reason) = match own {
            Some((ReleaseState::Blocked, _)) => own,
            own => of_part.or(own),
        }
        .unzip();
        let mut line = Self {
            address,
            version: version.clone(),
            state: state.map_or_else(|| "active".to_owned(), |it| it.to_string()),
            reason,
            platforms: Vec::new(),
            offered: Vec::new(),
            size: 0,
        };
        match release {
            Release::Mirrored(it) => {
                let stored = it.packages.iter().map(|it| it.platform.to_string());
                line.platforms = stored.collect();
                let offered = it.offered.iter().map(|it| it.platform.to_string());
                line.offered = offered.collect();
                line.size = it.packages.iter().map(|package| package.size).sum();
            }
            Release::Erased(tombstone) => {
                "erased".clone_into(&mut line.state);
                line.reason = Some(tombstone.reason.to_string());
            }
            Release::Module(it) => line.size = it.archive.size,
            Release::Provider(_) => {}
        }
        line
    }
}

/// Returns the blocks of namespaces and hosts, the oldest first.
pub(super) fn blocked_parts(
    client: &Client<'_>,
    output: &Output,
) -> Result<Vec<BlockedPart>, Failure> {
    let mut parts = Vec::new();
    each_document(client, RULES, output, |key, document| {
        let FactKey::Rule(id) = key else {
            return Some(());
        };
        let rule: RuleDocument = serde_json::from_str(document).ok()?;
        if rule.kind != RuleKind::Block || !rule.is_active() {
            return Some(());
        }
        let parsed = rule.parse().ok()?;
        parts.extend(parsed.block().map(|block| BlockedPart {
            id: *id,
            block: block.clone(),
            created: rule.created,
            by: rule.by.clone(),
        }));
        Some(())
    })?;
    parts.sort_by_key(|part| part.created);
    Ok(parts)
}

/// Returns the packages of a namespace or host of which a version is stored.
pub(super) fn stored_packages(
    client: &Client<'_>,
    part: &MirroredPart,
    output: &Output,
) -> Result<BTreeSet<String>, Failure> {
    let mut packages = BTreeSet::new();
    let part = BlockSubject::Part(part.clone());
    each_mirrored(client, "releases", Some(&part), output, |package, _| {
        packages.insert(package.address());
        Some(())
    })?;
    Ok(packages)
}

/// Returns whether a version of a package is stored: the one that is named, or any.
pub(super) fn is_stored(client: &Client<'_>, spec: &PackageSpec) -> Result<bool, Failure> {
    let key = match &spec.version {
        Some(version) => FactKey::Release(spec.package.clone(), version.clone()).to_string(),
        None => FactKey::releases_of(&spec.package),
    };
    let mut stored = client.facts(&key, None)?.facts.into_iter();
    Ok(stored.any(|it| !spec.is_version() || it.key == key))
}

/// Returns the statuses of the mirrored packages in a part of the mirror, by address.
fn statuses(
    client: &Client<'_>,
    part: Option<&BlockSubject>,
    output: &Output,
) -> Result<BTreeMap<String, StatusDocument>, Failure> {
    let mut all = BTreeMap::new();
    each_mirrored(client, "statuses", part, output, |package, document| {
        let statuses: StatusDocument = serde_json::from_str(document).ok()?;
        all.insert(package.address(), statuses);
        Some(())
    })?;
    Ok(all)
}

/// Passes each document about a mirrored package of a part to `take`, which returns `None` if it cannot read it.
fn each_mirrored(
    client: &Client<'_>,
    kind: &str,
    part: Option<&BlockSubject>,
    output: &Output,
    mut take: impl FnMut(&Package, &str) -> Option<()>,
) -> Result<(), Failure> {
    let prefixes = match part {
        None => vec![format!("{kind}/providers/"), format!("{kind}/modules/")],
        Some(BlockSubject::Part(part)) => {
            // Modules of both public registries are stored under one of the names.
            let host = match part.hostname.is_public() {
                true => PUBLIC_HOSTS[0],
                false => part.hostname.as_str(),
            };
            vec![
                format!("{kind}/providers/{part}/"),
                format!("{kind}/modules/{host}/"),
            ]
        }
        Some(BlockSubject::Package(spec)) => vec![format!("{kind}/{}", spec.package)],
    };
    let is_wanted = |package: &Package| match part {
        None => package.origin().is_some(),
        Some(BlockSubject::Part(part)) => part.owns(package),
        Some(BlockSubject::Package(spec)) => spec.package == *package,
    };
    for prefix in prefixes {
        each_document(client, &prefix, output, |key, document| match key {
            FactKey::Release(package, _) | FactKey::Status(package) if is_wanted(package) => {
                take(package, document)
            }
            _ => Some(()),
        })?;
    }
    Ok(())
}

/// Passes each document below a prefix to `take`, which returns `None` if it cannot read it: such documents are skipped with
/// a warning. Those about hosted providers are not requested.
fn each_document(
    client: &Client<'_>,
    prefix: &str,
    output: &Output,
    mut take: impl FnMut(&FactKey, &str) -> Option<()>,
) -> Result<(), Failure> {
    each_page(|after| {
        let page = client.facts(prefix, after)?;
        let mut skipped = page.unreadable;
        skipped.extend(page.unknown);
        for FactBody { key, document } in page.facts {
            let taken = FactKey::parse(&key).and_then(|parsed| take(&parsed, &document));
            if taken.is_none() {
                skipped.push(key);
            }
        }
        for key in skipped {
            output.warning(&format!("{key:?} is skipped: it is not readable"));
        }
        let kind = |next: &str| match next.split_once(HOSTED) {
            Some((kind, _)) if !kind.contains('/') => Some(kind.to_owned()),
            _ => None,
        };
        Ok(page.next.map(|next| match kind(&next) {
            // In ASCII, `0` follows the slash.
            Some(kind) => format!("{kind}{}0", HOSTED.trim_end_matches('/')),
            None => next,
        }))
    })
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
