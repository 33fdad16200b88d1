//! Trusted publishing: rules for the CI jobs that may publish, without any secret except the token from their
//! CI.

use std::str::FromStr;

use serde_json::{Map, Value};

use super::ci_system::{CiSystem, is_standard};
use super::rule::{ClaimMismatch, Lists, Rule, RuleName, misshapen, parse_rules, take, union};
use super::{ClaimPattern, GrantedScopes, limits};
use terrace_base::time::UnixTime;
use terrace_base::url::UrlError;
use terrace_jose::{Claims, IssuerKeys, IssuerUrl, Quoted, TokenError, UnverifiedToken};

/// The rules of a deployment: a JSON list such as
///
/// ```json
/// [{"scopes": ["publish:acme"],
///   "issuer": "https://token.actions.githubusercontent.com",
///   "claims": {"repository": "acme/terraform-provider-widget", "ref": "refs/tags/v*"}}]
/// ```
///
/// A rule may have an `audience`, which replaces the registry's own. It may grant `read`, `backup` and the scopes of namespaces, such
/// as `admin:acme`, but never `admin`: otherwise push access to a repository would give control of the registry.
///
/// Its claims must identify the trusted jobs. Terrace knows which claims of GitHub and GitLab do so; a rule
/// for another issuer requires `sub`, or sets `"identifies": true`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedPublishers {
    pub(super) rules: Vec<(RuleName, TrustedPublisher)>,
}

/// A rule: it grants its scopes to the jobs that match it. A claim that is a list never matches, since a job
/// belongs to one repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedPublisher {
    pub(super) issuer: IssuerUrl,
    audience: Option<String>,
    pub(super) rule: Rule,
}

impl TrustedPublishers {
    /// Returns whether no job is trusted.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// Returns the issuers of all rules, without duplicates.
    pub fn issuers(&self) -> Vec<&IssuerUrl> {
        let mut issuers: Vec<&IssuerUrl> = Vec::new();
        for (_, rule) in &self.rules {
            if !issuers.contains(&&rule.issuer) {
                issuers.push(&rule.issuer);
            }
        }
        issuers
    }

    /// Returns these rules together with others.
    #[must_use]
    pub fn and(&self, others: &Self) -> Self {
        Self {
            rules: [&*self.rules, &*others.rules].concat(),
        }
    }

    /// Returns warnings about rules that trust more jobs than they seem to, or fewer, one line each. `subject` names a rule.
    pub fn warnings(&self, subject: &dyn Fn(RuleName) -> String) -> Vec<String> {
        let warnings = self.rules.iter().flat_map(|(name, rule)| {
            let warnings = rule.warnings().into_iter();
            warnings.map(|warning| format!("{} {warning}", subject(*name)))
        });
        warnings.collect()
    }

    /// Returns the trusted issuer that a token names. Its keys must verify the token.
    ///
    /// # Errors
    /// If the token's issuer is not trusted.
    pub fn issuer_of(&self, token: &UnverifiedToken<'_>) -> Result<&IssuerUrl, TokenError> {
        let claimed = token.claimed_issuer();
        let mut issuers = self.rules.iter().map(|(_, rule)| &rule.issuer);
        issuers
            .find(|issuer| issuer.as_str() == claimed)
            .ok_or_else(|| TokenError::issuer(&Quoted::text(claimed)))
    }

    /// Returns the verified claims of a job's token. `audience` is the default for rules without one.
    ///
    /// # Errors
    /// The first check that fails.
    pub fn verify(
        &self,
        token: &UnverifiedToken<'_>,
        keys: &IssuerKeys,
        audience: &str,
        now: UnixTime,
    ) -> Result<Claims, TokenError> {
        let rules = self.rules.iter().map(|(_, rule)| rule);
        let of_issuer = rules.filter(|rule| rule.issuer == *keys.issuer());
        let audiences: Vec<&str> = of_issuer.map(|rule| rule.audience(audience)).collect();
        token.verify(keys, &audiences, now)
    }

