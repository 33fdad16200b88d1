//! Group B: the configuration and the account, before the first deployment.

use terrace_core::config::S3_BUCKET;

use super::outcome::Outcome;
use super::plan::{Configuration, Plan};
use crate::commands::config::check::{self, FACTS, INDICES};
use crate::output::plural;
use crate::source::wrangler::{Deployment, Notation};

/// The configuration of this version, with everything that it needs.
const SAMPLE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../wrangler.toml"));

/// B1
pub(super) fn has_valid_configuration(plan: &Plan) -> Outcome {
    let configuration = match plan.configuration() {
        Ok(configuration) => configuration,
        Err(gap) => return gap.outcome("B1"),
    };
    let Configuration {
        deployment,
        notation,
        env,
    } = configuration;
    let mut findings = check::findings(deployment, *notation, env.as_deref());
    findings.errors.extend(old_date(deployment, *notation));
    if !findings.errors.is_empty() {
        return Outcome::fail(
            findings.errors.join("; "),
            "the registry would not start, or would run without a part of it",
            "correct what is named; `terrace config check` prints each finding on a line",
        );
    }
    match findings.warnings.is_empty() {
        true => Outcome::pass(plan.file()),
        false => Outcome::warn(
            findings.warnings.join("; "),
            "the registry runs, and lacks something or admits more than it seems to",
            "add what is named, if it was not left out on purpose",
        ),
    }
}

/// Returns why the compatibility date is older than this version needs. Dates in this form are ordered as texts.
fn old_date(deployment: &Deployment, notation: Notation) -> Option<String> {
    let sample = Deployment::read(SAMPLE, Notation::Toml, None).ok()?;
    let needed = sample.compatibility_date?;
    let found = deployment.compatibility_date.as_deref();
    let is_old = found.is_none_or(|found| found < needed.as_str());
    is_old.then(|| {
        format!(
            "the compatibility date is {}: write {}",
            found.unwrap_or("missing"),
            notation.member("compatibility_date", &format!("\"{needed}\""))
        )
    })
}

/// B2
pub(super) fn runs(plan: &Plan) -> Outcome {
    match plan.wrangler() {
        Ok((_, version)) => Outcome::pass(version),
        Err(gap) => gap.outcome("B2"),
    }
}

/// B3
pub(super) fn is_signed_in(plan: &Plan) -> Outcome {
    match plan.person() {
        Ok(person) => {
            let email = person.email.as_deref().unwrap_or("an account");
            match &person.auth_type {
                Some(kind) => Outcome::pass(format!("{email}, by {kind}")),
                None => Outcome::pass(email),
            }
        }
        Err(gap) => gap.outcome("B3"),
    }
}

/// B4
pub(super) fn names_account(plan: &Plan) -> Outcome {
    match plan.account() {
        Ok(Some(account)) => Outcome::pass(&account.name),
        Ok(None) => Outcome::pass("named by the configuration"),
        Err(gap) => gap.outcome("B4"),
    }
}

/// B5
pub(super) fn has_buckets(plan: &Plan) -> Outcome {
    match plan.buckets() {
        Ok(buckets) => Outcome::pass(plural(buckets.len(), "bucket")),
        Err(gap) => gap.outcome("B5"),
    }
}

/// B6
pub(super) fn has_free_name(plan: &Plan) -> Outcome {
    let worker = match plan.worker() {
        Ok(worker) => worker,
        Err(gap) => return gap.outcome("B6"),
    };
    match worker {
        None => Outcome::pass("no Worker has it"),
        Some(worker) if worker.bucket.is_some() && worker.namespace.is_some() => {
            Outcome::pass(format!("the registry itself, deployed {}", worker.last))
        }
        Some(worker) => Outcome::fail(
            format!("another Worker has the name, deployed {}", worker.last),
            format!(
                "it has no bindings {FACTS} and {INDICES}, so it is no registry, and deploying would replace it"
            ),
            "change name in the configuration, or remove that Worker",
        ),
    }
}

/// The name of a bucket or namespace that wrangler creates for a binding.
fn created(configuration: &Configuration, binding: &str) -> String {
    let name = configuration.deployment.name.as_deref();
    let binding = binding.to_ascii_lowercase().replace('_', "-");
    format!("{}-{binding}", name.unwrap_or_default())
}

