//! The configuration of a deployment: all variables are parsed here, and only once.

mod brand;
mod login;
mod settings;

use std::borrow::Cow;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use crate::auth::access::{Access, Caller, OwnerPattern, ReadPolicy, TOKEN_PREFIX};
use crate::auth::login::{Login, Provider};
use crate::auth::oidc::{RuleName, TrustedPublishers};
use crate::http::guard::Guard;
use crate::http::log_fields::LogField;
use crate::http::request_line::LoggedRequests;
use crate::limits;
use crate::model::name::{Hostname, NameError};
use crate::oci::pushed::ProviderRepositories;
use crate::storage::archive_url::{ArchiveSigner, ArchiveUrls, Downloads};
use crate::storage::failover::ServingBucket;
use crate::storage::fallback::FallbackBucket;
use crate::storage::signed_path::PathSigner;
use crate::upstream::pull::{ProviderPattern, PullPolicy, PullRules, VersionPattern};
use terrace_base::secret::Secret;
use terrace_base::time::UnixTime;
use terrace_base::url::HttpsUrl;
use terrace_jose::IssuerUrl;
use terrace_presign::{Endpoint, Presigner};

pub use brand::{Accent, AccentError, Brand};
pub use settings::*;

/// Allowed number of operations of one repair step. The minimum suffices for the lists of a package. The
/// maximum fits into a request on every plan, together with a release that is started with the last
/// operations.
const REPAIR_OPERATIONS_RANGE: RangeInclusive<u32> = 40..=800;

/// The configuration of a deployment.
#[derive(Debug, Clone)]
pub struct Config {
    /// The access rules.
    pub access: Access,
    /// The limit of requests with invalid credentials from one address per minute; further ones get a 429.
    pub failures_a_minute: u32,
    /// The limit of anonymous searches, and lists of the whole registry, from one address per minute; further ones get a
    /// 429.
    pub searches_a_minute: u32,
    /// The requests that are logged.
    pub logged_requests: LoggedRequests,
    /// The optional fields of their log lines.
    pub log_fields: Vec<LogField>,
    /// The rules for CI jobs that get tokens; none by default.
    pub trusted_publishers: TrustedPublishers,
    /// The URLs of archives; `None` if no secret is set that could sign them.
    pub archive_urls: Option<ArchiveUrls>,
    /// The way in which archives reach clients, if it is set.
    pub downloads: Option<Downloads>,
    /// The second bucket, with copies of all archives, if there is one.
    pub fallback: Option<Box<FallbackBucket>>,
    /// The registry's hostnames, except the one of the request.
    pub hostnames: Vec<Hostname>,
    /// The rules for pull-through mirroring and blocked versions.
    pub pull: PullPolicy,
    /// Whether providers of other registries may have documentation here.
    pub mirrored_documentation: bool,
    /// The pushed repositories that contain providers.
    pub oci_providers: ProviderRepositories,
    /// The sign-in of people, if configured.
    pub login: Option<Box<Login>>,
    /// The hosts that the operator has named for the issuers of the configuration; they may be private.
    pub issuer_hosts: Vec<HttpsUrl>,
    /// The maximum lifetime of new tokens in seconds, if there is one.
    pub max_token_lifetime: Option<u64>,
    /// The number of storage operations of one repair step; 0 disables periodic repairs.
    pub repair_operations: u32,
    /// The appearance of the web pages.
    pub brand: Brand,
}

/// The error for a variable that cannot be used, with its name and the rule. It never contains the value of a
/// secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{variable} {rule}")]
pub struct ConfigError {
    variable: Cow<'static, str>,
    rule: String,
}

impl ConfigError {
    /// Returns the name of the variable.
    pub fn variable(&self) -> &str {
        &self.variable
    }
}

