//! The events of webhooks: a pure function of the entries of the audit log.

use std::collections::BTreeMap;

use serde::Serialize;

use super::audit::{AuditEntry, ERASED_SEPARATOR, ERASES, StatusChange};
use crate::api::route::{AdminRoute, OAuthRoute, OciRoute, Route};
use crate::model::oci::{Digest, RepositoryName};
use crate::model::owner::{Owner, OwnerPattern};
use crate::model::package::Package;
use crate::model::version::Version;
use crate::oci::pushed::{ProviderRepositories, Reference, RepositoryPath};
use crate::storage::key::FactKey;
use crate::storage::webhook::{EventKind, WebhookFormat};
use terrace_base::json;
use terrace_base::time::UnixTime;

/// An event: a change that the audit log records as done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The kind, which webhooks choose.
    pub kind: EventKind,
    /// The owners of the packages or keys that were changed.
    pub owners: Vec<Owner>,
    message: Message,
}

/// The JSON of an event, as the Standard Webhooks specification recommends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Message {
    #[serde(rename = "type")]
    name: &'static str,
    timestamp: String,
    data: Data,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
struct Data {
    #[serde(flatten)]
    subject: Subject,
    #[serde(skip_serializing_if = "Option::is_none")]
    previous_status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    /// Whether the request found this status.
    #[serde(skip)]
    is_unchanged: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    by: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<u64>,
}

/// The subject of a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum Subject {
    /// Nothing, for a test.
    #[default]
    Nothing,
    Package {
        package: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        version: Option<String>,
    },
    Artifact {
        repository: String,
        reference: String,
    },
    Key {
        namespace: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        key: Option<String>,
    },
    Token {
        token: String,
    },
    Rule {
        rule: String,
    },
    Erased {
        erased: Vec<Erased>,
    },
}

/// The name of something that was erased, with its owner if it has one. Archives and blobs have none: releases of several
/// owners may share them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
struct Erased {
    name: String,
    #[serde(skip)]
    owner: Option<Owner>,
}

impl Event {
    /// Returns the event of an audit entry; `None` if it records no success, or a change without an event. `repositories`
    /// are those with the owner of a mirrored provider.
    pub fn of(entry: &AuditEntry, repositories: &ProviderRepositories) -> Option<Self> {
        if !(200..300).contains(&entry.status) {
            return None;
        }
        if let Some(id) = entry.revoked() {
            return Some(of_token("token.revoked", &id.to_string()).recorded_by(entry));
        }
        let (method, what) = entry.what.split_once(' ')?;
        let (path, details) = what.split_once(' ').unwrap_or((what, ""));
        let made = |path: &str| details.strip_prefix("makes ")?.strip_prefix(path);
        let event = match (method, Route::parse(path).ok()?) {
            ("PUT", Route::Admin(route)) => put(route)?,
            ("DELETE", Route::Admin(AdminRoute::SigningKey(namespace, key))) => {
                of_key("key.removed", namespace.as_str(), Some(key.to_string()))
            }
            ("POST", Route::Admin(AdminRoute::Erasures)) => erasure(&entry.what, repositories)?,
            ("POST", Route::Admin(AdminRoute::Tokens) | Route::OAuth(OAuthRoute::Token)) => {
                of_token("token.created", made("/admin/v1/tokens/")?)
            }
            // With another status, the rule was there.
            ("POST", Route::Admin(AdminRoute::Rules)) if entry.status == 201 => {
                of_rule("rule.added", made("/admin/v1/rules/")?)
            }
            ("DELETE", Route::Admin(AdminRoute::Rule(id))) => {
                of_rule("rule.removed", &id.to_string())
            }
            ("POST", Route::Admin(AdminRoute::TokenRotation(id))) => {
                of_token("token.rotated", &id.to_string())
            }
            ("PUT", Route::Oci(OciRoute::Pushed(request))) => match request.path {
                RepositoryPath::Manifest(reference) => {
                    let owner = repositories.owner(&request.repository);
                    pushed(owner, request.repository.to_string(), &reference)
                }
                _ => return None,
            },
            _ => return None,
        };
        Some(event.recorded_by(entry))
    }

    /// Returns the event as a webhook for these namespaces is sent it: with nothing that others own. A webhook for none is sent
    /// the whole event.
    #[must_use]
    pub fn limited_to(mut self, namespaces: &[OwnerPattern]) -> Self {
        let is_of = |owner: &Owner| namespaces.iter().any(|pattern| pattern.includes(owner));
        if let (false, Subject::Erased { erased }) =
            (namespaces.is_empty(), &mut self.message.data.subject)
        {
            erased.retain(|it| it.owner.as_ref().is_some_and(is_of));
        }
        self
    }

