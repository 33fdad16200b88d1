//! `terrace config`.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde_json::json;
use terrace_core::config::{
    ADMIN_TOKEN, Config, ConfigError, DOWNLOADS, LOGIN_CLIENT_SECRET, LOGIN_ISSUER,
    REPAIR_OPERATIONS, S3_ACCESS_KEY_ID, S3_BUCKET, S3_ENDPOINT, S3_FALLBACK_ACCESS_KEY_ID,
    S3_FALLBACK_BUCKET, S3_FALLBACK_ENDPOINT, S3_FALLBACK_SECRET_ACCESS_KEY, S3_SECRET_ACCESS_KEY,
    SETTINGS,
};
use terrace_core::limits;

use crate::error::Failure;
use crate::output::{Output, plural};
use crate::source::wrangler::{self, Deployment, NAMES, Notation};

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check the configuration of a registry before it is deployed
    ///
    /// Reads the variables and bindings in the file of wrangler by the rules of the registry itself. Secrets are not in that
    /// file: the check assumes that those are set which it lists.
    #[command(after_help = "Example: terrace config check wrangler.jsonc")]
    Check(ConfigCheckArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ConfigCheckArguments {
    /// The configuration file of wrangler. Without it, the first of wrangler.json, wrangler.jsonc and wrangler.toml in the
    /// current directory, as wrangler chooses it
    pub(crate) file: Option<PathBuf>,
    /// The environment in the file, as of "wrangler deploy --env"
    #[arg(long, value_name = "NAME")]
    pub(crate) env: Option<String>,
}

/// The bindings that the registry requires: that of its R2 bucket, and that of its KV namespace.
const FACTS: &str = "FACTS";

const INDICES: &str = "INDICES";

/// The rate limiters, and the events that a registry without them counts in each isolate only.
const RATE_LIMITS: [(&str, &str); 2] = [
    ("FAILURES", "wrong credentials"),
    ("SEARCHES", "searches without a token"),
];

/// The value of a secret that the check assumes to be set.
const ASSUMED: &str = "a secret that is assumed to be set";

/// The findings about a deployment.
#[derive(Debug, Default)]
struct Findings {
    errors: Vec<String>,
    warnings: Vec<String>,
    /// The secrets that the registry needs with these variables.
    secrets: Vec<&'static str>,
}

/// Executes the command.
pub(crate) fn run(command: &ConfigCommand, output: &Output) -> Result<(), Failure> {
    let ConfigCommand::Check(arguments) = command;
    let file = match &arguments.file {
        Some(file) => file.clone(),
        None => found()?,
    };
    let place = file.display().to_string();
    let env = arguments.env.as_deref();
    let deployment = deployment(&file, env)?;
    let Findings {
        errors,
        warnings,
        secrets,
    } = findings(&deployment, env);
    for warning in &warnings {
        output.warning(&format!("{place}: {warning}"));
    }
    let variables: Vec<&String> = deployment.vars.keys().collect();
    let document = json!({ "variables": variables, "secrets": secrets });
    let reasons = errors.iter().map(|error| format!("{place}: {error}"));
    let reasons: Vec<String> = reasons.collect();
    let worst = (!reasons.is_empty()).then(|| Failure::Refused(Vec::new()));
    let text = match reasons.is_empty() {
        true => format!(
            "{place} is valid: {}. The registry needs these secrets, set with \"npx wrangler secret put NAME\": {}",
            plural(variables.len(), "variable"),
            secrets.join(", ")
        ),
        false => format!("{place}: {} to correct", plural(reasons.len(), "problem")),
    };
    output.outcome(text, document, worst, reasons)
}

/// Reads a file of wrangler, or an environment in it.
pub(crate) fn deployment(file: &Path, env: Option<&str>) -> Result<Deployment, Failure> {
    let place = file.display();
    let text =
        fs::read_to_string(file).map_err(|error| Failure::Usage(format!("{place}: {error}")))?;
    Deployment::read(&text, Notation::of(file), env)
        .map_err(|reason| Failure::refused(format!("{place}: {reason}")))
}

/// Returns the file in the current directory that wrangler reads.
fn found() -> Result<PathBuf, Failure> {
    let mut files = NAMES.iter().map(PathBuf::from);
    files.find(|file| file.is_file()).ok_or_else(|| {
        Failure::Usage(format!(
            "the current directory contains none of {}: name the file",
            NAMES.join(", ")
        ))
    })
}

/// Checks a deployment by the rules of the registry itself.
fn findings(deployment: &Deployment, env: Option<&str>) -> Findings {
    let mut found = Findings::default();
    // Where the keys of the deployment are.
    let place = env.map_or_else(String::new, |env| format!("env.{env}."));
    check_bindings(deployment, &place, &mut found);
    check_caches(deployment, &mut found);
    check_jurisdiction(deployment, &mut found);
    check_places(deployment, &place, &mut found);
    let vars = settings(deployment, &mut found);
    let assumed = assumed_secrets(&vars);
    match parse(&vars, &assumed, None) {
        Ok(config) => found.warnings.extend(config.warnings()),
        Err(error) => found.errors.push(error.to_string()),
    }
    let is_needed =
        |name: &&&str| **name == ADMIN_TOKEN || parse(&vars, &assumed, Some(name)).is_err();
    found.secrets = assumed.iter().filter(is_needed).copied().collect();
    found
}

fn check_bindings(deployment: &Deployment, place: &str, found: &mut Findings) {
    for (binding, bindings, table) in [
        (FACTS, &deployment.buckets, "r2_buckets"),
        (INDICES, &deployment.namespaces, "kv_namespaces"),
    ] {
        // An environment does not inherit bindings.
        if !bindings.iter().any(|it| it.binding == binding) {
            found.errors.push(format!(
                "no binding {binding}: add one with this name to {place}{table}"
            ));
        }
    }
    for (name, counted) in RATE_LIMITS {
        if !deployment.rate_limits.iter().any(|it| it == name) {
            found.warnings.push(format!(
                "no rate limiter {name}: {counted} are counted in each isolate, not in a whole data centre"
            ));
        }
    }
    let has_repair = deployment
        .vars
        .get(REPAIR_OPERATIONS)
        .is_none_or(|it| it.trim() != "0");
    if !deployment.has_cron && has_repair {
        found.warnings.push(format!(
            "no cron trigger: the indices of interrupted publishes are not completed; add \"* * * * *\" to {place}triggers.crons, or, \
             if the account may have no further one, set {REPAIR_OPERATIONS} to 0"
        ));
    }
    if deployment.has_route && deployment.has_workers_dev {
        found.warnings.push(format!(
            "{place}workers_dev is true: its addresses are further source addresses of the same packages, and rules of your zone do \
             not apply to them; set it to false"
        ));
    }
}

/// Reports a cache in front of the entrypoint that decides who may read, and a missing one in front of the archives.
fn check_caches(deployment: &Deployment, found: &mut Findings) {
    if deployment.caches_default {
        found.errors.push(
            "the entrypoint \"default\" is cached: without asking the registry, the platform would answer requests that it must \
             decide; switch its cache off below exports"
                .to_owned(),
        );
    }
    let downloads = deployment.vars.get(DOWNLOADS);
    if downloads.is_some_and(|it| it.trim() == "edge") && !deployment.caches_archives {
        found.warnings.push(format!(
            "{DOWNLOADS} is edge, and the entrypoint \"Archives\" is not cached: archives come from the bucket; switch its \
             cache on below exports"
        ));
    }
}

/// Reports a bucket whose binding and endpoint state different jurisdictions
/// (<https://developers.cloudflare.com/r2/reference/data-location/#jurisdictional-restrictions>).
fn check_jurisdiction(deployment: &Deployment, found: &mut Findings) {
    let endpoint = deployment.vars.get(S3_ENDPOINT);
    let host = endpoint.and_then(|it| it.split(['/', '?']).nth(2));
    let account = host.and_then(|it| it.strip_suffix(".r2.cloudflarestorage.com"));
    let bound = deployment.buckets.iter().find(|it| it.binding == FACTS);
    let (Some(account), Some(bound)) = (account, bound) else {
        return;
    };
    let stated = account.split_once('.').map(|(_, stated)| stated);
    let bound = bound.jurisdiction.as_deref();
    if stated != bound {
        let [stated, bound] = [stated, bound].map(|it| it.unwrap_or("none"));
        found.errors.push(format!(
            "the jurisdiction of {S3_ENDPOINT} is {stated}, and that of the binding {FACTS} is {bound}: they are two buckets; state \
             the same \"jurisdiction\" in both"
        ));
    }
}

/// Reports the settings that the registry does not get.
fn check_places(deployment: &Deployment, place: &str, found: &mut Findings) {
    for misplaced in &deployment.misplaced {
        found.errors.push(format!(
            "{misplaced} is not a variable, and the registry would run without it: write it below {place}vars"
        ));
    }
    for name in deployment.vars.keys().filter(|name| wrangler::is_key(name)) {
        found.errors.push(format!(
            "{name} is a key of wrangler, and below {place}vars it is only a variable of this name: move it to {place}{name}, in TOML \
             above the first table"
        ));
    }
    for name in &deployment.not_inherited {
        found.warnings.push(format!(
            "{name} is set below vars only, and an environment inherits no variables: write it below {place}vars, too, if it \
             applies there"
        ));
    }
}

/// Returns the variables that are settings of the registry with valid names and lengths, and reports the others.
fn settings<'d>(deployment: &'d Deployment, found: &mut Findings) -> Vec<(&'d str, &'d str)> {
    let mut settings = Vec::new();
    for (name, value) in &deployment.vars {
        let setting = SETTINGS.iter().find(|setting| setting.name == name);
        if setting.is_some_and(|setting| setting.is_secret) {
            found.errors.push(format!(
                "{name} is a secret, and this file stores it as plain text: remove it here, choose another value, and set \
                 that with \"npx wrangler secret put {name}\""
            ));
        } else if value.len() > limits::VARIABLE_BYTES {
            found.errors.push(format!(
                "{name} has {} bytes: Cloudflare limits a variable to {}",
                value.len(),
                limits::VARIABLE_BYTES
            ));
        } else if let Err(error) = check_name(name) {
            found.errors.push(error.to_string());
        } else {
            settings.push((name.as_str(), value.as_str()));
        }
    }
    settings
}