/// A function that returns the value of a setting, if it is set. It is not generic, so that its callers are compiled once.
///
/// The parsers of settings that few registries have are never inlined: each new isolate compiles the functions that it calls,
/// and [`Config::from_vars`] is the largest of them.
type Variables<'v> = &'v dyn Fn(&'static str) -> Option<String>;

fn error(variable: &'static str, rule: impl Into<String>) -> ConfigError {
    ConfigError {
        variable: Cow::Borrowed(variable),
        rule: rule.into(),
    }
}

impl Config {
    /// Returns the guard for requests to an issuer: it allows public hosts. If the operator has named the issuer, it also allows the
    /// issuer's own host and the further ones that the operator has named, which may be private.
    pub fn issuer_guard(&self, issuer: &IssuerUrl) -> Guard {
        if !self.issuers().contains(&issuer) {
            return Guard::public();
        }
        let own = std::iter::once(issuer.as_url());
        let urls = own.chain(self.issuer_hosts.iter().map(HttpsUrl::as_url));
        urls.fold(Guard::public(), |guard, url| {
            guard.naming(url.host(), url.port_or_default())
        })
    }

    /// Returns whether a signed-in browser may read more than anyone. If not, no cookie is read.
    pub fn reads_sessions(&self) -> bool {
        self.access.has_root() && self.access.guards_reads()
    }

    /// Returns the issuers that the configuration names: those of the rules for CI jobs, and the provider of the sign-in.
    pub fn issuers(&self) -> Vec<&IssuerUrl> {
        let mut issuers = self.trusted_publishers.issuers();
        if let Some(login) = &self.login
            && let Provider::OpenId(issuer, _) = &login.provider
            && !issuers.contains(&issuer)
        {
            issuers.push(issuer);
        }
        issuers
    }

    /// Returns the signer of the URLs for downloads while this bucket serves them. Uploads always go to the main bucket.
    pub fn download_urls(&self, serving: ServingBucket) -> Option<&ArchiveUrls> {
        match (&self.fallback, serving) {
            (Some(fallback), ServingBucket::Fallback) => Some(fallback.urls()),
            _ => self.archive_urls.as_ref(),
        }
    }

    /// Identifies the caller from the cookies of a browser. A session that is not valid counts as none.
    pub fn caller_of_cookies(
        &self,
        cookies: Option<&str>,
        now: impl FnOnce() -> UnixTime,
    ) -> Caller {
        let cookies = cookies.filter(|_| self.reads_sessions());
        let keys = self.access.session_keys();
        let session = cookies
            .zip(keys)
            .and_then(|(cookies, keys)| keys.of_cookies(cookies, now()));
        session.map_or(Caller::Anonymous, |session| {
            Caller::Browser(Box::new(session))
        })
    }

    /// Parses the variables of an environment. An empty setting counts as not set; if a name occurs twice,
    /// the first value counts. Variables that are [not meant for Terrace](is_meant_for_terrace) are ignored.
    ///
    /// # Errors
    /// The first variable that is invalid, or that is meant for Terrace and is not in [`SETTINGS`].
    pub fn from_vars(vars: &[(&str, &str)]) -> Result<Self, ConfigError> {
        settings::check_names(vars.iter().map(|(name, _)| *name))?;
        let var = |name: &'static str| {
            let (_, value) = vars.iter().find(|(set, _)| *set == name)?;
            let value = value.trim();
            (!value.is_empty()).then(|| value.to_owned())
        };
        let admin_token = admin_token(&var, ADMIN_TOKEN)?;
        let access = access(&var, admin_token.clone())?;
        let trusted_publishers = trusted_publishers(&var, &access)?;
        let login = login::login(&var, &access)?;
        let url_secret = secret(&var, URL_SECRET)?;
        let lifetime = number(&var, URL_LIFETIME, limits::URL_LIFETIME_SECONDS)?;
        let lifetime = lifetime.unwrap_or(limits::URL_LIFETIME_DEFAULT_SECONDS);
        let secret = url_secret.or(admin_token);
        let paths = secret.map(|secret| PathSigner::new(&secret));
        let pull = pull_policy(&var)?;
        if pull.pulls_any() && paths.is_none() {
            let rule =
                format!("requires {URL_SECRET} or {ADMIN_TOKEN} to sign URLs: set one of them");
            return Err(error(PULL_THROUGH, rule));
        }
        let ways = "presigned, worker or edge";
        let downloads = chosen(&var, DOWNLOADS, ways, Downloads::parse)?;
        let of_log = chosen(
            &var,
            LOG_REQUESTS,
            "all, failures or none",
            LoggedRequests::parse,
        )?;
        let presigner = presigner(&var, &MAIN_BUCKET)?;
        let fallback = fallback(&var, presigner.as_ref(), (paths.as_ref(), lifetime))?;
        let archive_urls = archive_urls(downloads, presigner, paths, lifetime)?;
        Ok(Self {
            access,
            failures_a_minute: number(&var, FAILURES_A_MINUTE, 0..=u32::MAX)?
                .unwrap_or(limits::FAILURES_A_MINUTE),
            searches_a_minute: number(&var, SEARCHES_A_MINUTE, 0..=u32::MAX)?
                .unwrap_or(limits::SEARCHES_A_MINUTE),
            logged_requests: of_log.unwrap_or_default(),
            log_fields: words(&var, LOG_FIELDS, LogField::parse)?,
            trusted_publishers,
            archive_urls,
            fallback: fallback.map(Box::new),
            downloads,
            hostnames: words(&var, HOSTNAMES, str::parse::<Hostname>)?,
            pull,
            mirrored_documentation: flag(&var, MIRRORED_DOCS)?,
            oci_providers: provider_repositories(&var)?,
            max_token_lifetime: number(&var, MAX_TOKEN_LIFETIME, limits::TOKEN_LIFETIME_SECONDS)?,
            issuer_hosts: words(&var, ISSUER_HOSTS, issuer_host)?,
            login: login.map(Box::new),
            repair_operations: repair_operations(&var)?,
            brand: brand::brand(&var)?,
        })
    }
}