    /// Returns the event that tests a webhook.
    pub fn test(by: String, at: UnixTime) -> Self {
        let (kind, name) = (EventKind::Publish, "webhook.test");
        let mut event = Self::new(kind, name, Vec::new(), Subject::Nothing);
        event.message.data.by = by;
        event.message.timestamp = at.to_string();
        event
    }

    /// Returns the body of the request to a receiver.
    pub fn body(&self, format: WebhookFormat) -> String {
        match format {
            WebhookFormat::Json => json::to_string(&self.message),
            WebhookFormat::Slack => {
                let text = escaped_for_slack(&self.sentence());
                json::to_string(&BTreeMap::from([("text", text)]))
            }
        }
    }

    /// Returns the event as a sentence for people.
    fn sentence(&self) -> String {
        let Message { name, data, .. } = &self.message;
        let what = match &data.subject {
            Subject::Nothing => return format!("This is a test of a webhook by {}", data.by),
            Subject::Package {
                package,
                version: Some(version),
            } => format!("{package} {version}"),
            Subject::Package { package, .. } => package.clone(),
            Subject::Artifact {
                repository,
                reference,
            } => format!("{repository}:{reference}"),
            Subject::Key {
                namespace,
                key: Some(key),
            } => format!("The signing key {key} of {namespace}"),
            Subject::Key { namespace, .. } => format!("A signing key of {namespace}"),
            Subject::Token { token } => format!("Token {token}"),
            Subject::Rule { rule } => format!("Rule {rule}"),
            Subject::Erased { erased } => {
                let names: Vec<&str> = erased.iter().map(|it| it.name.as_str()).collect();
                names.join(", ")
            }
        };
        let done = match name.rsplit('.').next().unwrap_or_default() {
            "status_changed" => status_of(data),
            done => format!("was {done}"),
        };
        format!("{what} {done} by {}", data.by)
    }

    fn new(kind: EventKind, name: &'static str, owners: Vec<Owner>, subject: Subject) -> Self {
        let data = Data {
            subject,
            ..Data::default()
        };
        let message = Message {
            name,
            timestamp: String::new(),
            data,
        };
        Self {
            kind,
            owners,
            message,
        }
    }

    fn recorded_by(mut self, entry: &AuditEntry) -> Self {
        self.message.timestamp = entry.at.to_string();
        let data = &mut self.message.data;
        data.by.clone_from(&entry.by);
        data.entry = Some(entry.number);
        if let Some(StatusChange { from, to, reason }) = entry.change.clone() {
            // A repeated request finds the state that the first one set, and cannot tell the one before it.
            data.is_unchanged = from == to;
            data.previous_status = (!data.is_unchanged).then_some(from);
            data.status = Some(to);
            data.reason = Some(reason);
        }
        self
    }
}

/// Returns the part of a sentence about the new status of its subject.
fn status_of(data: &Data) -> String {
    let status = data.status.as_deref().unwrap_or("of another status");
    let reason = data.reason.as_ref().map(|reason| format!(" ({reason})"));
    let since = if data.is_unchanged { "still" } else { "now" };
    format!("is {since} {status}{}", reason.unwrap_or_default())
}

fn put(route: AdminRoute) -> Option<Event> {
    Some(match route {
        AdminRoute::PublishProvider(address, version) => {
            published(&Package::Provider(address), &version)
        }
        AdminRoute::PublishModule(address, version) => {
            published(&Package::Module(address), &version)
        }
        AdminRoute::MirroredRelease(address, version) => {
            published(&Package::Mirrored(address), &version)
        }
        AdminRoute::Status(package, version) => {
            let kind = EventKind::Status;
            of_package(kind, "release.status_changed", &package, version.as_ref())
        }
        AdminRoute::SigningKeys(namespace) => of_key("key.added", namespace.as_str(), None),
        AdminRoute::SigningKey(namespace, key) => of_key(
            "key.status_changed",
            namespace.as_str(),
            Some(key.to_string()),
        ),
        _ => return None,
    })
}

fn published(package: &Package, version: &Version) -> Event {
    let kind = EventKind::Publish;
    of_package(kind, "release.published", package, Some(version))
}

fn of_package(
    kind: EventKind,
    name: &'static str,
    package: &Package,
    version: Option<&Version>,
) -> Event {
    let subject = Subject::Package {
        package: package.address(),
        version: version.map(ToString::to_string),
    };
    Event::new(kind, name, vec![Owner::of(package)], subject)
}

