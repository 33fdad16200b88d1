//! A rule: the claims that it requires, and the scopes that it grants. Rules are JSON written by operators.

use std::fmt;

use serde_json::{Map, Value};

use super::ci_system::is_standard;
use super::{ClaimPattern, limits};
use crate::auth::access::{Scope, Scopes};
use crate::limits as access_limits;
use crate::model::owner::OwnerPattern;
use crate::model::rule_id::RuleId;
use terrace_jose::{Quoted, json};

/// Number of scopes of one host of mirrored providers beyond which a stored rule comes after all others, so that an
/// administrator of the host leaves some of the [`access_limits::SCOPES`] to the rules of others.
const SCOPES_OF_HOST: usize = 15;

/// The scopes of all matching rules.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrantedScopes {
    /// The scopes, without duplicates.
    pub scopes: Scopes,
    /// The stored rules that match as well and grant nothing, because all scopes together would be too many.
    pub left_out: Vec<RuleName>,
}

/// The common part of all rules: required claims and granted scopes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) scopes: Vec<Scope>,
    claims: Vec<(String, ClaimPattern)>,
}

/// The name of a rule in messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleName {
    /// The place in the configuration, from 1.
    Place(usize),
    /// The ID in the registry.
    Stored(RuleId),
}

/// How a claim that is a list is matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lists {
    /// One matching element is enough.
    AnyOf,
    /// A list never matches.
    Refused,
}

/// The reason why a rule does not match a token.
#[derive(Debug)]
pub(super) struct ClaimMismatch {
    /// The number of claims that match.
    pub(super) matched: usize,
    /// The first claim that does not.
    pub(super) why: String,
}

impl ClaimMismatch {
    pub(super) fn new(
        matched: usize,
        (claim, wanted): (&str, &str),
        claims: &Map<String, Value>,
    ) -> Self {
        let found = Quoted::claim(claims, claim);
        let (claim, wanted) = (Quoted::text(claim), Quoted::text(wanted));
        let why = format!("requires {claim} to be {wanted}, and found {found}");
        Self { matched, why }
    }
}

/// Parses a rule, and removes the members that it knows.
pub(super) type Take<R> = fn(&mut Map<String, Value>) -> Result<R, String>;

/// Parses a list of rules.
pub(super) fn parse_rules<R>(text: &str, take: Take<R>) -> Result<Vec<(RuleName, R)>, String> {
    let (bytes, max) = (text.len(), limits::RULES_BYTES);
    if bytes > max {
        return Err(format!(
            "the rules are {bytes} bytes long, at most {max} are allowed"
        ));
    }
    let parsed = json::parse(text.as_bytes());
    let parsed = parsed.map_err(|why| format!("the rules cannot be parsed as JSON: {why}"))?;
    let Value::Array(list) = parsed else {
        return Err(NO_LIST.to_owned());
    };
    let (count, max) = (list.len(), limits::RULES);
    match count {
        0 => return Err(NO_LIST.to_owned()),
        _ if count > max => {
            return Err(format!(
                "there are {count} rules, at most {max} are allowed"
            ));
        }
        _ => {}
    }
    let numbered = list.into_iter().zip(1..);
    numbered
        .map(|(rule, place)| {
            let read = read_one(rule, take).map_err(|why| format!("rule {place} {why}"))?;
            Ok((RuleName::Place(place), read))
        })
        .collect()
}

const NO_LIST: &str = r#"the rules must be a list of at least one object, such as [{"scopes":["publish:acme"],"claims":{...}}]"#;

/// Parses a rule. An error continues its name.
pub(super) fn read_one<R>(rule: Value, take: Take<R>) -> Result<R, String> {
    let Value::Object(mut members) = rule else {
        let found = Quoted::value(Some(&rule));
        return Err(format!("is {found}, not an object"));
    };
    let read = take(&mut members)?;
    match members.keys().next() {
        Some(unknown) => Err(format!("has the unknown member {}", Quoted::text(unknown))),
        None => Ok(read),
    }
}

/// Returns the error for a member of the wrong type or form.
pub(super) fn misshapen(name: &str, found: &Value, wanted: &str) -> String {
    let found = Quoted::value(Some(found));
    format!("has {found} as its {name}: it must be {wanted}")
}

