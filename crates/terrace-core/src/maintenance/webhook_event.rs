//! The events of webhooks: a pure function of the entries of the audit log.

use serde::Serialize;

use super::audit::{AuditEntry, ERASED_SEPARATOR, ERASES};
use crate::api::route::{AdminRoute, OAuthRoute, OciRoute, Route};
use crate::model::oci::Digest;
use crate::model::owner::Owner;
use crate::model::package::Package;
use crate::model::status::{ReleaseState, StatusDocument};
use crate::model::version::Version;
use crate::oci::pushed::{PushedPath, Reference};
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
    /// The package and the version whose status was changed, if the event is about one.
    pub subject: Option<(Package, Option<Version>)>,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    package: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    repository: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    namespace: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    erased: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    by: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    entry: Option<u64>,
}

impl Event {
    /// Returns the event of an audit entry; `None` if it records no success, or a change that is no event.
    pub fn of(entry: &AuditEntry) -> Option<Self> {
        if !(200..300).contains(&entry.status) {
            return None;
        }
        if let Some(id) = entry.revoked() {
            return Some(of_token("token.revoked", &id.to_string()).recorded_by(entry));
        }
        let (method, what) = entry.what.split_once(' ')?;
        let (path, details) = what.split_once(' ').unwrap_or((what, ""));
        let made = details.strip_prefix("makes /admin/v1/tokens/");
        let event = match (method, Route::parse(path).ok()?) {
            ("PUT", Route::Admin(route)) => put(route)?,
            ("DELETE", Route::Admin(AdminRoute::SigningKey(namespace, key))) => {
                of_key("key.removed", namespace.as_str(), Some(key.to_string()))
            }
            ("POST", Route::Admin(AdminRoute::Erasures)) => erasure(&entry.what)?,
            ("POST", Route::Admin(AdminRoute::Tokens) | Route::OAuth(OAuthRoute::Token)) => {
                of_token("token.created", made?)
            }
            ("POST", Route::Admin(AdminRoute::TokenRotation(id))) => {
                of_token("token.rotated", &id.to_string())
            }
            ("PUT", Route::Oci(OciRoute::Pushed(request))) => match request.path {
                PushedPath::Manifest(reference) => {
                    let name = request.repository.to_string();
                    pushed(name, &reference)
                }
                _ => return None,
            },
            _ => return None,
        };
        Some(event.recorded_by(entry))
    }

    /// Returns the event that tests a webhook.
    pub fn test(by: String, at: UnixTime) -> Self {
        let mut event = Self::new(EventKind::Publish, "webhook.test", Data::default());
        event.message.data.by = by;
        event.message.timestamp = at.to_string();
        event
    }

    /// Adds the status that the subject has now, which the audit log does not contain.
    #[must_use]
    pub fn with_status(mut self, document: &StatusDocument) -> Self {
        let Some((_, version)) = &self.subject else {
            return self;
        };
        let status = match version {
            Some(version) => document.shown(version),
            None => document.blocked.as_ref().or(document.package.as_ref()),
        };
        self.message.data.status = Some(match status.map(|status| status.state) {
            None => "active",
            Some(ReleaseState::Deprecated) => "deprecated",
            Some(ReleaseState::Withdrawn) => "withdrawn",
            Some(ReleaseState::Revoked) => "revoked",
            Some(ReleaseState::Blocked) => "blocked",
        });
        self.message.data.reason = status.map(|status| status.reason.to_string());
        self
    }

    /// Returns the body of the request to a receiver.
    pub fn body(&self, format: WebhookFormat) -> String {
        match format {
            WebhookFormat::Json => json::to_string(&self.message),
            WebhookFormat::Slack => {
                let text = escaped_for_slack(&self.sentence());
                json::to_string(&Text { text: &text })
            }
        }
    }

