//! `terrace admin erase`.
//!
//! The command looks at everything that refers to an archive, which no single request has time for, and the registry does as
//! it is told.

mod plan;

use std::collections::BTreeSet;

use clap::{ArgGroup, Args};
use serde_json::json;
use terrace_base::digest::Sha256;
use terrace_core::api::admin::{ErasedContent, ErasureAnswer, ErasureBody};
use terrace_core::api::endpoint::ERASURES;
use terrace_core::limits;
use terrace_core::model::oci::Digest;
use terrace_core::model::package::Package;
use terrace_core::model::status::Reason;

use super::pushed::{PushedContent, Repositories};
use crate::args::{PackageSpec, RegistryArguments};
use crate::clock;
use crate::commands::admin::pushed::ManifestSpec;
use crate::commands::connection::connect;
use crate::commands::list::warn_of_callers;
use crate::error::Failure;
use crate::output::{Output, plural};
use crate::registry::client::{Call, Client};
use plan::{Plan, Subject};

#[derive(Debug, Args)]
#[command(group(ArgGroup::new("subject").required(true).args(["address", "archives", "manifests", "blobs"])))]
pub(crate) struct EraseArguments {
    /// The package: <namespace>/<type> for a provider, <namespace>/<name>/<system> for a module,
    /// after <hostname>/ if it is mirrored; followed by @<version> for one version, otherwise all
    /// versions are erased
    pub(crate) address: Option<PackageSpec>,
    /// An archive, by its SHA-256, instead of a version. May be given several times
    #[arg(long = "archive", value_name = "SHA256")]
    pub(crate) archives: Vec<Sha256>,
    /// A manifest that a client has pushed, as <repository>@<digest> or <repository>:<tag>, with the manifests and blobs that it
    /// refers to. May be given several times
    #[arg(long = "manifest", value_name = "REPOSITORY@DIGEST")]
    pub(crate) manifests: Vec<ManifestSpec>,
    /// A blob that a client has pushed, by its digest, such as sha256:…, in all repositories. May be given several times
    #[arg(long = "blob", value_name = "DIGEST", value_parser = digest)]
    pub(crate) blobs: Vec<Digest>,
    /// The reason: one line, which users and publishers read
    #[arg(long)]
    pub(crate) reason: Reason,
    /// Also erase archives and pushed content that other versions, repositories or manifests have. These can then no longer be
    /// installed
    #[arg(long)]
    pub(crate) everywhere: bool,
    /// Erase, instead of listing what would be erased
    #[arg(long)]
    pub(crate) yes: bool,
}

fn digest(text: &str) -> Result<Digest, String> {
    Digest::parse(text)
        .map_err(|_| "it must be a digest, such as sha256: and 64 hexadecimal digits".to_owned())
}

/// The consequences that hold for every erasure.
const CONSEQUENCES: &str = "an erasure cannot be undone; names and digests stay in the audit log. Copies of the registry are \
                            not changed until the next export to them";

/// The consequence for users of a mirrored module that is not served any more.
pub(crate) const MODULE_IS_MISSING: &str = "clients with a host block for its registry cannot install it, nor modules that call it, \
                                            and do not ask its origin; clients without one still do";

/// Erases versions, archives and pushed content, or lists everything that an erasure would change.
pub(crate) fn erase(
    arguments: &EraseArguments,
    registry: &RegistryArguments,
    output: &Output,
) -> Result<(), Failure> {
    let reason = &arguments.reason;
    if !reason.is_short() {
        let limit = limits::ERASURE_REASON_BYTES;
        let message = format!("--reason: the reason of an erasure must have at most {limit} bytes");
        return Err(Failure::Usage(message));
    }
    let client = connect(registry, output)?;
    let subject = match &arguments.address {
        Some(spec) => Subject::Versions(spec),
        None if !arguments.manifests.is_empty() => Subject::Manifests(&arguments.manifests),
        None if !arguments.blobs.is_empty() => Subject::Blobs(&arguments.blobs),
        None => Subject::Archives(&arguments.archives),
    };
    let plan = Plan::of(&client, &subject, arguments.everywhere, output)?;
    if let Subject::Versions(spec) = &subject
        && matches!(spec.package, Package::Module(_))
        && !plan.is_all_done()
    {
        output.warning(&match spec.package.origin() {
            Some(_) => format!("{spec}: {MODULE_IS_MISSING}"),
            None => format!(
                "packages of other modules may contain a copy of {spec}, because `terrace publish modules` packs a module with \
                 those that it calls by a local path: no digest leads to them, so erase the versions of its callers as well"
            ),
        });
    }
    if let Subject::Versions(spec) = &subject {
        warn_of_callers(&client, &spec.package, output);
    }
    if !arguments.yes {
        preview(&plan, output);
        return Ok(());
    }
    plan.check(output)?;
    let answers = carry_out(&client, &plan, &reason.to_string(), output)?;
    report(&plan, &answers, output);
    Ok(())
}