    /// Returns the scopes that the rules grant to a job with these claims. `audience` is the default for
    /// rules without one.
    ///
    /// # Errors
    /// The reason why nothing is granted.
    pub fn grant(&self, claims: &Claims, audience: &str) -> Result<GrantedScopes, String> {
        let limit = limits::JOB_TOKEN_SECONDS;
        let seconds = claims.expires().since(claims.issued());
        if seconds > limit {
            return Err(format!(
                "its lifetime is {seconds} seconds, at most {limit} are allowed"
            ));
        }
        let rules = self.rules.iter();
        let verdicts = rules
            .filter(|(_, rule)| rule.issuer == *claims.issuer())
            .map(|(name, rule)| (*name, &rule.rule, rule.compare(claims, audience)));
        let no_rule = || TokenError::issuer(&Quoted::text(claims.issuer().as_str()));
        union(verdicts).unwrap_or_else(|| Err(no_rule().to_string()))
    }
}

impl TrustedPublisher {
    /// Returns warnings about the rule. Each continues its name.
    pub(super) fn warnings(&self) -> Vec<&'static str> {
        let requires = |check: fn(&str, &ClaimPattern) -> bool| {
            let mut claims = self.rule.claims();
            claims.any(|(name, pattern)| check(name, pattern))
        };
        let mut warnings = Vec::new();
        match self.system() {
            CiSystem::GitHub => {
                if !requires(excludes_forks) {
                    warnings.push(
                        "also trusts workflows on pull_request_target, which anyone can trigger by opening a pull request: \
                         also require a tag, an environment or an event_name",
                    );
                }
                if requires(is_subject_without_ids) {
                    warnings.push(
                        "requires a sub without IDs, and the tokens of repositories that were created, renamed or moved since \
                         2026-07-15 have IDs in it, as in repo:acme@1001/widget@2002: require repository and repository_id \
                         instead",
                    );
                }
            }
            CiSystem::GitLab => {
                if self.rule.grants_more_than_reading() && !requires(limits_branches) {
                    warnings.push(
                        "trusts the jobs of every branch, so anyone who may push one gets these scopes: also require \
                         ref_protected = \"true\", a ref or an environment",
                    );
                }
            }
            CiSystem::Other => {}
        }
        warnings
    }

    /// Returns the CI system of the jobs: that of the issuer, or GitLab under another host name if the rule requires a claim
    /// that only GitLab has.
    fn system(&self) -> CiSystem {
        let is_of_gitlab = |(name, _): (&str, _)| matches!(name, "project_path" | "namespace_path");
        match CiSystem::of(&self.issuer) {
            CiSystem::Other if self.rule.claims().any(is_of_gitlab) => CiSystem::GitLab,
            system => system,
        }
    }

    fn audience<'a>(&'a self, default: &'a str) -> &'a str {
        self.audience.as_deref().unwrap_or(default)
    }

    fn compare(&self, claims: &Claims, default: &str) -> Result<(), ClaimMismatch> {
        self.rule.compare(claims.members(), Lists::Refused)?;
        let audience = self.audience(default);
        if claims.is_for(audience) {
            return Ok(());
        }
        let asked = ("aud", audience);
        Err(ClaimMismatch::new(
            limits::RULE_CLAIMS,
            asked,
            claims.members(),
        ))
    }

    pub(super) fn take(members: &mut Map<String, Value>) -> Result<Self, String> {
        let rule = Rule::take(members)?;
        let issuer = read_issuer(&take(members, "issuer")?)?;
        let audience = members.remove("audience");
        let audience = audience.as_ref().map(read_audience).transpose()?;
        if rule.grants_all() {
            let why = "grants \"admin\", which jobs may never have: grant only the namespace that it publishes to, such as \
                       \"publish:acme\"";
            return Err(why.to_owned());
        }
        let system = CiSystem::of(&issuer);
        let vouched = members.remove("identifies");
        let vouched = vouched.as_ref().map(read_identifies).transpose()?;
        if vouched.is_some() && system != CiSystem::Other {
            let why =
                "has identifies, which is for issuers other than GitHub and GitLab: remove it";
            return Err(why.to_owned());
        }
        let is_vouched_for = vouched == Some(true);
        let identifies = |(name, pattern): (&str, &ClaimPattern)| {
            system.identifies(name, pattern)
                || (is_vouched_for && !is_standard(name) && pattern.pins_some_part())
        };
        if !rule.claims().any(identifies) {
            return Err(format!(
                "does not identify the jobs that it trusts: add a claim that identifies them, without a * in its first part: {}",
                system.advice()
            ));
        }
        Ok(Self {
            issuer,
            audience,
            rule,
        })
    }
}

