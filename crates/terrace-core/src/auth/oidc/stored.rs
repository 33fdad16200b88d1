//! Rules that are stored in the registry, beside those of the configuration: one document for each, which
//! administrators add and remove.
//!
//! One index holds all of them. Only the token exchange, sign-in and requests about mirrored providers that no index answers
//! read it, and each isolate caches it for [`limits::RULES_SECONDS`](crate::limits::RULES_SECONDS).

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::rule::{Rule, RuleName, read_one};
use super::{LoginRules, MirrorBlock, MirrorBlocks, TrustedPublisher, TrustedPublishers};
use crate::auth::access::Scope;
use crate::http::guard::Guard;
use crate::limits;
use crate::model::rule_id::RuleId;
use crate::storage::index_document::IndexDocument;
use terrace_base::time::UnixTime;
use terrace_base::{json, sort};
use terrace_jose::json as distinct;

/// The kind of a stored rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RuleKind {
    /// A trusted publisher, as in `TERRACE_TRUSTED_PUBLISHERS`.
    Trust,
    /// A rule for sign-in, as in `TERRACE_LOGIN_RULES`.
    Role,
    /// A block of all mirrored packages of a host or of one of its namespaces. For providers, a pattern in `TERRACE_PULL_BLOCK` does
    /// the same.
    Block,
}

/// A rule as it is stored. A removed one stays: its ID is in the audit log, and no copy of the registry brings it
/// back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleDocument {
    /// Its kind.
    pub kind: RuleKind,
    /// Its JSON, in the form that [`StoredRule::text`] returns.
    pub rule: String,
    /// The time when it was added.
    pub created: UnixTime,
    /// The name of the caller who added it.
    pub by: String,
    /// Its removal, if it was removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<RuleRemoval>,
}

/// The removal of a rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleRemoval {
    /// Its time.
    pub at: UnixTime,
    /// The name of the caller who removed it.
    pub by: String,
}

/// A valid rule of any kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRule {
    text: String,
    parsed: Parsed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Parsed {
    Trust(TrustedPublisher),
    Role(Rule),
    Block(MirrorBlock),
}

/// All active rules, as stored in the index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleIndex {
    rules: BTreeMap<String, (RuleKind, String)>,
    /// The times when they were added, by which they are ordered. An index of an earlier version lacks them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    created: BTreeMap<String, UnixTime>,
}

/// All valid active rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredRules {
    /// The trusted publishers.
    pub trusted_publishers: TrustedPublishers,
    /// The rules for sign-in.
    pub login: LoginRules,
    /// The blocks of parts of the mirror.
    pub blocks: MirrorBlocks,
}

/// The metadata name of the whole document.
const DOCUMENT: &str = "rule";

impl StoredRule {
    /// Parses a rule by the same rules as those of the configuration.
    ///
    /// # Errors
    /// The reason why it is not valid.
    pub fn parse(kind: RuleKind, text: &str) -> Result<Self, String> {
        let value = distinct::parse(text.as_bytes());
        let value = value.map_err(|why| format!("the rule cannot be parsed as JSON: {why}"))?;
        Self::from_value(kind, value)
    }

    /// Parses a rule with members that are known to be distinct.
    ///
    /// # Errors
    /// The reason why it is not valid.
    pub fn from_value(kind: RuleKind, value: Value) -> Result<Self, String> {
        let text = json::to_string(&value);
        let (bytes, max) = (text.len(), limits::STORED_RULE_BYTES);
        if bytes > max {
            return Err(format!(
                "the rule is {bytes} bytes long, at most {max} are allowed"
            ));
        }
        let parsed = match kind {
            RuleKind::Trust => read_one(value, TrustedPublisher::take).map(Parsed::Trust),
            RuleKind::Role => read_one(value, super::login::take).map(Parsed::Role),
            RuleKind::Block => read_one(value, MirrorBlock::take).map(Parsed::Block),
        };
        let parsed = parsed.map_err(|why| format!("the rule {why}"))?;
        // Administrators of a namespace add rules, too, so a request to a private issuer might reach what they cannot.
        if let Parsed::Trust(rule) = &parsed
            && let Err(why) = Guard::public().check(rule.issuer.as_url().into())
        {
            return Err(format!(
                "the rule has an issuer that only TERRACE_TRUSTED_PUBLISHERS may name, in the configuration: {why}"
            ));
        }
        Ok(Self { text, parsed })
    }