/// Returns the scopes of all matching rules, or the difference from the closest; `None` if there are no
/// rules.
///
/// A stored rule that would exceed the number of scopes is left out: an administrator of a namespace must not take from
/// others the scopes that the rules before it, those of the configuration and older stored ones, grant them.
pub(super) fn union<'r>(
    verdicts: impl Iterator<Item = (RuleName, &'r Rule, Result<(), ClaimMismatch>)>,
) -> Option<Result<GrantedScopes, String>> {
    let mut granted: Vec<Scope> = Vec::new();
    let mut late: Vec<(RuleName, &Rule)> = Vec::new();
    let mut left_out: Vec<RuleName> = Vec::new();
    let mut nearest: Option<(RuleName, ClaimMismatch)> = None;
    for (name, rule, verdict) in verdicts {
        match verdict {
            Ok(()) => {
                let with = [&*granted, &*rule.scopes].concat();
                let is_stored = matches!(name, RuleName::Stored(_));
                if !is_stored || leaves_room(with.clone(), &rule.scopes) {
                    granted = with;
                } else {
                    late.push((name, rule));
                }
            }
            Err(difference) => {
                let so_far = nearest.as_ref().map(|(_, nearest)| nearest.matched);
                if so_far.is_none_or(|matched| difference.matched > matched) {
                    nearest = Some((name, difference));
                }
            }
        }
    }
    for (name, rule) in late {
        let with = [&*granted, &*rule.scopes].concat();
        match Scopes::united(with.clone()) {
            Ok(_) => granted = with,
            Err(_) => left_out.push(name),
        }
    }
    if !granted.is_empty() {
        let scopes = Scopes::united(granted);
        return Some(scopes.map(|scopes| GrantedScopes { scopes, left_out }));
    }
    let (rule, ClaimMismatch { why, .. }) = nearest?;
    Some(Err(format!(
        "no rule matches it: the closest, rule {rule}, {why}"
    )))
}

/// Returns whether these scopes are not too many, and leave some to other hosts than those of `added`.
fn leaves_room(all: Vec<Scope>, added: &[Scope]) -> bool {
    let Ok(all) = Scopes::united(all) else {
        return false;
    };
    let hosts = added.iter().filter_map(Scope::owners);
    hosts.map(OwnerPattern::whole_host).all(|host| {
        let owners = all.iter().filter_map(Scope::owners);
        owners.filter(|owners| host.covers(owners)).count() <= SCOPES_OF_HOST
    })
}

impl GrantedScopes {
    /// Returns a message for the log about the rules that are left out, if there are any.
    pub fn note(&self) -> Option<String> {
        let names: Vec<String> = self.left_out.iter().map(ToString::to_string).collect();
        (!names.is_empty()).then(|| {
            format!(
                "these stored rules match, too, and grant nothing, because with those before them they would grant more than {} \
                 scopes: {}",
                access_limits::SCOPES,
                names.join(", ")
            )
        })
    }
}

impl Rule {
    /// Removes `scopes` and `claims` from the members of a rule, and parses them.
    pub(super) fn take(members: &mut Map<String, Value>) -> Result<Self, String> {
        let scopes = take(members, "scopes")?;
        let claims = take(members, "claims")?;
        Ok(Self {
            scopes: read_scopes(&scopes)?,
            claims: read_claims(&claims)?,
        })
    }

    /// Returns the required claims with their patterns.
    pub(super) fn claims(&self) -> impl Iterator<Item = (&str, &ClaimPattern)> {
        let claims = self.claims.iter();
        claims.map(|(name, pattern)| (&**name, pattern))
    }

    /// Returns whether the rule allows more than reading packages: changes, or copies of everything that is stored.
    pub(super) fn grants_more_than_reading(&self) -> bool {
        self.scopes.iter().any(|scope| match scope {
            Scope::Admin | Scope::Backup | Scope::Publish(_) | Scope::AdminOf(_) => true,
            Scope::Read | Scope::ReadOf(_) => false,
        })
    }

    /// Returns whether the rule matches everyone: none of its identifying claims has a specific pattern.
    pub(super) fn is_for_everybody(&self) -> bool {
        let mut claims = self.claims.iter();
        claims.all(|(name, pattern)| is_standard(name) || pattern.is_anything())
    }

    /// Returns the pattern for addresses of any domain that alone decides which people match the rule, if it has one.
    pub(super) fn open_domain(&self) -> Option<&ClaimPattern> {
        let mut identifying = self
            .claims()
            .filter(|(name, pattern)| !is_standard(name) && !pattern.is_anything());
        match (identifying.next(), identifying.next()) {
            (Some((EMAIL, pattern)), None) if !pattern.fixes_domain() => Some(pattern),
            _ => None,
        }
    }

    /// Returns whether the rule grants everything.
    pub(super) fn grants_all(&self) -> bool {
        self.scopes.contains(&Scope::Admin)
    }

