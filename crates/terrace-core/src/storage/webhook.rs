//! The documents of webhooks: the list of all hooks, and the state of each.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::http::guard::{Guard, is_loopback};
use crate::limits;
use crate::model::owner::{Owner, OwnerPattern};
use crate::model::webhook_id::WebhookId;
use crate::model::webhook_name::WebhookName;
use terrace_base::time::UnixTime;
use terrace_base::url::{HttpsUrl, authority, split_port};

/// Number of characters of an unknown event or format that a message shows.
const QUOTED_EVENT_CHARS: usize = 40;

/// The pause after the first failed delivery, in seconds. It doubles with each further one.
const WEBHOOK_FIRST_PAUSE_SECONDS: u32 = 30;

/// The number of times the pause doubles at most: enough for [`WEBHOOK_PAUSE_SECONDS`].
const WEBHOOK_DOUBLINGS: u32 = 7;

/// The longest pause between two attempts, in seconds.
const WEBHOOK_PAUSE_SECONDS: u32 = 3600;

/// All webhooks of the registry. One document, so that a change without webhooks costs one read.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct WebhookList {
    /// The webhooks, in the order of their creation.
    pub webhooks: Vec<Webhook>,
}

/// A webhook as configured. It never changes.
#[derive(Clone, Serialize, Deserialize)]
pub struct Webhook {
    /// The ID, from which the secret is derived.
    pub id: WebhookId,
    /// The name, which tells webhooks with the same receiver apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<WebhookName>,
    /// The URL of the receiver, which may itself be a secret.
    url: HttpsUrl,
    /// Whether the receiver is a program on the machine of a registry that runs locally. A receiver of any other registry is
    /// on the internet.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_local: bool,
    /// The kinds of events to deliver.
    pub events: Vec<EventKind>,
    /// The owners whose events are delivered; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub namespaces: Vec<String>,
    /// The format of the deliveries.
    pub format: WebhookFormat,
    /// The time of its creation.
    pub created: UnixTime,
    /// The name of the caller who created it.
    pub by: String,
    /// The number of the newest audit entry at its creation: only later ones are delivered.
    pub from: u64,
}

/// The kind of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A release was published, or an artifact pushed.
    Publish,
    /// The status of a package or version was changed.
    Status,
    /// A signing key was added, removed, or its status changed.
    Key,
    /// Versions or archives were erased.
    Erase,
    /// An API token was created, rotated or revoked.
    Token,
    /// A rule that is stored in the registry was added or removed.
    Rule,
}

/// The format of the deliveries of a webhook.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WebhookFormat {
    /// The event as a JSON object, as the Standard Webhooks specification recommends.
    #[default]
    Json,
    /// `{"text":"…"}`, as Slack and compatible receivers expect.
    Slack,
}

/// The progress of the deliveries of a webhook.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WebhookState {
    /// The number of the last audit entry that was delivered or skipped.
    pub delivered: u64,
    /// The number of attempts that failed since the last success.
    #[serde(default)]
    pub failures: u32,
    /// The time of the first of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing_since: Option<UnixTime>,
    /// The time before which no attempt is made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_attempt: Option<UnixTime>,
    /// The result of the last attempt: an HTTP status, or the reason why there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_result: Option<String>,
    /// The time since which nothing is delivered any more, after too many failures.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<UnixTime>,
    /// The end of the lease of a deliverer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_until: Option<UnixTime>,
}

impl Webhook {
    /// Creates a webhook that begins after the audit entry `from`.
    #[expect(clippy::too_many_arguments, reason = "these are all its properties")]
    pub fn new(
        id: WebhookId,
        url: HttpsUrl,
        events: Vec<EventKind>,
        namespaces: &[OwnerPattern],
        format: WebhookFormat,
        created: UnixTime,
        by: String,
        from: u64,
    ) -> Self {
        Self {
            id,
            name: None,
            url,
            is_local: false,
            events,
            namespaces: namespaces.iter().map(ToString::to_string).collect(),
            format,
            created,
            by,
            from,
        }
    }

    /// Returns the webhook with a name.
    #[must_use]
    pub fn named(self, name: Option<WebhookName>) -> Self {
        Self { name, ..self }
    }

    /// Returns the webhook of a registry that a client reaches at this origin. Only one on this machine may send to programs
    /// on this machine.
    #[must_use]
    pub fn of_registry(self, origin: &str) -> Self {
        let (host, _) = split_port(authority(origin));
        let is_local = is_loopback(host) && is_loopback(self.url.as_url().host());
        Self { is_local, ..self }
    }

    /// Returns the guard of requests to the receiver.
    pub fn guard(&self) -> Guard {
        let url = self.url.as_url();
        match self.is_local {
            true => Guard::public().naming(url.host(), url.port_or_default()),
            false => Guard::public(),
        }
    }

    /// Returns whether another webhook would send the same events to the same receiver, as far as its namespaces and its name
    /// tell.
    pub fn is_like(&self, other: &Self) -> bool {
        let sorted = |it: &Self| it.namespaces.iter().cloned().collect::<BTreeSet<_>>();
        self.url.as_str() == other.url.as_str()
            && self.name == other.name
            && sorted(self) == sorted(other)
    }