    /// Returns its JSON, without white space and with its members in order, so that equal rules have equal texts.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the scopes that a caller needs to add, see or remove it: those that it grants, and for a block that of the
    /// administrators of the whole registry.
    pub fn required_scopes(&self) -> impl Iterator<Item = &Scope> {
        match &self.parsed {
            Parsed::Trust(rule) => rule.rule.scopes.iter(),
            Parsed::Role(rule) => rule.scopes.iter(),
            Parsed::Block(_) => [Scope::Admin].as_slice().iter(),
        }
    }

    /// Returns the block, if it is one.
    pub fn block(&self) -> Option<&MirrorBlock> {
        match &self.parsed {
            Parsed::Block(block) => Some(block),
            Parsed::Trust(_) | Parsed::Role(_) => None,
        }
    }

    /// Returns warnings about a rule that is valid but should be changed.
    pub fn warnings(&self) -> Vec<String> {
        let warnings = match &self.parsed {
            Parsed::Trust(rule) => rule.warnings(),
            Parsed::Role(rule) => super::login::warning(rule).into_iter().collect(),
            Parsed::Block(_) => Vec::new(),
        };
        let warnings = warnings.into_iter();
        warnings.map(|it| format!("the rule {it}")).collect()
    }
}

impl RuleDocument {
    /// Parses the rule.
    ///
    /// # Errors
    /// The reason why it is not valid, by the rules of this version.
    pub fn parse(&self) -> Result<StoredRule, String> {
        StoredRule::parse(self.kind, &self.rule)
    }

    /// Returns whether it has not been removed.
    pub fn is_active(&self) -> bool {
        self.removed.is_none()
    }

    /// Returns the whole document as the metadata of its object, so that a listing contains it. A removed rule is not needed
    /// there. Metadata is ASCII, and a rule need not be.
    pub fn to_metadata(&self) -> Vec<(&'static str, String)> {
        let text = match self.is_active() {
            true => STANDARD_NO_PAD.encode(json::to_string(self)),
            false => String::new(),
        };
        vec![(DOCUMENT, text)]
    }

    /// Parses the metadata. The inner option is `None` if the rule is removed, the outer one if a copy of the bucket has lost
    /// the metadata.
    pub fn from_metadata(metadata: &[(String, String)]) -> Option<Option<Self>> {
        let (_, value) = metadata.iter().find(|(known, _)| known == DOCUMENT)?;
        if value.is_empty() {
            return Some(None);
        }
        let text = STANDARD_NO_PAD.decode(value).ok()?;
        serde_json::from_slice(&text).ok().map(Some)
    }
}

impl RuleIndex {
    /// Collects the active rules.
    pub fn of(all: impl IntoIterator<Item = (RuleId, RuleDocument)>) -> Self {
        let active = all.into_iter().filter(|(_, it)| it.is_active());
        let active: Vec<_> = active.map(|(id, it)| (id.to_string(), it)).collect();
        let created = active.iter().map(|(id, it)| (id.clone(), it.created));
        Self {
            created: sort::map(created.collect::<Vec<_>>()),
            rules: sort::map(active.into_iter().map(|(id, it)| (id, (it.kind, it.rule)))),
        }
    }

    /// Returns the index as it is stored.
    pub fn document(&self) -> IndexDocument {
        IndexDocument::new(json::to_string(self))
    }

