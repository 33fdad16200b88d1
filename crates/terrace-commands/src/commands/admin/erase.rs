//! `terrace admin erase`.
//!
//! The command looks at everything that refers to an archive, which no single request has time for, and the registry does as
//! it is told.

mod plan;

use clap::{ArgGroup, Args};
use terrace_base::digest::Sha256;
use terrace_core::api::admin::{ErasedContent, ErasureAnswer, ErasureBody};
use terrace_core::api::endpoint::ERASURES;
use terrace_core::limits;
use terrace_core::model::oci::Digest;
use terrace_core::model::package::Package;
use terrace_core::model::status::Reason;

use super::pushed::{ManifestSpec, PushedContent, Repositories};
use crate::args::PackageSpec;
use crate::clock;
use crate::commands::connection::Session;
use crate::commands::list::warn_of_callers;
use crate::error::Failure;
use crate::output::{Output, plural};
use crate::registry::client::{Call, Client};
use plan::Plan;
pub(crate) use plan::Subject;

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
    #[command(flatten)]
    pub(crate) options: ErasureOptions,
}

/// The options of every erasure.
#[derive(Debug, Args)]
pub(crate) struct ErasureOptions {
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
pub(crate) fn erase(arguments: &EraseArguments, session: Session<'_>) -> Result<(), Failure> {
    let subject = match &arguments.address {
        Some(spec) => Subject::Versions(spec),
        None if !arguments.manifests.is_empty() => Subject::Manifests(&arguments.manifests),
        None if !arguments.blobs.is_empty() => Subject::Blobs(&arguments.blobs),
        None => Subject::Archives(&arguments.archives),
    };
    erase_subject(&subject, &arguments.options, session)
}

/// Erases a subject, or lists everything that its erasure would change.
pub(crate) fn erase_subject(
    subject: &Subject<'_>,
    options: &ErasureOptions,
    session: Session<'_>,
) -> Result<(), Failure> {
    let output = session.output;
    let reason = &options.reason;
    if !reason.is_short() {
        let limit = limits::ERASURE_REASON_BYTES;
        let message = format!("--reason: the reason of an erasure must have at most {limit} bytes");
        return Err(Failure::Usage(message));
    }
    let client = session.connect()?;
    let plan = Plan::of(&client, subject, options.everywhere, output)?;
    if let Subject::Versions(spec) = subject {
        match (&spec.package, spec.package.origin()) {
            (Package::Module(_), Some(_)) => {
                output.warning(&format!("{spec}: {MODULE_IS_MISSING}"));
            }
            (Package::Module(_), None) => output.warning(&format!(
                "packages of other modules may contain a copy of {spec}, because `terrace publish modules` packs a module with \
                 those that it calls by a local path: no digest leads to them, so erase the versions of its callers as well"
            )),
            _ => {}
        }
        warn_of_callers(&client, &spec.package, output);
    }
    if !options.yes {
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
    let releases = plan.releases.iter().filter(|it| !plan.is_done(&it.name));
    let releases =
        releases.map(|it| format!("{} would be erased, with its documentation", it.name));
    let archives = plan.erased.iter().filter(|key| !plan.is_done(key));
    let archives = archives.map(|key| format!("{key} would be erased"));
    let contents = plan.contents.iter();
    let contents = contents.filter(|(digest, _)| !plan.is_done(&digest.to_string()));
    let contents = contents.map(|(digest, repositories)| {
        let names = match repositories.is_empty() {
            true => "no repository".to_owned(),
            false => Vec::from_iter(repositories.iter().map(String::as_str)).join(", "),
        };
        format!("{digest} would be erased in {names}")
    });
    let mut lines: Vec<String> = releases.chain(archives).chain(contents).collect();
    lines.extend(plan.notes(output));
    lines.push(match plan.is_empty() {
        true => "nothing would be erased".to_owned(),
        false => format!("{CONSEQUENCES}. Run the command with --yes to erase this"),
    });
    output.result(&lines, &plan.report("dry_run", &[]));
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
    let mut send = |body: ErasureBody| -> Result<(), Failure> {
        let reason = reason.to_owned();
        let body = ErasureBody { reason, ..body };
        answers.push(client.call(Call::post(&ERASURES).json(&body)?)?);
        Ok(())
    };
    let mut left = plan.erased.clone();
    for release in &plan.releases {
        let archives = release.archives.intersection(&plan.erased);
        left.retain(|key| !release.archives.contains(key));
        send(ErasureBody {
            package: Some(release.address.clone()),
            version: Some(release.version.clone()),
            archives: archives.cloned().collect(),
            ..ErasureBody::default()
        })?;
        output.progress(&format!("erased {}", release.name));
    }
    for archives in Vec::from_iter(left).chunks(limits::ERASED_AT_ONCE) {
        send(ErasureBody {
            archives: archives.to_vec(),
            ..ErasureBody::default()
        })?;
    }
    // A push that has begun before the tombstones may have added the content to a repository.
    let mut contents = plan.contents.clone();
    for _ in 0..LOOKS {
        let mut ordered: Vec<(Digest, Repositories)> = contents.into_iter().collect();
        ordered.sort_by_key(|(digest, _)| plan.rank(digest));
        for (digest, repositories) in ordered {
            for repositories in parts(repositories) {
                let digest = digest.to_string();
                send(ErasureBody {
                    contents: vec![ErasedContent {
                        digest,
                        repositories,
                    }],
                    ..ErasureBody::default()
                })?;
            }
        }
        if plan.contents.is_empty() {
            return Ok(answers);
        }
        let (pushed, _) = PushedContent::read_most(client, output)?;
        let left = plan.contents.keys();
        let left = left.map(|digest| (*digest, pushed.repositories(*digest)));
        contents = left.filter(|(_, it)| !it.is_empty()).collect();
        if contents.is_empty() {
            return Ok(answers);
        }
    }
    Err(Failure::Unavailable(
        "clients keep pushing the erased content: run the same command again".to_owned(),
    ))
}

/// How often pushed content is erased where it was found.
const LOOKS: usize = 3;

/// Divides repositories into parts that fit one request: at least one, which may be empty.
fn parts(repositories: Repositories) -> Vec<Vec<String>> {
    let repositories = Vec::from_iter(repositories);
    match repositories.is_empty() {
        true => vec![Vec::new()],
        false => {
            let parts = repositories.chunks(limits::CONTENTS_ERASED_AT_ONCE);
            parts.map(<[String]>::to_vec).collect()
        }
    }
}

fn report(plan: &Plan, answers: &[ErasureAnswer], output: &Output) {
    let releases = plan.releases.iter().map(|it| it.name.clone());
    let contents = plan.contents.keys().map(ToString::to_string);
    let all = releases.chain(plan.erased.iter().cloned()).chain(contents);
    let count = all.filter(|name| !plan.is_done(name)).count();
    let mut text = match (count, plan.keeps_some()) {
        (0, false) => {
            "everything was erased before; whatever had been stored again is removed".to_owned()
        }
        (0, true) => "nothing more was erased".to_owned(),
        (count, _) => format!("erased {}", plural(count, "object")),
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
    if let Some(first) = answers.iter().flat_map(|it| &it.left_in_fallback).next() {
        output.warning(&format!(
            "the second bucket may still have copies of erased archives, such as {first}, because it did not answer or refused their removal: \
             the registry serves no downloads of them, and the scheduled copy removes them; {} states the reason if it cannot",
            output.command("admin failover status")
        ));
    }
    output.result(&lines, &plan.report("ok", answers));
}