    /// Returns whether the same request creates both.
    pub fn is_of_same_request(&self, other: &Self) -> bool {
        self.is_like(other)
            && self.events == other.events
            && self.format == other.format
            && self.by == other.by
    }

    /// Returns the owners whose events are delivered; empty for all.
    pub fn owners(&self) -> Vec<OwnerPattern> {
        let patterns = self.namespaces.iter().filter_map(|it| it.parse().ok());
        patterns.collect()
    }

    /// Returns the URL, only to send a request to it.
    pub fn url(&self) -> &HttpsUrl {
        &self.url
    }

    /// Returns the host of the receiver, which is all that is shown of the URL.
    pub fn host(&self) -> String {
        self.url.as_url().host_header()
    }

    /// Returns whether an event of this kind about these owners is delivered. A webhook for namespaces is not sent events
    /// about none.
    pub fn wants(&self, kind: EventKind, owners: &[Owner]) -> bool {
        let patterns = self.owners();
        let is_of = |owner: &Owner| patterns.iter().any(|pattern| pattern.includes(owner));
        self.events.contains(&kind) && (self.namespaces.is_empty() || owners.iter().any(is_of))
    }
}

impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Webhook({} to {})", self.id, self.host())
    }
}

impl EventKind {
    /// All kinds, with their names.
    pub const ALL: [(&str, Self); 6] = [
        ("publish", Self::Publish),
        ("status", Self::Status),
        ("key", Self::Key),
        ("erase", Self::Erase),
        ("token", Self::Token),
        ("rule", Self::Rule),
    ];

    /// Returns whether events of this kind are about packages or keys of a namespace. A webhook for namespaces is sent no others.
    pub fn has_namespace(self) -> bool {
        match self {
            Self::Publish | Self::Status | Self::Key | Self::Erase => true,
            Self::Token | Self::Rule => false,
        }
    }

    /// The kinds that a webhook is sent unless it names others.
    pub const DEFAULT: [Self; 3] = [Self::Publish, Self::Status, Self::Key];
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(_, kind)| kind == self);
        f.write_str(name.map_or("", |(name, _)| name))
    }
}

/// The error for a text that is not the kind of an event.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none of the events publish, status, key, erase, token and rule")]
pub struct EventKindError(String);

impl FromStr for EventKind {
    type Err = EventKindError;

    fn from_str(text: &str) -> Result<Self, EventKindError> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        found
            .map(|(_, kind)| *kind)
            .ok_or_else(|| EventKindError(text.chars().take(QUOTED_EVENT_CHARS).collect()))
    }
}

/// The error for a text that is not the format of a webhook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is none of the formats json and slack")]
pub struct WebhookFormatError(String);

impl FromStr for WebhookFormat {
    type Err = WebhookFormatError;

    fn from_str(text: &str) -> Result<Self, WebhookFormatError> {
        match text {
            "json" => Ok(Self::Json),
            "slack" => Ok(Self::Slack),
            _ => Err(WebhookFormatError(
                text.chars().take(QUOTED_EVENT_CHARS).collect(),
            )),
        }
    }
}

impl WebhookState {
    /// Returns the state of a webhook before its first delivery.
    pub fn of(webhook: &Webhook) -> Self {
        Self {
            delivered: webhook.from,
            ..Self::default()
        }
    }

    /// Returns whether a delivery may be attempted at this time.
    pub fn is_due(&self, now: UnixTime) -> bool {
        let waits = [self.next_attempt, self.busy_until];
        self.disabled.is_none() && waits.into_iter().flatten().all(|until| until <= now)
    }

    /// Records a success.
    pub fn succeed(&mut self, result: String) {
        self.last_result = Some(result);
        self.failures = 0;
        self.failing_since = None;
        self.next_attempt = None;
        self.disabled = None;
    }

