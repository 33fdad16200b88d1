//! Trusted publishing: rules for the CI jobs that may publish, without any secret except the token from their
//! CI.

use std::str::FromStr;

use serde_json::{Map, Value};

use super::ci_system::{CiSystem, is_standard};
use super::impossible;
use super::rule::{ClaimMismatch, Lists, Rule, RuleName, parse_rules, take, union};
use super::{
    ClaimPattern, Grant, GrantError, GrantedScopes, RuleError, RulesError, limits, warnings,
};
use crate::auth::access::Scope;
use terrace_base::time::UnixTime;
use terrace_jose::{Claims, Expected, IssuerKeys, IssuerUrl, Quoted, TokenError, UnverifiedToken};

/// The rules of a deployment: a JSON list such as
///
/// ```json
/// [{"scopes": ["publish:acme"],
///   "issuer": "https://token.actions.githubusercontent.com",
///   "claims": {"repository": "acme/terraform-provider-widget", "ref": "refs/tags/v*"}}]
/// ```
///
/// A rule may have an `audience`, which replaces the registry's own. It may grant `read` and narrower scopes,
/// but never `admin`, though `admin:acme`: otherwise push access to a repository would give control of the registry.
///
/// Its claims must identify the trusted jobs. Terrace knows which claims of GitHub and GitLab do so; a rule
/// for another issuer requires `sub`, or sets `"identifies": true`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrustedPublishers {
    rules: Vec<(RuleName, TrustedPublisher)>,
}

/// A rule: it grants its scopes to the jobs that match it. A claim that is a list never matches, since a job
/// belongs to one repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustedPublisher {
    issuer: IssuerUrl,
    audience: Option<String>,
    rule: Rule,
}

/// A claim that a rule requires and that the tokens of its CI system are not known to have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownClaim {
    /// The name of the rule.
    pub rule: RuleName,
    /// The name of the claim.
    pub claim: Quoted,
    /// The name of the CI system.
    pub system: &'static str,
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

    pub(super) fn push(&mut self, name: RuleName, rule: TrustedPublisher) {
        self.rules.push((name, rule));
    }

    /// Returns warnings about rules that are valid but should be changed, one line each. `subject` names a rule.
    pub fn warnings(&self, subject: &dyn Fn(RuleName) -> String) -> Vec<String> {
        let open = self.open_to_forks().map(|rule| {
            format!(
                "{} also trusts workflows on pull_request_target, which anyone can trigger by opening a pull request: \
                 also require a tag, an environment or an event_name",
                subject(rule)
            )
        });
        let unknown = self.unknown_claims();
        let unknown = unknown.map(|UnknownClaim { rule, claim, system }| {
            format!(
                "{} requires the claim {claim}, which the tokens of {system} are not known to have: the rule trusts no \
                 job whose token lacks it",
                subject(rule)
            )
        });
        let blind = self.rules.iter().flat_map(|(name, rule)| {
            let warnings = warnings::of_jobs(rule.system(), &rule.rule);
            let warnings = warnings.into_iter();
            warnings.map(|warning| format!("{} {warning}", subject(*name)))
        });
        open.chain(unknown).chain(blind).collect()
    }

    /// Returns the errors of rules that are accepted in the configuration only, one line each. `subject` names a rule.
    pub fn faults(&self, subject: &dyn Fn(RuleName) -> String) -> Vec<String> {
        let faulty = self.rules.iter().filter_map(|(name, rule)| {
            let fault = rule.check().err()?;
            Some(format!("{} {fault}", subject(*name)))
        });
        faulty.collect()
    }

    /// Returns the names of the rules that a pull request from a fork can match: by the event
    /// `pull_request_target`, which anyone can trigger, and which runs a workflow of the base repository for
    /// its base branch.
    pub fn open_to_forks(&self) -> impl Iterator<Item = RuleName> {
        let rules = self.rules.iter();
        rules
            .filter(|(_, rule)| rule.is_open_to_forks())
            .map(|(name, _)| *name)
    }

    /// Returns the claims that rules require and that their CI system is not known to have. They may be new.
    /// They never identify jobs.
    pub fn unknown_claims(&self) -> impl Iterator<Item = UnknownClaim> {
        self.rules.iter().flat_map(|(place, rule)| {
            let system = CiSystem::of(&rule.issuer);
            rule.rule.claims().filter_map(move |(name, _)| {
                Some(UnknownClaim {
                    rule: *place,
                    claim: Quoted::text(name),
                    system: system.not_knowing(name)?,
                })
            })
        })
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
            .ok_or_else(|| TokenError::Issuer(Quoted::text(claimed)))
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
        let expected = Expected {
            audiences: &audiences,
            now,
        };
        token.verify(keys, &expected)
    }

    /// Returns the scopes that the rules grant to a job with these claims. `audience` is the default for
    /// rules without one.
    ///
    /// # Errors
    /// The reason why nothing is granted.
    pub fn grant(&self, claims: Claims, audience: &str) -> Result<Grant, GrantError> {
        let limit = limits::JOB_TOKEN_SECONDS;
        let seconds = claims.expires().0.saturating_sub(claims.issued().0);
        if seconds > limit {
            return Err(GrantError::LivesTooLong { seconds, limit });
        }
        let granted = self.scopes(&claims, audience)?;
        Ok(Grant { claims, granted })
    }

    /// Returns the scopes of all rules that match these claims.
    fn scopes(&self, claims: &Claims, audience: &str) -> Result<GrantedScopes, GrantError> {
        let rules = self.rules.iter();
        let verdicts = rules
            .filter(|(_, rule)| rule.issuer == *claims.issuer())
            .map(|(name, rule)| (*name, &rule.rule, rule.compare(claims, audience)));
        let no_rule = || TokenError::Issuer(Quoted::text(claims.issuer().as_str()));
        union(verdicts).unwrap_or_else(|| Err(no_rule().into()))
    }
}