/// Shows what would be erased, and what would stay.
fn preview(plan: &Plan, output: &Output) {
    let mut lines: Vec<String> = plan
        .releases
        .iter()
        .filter(|it| !plan.is_done(&it.name))
        .map(|it| format!("{} would be erased, with its documentation", it.name))
        .collect();
    let archives = plan.erased.iter().filter(|key| !plan.is_done(key));
    lines.extend(archives.map(|key| format!("{key} would be erased")));
    let contents = plan.contents.iter();
    let contents = contents.filter(|(digest, _)| !plan.is_done(digest));
    lines.extend(contents.map(|(digest, repositories)| {
        let names: Vec<&str> = repositories.iter().map(String::as_str).collect();
        match names.as_slice() {
            [] => format!("{digest} would be erased"),
            names => format!("{digest} would be erased in {}", names.join(", ")),
        }
    }));
    lines.extend(plan.notes(output));
    lines.push(match plan.is_empty() {
        true => "nothing would be erased".to_owned(),
        false => format!("{CONSEQUENCES}. Run the command with --yes to erase this"),
    });
    output.result(&lines, &plan.report("dry_run", None));
}

/// Sends a request for each version, and then for the other archives. Each may be repeated, so an interrupted erasure is
/// continued by the same command.
fn carry_out(
    client: &Client<'_>,
    plan: &Plan,
    reason: &str,
    output: &Output,
) -> Result<Vec<ErasureAnswer>, Failure> {
    let mut answers = Vec::new();
    let mut left = plan.erased.clone();
    for release in &plan.releases {
        let archives = release
            .archives
            .iter()
            .filter(|key| plan.erased.contains(*key));
        let body = ErasureBody {
            package: Some(release.address.clone()),
            version: Some(release.version.clone()),
            reason: reason.to_owned(),
            archives: archives.cloned().collect(),
            contents: Vec::new(),
        };
        left.retain(|key| !body.archives.contains(key));
        answers.push(client.call(Call::post(&ERASURES).json(&body)?)?);
        output.progress(&match plan.is_done(&release.name) {
            true => format!("completed the erasure of {}", release.name),
            false => format!("erased {}", release.name),
        });
    }
    let left: Vec<String> = left.into_iter().collect();
    for archives in left.chunks(limits::ERASED_AT_ONCE) {
        let body = ErasureBody {
            reason: reason.to_owned(),
            archives: archives.to_vec(),
            ..ErasureBody::default()
        };
        answers.push(client.call(Call::post(&ERASURES).json(&body)?)?);
    }
    erase_contents(client, plan, reason, &mut answers, output)?;
    Ok(answers)
}

/// How often the repositories are listed again after an erasure. A push that has begun before the tombstones may have added
/// the content to one.
const LOOKS: usize = 3;