fn pushed(owner: Owner, repository: String, reference: &Reference) -> Event {
    let reference = match reference {
        Reference::Tag(tag) => tag.as_str().to_owned(),
        Reference::Digest(digest) => digest.to_string(),
    };
    let subject = Subject::Artifact {
        repository,
        reference,
    };
    Event::new(EventKind::Publish, "artifact.pushed", vec![owner], subject)
}

fn of_key(name: &'static str, namespace: &str, key: Option<String>) -> Event {
    let owners = vec![Owner::of_namespace(namespace)];
    let namespace = namespace.to_owned();
    Event::new(
        EventKind::Key,
        name,
        owners,
        Subject::Key { namespace, key },
    )
}

fn of_token(name: &'static str, id: &str) -> Event {
    let token = id.to_owned();
    Event::new(EventKind::Token, name, Vec::new(), Subject::Token { token })
}

fn of_rule(name: &'static str, id: &str) -> Event {
    let rule = id.to_owned();
    Event::new(EventKind::Rule, name, Vec::new(), Subject::Rule { rule })
}

fn erasure(what: &str, repositories: &ProviderRepositories) -> Option<Event> {
    let (_, names) = what.split_once(ERASES)?;
    let owner = |name: &str| match FactKey::parse_release(name) {
        Some(FactKey::Release(package, _)) => Some(Owner::of(&package)),
        _ => {
            let (repository, digest) = name.split_once('@')?;
            Digest::parse(digest).ok()?;
            let repository = RepositoryName::parse(repository).ok()?;
            Some(repositories.owner(&repository))
        }
    };
    let names = names.split(ERASED_SEPARATOR).map(|name| Erased {
        name: name.to_owned(),
        owner: owner(name),
    });
    let erased: Vec<Erased> = names.collect();
    let owners = erased.iter().filter_map(|it| it.owner.clone()).collect();
    let subject = Subject::Erased { erased };
    Some(Event::new(
        EventKind::Erase,
        "release.erased",
        owners,
        subject,
    ))
}