    /// Returns the event as a sentence for people.
    fn sentence(&self) -> String {
        let Message { name, data, .. } = &self.message;
        let text = |value: &Option<String>| value.clone().unwrap_or_default();
        let version = |data: &Data| match &data.version {
            Some(version) => format!(" {version}"),
            None => String::new(),
        };
        let package = format!("{}{}", text(&data.package), version(data));
        let key = format!("key {} of {}", text(&data.key), text(&data.namespace));
        let done = match *name {
            "release.published" => format!("{package} was published"),
            "artifact.pushed" => {
                format!(
                    "{}:{} was pushed",
                    text(&data.repository),
                    text(&data.reference)
                )
            }
            "release.status_changed" => {
                let status = data.status.unwrap_or("changed");
                let reason = data.reason.as_ref().map(|reason| format!(" ({reason})"));
                format!("{package} is now {status}{}", reason.unwrap_or_default())
            }
            "key.added" => format!("A signing key of {} was added", text(&data.namespace)),
            "key.status_changed" => format!("The status of the signing {key} was changed"),
            "key.removed" => format!("The signing {key} was removed"),
            "release.erased" => format!("{} was erased", data.erased.join(", ")),
            "token.created" => format!("Token {} was created", text(&data.token)),
            "token.rotated" => format!("Token {} was rotated", text(&data.token)),
            "token.revoked" => format!("Token {} was revoked", text(&data.token)),
            _ => "This is a test of a webhook".to_owned(),
        };
        format!("{done} by {}", data.by)
    }

    fn new(kind: EventKind, name: &'static str, data: Data) -> Self {
        Self {
            kind,
            owners: Vec::new(),
            subject: None,
            message: Message {
                name,
                timestamp: String::new(),
                data,
            },
        }
    }

    fn recorded_by(mut self, entry: &AuditEntry) -> Self {
        self.message.timestamp = entry.at.to_string();
        self.message.data.by.clone_from(&entry.by);
        self.message.data.entry = Some(entry.number);
        self
    }
}

#[derive(Serialize)]
struct Text<'t> {
    text: &'t str,
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
            let data = data_of(&package, version.as_ref());
            let mut event = Event::new(EventKind::Status, "release.status_changed", data);
            event.owners = vec![Owner::of(&package)];
            event.subject = Some((package, version));
            event
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
    let data = data_of(package, Some(version));
    let mut event = Event::new(EventKind::Publish, "release.published", data);
    event.owners = vec![Owner::of(package)];
    event
}

fn data_of(package: &Package, version: Option<&Version>) -> Data {
    Data {
        package: Some(package.address()),
        version: version.map(ToString::to_string),
        ..Data::default()
    }
}

fn pushed(repository: String, reference: &Reference) -> Event {
    let owner = Owner::of_repository(&repository);
    let data = Data {
        repository: Some(repository),
        reference: Some(match reference {
            Reference::Tag(tag) => tag.as_str().to_owned(),
            Reference::Digest(digest) => digest.to_string(),
        }),
        ..Data::default()
    };
    let mut event = Event::new(EventKind::Publish, "artifact.pushed", data);
    event.owners = vec![owner];
    event
}

fn of_key(name: &'static str, namespace: &str, key: Option<String>) -> Event {
    let data = Data {
        namespace: Some(namespace.to_owned()),
        key,
        ..Data::default()
    };
    let mut event = Event::new(EventKind::Key, name, data);
    event.owners = vec![Owner::of_namespace(namespace)];
    event
}

fn of_token(name: &'static str, id: &str) -> Event {
    let data = Data {
        token: Some(id.to_owned()),
        ..Data::default()
    };
    Event::new(EventKind::Token, name, data)
}