impl Config {
    /// Returns warnings about settings that are valid but should be changed, one line each.
    #[inline(never)]
    pub fn warnings(&self) -> Vec<String> {
        let named = |setting| move |rule: RuleName| format!("{setting} rule {rule}");
        let mut warnings = self.trusted_publishers.warnings(&named(TRUSTED_PUBLISHERS));
        if let Some(login) = &self.login {
            warnings.extend(login.rules.warnings(&named(LOGIN_RULES)));
        }
        warnings
    }
}

fn secret(var: Variables<'_>, name: &'static str) -> Result<Option<Secret>, ConfigError> {
    match var(name) {
        Some(text) if text.len() < limits::ADMIN_TOKEN_BYTES => {
            let min = limits::ADMIN_TOKEN_BYTES;
            Err(error(
                name,
                format!("must be at least {min} characters long"),
            ))
        }
        text => Ok(text.map(Secret::new)),
    }
}

fn admin_token(var: Variables<'_>, name: &'static str) -> Result<Option<Secret>, ConfigError> {
    let secret = secret(var, name)?;
    if secret
        .as_ref()
        .is_some_and(|it| it.expose().starts_with(TOKEN_PREFIX))
    {
        return Err(error(
            name,
            format!(
                "begins with {TOKEN_PREFIX:?}, which is the prefix of the tokens made with it: choose another value"
            ),
        ));
    }
    Ok(secret)
}

fn needs_admin_token(name: &'static str) -> ConfigError {
    let rule = format!("requires {ADMIN_TOKEN}, which signs tokens: set it");
    error(name, rule)
}

fn access(var: Variables<'_>, newest: Option<Secret>) -> Result<Access, ConfigError> {
    let previous = admin_token(var, ADMIN_TOKEN_PREVIOUS)?;
    let read_policy = ReadPolicy {
        is_private: chosen(var, ACCESS, "public or private", |text| match text {
            "public" => Some(false),
            "private" => Some(true),
            _ => None,
        })?
        .unwrap_or_default(),
        exceptions: words(var, ACCESS_EXCEPT, str::parse::<OwnerPattern>)?,
    };
    if newest.is_none() {
        let set = [
            (previous.is_some(), ADMIN_TOKEN_PREVIOUS),
            (read_policy.is_private, ACCESS),
            (!read_policy.exceptions.is_empty(), ACCESS_EXCEPT),
        ];
        if let Some((_, name)) = set.into_iter().find(|(is_set, _)| *is_set) {
            return Err(needs_admin_token(name));
        }
    }
    Ok(Access::new(newest, previous, read_policy))
}

#[inline(never)]
fn trusted_publishers(
    var: Variables<'_>,
    access: &Access,
) -> Result<TrustedPublishers, ConfigError> {
    let rules = parsed(var, TRUSTED_PUBLISHERS)?;
    match rules {
        Some(_) if !access.has_root() => Err(needs_admin_token(TRUSTED_PUBLISHERS)),
        rules => Ok(rules.unwrap_or_default()),
    }
}

/// Parses a setting by its type; `None` if it is not set.
fn parsed<T: FromStr>(var: Variables<'_>, name: &'static str) -> Result<Option<T>, ConfigError>
where
    T::Err: ToString,
{
    let parsed = var(name).map(|text| text.parse()).transpose();
    parsed.map_err(|cause: T::Err| invalid(name, cause))
}

fn invalid(name: &'static str, cause: impl ToString) -> ConfigError {
    error(name, format!("is invalid: {}", cause.to_string()))
}