    /// Parses all rules, the oldest first: it comes before others if together they grant too many scopes. Returns a message
    /// for each that is not valid, for the log: it has no effect, and the others have.
    pub fn parse(&self) -> (StoredRules, Vec<String>) {
        let (mut rules, mut faults) = (StoredRules::default(), Vec::new());
        let mut all: Vec<_> = self.rules.iter().collect();
        let age = |id: &String| self.created.get(id).copied().unwrap_or(UnixTime(0));
        sort::sort_by(&mut all, |(one, _), (other, _)| {
            (age(one), one).cmp(&(age(other), other))
        });
        for (id, (kind, text)) in all {
            let created = age(id);
            let Ok(id) = id.parse::<RuleId>() else {
                continue;
            };
            let name = RuleName::Stored(id);
            match StoredRule::parse(*kind, text).map(|rule| rule.parsed) {
                Ok(Parsed::Trust(rule)) => rules.trusted_publishers.rules.push((name, rule)),
                Ok(Parsed::Role(rule)) => rules.login.rules.push((name, rule)),
                Ok(Parsed::Block(block)) => rules.blocks.0.push((id, created, block)),
                Err(fault) => faults.push(format!("rule {id} has no effect: {fault}")),
            }
        }
        (rules, faults)
    }
}

impl fmt::Display for RuleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Trust => "trust",
            Self::Role => "role",
            Self::Block => "block",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::oidc::GrantedScopes;
    use crate::model::package::Package;
    use crate::pinned::assert_pinned;

    const TRUST: &str = r#"{"scopes":["publish:acme"],"issuer":"https://gitlab.com","claims":{"project_path":"acme/widget"}}"#;
    const ROLE: &str = r#"{"scopes":["read"],"claims":{"groups":"pl\u00e4tform"}}"#;

    const BLOCK: &str = r#"{"providers":"a.example/evil","reason":"see SEC-12"}"#;

    fn id(number: u64) -> RuleId {
        format!("{number:016x}").parse().unwrap()
    }

    fn document(kind: RuleKind, text: &str) -> RuleDocument {
        RuleDocument {
            kind,
            rule: StoredRule::parse(kind, text).unwrap().text,
            created: UnixTime(1),
            by: "root".to_owned(),
            removed: None,
        }
    }

    #[test]
    fn equal_rules_have_equal_texts() {
        let spaced = r#" { "claims" : {"project_path":"acme\/widget"}, "issuer":"https://gitlab.com","scopes":["publish:acme"]}"#;
        let text = |text| StoredRule::parse(RuleKind::Trust, text).unwrap().text;
        assert_eq!(text(TRUST), text(spaced));
    }

    #[test]
    fn a_stored_rule_passes_the_checks_of_the_configuration() {
        let long = format!(
            r#"{{"scopes":["read"],"claims":{{"a":"{}"}}}}"#,
            "x".repeat(2_048)
        );
        let trusts = [
            "[]",
            "{",
            r#"{"scopes":["admin"],"issuer":"https://gitlab.com","claims":{"project_path":"acme/widget"}}"#,
            r#"{"scopes":["read"],"issuer":"https://gitlab.com","claims":{"ref":"main"}}"#,
            r#"{"scopes":["read"],"issuer":"https://10.0.0.1","claims":{"sub":"a"}}"#,
            r#"{"scopes":["read"],"issuer":"https://localhost:8443","claims":{"sub":"a"}}"#,
        ];
        let roles = [
            TRUST,
            &long,
            r#"{"scopes":["read"],"scopes":["admin"],"claims":{"sub":"a"}}"#,
            r#"{"scopes":["admin:acme"],"claims":{"sub":"*"}}"#,
            r#"{"scopes":["publish:acme"],"claims":{"email":"*@*acme.example"}}"#,
        ];
        let trusts = trusts.map(|text| (RuleKind::Trust, text));
        let roles = roles.map(|text| (RuleKind::Role, text));
        for (kind, text) in trusts.into_iter().chain(roles) {
            assert!(StoredRule::parse(kind, text).is_err(), "{text}");
        }
        let delegated = TRUST.replace("publish:acme", "admin:acme");
        assert!(StoredRule::parse(RuleKind::Trust, &delegated).is_ok());
    }

    #[test]
    fn a_block_is_a_part_of_the_mirror_with_a_reason() {
        for text in [
            r#"{"providers":"a.example"}"#,
            r#"{"reason":"x"}"#,
            r#"{"providers":"a.example/b/c","reason":"x"}"#,
            r#"{"providers":"acme","reason":"x"}"#,
            r#"{"providers":"a.example","reason":""}"#,
            r#"{"providers":"a.example","reason":"x","scopes":["read"]}"#,
        ] {
            assert!(StoredRule::parse(RuleKind::Block, text).is_err(), "{text}");
        }
    }

    #[test]
    fn only_administrators_of_the_registry_may_manage_a_block() {
        let block = StoredRule::parse(RuleKind::Block, BLOCK).unwrap();
        let required: Vec<&Scope> = block.required_scopes().collect();
        assert_eq!(required, [&Scope::Admin]);
    }

    #[test]
    fn the_oldest_block_of_a_provider_gives_the_reason() {
        let aged = |text: &str, created| RuleDocument {
            created: UnixTime(created),
            ..document(RuleKind::Block, text)
        };
        let newer = BLOCK.replace("see SEC-12", "later");
        let host = BLOCK.replace("/evil", "").replace("see SEC-12", "the host");
        let index = RuleIndex::of([
            (id(1), aged(&newer, 30)),
            (id(2), aged(BLOCK, 20)),
            (id(3), aged(&host, 40)),
            (id(4), document(RuleKind::Role, ROLE)),
        ]);
        let (rules, faults) = index.parse();
        assert!(faults.is_empty(), "{faults:?}");
        let status = |address: &str| {
            rules
                .blocks
                .status_of(&Package::parse_address(address).unwrap())
        };
        let block = status("a.example/evil/thing").unwrap();
        assert_eq!(block.reason.to_string(), "see SEC-12");
        assert_eq!(block.at, UnixTime(20));
        assert_eq!(block.by, "rule 0000000000000002");
        assert_eq!(status("a.example/Evil/vpc/aws"), Some(block));
        let of_host = status("a.example/other/thing").unwrap();
        assert_eq!(of_host.reason.to_string(), "the host");
        assert_eq!(status("b.example/evil/thing"), None);
    }

    #[test]
    fn an_invalid_stored_rule_grants_nothing_and_breaks_no_other() {
        let mut broken = document(RuleKind::Trust, TRUST);
        broken.rule = broken.rule.replace("scopes", "scope");
        let removed = RuleDocument {
            removed: Some(RuleRemoval {
                at: UnixTime(2),
                by: "root".to_owned(),
            }),
            ..document(RuleKind::Role, ROLE)
        };
        let index = RuleIndex::of([
            (id(1), broken),
            (id(2), document(RuleKind::Trust, TRUST)),
            (id(3), document(RuleKind::Role, ROLE)),
            (id(4), removed),
        ]);
        let (rules, faults) = index.parse();
        assert_eq!(rules.trusted_publishers.issuers().len(), 1);
        assert_eq!(faults.len(), 1);
        assert!(
            faults[0].starts_with("rule 0000000000000001 has no effect: the rule has no scopes"),
            "{faults:?}"
        );
        assert_eq!(index.rules.len(), 3);
    }

    /// Returns a role with this ID and age for Zoe.
    fn role(number: u64, created: u64, scopes: &[String]) -> (RuleId, RuleDocument) {
        let rule = serde_json::json!({ "scopes": scopes, "claims": { "sub": "zoe" } });
        let document = RuleDocument {
            created: UnixTime(created),
            ..document(RuleKind::Role, &rule.to_string())
        };
        (id(number), document)
    }

    fn granted(index: &RuleIndex) -> GrantedScopes {
        let (rules, _) = index.parse();
        let claims = serde_json::json!({ "sub": "zoe" });
        rules.login.scopes(claims.as_object().unwrap()).unwrap()
    }

    /// Returns scopes of as many namespaces of a host.
    fn scopes_of(host: &str, count: usize) -> Vec<String> {
        let scopes = (0..count).map(|number| format!("read:{host}/n{number}"));
        scopes.collect()
    }

    #[test]
    fn an_older_rule_wins_over_newer_ones_that_would_exceed_the_scopes() {
        let many = |host: &str| scopes_of(host, limits::SCOPES - 1);
        let index = RuleIndex::of([
            role(1, 30, &many("c.example")),
            role(2, 20, &many("b.example")),
            role(3, 10, &many("a.example")),
            role(4, 40, &["read:acme".to_owned()]),
        ]);
        let by_age = granted(&index);
        let scopes = by_age.scopes.to_string();
        assert!(scopes.contains("a.example/n0"), "{scopes}");
        assert!(scopes.contains("read:acme"), "{scopes}");
        let left_out = [2, 1].map(|number| RuleName::Stored(id(number)));
        assert_eq!(by_age.left_out, left_out);
        let note = by_age.note().unwrap();
        assert!(
            note.ends_with("20 scopes: 0000000000000002, 0000000000000001"),
            "{note}"
        );
        // An index of an earlier version orders them by their IDs.
        let earlier = RuleIndex {
            created: BTreeMap::new(),
            ..index
        };
        let scopes = granted(&earlier).scopes.to_string();
        assert!(scopes.contains("c.example/n0"), "{scopes}");
    }

    #[test]
    fn one_host_leaves_scopes_to_later_rules_of_others() {
        let all = scopes_of("a.example", limits::SCOPES);
        let other = |number| role(number, number, &["read:acme".to_owned()]);
        let alone = granted(&RuleIndex::of([role(1, 1, &all)]));
        assert_eq!(alone.scopes.iter().count(), limits::SCOPES);
        let both = granted(&RuleIndex::of([role(1, 1, &all), other(2)]));
        assert_eq!(both.scopes.to_string(), "read:acme");
        assert_eq!(both.left_out, [RuleName::Stored(id(1))]);
        let single = (1..).zip(all).map(|(at, one)| role(at, at, &[one]));
        let single = granted(&RuleIndex::of(single.chain([other(99)])));
        assert!(single.scopes.to_string().contains("read:acme"));
        assert_eq!(single.left_out, [RuleName::Stored(id(20))]);
    }

    #[test]
    fn the_metadata_contains_an_active_rule() {
        let metadata = |document: &RuleDocument| {
            let metadata = document.to_metadata().into_iter();
            let metadata: Vec<_> = metadata.map(|(k, v)| (k.to_owned(), v)).collect();
            assert!(metadata.iter().all(|(_, value)| value.is_ascii()));
            RuleDocument::from_metadata(&metadata)
        };
        let mut role = document(RuleKind::Role, ROLE);
        assert_eq!(metadata(&role), Some(Some(role.clone())));
        role.removed = Some(RuleRemoval {
            at: UnixTime(2),
            by: "root".to_owned(),
        });
        assert_eq!(metadata(&role), Some(None));
        assert_eq!(RuleDocument::from_metadata(&[]), None);
    }

    #[test]
    fn the_index_of_a_block_is_pinned() {
        let block = RuleIndex::of([(id(1), document(RuleKind::Block, BLOCK))]);
        let text = r#"{"rules":{"0000000000000001":["block","{\"providers\":\"a.example/evil\",\"reason\":\"see SEC-12\"}"]},"created":{"0000000000000001":1}}"#;
        assert_pinned(&json::to_string(&block), text);
    }
}