fn erasure(what: &str) -> Option<Event> {
    let (_, names) = what.split_once(ERASES)?;
    let names: Vec<String> = names.split(ERASED_SEPARATOR).map(str::to_owned).collect();
    let owner = |name: &String| match FactKey::parse_release(name) {
        Some(FactKey::Release(package, _)) => Some(Owner::of(&package)),
        _ => {
            let (repository, digest) = name.split_once('@')?;
            Digest::parse(digest).ok()?;
            Some(Owner::of_repository(repository))
        }
    };
    let owners = names.iter().filter_map(owner).collect();
    let data = Data {
        erased: names,
        ..Data::default()
    };
    let mut event = Event::new(EventKind::Erase, "release.erased", data);
    event.owners = owners;
    Some(event)
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
            status,
            sent: None,
            previous: Sha256::of(b""),
        }
    }

    #[test]
    fn a_successful_change_is_an_event_with_its_owner() {
        for (what, name, owner) in [
            (
                "PUT /admin/v1/providers/acme/widget/1.0.0",
                "release.published",
                "acme",
            ),
            (
                "PUT /admin/v1/modules/Acme/vpc/aws/1.0.0",
                "release.published",
                "acme",
            ),
            (
                "PUT /admin/v1/mirror/a.b/acme/widget/1.0.0",
                "release.published",
                "a.b/acme",
            ),
            (
                "PUT /v2/team/tools/manifests/v1 tags v1, v2",
                "artifact.pushed",
                "team",
            ),
            (
                "PUT /admin/v1/modules/acme/vpc/aws/standing",
                "release.status_changed",
                "acme",
            ),
            ("PUT /admin/v1/namespaces/acme/keys", "key.added", "acme"),
            (
                "PUT /admin/v1/namespaces/acme/keys/0123456789ABCDEF",
                "key.status_changed",
                "acme",
            ),
            (
                "DELETE /admin/v1/namespaces/acme/keys/0123456789ABCDEF",
                "key.removed",
                "acme",
            ),
            (
                "POST /admin/v1/erasures erases acme/vpc/aws@1.0.0, archives/x.zip",
                "release.erased",
                "acme",
            ),
            (
                "POST /admin/v1/tokens makes /admin/v1/tokens/0123456789abcdef",
                "token.created",
                "",
            ),
            (
                "POST /oauth/token makes /admin/v1/tokens/0123456789abcdef",
                "token.created",
                "",
            ),
            (
                "DELETE /admin/v1/tokens/0123456789abcdef",
                "token.revoked",
                "",
            ),
            (
                "DELETE /api/v1/token revokes /admin/v1/tokens/0123456789abcdef",
                "token.revoked",
                "",
            ),
            (
                "POST /admin/v1/tokens/0123456789abcdef/rotation makes /admin/v1/tokens/0123456789abcdee",
                "token.rotated",
                "",
            ),
        ] {
            let event = Event::of(&entry(what, 200)).expect(what);
            assert_eq!(event.message.name, name, "{what}");
            let owners: Vec<String> = event.owners.iter().map(ToString::to_string).collect();
            assert_eq!(owners.concat(), owner, "{what}");
            for status in [404, 409, 422, 503] {
                assert_eq!(Event::of(&entry(what, status)), None, "{what}");
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
            assert_eq!(Event::of(&entry(what, 200)), None, "{what}");
        }
    }

    #[test]
    fn an_erasure_of_pushed_content_is_an_event_of_its_repositories() {
        let digest = Sha256::of(b"");
        let what = format!(
            "POST /admin/v1/erasures erases oci/blobs/sha256/{digest}, team/app@sha256:{digest}, \
             a.b/acme/app@sha256:{digest}"
        );
        let event = Event::of(&entry(&what, 200)).unwrap();
        let owners: Vec<String> = event.owners.iter().map(ToString::to_string).collect();
        assert_eq!(owners, ["team", "a.b/acme"]);
    }

    #[test]
    fn an_event_is_json_by_the_specification_or_an_escaped_sentence() {
        let event = Event::of(&entry("PUT /admin/v1/providers/acme/widget/1.0.0", 201)).unwrap();
        assert_eq!(
            event.body(WebhookFormat::Json),
            r#"{"type":"release.published","timestamp":"2027-01-15T08:00:00Z","data":{"package":"acme/widget","version":"1.0.0","by":"token 0123456789abcdef (<ci> & co)","entry":17}}"#
        );
        assert_eq!(
            event.body(WebhookFormat::Slack),
            r#"{"text":"acme/widget 1.0.0 was published by token 0123456789abcdef (&lt;ci&gt; &amp; co)"}"#
        );
    }

    #[test]
    fn an_event_about_a_status_names_the_present_one() {
        let what = "PUT /admin/v1/modules/acme/vpc/aws/1.0.0/standing";
        let event = Event::of(&entry(what, 200)).unwrap();
        let active = event.clone().with_status(&StatusDocument::default());
        let sentence = active.sentence();
        assert!(
            sentence.starts_with("acme/vpc/aws 1.0.0 is now active by"),
            "{sentence}"
        );
        let document =
            r#"{"versions":{"1.0.0":{"state":"revoked","reason":"leaks","at":1,"by":"root"}}}"#;
        let document: StatusDocument = serde_json::from_str(document).unwrap();
        let revoked = event.with_status(&document);
        let sentence = revoked.sentence();
        assert!(sentence.contains("is now revoked (leaks)"), "{sentence}");
        let json = revoked.body(WebhookFormat::Json);
        assert!(
            json.contains(r#""status":"revoked","reason":"leaks""#),
            "{json}"
        );
    }
}