/// B7
pub(super) fn has_own_bucket(plan: &Plan) -> Outcome {
    let configuration = match plan.configuration() {
        Ok(configuration) => configuration,
        Err(gap) => return gap.outcome("B7"),
    };
    let Some(binding) = configuration.bucket() else {
        return Outcome::skip_after("B1");
    };
    let default = created(configuration, FACTS);
    let name = binding.bucket_name.as_deref().unwrap_or(&default);
    let signed = configuration.deployment.vars.get(S3_BUCKET);
    if let Some(signed) = signed.filter(|signed| *signed != name) {
        return Outcome::fail(
            format!("{S3_BUCKET} is {signed}, and {FACTS} is bound to {name}"),
            "archives would be written to one bucket, and URLs signed for another one",
            format!("set {S3_BUCKET} to {name}"),
        );
    }
    let (buckets, worker) = match (plan.buckets(), plan.worker()) {
        (Ok(buckets), Ok(worker)) => (buckets, worker),
        (Err(gap), _) | (_, Err(gap)) => return gap.outcome("B7"),
    };
    let is_bound = worker.is_some_and(|it| it.bucket.as_deref() == Some(name));
    match (buckets.iter().any(|it| it == name), &binding.bucket_name) {
        (false, _) => Outcome::pass(format!("{name} will be created")),
        (true, _) if is_bound => Outcome::pass(format!("{name}, bound already")),
        (true, Some(_)) => Outcome::pass(format!("{name} exists, and the configuration names it")),
        (true, None) => taken(
            &format!("a bucket {name} exists, and is not bound to this Worker"),
            &configuration
                .notation
                .member("bucket_name", &format!("\"{name}\"")),
        ),
    }
}

/// B8
pub(super) fn has_own_namespace(plan: &Plan) -> Outcome {
    let configuration = match plan.configuration() {
        Ok(configuration) => configuration,
        Err(gap) => return gap.outcome("B8"),
    };
    let Some(binding) = configuration.namespace() else {
        return Outcome::skip_after("B1");
    };
    let namespaces = match plan.namespaces() {
        Ok(namespaces) => namespaces,
        Err(gap) => return gap.outcome("B8"),
    };
    let worker = match plan.worker() {
        Ok(worker) => worker,
        Err(gap) => return gap.outcome("B8"),
    };
    if let Some(id) = &binding.id {
        return match namespaces.iter().find(|it| it.id == *id) {
            Some(namespace) => Outcome::pass(format!("{}, by its ID", namespace.title)),
            None => Outcome::fail(
                format!("no KV namespace of the account has the ID {id}"),
                "the configuration names a namespace of another account, or one that was removed",
                "correct the ID, or remove it: deploying then creates a namespace, and the repair fills it",
            ),
        };
    }
    let title = created(configuration, INDICES);
    let bound = worker.and_then(|it| it.namespace.as_deref());
    match namespaces.iter().find(|it| it.title == title) {
        None => Outcome::pass(format!("{title} will be created")),
        Some(namespace) if bound == Some(namespace.id.as_str()) => {
            Outcome::pass(format!("{title}, bound already"))
        }
        Some(namespace) => taken(
            &format!("a KV namespace {title} exists, and is not bound to this Worker"),
            &configuration
                .notation
                .member("id", &format!("\"{}\"", namespace.id)),
        ),
    }
}

fn taken(observed: &str, member: &str) -> Outcome {
    Outcome::fail(
        observed,
        "deploying would create it, and ends with an error; it may belong to another registry",
        format!(
            "if it is this registry's own, write {member} into its binding; otherwise change name in the configuration"
        ),
    )
}

/// B9
pub(super) fn has_zone(plan: &Plan) -> Outcome {
    let hostnames = plan.hostnames();
    if hostnames.is_empty() {
        return Outcome::skip("no hostname is configured: give the URL of the registry");
    }
    let mut zones = Vec::new();
    for hostname in &hostnames {
        match plan.zone(hostname) {
            Ok(Some(zone)) => zones.push(zone),
            Ok(None) => {
                return Outcome::fail(
                    format!("the account has no zone of {hostname}"),
                    "a Worker can only have hostnames in zones of its own account",
                    "add the domain to the account in the dashboard, or correct the hostname in routes",
                );
            }
            Err(gap) => return gap.outcome("B9"),
        }
    }
    zones.dedup();
    Outcome::pass(zones.join(", "))
}