/// Erases pushed content, then lists the repositories again, and erases the content where it has been pushed in the meantime.
fn erase_contents(
    client: &Client<'_>,
    plan: &Plan,
    reason: &str,
    answers: &mut Vec<ErasureAnswer>,
    output: &Output,
) -> Result<(), Failure> {
    let mut contents = plan.contents.clone();
    for _ in 0..LOOKS {
        if contents.is_empty() {
            return Ok(());
        }
        let mut ordered: Vec<(String, Repositories)> = contents.into_iter().collect();
        ordered.sort_by_key(|(digest, _)| plan.rank(digest));
        let items: Vec<ErasedContent> = ordered.into_iter().flat_map(items).collect();
        for body in bodies(items, reason) {
            answers.push(client.call(Call::post(&ERASURES).json(&body)?)?);
        }
        let pushed = PushedContent::read(client, output)?;
        let left = plan
            .contents
            .keys()
            .map(|digest| (digest.clone(), pushed.repositories(digest)));
        contents = left
            .filter(|(_, repositories)| !repositories.is_empty())
            .collect();
    }
    match contents.is_empty() {
        true => Ok(()),
        false => Err(Failure::Unavailable(
            "clients keep pushing the erased content: run the same command again".to_owned(),
        )),
    }
}

/// Divides a digest's repositories into parts that fit one request.
fn items((digest, repositories): (String, Repositories)) -> Vec<ErasedContent> {
    let repositories: Vec<String> = repositories.into_iter().collect();
    let item = |some: &[String]| ErasedContent {
        digest: digest.clone(),
        repositories: some.to_vec(),
    };
    match repositories.is_empty() {
        true => vec![item(&[])],
        false => {
            let parts = repositories.chunks(limits::CONTENTS_ERASED_AT_ONCE);
            parts.map(item).collect()
        }
    }
}

/// Divides content into requests.
fn bodies(items: Vec<ErasedContent>, reason: &str) -> Vec<ErasureBody> {
    let mut bodies: Vec<ErasureBody> = Vec::new();
    let mut places = limits::CONTENTS_ERASED_AT_ONCE;
    for item in items {
        let size = item.repositories.len().max(1);
        if places + size > limits::CONTENTS_ERASED_AT_ONCE {
            bodies.push(ErasureBody {
                reason: reason.to_owned(),
                ..ErasureBody::default()
            });
            places = 0;
        }
        places += size;
        if let Some(body) = bodies.last_mut() {
            body.contents.push(item);
        }
    }
    bodies
}

fn report(plan: &Plan, answers: &[ErasureAnswer], output: &Output) {
    let releases = plan.releases.iter().map(|it| &it.name);
    let undone = |names: &mut dyn Iterator<Item = &String>| -> usize {
        names.filter(|name| !plan.is_done(name)).count()
    };
    let counted = [
        (undone(&mut { releases }), "version"),
        (undone(&mut plan.erased.iter()), "archive"),
        (undone(&mut plan.contents.keys()), "pushed digest"),
    ];
    let counted = counted.into_iter().filter(|(count, _)| *count > 0);
    let what: Vec<String> = counted.map(|(count, noun)| plural(count, noun)).collect();
    let mut text = match (what.is_empty(), plan.keeps_some()) {
        (true, false) => {
            "everything was erased before; whatever had been stored again is removed".to_owned()
        }
        (true, true) => "nothing more was erased".to_owned(),
        (false, _) => format!("erased {}", what.join(" and ")),
    };
    let uploads_end = answers.iter().filter_map(|answer| answer.uploads_end).max();
    if let Some(end) = uploads_end.filter(|end| *end > clock::now()) {
        text.push_str(&format!(
            "; URLs that were signed before may upload erased bytes again until {end}: the registry serves no downloads of these, and the \
             repair removes them, as {} does",
            output.command("admin gc --yes")
        ));
    }
    let mut lines = vec![text];
    lines.extend(plan.notes(output));
    let left = answers.iter().flat_map(|answer| &answer.left_in_fallback);
    let left: BTreeSet<&String> = left.collect();
    if let Some(first) = left.first() {
        output.warning(&format!(
            "the second bucket may still have copies of erased archives, such as {first}, because it did not answer or refused their removal: \
             the registry serves no downloads of them, and the scheduled copy removes them; {} states the reason if it cannot",
            output.command("admin failover status")
        ));
    }
    let uploads_end = uploads_end.map(|end| end.to_string());
    let mut report = plan.report("ok", uploads_end);
    if let Some(members) = report.as_object_mut() {
        members.insert("left_in_fallback".to_owned(), json!(left));
    }
    output.result(&lines, &report);
}