/// The start of the refs of branches.
const BRANCHES: &str = "refs/heads/";

/// Returns whether a GitHub claim excludes `pull_request_target`: by the event, by a tag (such a run belongs
/// to the base branch), by an environment, which has its own rules, or by a workflow. Another environment or
/// workflow may lack such rules, so a pattern that matches several of them excludes nothing.
fn excludes_forks(name: &str, pattern: &ClaimPattern) -> bool {
    let text = pattern.to_string();
    let is_one = |text: Option<&str>| text.is_some_and(|text| !text.contains('*'));
    match name {
        "environment" | "environment_node_id" => is_one(Some(&text)),
        "job_workflow_ref" | "workflow_ref" => is_one(text.split('@').next()),
        "event_name" => !pattern.matches("pull_request_target"),
        "ref" => {
            let start = text.split('*').next().unwrap_or_default();
            !start.starts_with(BRANCHES) && !BRANCHES.starts_with(start)
        }
        "ref_type" => !pattern.matches("branch"),
        "sub" => {
            let until = |name, end| {
                let value = text.split_once(name);
                value.and_then(|(_, value): (_, &str)| value.split(end).next())
            };
            is_one(until(":environment:", ':'))
                || is_one(until("workflow_ref:", '@'))
                || text.contains(":ref:refs/tags/")
        }
        _ => false,
    }
}

/// Returns whether a claim of GitHub's is a subject that names a repository without its ID
/// (<https://docs.github.com/en/actions/reference/security/oidc>).
fn is_subject_without_ids(name: &str, pattern: &ClaimPattern) -> bool {
    let text = pattern.to_string();
    let repository = text.split_once("repo:").map(|(_, rest)| rest);
    let repository = repository.and_then(|rest| rest.split(':').next());
    name == "sub" && repository.is_some_and(|it| !it.contains('@'))
}

/// Returns whether a claim of GitLab's excludes some branches, or leaves the choice to an environment. `sub` and
/// `ci_config_ref_uri` end in a ref.
fn limits_branches(name: &str, pattern: &ClaimPattern) -> bool {
    const NAME: &str = "a-branch-of-any-name";
    const PATH: &str = "refs/heads/a-branch-of-any-name";
    let text = pattern.to_string();
    let after = |separator, branch: &str| {
        let last = text.rsplit_once(separator).map(|(_, last)| last.parse());
        matches!(last, Some(Ok::<ClaimPattern, _>(last)) if !last.matches(branch))
    };
    let excludes = |value: &str| !pattern.matches(value);
    match name {
        "sub" => after(":ref:", NAME),
        "ci_config_ref_uri" => after("@", PATH),
        "ref" => excludes(NAME),
        "ref_path" => excludes(PATH),
        "ref_type" => excludes("branch"),
        "ref_protected" | "environment_protected" => excludes("false"),
        "environment" => !pattern.is_anything(),
        _ => false,
    }
}

fn read_issuer(value: &Value) -> Result<IssuerUrl, String> {
    let parsed = value.as_str().unwrap_or_default().parse();
    parsed.map_err(|why: UrlError| {
        let found = Quoted::value(Some(value));
        format!("has {found} as its issuer: {why}")
    })
}

fn read_identifies(value: &Value) -> Result<bool, String> {
    let wrong = || misshapen("identifies", value, "true or false");
    value.as_bool().ok_or_else(wrong)
}

fn read_audience(value: &Value) -> Result<String, String> {
    let is_audience = |text: &&str| {
        let is_long = text.len() > limits::AUDIENCE_BYTES;
        !is_long && !text.trim().is_empty() && !text.contains(char::is_control)
    };
    let audience = value.as_str().filter(is_audience).map(str::to_owned);
    let wrong = || misshapen("audience", value, "a string, as in the job's token request");
    audience.ok_or_else(wrong)
}

impl FromStr for TrustedPublishers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rules = parse_rules(text, TrustedPublisher::take)?;
        Ok(Self { rules })
    }
}
