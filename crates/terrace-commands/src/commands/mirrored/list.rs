//! `terrace mirror list` and `terrace mirror blocks`.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use clap::Args;
use serde::Serialize;
use serde_json::json;
use terrace_base::time::UnixTime;
use terrace_core::api::admin::FactBody;
use terrace_core::auth::oidc::{MirrorBlock, RuleDocument, RuleKind};
use terrace_core::model::mirrored_part::MirroredPart;
use terrace_core::model::name::{
    Hostname, ModuleName, ModuleNamespace, NameError, PUBLIC_HOSTS, System,
};
use terrace_core::model::package::Package;
use terrace_core::model::rule_id::RuleId;
use terrace_core::model::status::{ReleaseState, ReleaseStatus, StatusDocument};
use terrace_core::model::version::Version;
use terrace_core::storage::key::{FactKey, RULES};
use terrace_core::storage::release::Release;

use crate::args::{PackageSpec, RegistryArguments};
use crate::commands::connection::connect;
use crate::error::Failure;
use crate::output::{Column, Output, Screen, Table, bytes, plural, shown};
use crate::registry::client::Client;

#[derive(Debug, Args)]
pub(crate) struct MirrorListArguments {
    /// Only the packages of this registry, this namespace of it, or this package: hostname, hostname/namespace,
    /// hostname/namespace/type or hostname/namespace/name/system
    #[arg(value_name = "HOSTNAME[/NAMESPACE[/TYPE]]")]
    pub(crate) part: Option<MirrorPart>,
}

/// A part of the mirror: a registry, a namespace of it, or one package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MirrorPart(String);

impl MirrorPart {
    /// Returns the part in the form of a key, with a slash at its end.
    pub(crate) fn as_key(&self) -> String {
        format!("{}/", self.0)
    }
}

impl FromStr for MirrorPart {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.split('/');
        let checked = |part: Option<&str>, check: &dyn Fn(&str) -> Result<(), NameError>| {
            let checked = part.map_or(Ok(()), check);
            checked.map_err(|error| error.to_string())
        };
        checked(parts.next(), &|it| it.parse::<Hostname>().map(drop))?;
        checked(parts.next(), &|it| it.parse::<ModuleNamespace>().map(drop))?;
        checked(parts.next(), &|it| it.parse::<ModuleName>().map(drop))?;
        checked(parts.next(), &|it| it.parse::<System>().map(drop))?;
        match parts.next() {
            None => Ok(Self(text.to_owned())),
            Some(_) => Err(
                "it must be hostname, hostname/namespace, hostname/namespace/type or \
                            hostname/namespace/name/system"
                    .to_owned(),
            ),
        }
    }
}

/// The hosted providers. Their keys are between those of mirrored ones.
const HOSTED: &str = "hosted/";

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
        "releases",
        &part,
        output,
        |key, package, document| {
            let release = Release::from_document(document.as_bytes());
            let release =
                release.map_err(|error| Failure::Unexpected(format!("{key}: {error}")))?;
            let of_part = parts.iter().find(|it| it.block.providers.owns(package));
            let address = package.address();
            let statuses = statuses.get(&address);
            lines.push(Line::of(address, &release, statuses, of_part));
            Ok(())
        },
    )?;
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
        address: String,
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
            Release::Module(it) => line.size = it.archive.size,
            Release::Provider(_) => {}
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
    each_fact(client, RULES, output, |key, document| {
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

/// Returns the packages of a namespace or host of which a version is stored.
pub(super) fn stored_packages(
    client: &Client<'_>,
    part: &MirroredPart,
    output: &Output,
) -> Result<BTreeSet<String>, Failure> {
    let mut packages = BTreeSet::new();
    let prefix = format!("{part}/");
    each_mirrored(client, "releases", &prefix, output, |_, package, _| {
        packages.insert(package.address());
        Ok(())
    })?;
    let [stored, other] = PUBLIC_HOSTS;
    if part.hostname.as_str() == other {
        // Modules of both are stored under one of the names.
        let prefix = format!("releases/modules/{stored}/");
        each_fact(client, &prefix, output, |key, _| {
            if let FactKey::Release(package, _) = key {
                packages.extend(part.owns(package).then(|| package.address()));
            }
            Ok(())
        })?;
    }
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
    part: &str,
    output: &Output,
) -> Result<BTreeMap<String, StatusDocument>, Failure> {
    let mut all = BTreeMap::new();
    each_mirrored(
        client,
        "statuses",
        part,
        output,
        |key, package, document| {
            let statuses: StatusDocument = serde_json::from_str(document)
                .map_err(|error| Failure::Unexpected(format!("{key}: {error}")))?;
            all.insert(package.address(), statuses);
            Ok(())
        },
    )?;
    Ok(all)
}

/// Passes each document about a mirrored package of a part to `take`.
fn each_mirrored(
    client: &Client<'_>,
    kind: &str,
    part: &str,
    output: &Output,
    mut take: impl FnMut(&FactKey, &Package, &str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let slashes = part.matches('/').count();
    // The key of a provider ends with its type, or with a version after it.
    let of_providers = match kind == "statuses" && slashes == 3 {
        true => part.trim_end_matches('/'),
        false => part,
    };
    // The namespace of a module keeps its case, in which a part need not be written.
    let of_modules = part.split_inclusive('/').next().unwrap_or_default();
    let part = part.to_ascii_lowercase();
    let mut prefixes = Vec::new();
    if slashes < 4 {
        prefixes.push(format!("{kind}/providers/{of_providers}"));
    }
    prefixes.push(format!("{kind}/modules/{of_modules}"));
    for prefix in prefixes {
        each_fact(client, &prefix, output, |key, document| {
            let (FactKey::Release(package, _) | FactKey::Status(package)) = key else {
                return Ok(());
            };
            let address = package.address().to_ascii_lowercase() + "/";
            match package.origin() {
                Some(_) if address.starts_with(&part) => take(key, package, document),
                _ => Ok(()),
            }
        })?;
    }
    Ok(())
}

/// Passes each document below a prefix to `take`. Those about hosted providers are not requested.
fn each_fact(
    client: &Client<'_>,
    prefix: &str,
    output: &Output,
    mut take: impl FnMut(&FactKey, &str) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let hosted = format!("{prefix}{HOSTED}");
    let mut after: Option<String> = None;
    loop {
        let page = client.facts(prefix, after.as_deref())?;
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