impl TrustedPublisher {
    pub(super) fn issuer(&self) -> &IssuerUrl {
        &self.issuer
    }

    pub(super) fn scopes(&self) -> &[Scope] {
        self.rule.scopes()
    }

    /// Checks that a job can match a new rule.
    pub(super) fn check(&self) -> Result<(), RuleError> {
        if let Some(audience) = self.audience.as_deref().filter(|it| it.trim().is_empty()) {
            return Err(no_audience(Quoted::text(audience)));
        }
        let impossible = impossible::of_jobs(CiSystem::of(&self.issuer), &self.rule);
        impossible.map_or(Ok(()), Err)
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

    fn is_open_to_forks(&self) -> bool {
        CiSystem::of(&self.issuer).has_pull_request_target()
            && !self
                .rule
                .claims()
                .any(|(name, pattern)| excludes_forks(name, pattern))
    }

    fn compare(&self, claims: &Claims, default: &str) -> Result<(), ClaimMismatch> {
        self.rule.compare(claims, Lists::Refused)?;
        let audience = self.audience(default);
        if claims.is_for(audience) {
            return Ok(());
        }
        Err(ClaimMismatch {
            matched: limits::RULE_CLAIMS,
            claim: Quoted::text("aud"),
            wanted: Quoted::text(audience),
            found: Quoted::claim(claims.members(), "aud"),
        })
    }

    pub(super) fn take(members: &mut Map<String, Value>) -> Result<Self, RuleError> {
        let rule = Rule::take(members)?;
        let issuer = read_issuer(&take(members, "issuer")?)?;
        let audience = members.remove("audience");
        let audience = audience.as_ref().map(read_audience).transpose()?;
        if rule.grants_all() {
            return Err(RuleError::Admin);
        }
        let system = CiSystem::of(&issuer);
        let vouched = members.remove("identifies");
        let vouched = vouched.as_ref().map(read_identifies).transpose()?;
        if vouched.is_some() && system != CiSystem::Other {
            return Err(RuleError::Identifies);
        }
        for (name, _) in rule.claims() {
            system.check_claim(name)?;
        }
        let is_vouched_for = vouched == Some(true);
        let identifies = |(name, pattern): (&str, &ClaimPattern)| {
            system.identifies(name, pattern)
                || (is_vouched_for && !is_standard(name) && pattern.pins_some_part())
        };
        if !rule.claims().any(identifies) {
            return Err(RuleError::Anybody(system.advice()));
        }
        Ok(Self {
            issuer,
            audience,
            rule,
        })
    }
}

/// Returns whether a GitHub claim excludes `pull_request_target`: by the event, by a tag (such a run belongs
/// to the base branch), by an environment, which has its own rules, or by a workflow. Another environment or
/// workflow may lack such rules, so a pattern that matches several of them excludes nothing.
fn excludes_forks(name: &str, pattern: &ClaimPattern) -> bool {
    let text = pattern.to_string();
    match name {
        "environment" | "environment_node_id" => is_one(&text),
        "job_workflow_ref" | "workflow_ref" => is_one_workflow(&text),
        "event_name" => !pattern.matches("pull_request_target"),
        "ref" => !could_be_branch(&text),
        "ref_type" => !pattern.matches("branch"),
        "sub" => {
            let value = |name| text.split_once(name).map(|(_, value)| value);
            let environment = value(":environment:").and_then(|value| value.split(':').next());
            environment.is_some_and(is_one)
                || value("workflow_ref:").is_some_and(is_one_workflow)
                || text.contains(":ref:refs/tags/")
        }
        _ => false,
    }
}

fn is_one(pattern: &str) -> bool {
    !pattern.contains('*')
}

/// Returns whether a pattern such as `acme/widget/.github/workflows/release.yml@*` matches one workflow only,
/// at any ref.
fn is_one_workflow(pattern: &str) -> bool {
    pattern.split('@').next().is_some_and(is_one)
}

/// Returns whether a pattern for a ref can match a branch, judged by the text before its first star.
fn could_be_branch(pattern: &str) -> bool {
    const BRANCHES: &str = "refs/heads/";
    let literal = pattern.split('*').next().unwrap_or_default();
    literal.starts_with(BRANCHES) || BRANCHES.starts_with(literal)
}

fn read_issuer(value: &Value) -> Result<IssuerUrl, RuleError> {
    let parsed = value.as_str().unwrap_or_default().parse();
    parsed.map_err(|cause| RuleError::Issuer {
        found: Quoted::value(Some(value)),
        cause,
    })
}

fn read_identifies(value: &Value) -> Result<bool, RuleError> {
    value.as_bool().ok_or_else(|| RuleError::Shape {
        name: "identifies",
        found: Quoted::value(Some(value)),
        wanted: "true or false",
    })
}

fn read_audience(value: &Value) -> Result<String, RuleError> {
    let is_audience = |text: &&str| {
        (1..=limits::AUDIENCE_BYTES).contains(&text.len()) && !text.contains(char::is_control)
    };
    let audience = value.as_str().filter(is_audience).map(str::to_owned);
    audience.ok_or_else(|| no_audience(Quoted::value(Some(value))))
}

fn no_audience(found: Quoted) -> RuleError {
    RuleError::Shape {
        name: "audience",
        found,
        wanted: "a string, as in the job's token request",
    }
}

impl FromStr for TrustedPublishers {
    type Err = RulesError;

    fn from_str(text: &str) -> Result<Self, RulesError> {
        let rules = parse_rules(text, TrustedPublisher::take)?;
        Ok(Self { rules })
    }
}