    /// Records a failure at this time, and returns whether the webhook is disabled because of it. The next attempt is made
    /// after a pause that doubles up to an hour.
    pub fn fail(&mut self, result: String, is_final: bool, now: UnixTime) -> bool {
        self.last_result = Some(result);
        let doublings = self.failures.min(WEBHOOK_DOUBLINGS);
        let pause = WEBHOOK_FIRST_PAUSE_SECONDS << doublings;
        self.failures = self.failures.saturating_add(1);
        let since = *self.failing_since.get_or_insert(now);
        self.next_attempt = Some(now.plus(pause.min(WEBHOOK_PAUSE_SECONDS)));
        if is_final || now.since(since) >= limits::WEBHOOK_FAILING_SECONDS {
            self.disabled = Some(now);
        }
        self.disabled.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pinned::assert_pinned;

    const NOW: UnixTime = UnixTime(1_800_000_000);

    fn webhook(namespaces: &[&str]) -> Webhook {
        let namespaces: Vec<OwnerPattern> =
            namespaces.iter().map(|it| it.parse().unwrap()).collect();
        Webhook::new(
            "0123456789abcdef".parse().unwrap(),
            "https://hooks.example.com/s3cret".parse().unwrap(),
            vec![EventKind::Publish, EventKind::Token],
            &namespaces,
            WebhookFormat::Slack,
            NOW,
            "root".to_owned(),
            7,
        )
    }

    #[test]
    fn the_documents_are_pinned() {
        let list = WebhookList {
            webhooks: vec![webhook(&["acme"])],
        };
        assert_pinned(
            &serde_json::to_string(&list).unwrap(),
            r#"{"webhooks":[{"id":"0123456789abcdef","url":"https://hooks.example.com/s3cret","events":["publish","token"],"namespaces":["acme"],"format":"slack","created":1800000000,"by":"root","from":7}]}"#,
        );
        let named = webhook(&[]).named(Some("alerts".parse().unwrap()));
        assert_pinned(
            &serde_json::to_string(&named).unwrap(),
            r#"{"id":"0123456789abcdef","name":"alerts","url":"https://hooks.example.com/s3cret","events":["publish","token"],"format":"slack","created":1800000000,"by":"root","from":7}"#,
        );
        let mut state = WebhookState::of(&webhook(&[]));
        state.fail("500".to_owned(), true, NOW);
        state.busy_until = Some(NOW);
        assert_pinned(
            &serde_json::to_string(&state).unwrap(),
            r#"{"delivered":7,"failures":1,"failing_since":1800000000,"next_attempt":1800000030,"last_result":"500","disabled":1800000000,"busy_until":1800000000}"#,
        );
    }

    #[test]
    fn a_webhook_wants_its_kinds_of_events_about_its_namespaces() {
        let acme = [Owner::of_namespace("acme")];
        let globex = [Owner::of_namespace("globex")];
        for (namespaces, kind, owners, is_wanted) in [
            (&[][..], EventKind::Publish, &acme[..], true),
            (&[], EventKind::Status, &acme, false),
            (&[], EventKind::Token, &[], true),
            (&["acme"], EventKind::Publish, &acme, true),
            (&["acme"], EventKind::Publish, &globex, false),
            (&["acme"], EventKind::Token, &[], false),
        ] {
            assert_eq!(webhook(namespaces).wants(kind, owners), is_wanted);
        }
    }

    #[test]
    fn only_a_local_registry_sends_to_its_own_machine() {
        let of = |registry: &str, receiver: &str| {
            let url: HttpsUrl = receiver.parse().unwrap();
            let webhook = Webhook {
                url: url.clone(),
                ..webhook(&[])
            };
            let guard = webhook.of_registry(registry).guard();
            guard.check(url.as_url().into()).is_ok()
        };
        let here = "https://127.0.0.1:9443/hook";
        assert!(of("http://127.0.0.1:8787", here));
        assert!(of("http://localhost:8787", "https://localhost:9443/hook"));
        assert!(!of("https://registry.example.com", here));
        assert!(!of("https://localhost.example.com", here));
        assert!(!of("http://127.0.0.1:8787", "https://10.0.0.1/hook"));
        assert!(of(
            "https://registry.example.com",
            "https://hooks.example.com"
        ));
    }

    #[test]
    fn webhooks_are_alike_by_their_receiver_their_namespaces_and_their_name() {
        let named = |name: &str| webhook(&["acme"]).named(Some(name.parse().unwrap()));
        assert!(webhook(&["acme", "globex"]).is_like(&webhook(&["globex", "acme"])));
        assert!(named("a").is_like(&named("a")));
        assert!(!named("a").is_like(&named("b")));
        assert!(!webhook(&["acme"]).is_like(&webhook(&[])));
        let elsewhere = Webhook {
            url: "https://hooks.example.com/other".parse().unwrap(),
            ..webhook(&["acme"])
        };
        assert!(!webhook(&["acme"]).is_like(&elsewhere));
    }

    #[test]
    fn nothing_shows_more_of_the_url_than_its_host() {
        let shown = format!("{:?}", webhook(&[]));
        assert!(
            shown.contains("hooks.example.com") && !shown.contains("s3cret"),
            "{shown}"
        );
    }

    #[test]
    fn pauses_double_up_to_an_hour_and_failures_for_days_disable() {
        let mut state = WebhookState::default();
        let mut now = NOW;
        let mut pauses = Vec::new();
        while !state.fail("500".to_owned(), false, now) {
            let next = state.next_attempt.unwrap();
            assert!(!state.is_due(now) && state.is_due(next));
            pauses.push(next.since(now));
            now = next;
        }
        assert_eq!(pauses[..8], [30, 60, 120, 240, 480, 960, 1_920, 3_600]);
        assert!(pauses.iter().all(|pause| *pause <= 3_600));
        assert!(now.since(NOW) >= 5 * 24 * 3_600 && now.since(NOW) < 5 * 24 * 3_600 + 3_600);
        assert!(!state.is_due(now.plus(1_000_000)));
        state.succeed("204".to_owned());
        assert!(state.is_due(now));
        assert!(state.fail("410".to_owned(), true, now), "410 is final");
    }
}