/// Escapes the three characters that are special in Slack's messages
/// (<https://docs.slack.dev/messaging/formatting-message-text/#escaping>).
fn escaped_for_slack(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use terrace_base::digest::Sha256;

    fn entry(what: &str, status: u16) -> AuditEntry {
        AuditEntry {
            number: 17,
            at: UnixTime(1_800_000_000),
            by: "token 0123456789abcdef (<ci> & co)".to_owned(),
            provenance: None,
            from: "192.0.2.1".to_owned(),
            what: what.to_owned(),
            change: None,
            status,
            sent: None,
            previous: Sha256::of(b""),
        }
    }

    fn event_of(entry: &AuditEntry) -> Option<Event> {
        Event::of(entry, &ProviderRepositories::default())
    }

    #[test]
    fn a_successful_change_is_an_event_with_its_owner() {
        let events = "
            release.published acme PUT /admin/v1/providers/acme/widget/1.0.0
            release.published acme PUT /admin/v1/modules/Acme/vpc/aws/1.0.0
            release.published a.b/acme PUT /admin/v1/mirror/a.b/acme/widget/1.0.0
            artifact.pushed team PUT /v2/team/tools/manifests/v1 tags v1, v2
            artifact.pushed registry.opentofu.org/acme PUT /v2/opentofu-providers/acme/widget/manifests/1.0.0
            rule.removed - DELETE /admin/v1/rules/0123456789abcdef
            release.status_changed acme PUT /admin/v1/modules/acme/vpc/aws/status
            key.added acme PUT /admin/v1/namespaces/acme/keys
            key.status_changed acme PUT /admin/v1/namespaces/acme/keys/0123456789ABCDEF
            key.removed acme DELETE /admin/v1/namespaces/acme/keys/0123456789ABCDEF
            release.erased acme POST /admin/v1/erasures erases acme/vpc/aws@1.0.0, archives/x.zip
            token.created - POST /admin/v1/tokens makes /admin/v1/tokens/0123456789abcdef
            token.created - POST /oauth/token makes /admin/v1/tokens/0123456789abcdef
            token.revoked - DELETE /admin/v1/tokens/0123456789abcdef
            token.revoked - DELETE /api/v1/token revokes /admin/v1/tokens/0123456789abcdef
            token.rotated - POST /admin/v1/tokens/0123456789abcdef/rotation makes /admin/v1/tokens/0123456789abcdee
        ";
        for line in events.trim().lines() {
            let [name, owner, what] = line.trim().splitn(3, ' ').collect::<Vec<_>>()[..] else {
                panic!("{line}");
            };
            let event = event_of(&entry(what, 200)).expect(what);
            assert_eq!(event.message.name, name, "{what}");
            let owners: Vec<String> = event.owners.iter().map(ToString::to_string).collect();
            assert_eq!(owners.concat(), owner.trim_matches('-'), "{what}");
            for status in [404, 409, 422, 503] {
                assert_eq!(event_of(&entry(what, status)), None, "{what}");
            }
        }
        for what in [
            "",
            "PUT",
            "GET /admin/v1/providers/acme/widget/1.0.0",
            "PUT /admin/v1/modules/acme/vpc/aws/1.0.0/documentation",
            "DELETE /v2/team/tools/manifests/v1",
            "PUT /admin/v1/facts",
            "POST /admin/v1/tokens",
            "POST /admin/v1/reindex",
        ] {
            assert_eq!(event_of(&entry(what, 200)), None, "{what}");
        }
    }

    #[test]
    fn a_rule_is_added_only_by_a_request_that_creates_it() {
        let what = "POST /admin/v1/rules makes /admin/v1/rules/0123456789abcdef";
        let name = |status: u16| event_of(&entry(what, status)).map(|it| it.message.name);
        assert_eq!(name(201), Some("rule.added"));
        assert_eq!(name(200), None);
    }

    #[test]
    fn an_erasure_of_pushed_content_is_an_event_of_its_repositories() {
        let digest = Sha256::of(b"");
        let what = format!(
            "POST /admin/v1/erasures erases oci/blobs/sha256/{digest}, team/app@sha256:{digest}, \
             a.b/acme/app@sha256:{digest}"
        );
        let event = event_of(&entry(&what, 200)).unwrap();
        let owners: Vec<String> = event.owners.iter().map(ToString::to_string).collect();
        assert_eq!(owners, ["team", "a.b/acme"]);
        let erased = |namespaces: &[&str]| {
            let namespaces: Vec<OwnerPattern> =
                namespaces.iter().map(|it| it.parse().unwrap()).collect();
            let data = event.clone().limited_to(&namespaces).message.data;
            let Subject::Erased { erased } = data.subject else {
                panic!("nothing is erased")
            };
            erased.into_iter().map(|it| it.name).collect::<Vec<_>>()
        };
        assert_eq!(erased(&["team"]), [format!("team/app@sha256:{digest}")]);
        assert_eq!(erased(&[]).len(), 3);
    }

    #[test]
    fn an_event_about_a_status_has_the_change_that_its_entry_records() {
        for (what, sentence) in [
            (
                "PUT /admin/v1/modules/acme/vpc/aws/1.0.0/status",
                "acme/vpc/aws 1.0.0 is now revoked (leaks) by",
            ),
            (
                "PUT /admin/v1/namespaces/acme/keys/0123456789ABCDEF",
                "The signing key 0123456789ABCDEF of acme is now revoked (leaks) by",
            ),
        ] {
            let mut entry = entry(what, 200);
            entry.change = Some(StatusChange {
                from: "withdrawn".to_owned(),
                to: "revoked".to_owned(),
                reason: "leaks".to_owned(),
            });
            let event = event_of(&entry).unwrap();
            let said = event.sentence();
            assert!(said.starts_with(sentence), "{said}");
            let json = event.body(WebhookFormat::Json);
            let change = r#""previous_status":"withdrawn","status":"revoked","reason":"leaks""#;
            assert!(json.contains(change), "{json}");
        }
    }

    #[test]
    fn an_event_about_a_status_that_stays_has_no_previous_one() {
        let mut entry = entry("PUT /admin/v1/mirror/a.b/acme/widget/1.0.0/status", 200);
        entry.change = Some(StatusChange {
            from: "blocked".to_owned(),
            to: "blocked".to_owned(),
            reason: "repaired".to_owned(),
        });
        let event = event_of(&entry).unwrap();
        let said = event.sentence();
        let sentence = "a.b/acme/widget 1.0.0 is still blocked (repaired) by";
        assert!(said.starts_with(sentence), "{said}");
        let json = event.body(WebhookFormat::Json);
        assert!(json.contains(r#""status":"blocked""#), "{json}");
        assert!(!json.contains("previous_status"), "{json}");
    }

    #[test]
    fn an_event_is_json_by_the_specification_or_an_escaped_sentence() {
        let event = event_of(&entry("PUT /admin/v1/providers/acme/widget/1.0.0", 201)).unwrap();
        assert_eq!(
            event.body(WebhookFormat::Json),
            r#"{"type":"release.published","timestamp":"2027-01-15T08:00:00Z","data":{"package":"acme/widget","version":"1.0.0","by":"token 0123456789abcdef (<ci> & co)","entry":17}}"#
        );
        assert_eq!(
            event.body(WebhookFormat::Slack),
            r#"{"text":"acme/widget 1.0.0 was published by token 0123456789abcdef (&lt;ci&gt; &amp; co)"}"#
        );
    }
}