/// Parses a setting by `read`, which returns `None` for a value that is not `wanted`.
fn chosen<T>(
    var: Variables<'_>,
    name: &'static str,
    wanted: &str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, ConfigError> {
    let Some(text) = var(name) else {
        return Ok(None);
    };
    match read(&text) {
        Some(value) => Ok(Some(value)),
        None => Err(error(name, format!("is {text:?}: it must be {wanted}"))),
    }
}

/// Parses a number within a range.
fn number<T: FromStr + PartialOrd + fmt::Display>(
    var: Variables<'_>,
    name: &'static str,
    range: RangeInclusive<T>,
) -> Result<Option<T>, ConfigError> {
    let wanted = format!("a number from {} to {}", range.start(), range.end());
    chosen(var, name, &wanted, |text| {
        let number = text.parse().ok();
        number.filter(|number| range.contains(number))
    })
}

/// Parses a setting that is `true` or `false`, its default.
fn flag(var: Variables<'_>, name: &'static str) -> Result<bool, ConfigError> {
    let flag = chosen(var, name, "true or false", |text| text.parse().ok())?;
    Ok(flag.unwrap_or_default())
}

fn pull_policy(var: Variables<'_>) -> Result<PullPolicy, ConfigError> {
    Ok(PullPolicy::from(PullRules {
        allowed: words(var, PULL_THROUGH, str::parse::<ProviderPattern>)?,
        blocked: words(var, PULL_BLOCK, str::parse::<VersionPattern>)?,
        minimum_age: number(var, PULL_MINIMUM_AGE, 0..=u64::MAX)?.unwrap_or_default(),
        origins: words(var, PULL_ORIGINS, origin)?,
    }))
}

fn provider_repositories(var: Variables<'_>) -> Result<ProviderRepositories, ConfigError> {
    match var(OCI_PROVIDERS).as_deref() {
        None => Ok(ProviderRepositories::default()),
        Some(ProviderRepositories::NONE) => Ok(ProviderRepositories::new(Vec::new())),
        Some(_) => {
            let all = words(var, OCI_PROVIDERS, ProviderRepositories::parse_one)?;
            Ok(ProviderRepositories::new(all))
        }
    }
}

/// Parses `hostname=https://host[:port]`.
fn origin(text: &str) -> Result<(Hostname, HttpsUrl), String> {
    let shape = || format!("{text:?} is not of the form hostname=https://host:port");
    let (hostname, origin) = text.split_once('=').ok_or_else(shape)?;
    let hostname = hostname.parse().map_err(|e: NameError| e.to_string())?;
    let origin: HttpsUrl = origin.parse().map_err(|_| shape())?;
    let url = origin.as_url();
    let is_bare = url.path().trim_end_matches('/').is_empty() && url.query().is_none();
    is_bare.then_some((hostname, origin)).ok_or_else(shape)
}

/// Parses each word of a setting that is a list.
fn words<T, E: ToString>(
    var: Variables<'_>,
    name: &'static str,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Vec<T>, ConfigError> {
    match var(name) {
        None => Ok(Vec::new()),
        Some(value) => parsed_words(&value, name, parse),
    }
}

#[inline(never)]
fn parsed_words<T, E: ToString>(
    value: &str,
    name: &'static str,
    parse: impl Fn(&str) -> Result<T, E>,
) -> Result<Vec<T>, ConfigError> {
    value
        .split([',', ' ', '\t', '\n', '\r'])
        .filter(|word| !word.is_empty())
        .map(|word| parse(word).map_err(|cause| invalid(name, cause)))
        .collect()
}

fn issuer_host(text: &str) -> Result<HttpsUrl, String> {
    let wrong = || format!("{text:?} is no host: write its name, such as keycloak.internal:8443");
    match text.contains(['/', '?', '@', '#']) {
        true => Err(wrong()),
        false => format!("https://{text}").parse().map_err(|_| wrong()),
    }
}

fn repair_operations(var: Variables<'_>) -> Result<u32, ConfigError> {
    let range = REPAIR_OPERATIONS_RANGE;
    let wanted = format!("0, or a number from {} to {}", range.start(), range.end());
    let operations = chosen(var, REPAIR_OPERATIONS, &wanted, |text| {
        let number = text.parse().ok();
        number.filter(|number| *number == 0 || range.contains(number))
    });
    Ok(operations?.unwrap_or(limits::REPAIR_OPERATIONS))
}

/// Returns the URLs of archives; `None` if no secret is set that could sign them.
///
/// # Errors
/// If the setting requires a secret that is not set.
fn archive_urls(
    downloads: Option<Downloads>,
    bucket: Option<Presigner>,
    paths: Option<PathSigner>,
    lifetime: u32,
) -> Result<Option<ArchiveUrls>, ConfigError> {
    let by_worker = |paths: PathSigner| {
        ArchiveUrls::new(ArchiveSigner::Worker(paths.clone()), Some(paths), lifetime)
    };
    Ok(match (downloads, bucket, paths) {
        (Some(Downloads::Presigned), None, _) => {
            let rule = "is presigned, which requires S3 keys: set the TERRACE_S3_… variables, or choose worker or edge";
            return Err(error(DOWNLOADS, rule));
        }
        (Some(Downloads::Worker | Downloads::Edge), _, None) => {
            let rule =
                format!("requires {URL_SECRET} or {ADMIN_TOKEN} to sign URLs: set one of them");
            return Err(error(DOWNLOADS, rule));
        }
        (Some(Downloads::Worker | Downloads::Edge), bucket, Some(paths)) => {
            let mut urls = by_worker(paths);
            urls.bucket = bucket;
            urls.is_cached = downloads == Some(Downloads::Edge);
            Some(urls)
        }
        (None | Some(Downloads::Presigned), Some(presigner), paths) => {
            let signer = ArchiveSigner::Bucket(presigner);
            Some(ArchiveUrls::new(signer, paths, lifetime))
        }
        (None, None, paths) => paths.map(by_worker),
    })
}

/// The names of the settings of one bucket.
struct BucketSettings {
    endpoint: &'static str,
    bucket: &'static str,
    region: &'static str,
    id: &'static str,
    secret: &'static str,
    /// All of them, in a message.
    all: &'static str,
}

const MAIN_BUCKET: BucketSettings = BucketSettings {
    endpoint: S3_ENDPOINT,
    bucket: S3_BUCKET,
    region: S3_REGION,
    id: S3_ACCESS_KEY_ID,
    secret: S3_SECRET_ACCESS_KEY,
    all: "TERRACE_S3_…",
};

const FALLBACK_BUCKET: BucketSettings = BucketSettings {
    endpoint: S3_FALLBACK_ENDPOINT,
    bucket: S3_FALLBACK_BUCKET,
    region: S3_FALLBACK_REGION,
    id: S3_FALLBACK_ACCESS_KEY_ID,
    secret: S3_FALLBACK_SECRET_ACCESS_KEY,
    all: "TERRACE_S3_FALLBACK_…",
};

#[inline(never)]
fn fallback(
    var: Variables<'_>,
    main: Option<&Presigner>,
    (paths, lifetime): (Option<&PathSigner>, u32),
) -> Result<Option<FallbackBucket>, ConfigError> {
    let Some(presigner) = presigner(var, &FALLBACK_BUCKET)? else {
        return Ok(None);
    };
    if main.is_some_and(|main| main.is_for_bucket_of(&presigner)) {
        let rule = format!(
            "is the bucket of {S3_BUCKET}: a copy in the same bucket is lost with it, so name another one"
        );
        return Err(error(S3_FALLBACK_BUCKET, rule));
    }
    Ok(Some(FallbackBucket::new(
        presigner,
        paths.cloned(),
        lifetime,
    )))
}

fn presigner(
    var: Variables<'_>,
    settings: &BucketSettings,
) -> Result<Option<Presigner>, ConfigError> {
    let needed = [
        settings.endpoint,
        settings.bucket,
        settings.id,
        settings.secret,
    ];
    let [endpoint, bucket, id, secret] = needed.map(|name| var(name).ok_or(name));
    if needed.iter().all(|name| var(name).is_none()) {
        return Ok(None);
    }
    let incomplete = |name| {
        let rule = format!(
            "is not set, but other {} variables are: set all or none",
            settings.all
        );
        error(name, rule)
    };
    let endpoint = endpoint.map_err(incomplete)?;
    let endpoint = Endpoint::parse(&endpoint)
        .map_err(|cause| error(settings.endpoint, format!("is not an S3 endpoint: {cause}")))?;
    let bucket = bucket.map_err(incomplete)?;
    if endpoint.names_bucket(&bucket) {
        let rule = format!(
            "ends in the bucket's name {bucket:?}, which belongs in {} alone",
            settings.bucket
        );
        return Err(error(settings.endpoint, rule));
    }
    Ok(Some(Presigner::new(
        endpoint,
        var(settings.region).unwrap_or_else(|| "auto".to_owned()),
        &bucket,
        id.map_err(incomplete)?,
        Secret::new(secret.map_err(incomplete)?),
    )))
}

#[cfg(test)]
mod tests;