fn check_name(name: &str) -> Result<(), ConfigError> {
    match SETTINGS.iter().any(|setting| setting.name == name) {
        true => Ok(()),
        // Names that are not meant for Terrace are valid.
        false => parse(&[(name, "")], &[], None).map(drop),
    }
}

/// Returns the secrets that the variables may need.
fn assumed_secrets(vars: &[(&str, &str)]) -> Vec<&'static str> {
    let has = |name: &str| vars.iter().any(|(set, _)| *set == name);
    let mut secrets = vec![ADMIN_TOKEN];
    if has(S3_ENDPOINT) || has(S3_BUCKET) {
        secrets.extend([S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY]);
    }
    if has(S3_FALLBACK_ENDPOINT) || has(S3_FALLBACK_BUCKET) {
        secrets.extend([S3_FALLBACK_ACCESS_KEY_ID, S3_FALLBACK_SECRET_ACCESS_KEY]);
    }
    if has(LOGIN_ISSUER) {
        secrets.push(LOGIN_CLIENT_SECRET);
    }
    secrets
}

/// Parses the variables as the registry does, with these secrets except `without`.
fn parse(
    vars: &[(&str, &str)],
    secrets: &[&str],
    without: Option<&str>,
) -> Result<Config, ConfigError> {
    let secrets = secrets.iter().filter(|name| Some(**name) != without);
    let secrets = secrets.map(|name| (*name, ASSUMED));
    let all: Vec<(&str, &str)> = vars.iter().copied().chain(secrets).collect();
    Config::from_vars(&all)
}

#[cfg(test)]
#[test]
fn an_endpoint_is_in_the_jurisdiction_of_the_binding() {
    let faults = |jurisdiction: &str, endpoint: &str| {
        let text = format!(
            "[[r2_buckets]]\nbinding = \"FACTS\"\n{jurisdiction}\n[vars]\nTERRACE_S3_ENDPOINT = \"https://{endpoint}\"\n"
        );
        let deployment = Deployment::read(&text, Notation::Toml, None).unwrap();
        let mut found = Findings::default();
        check_jurisdiction(&deployment, &mut found);
        found.errors.len()
    };
    let eu = "jurisdiction = \"eu\"";
    assert_eq!(faults(eu, "a1.eu.r2.cloudflarestorage.com"), 0);
    assert_eq!(faults("", "a1.r2.cloudflarestorage.com"), 0);
    assert_eq!(faults("", "minio.example"), 0);
    assert_eq!(faults(eu, "a1.r2.cloudflarestorage.com"), 1);
    assert_eq!(faults("", "a1.fedramp.r2.cloudflarestorage.com/x"), 1);
}