    /// Compares the rule with the claims of a job or a person.
    pub(super) fn compare(
        &self,
        claims: &Map<String, Value>,
        lists: Lists,
    ) -> Result<(), ClaimMismatch> {
        let is_met = |(name, pattern): &&(String, ClaimPattern)| {
            let value = claims.get(name);
            // With several addresses, it would be unclear to which of them `email_verified` applies.
            let lists = if name == EMAIL { Lists::Refused } else { lists };
            value.is_some_and(|value| matches(name, pattern, value, lists))
        };
        match self.claims.iter().find(|asked| !is_met(asked)) {
            None => Ok(()),
            Some((name, pattern)) => {
                let matched = self.claims.iter().filter(is_met).count();
                let asked = (name.as_str(), &*pattern.to_string());
                Err(ClaimMismatch::new(matched, asked, claims))
            }
        }
    }
}

/// Matches a claim. Numbers and booleans are compared in their JSON form, domains of e-mail addresses without case (RFC 1035,
/// section 2.3.3).
fn matches(name: &str, pattern: &ClaimPattern, value: &Value, lists: Lists) -> bool {
    match value {
        Value::String(text) => match name {
            EMAIL => pattern.matches(text) || pattern.matches_address(text),
            // The domain of a Google Workspace.
            "hd" => pattern.matches_domain(text),
            _ => pattern.matches(text),
        },
        Value::Bool(value) => pattern.matches(if *value { "true" } else { "false" }),
        // Several other numbers have the same text after parsing.
        Value::Number(number) if !number.is_f64() => pattern.matches(&number.to_string()),
        Value::Array(list) if lists == Lists::AnyOf => list
            .iter()
            .filter_map(Value::as_str)
            .any(|text| pattern.matches(text)),
        _ => false,
    }
}

/// Removes a required member.
pub(super) fn take(members: &mut Map<String, Value>, name: &str) -> Result<Value, String> {
    members.remove(name).ok_or_else(|| format!("has no {name}"))
}

fn read_scopes(value: &Value) -> Result<Vec<Scope>, String> {
    let wrong = |found| {
        misshapen(
            "scopes",
            found,
            "a list of scopes, such as \"publish:acme\"",
        )
    };
    let list = value.as_array().ok_or_else(|| wrong(value))?;
    check_count("scopes", list.len(), access_limits::SCOPES)?;
    list.iter()
        .map(|one| {
            let scope = one.as_str().ok_or_else(|| wrong(one))?;
            let scope = scope.parse();
            scope.map_err(|why: String| format!("has an invalid scope: {why}"))
        })
        .collect()
}

fn read_claims(value: &Value) -> Result<Vec<(String, ClaimPattern)>, String> {
    let wrong = || misshapen("claims", value, "an object of claims and their patterns");
    let asked = value.as_object().ok_or_else(wrong)?;
    check_count("claims", asked.len(), limits::RULE_CLAIMS)?;
    let mut claims = Vec::new();
    for (name, pattern) in asked {
        check_name(name)?;
        claims.push((name.clone(), read_pattern(name, pattern)?));
    }
    // An unverified address proves nothing (OpenID Connect Core, section 5.7).
    if asked.contains_key(EMAIL) {
        let pattern = read_pattern(EMAIL_VERIFIED, &Value::from("true"))?;
        claims.push((EMAIL_VERIFIED.to_owned(), pattern));
    }
    Ok(claims)
}

impl fmt::Display for RuleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Place(place) => place.fmt(f),
            Self::Stored(id) => id.fmt(f),
        }
    }
}

const EMAIL: &str = "email";
const EMAIL_VERIFIED: &str = "email_verified";

fn check_count(name: &str, count: usize, limit: usize) -> Result<(), String> {
    match (1..=limit).contains(&count) {
        true => Ok(()),
        false => Err(format!("has {count} {name}: it must have 1 to {limit}")),
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let rule = match name {
        "iss" => "use the member issuer of the rule",
        "aud" => "use the member audience of the rule",
        "exp" | "iat" | "nbf" | "jti" | "nonce" => {
            "its value differs in every token: use another claim"
        }
        "" => "the name of a claim must not be empty",
        _ if name.len() > limits::CLAIM_NAME_BYTES => "its name is too long",
        _ => return Ok(()),
    };
    Err(format!("requires the claim {}: {rule}", Quoted::text(name)))
}

fn read_pattern(name: &str, value: &Value) -> Result<ClaimPattern, String> {
    let why = match value.as_str().map(str::parse) {
        Some(Ok(pattern)) => return Ok(pattern),
        Some(Err(why)) => why,
        None => "write a string in quotes".to_owned(),
    };
    let (claim, found) = (Quoted::text(name), Quoted::value(Some(value)));
    Err(format!("requires {claim} to be {found}: {why}"))
}
