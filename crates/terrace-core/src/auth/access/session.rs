//! The session of a signed-in browser: a self-contained cookie, which is stored nowhere.
//!
//! ```text
//! __Host-terrace=terrace_browser_{fields}.{mac}
//!
//! fields   base64url of lines: the expiry, as seconds since 1970; the scopes, only for reading; the display name
//!          and the account of the person; `admin` and `publisher` if the person is one; the ID of the token that was
//!          entered in place of a sign-in
//! mac      as in a sealed text, with a key of its own that is derived from the admin token
//! ```
//!
//! A session is a token of its own kind. No client can use one: [`Access::caller`](super::Access::caller) rejects it,
//! because it is neither in the form of an API token nor signed with the key of one. It ends when it expires, when the
//! browser signs out, when the token that was entered is revoked, or when the admin token that it is derived from is no longer
//! configured.

use super::{Scope, Scopes, SealKeys, Sealable, Token, TokenName};
use crate::http::cookie::cookie;
use crate::model::token_id::TokenId;
use terrace_base::secret::Secret;
use terrace_base::time::UnixTime;

/// Maximum lifetime of the session of a browser, in seconds: half a day. That of a sign-in cannot be revoked, and a working
/// day passes with one or two.
const SESSION_SECONDS: u32 = 43_200;

/// Maximum length of the session of a browser. Browsers accept cookies of 4,096 bytes with their names (RFC 6265bis,
/// section 5.6).
const SESSION_BYTES: usize = 4_080;

/// The prefix of every session. It begins with that of a token, for scanners that look for leaked ones. No token begins
/// with it, because it is not the ID of one.
pub const SESSION_PREFIX: &str = "terrace_browser_";

/// The name of the cookie. Its prefix prevents other hosts from setting it, and requires `Secure`
/// (<https://developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Set-Cookie>).
const COOKIE: &str = "__Host-terrace";

/// The attributes of the cookie. Lax: the browser sends it when a link of another site, or the redirect from the
/// provider, leads to a page, but with no request that such a site makes by itself.
const ATTRIBUTES: &str = "Path=/; Secure; HttpOnly; SameSite=Lax";

/// The session of a person's browser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// The display name of the person.
    pub name: TokenName,
    /// The unique account of the person.
    pub account: TokenName,
    /// All of them are for reading.
    scopes: Scopes,
    /// Whether the person may do everything with a token. It allows nothing: pages show such a person the problems of the
    /// configuration.
    pub is_of_admin: bool,
    /// Whether the person may publish with a token. It allows nothing: lists for such a person have what was published a
    /// moment ago.
    pub is_of_publisher: bool,
    /// The ID of the token that the person entered, whose revocation ends the session; `None` after a sign-in.
    pub token: Option<TokenId>,
}

/// The line of an administrator's session. Versions that do not know a line ignore it.
const OF_ADMIN: &str = "admin";

/// The line of the session of a person who may publish.
const OF_PUBLISHER: &str = "publisher";

/// The keys that issue sessions and verify them.
#[derive(Debug, Clone)]
pub struct SessionKeys(SealKeys);

impl Session {
    /// Creates the session of a person with these scopes, of which it has those for reading.
    pub fn new(name: TokenName, account: TokenName, scopes: &Scopes) -> Self {
        Self {
            name,
            account,
            scopes: scopes.to_read(),
            is_of_admin: scopes.allow_all(),
            is_of_publisher: scopes.allow_publishing_any(),
            token: None,
        }
    }

    /// Creates the session of a person who has entered a token: it reads what the token reads.
    pub fn of_token(token: &Token) -> Self {
        let id = token.id.to_string();
        let account = id.parse().unwrap_or_else(|_| token.name.clone());
        Self {
            is_of_admin: false,
            token: Some(token.id),
            ..Self::new(token.name.clone(), account, &token.scopes)
        }
    }

    /// Creates the session of a person who has entered the admin token: it reads everything.
    pub fn of_root() -> Option<Self> {
        let scopes = Scopes::new(vec![Scope::Admin]).ok()?;
        let name: TokenName = "root".parse().ok()?;
        Some(Self {
            is_of_admin: false,
            ..Self::new(name.clone(), name, &scopes)
        })
    }

    /// The scopes, all of them for reading.
    pub fn scopes(&self) -> &Scopes {
        &self.scopes
    }

    /// Returns whether these cookies include a session, valid or not.
    pub fn is_in(cookies: &str) -> bool {
        cookie(cookies, COOKIE).is_some()
    }

    /// Returns the `Set-Cookie` value that ends the session of a browser.
    pub fn end() -> String {
        format!("{COOKIE}=; Max-Age=0; {ATTRIBUTES}")
    }
}

impl SessionKeys {
    /// Derives the keys from these admin tokens. The previous one only verifies.
    pub fn new(newest: &Secret, previous: Option<&Secret>) -> Self {
        Self(SealKeys::labelled(
            "terrace browser session 1",
            newest,
            previous,
        ))
    }

    /// Returns the `Set-Cookie` value that begins a session of so many seconds, or of `SESSION_SECONDS` if
    /// that is less.
    ///
    /// # Errors
    /// If browsers would not accept the cookie.
    pub fn begin(&self, session: &Session, now: UnixTime, seconds: u64) -> Result<String, String> {
        let limit = SESSION_SECONDS;
        let seconds = u32::try_from(seconds).map_or(limit, |seconds| seconds.min(limit));
        let sealed = self.0.seal(session, now.plus(seconds));
        let text = format!("{SESSION_PREFIX}{sealed}");
        if text.len() > SESSION_BYTES {
            return Err(format!(
                "the scopes do not fit into a cookie of {SESSION_BYTES} bytes"
            ));
        }
        Ok(format!("{COOKIE}={text}; Max-Age={seconds}; {ATTRIBUTES}"))
    }

    /// Returns the session in these cookies; `None` if there is none, or it is not valid.
    pub fn of_cookies(&self, cookies: &str, now: UnixTime) -> Option<Session> {
        let text = cookie(cookies, COOKIE).filter(|text| text.len() <= SESSION_BYTES)?;
        let opened = self.0.open(text.strip_prefix(SESSION_PREFIX)?, now);
        opened.ok().map(|(session, _)| session)
    }
}

impl Sealable for Session {
    const PURPOSE: &'static str = "browser session";

    fn lines(&self) -> Vec<String> {
        let Self {
            name,
            account,
            scopes,
            is_of_admin,
            is_of_publisher,
            token,
        } = self;
        let mut lines = vec![scopes.to_string(), name.to_string(), account.to_string()];
        let marks = [(*is_of_admin, OF_ADMIN), (*is_of_publisher, OF_PUBLISHER)];
        let marks = marks.into_iter().filter(|(is_set, _)| *is_set);
        lines.extend(marks.map(|(_, mark)| mark.to_owned()));
        lines.extend(token.map(|id| id.to_string()));
        lines
    }

    fn parse<'l>(mut lines: impl Iterator<Item = &'l str>) -> Option<Self> {
        let scopes: Scopes = lines.next()?.parse().ok()?;
        let name = lines.next()?.parse().ok()?;
        let account = lines.next()?.parse().ok()?;
        let mut session = Self::new(name, account, &scopes);
        for line in lines {
            match line {
                OF_ADMIN => session.is_of_admin = true,
                OF_PUBLISHER => session.is_of_publisher = true,
                line => session.token = session.token.or(line.parse().ok()),
            }
        }
        Some(session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::access::token::tests::token_with;
    use crate::auth::access::{Access, Caller, CredentialsError, Owner, ReadPolicy, TokenKeys};
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;

    const NOW: UnixTime = UnixTime(1_800_000_000);
    const HOUR: u64 = 3_600;
    const ADMIN: &str = "0123456789abcdef";

    fn keys() -> SessionKeys {
        SessionKeys::new(&Secret::new(ADMIN), None)
    }

    fn session(scopes: &str) -> Session {
        let scopes: Scopes = scopes.parse().unwrap();
        let (name, account) = ("ann@acme.example", "248289761001");
        Session::new(name.parse().unwrap(), account.parse().unwrap(), &scopes)
    }

    /// Returns the cookie that a browser sends back.
    fn sent(scopes: &str) -> String {
        let cookie = keys().begin(&session(scopes), NOW, HOUR).unwrap();
        cookie.split(';').next().unwrap().to_owned()
    }

    fn value(cookie: &str) -> &str {
        cookie.split_once('=').unwrap().1
    }

    #[test]
    fn a_session_is_valid_until_it_expires() {
        let cookie = keys().begin(&session("read"), NOW, HOUR).unwrap();
        assert_eq!(
            cookie,
            "__Host-terrace=terrace_browser_MTgwMDAwMzYwMApyZWFkCmFubkBhY21lLmV4YW1wbGUKMjQ4Mjg5NzYxMDAx.\
             VPXypeQQHduzH7O323oxEQXU2QXaWsS8ZD3Aj-gB8FU; Max-Age=3600; Path=/; Secure; HttpOnly; SameSite=Lax"
        );
        let sent = sent("read");
        for cookies in [sent.clone(), format!("a=b; {sent}; c=d")] {
            assert_eq!(
                keys().of_cookies(&cookies, NOW.plus(3_600)),
                Some(session("read"))
            );
            assert_eq!(keys().of_cookies(&cookies, NOW.plus(3_601)), None);
            assert!(Session::is_in(&cookies));
        }
        assert!(!Session::is_in("__Host-terrace-sign-in=x"));
    }

    #[test]
    fn a_session_lasts_at_most_half_a_day() {
        for seconds in [43_200, 43_201, 7_776_000, u64::MAX] {
            let cookie = keys().begin(&session("read"), NOW, seconds).unwrap();
            assert!(cookie.contains("; Max-Age=43200;"), "{cookie}");
            let sent = cookie.split(';').next().unwrap();
            assert!(keys().of_cookies(sent, NOW.plus(43_200)).is_some());
            assert!(keys().of_cookies(sent, NOW.plus(43_201)).is_none());
        }
    }

    #[test]
    fn a_session_knows_whether_its_person_is_an_administrator_and_allows_no_more_then() {
        for (scopes, is_of_admin) in [("admin", true), ("read", false), ("admin:acme", false)] {
            let found = keys().of_cookies(&sent(scopes), NOW).unwrap();
            assert_eq!(found, session(scopes));
            assert_eq!(found.is_of_admin, is_of_admin, "{scopes}");
            let caller = Caller::Browser(Box::new(found));
            assert_eq!(caller.is_admin_in_browser(), is_of_admin, "{scopes}");
            assert!(!caller.is_admin());
        }
    }

    #[test]
    fn the_session_of_the_admin_token_is_that_of_a_publisher_and_only_reads() {
        let begun = keys().begin(&Session::of_root().unwrap(), NOW, HOUR);
        let found = keys().of_cookies(&begun.unwrap(), NOW).unwrap();
        assert_eq!(found.scopes().to_string(), "read");
        let caller = Caller::Browser(Box::new(found));
        assert!(caller.may_publish_any());
        assert!(!caller.may_publish(&Owner::of_namespace("acme")));
        assert!(!caller.is_admin() && !caller.is_admin_in_browser());
    }

    #[test]
    fn a_session_that_browsers_would_not_accept_is_refused() {
        let owner = |number: usize| format!("read:{}{number}.example.com/acme", "a".repeat(40));
        let scopes = |count: usize| (0..count).map(owner).collect::<Vec<_>>().join(" ");
        let longest = keys().begin(&session(&scopes(20)), NOW, HOUR).unwrap();
        let sent = longest.split(';').next().unwrap();
        assert!(keys().of_cookies(sent, NOW).is_some());
        let owner = |number: usize| format!("read:{}{number}.example.com/acme", "a.".repeat(99));
        let scopes = (0..20).map(owner).collect::<Vec<_>>().join(" ");
        let refused = keys().begin(&session(&scopes), NOW, HOUR);
        assert!(refused.unwrap_err().contains("4080 bytes"));
    }

    #[test]
    fn no_client_can_use_a_session_as_a_token() {
        let access = Access::new(Some(Secret::new(ADMIN)), None, ReadPolicy::default());
        let sent = sent("admin");
        let text = value(&sent);
        let basic = STANDARD.encode(format!("me:{text}"));
        for header in [format!("Bearer {text}"), format!("Basic {basic}")] {
            let caller = access.caller(Some(&header), || NOW);
            assert_eq!(caller, Err(CredentialsError::Session));
        }
        // Versions that know no sessions read it as a mistyped token.
        let keys = TokenKeys::new(&Secret::new(ADMIN), None);
        assert!(keys.read(text, || NOW).is_err());
    }

    #[test]
    fn no_other_text_of_this_registry_is_a_session() {
        let seals = SealKeys::new(&Secret::new(ADMIN), None);
        let token = TokenKeys::new(&Secret::new(ADMIN), None).write(&token_with("admin"));
        // A text sealed for the same purpose, but with the key of sign-ins.
        let sealed = seals.seal(&session("read"), NOW.plus(60));
        for text in [
            token.clone(),
            sealed.clone(),
            format!("{SESSION_PREFIX}{sealed}"),
            format!("{SESSION_PREFIX}{token}"),
            ADMIN.to_owned(),
            String::new(),
        ] {
            let cookies = format!("{COOKIE}={text}");
            assert_eq!(keys().of_cookies(&cookies, NOW), None, "{text}");
        }
        let sent = sent("read");
        let text = value(&sent).strip_prefix(SESSION_PREFIX).unwrap();
        assert!(seals.open::<Session>(text, NOW).is_err());
    }

    proptest! {
        #[test]
        fn a_session_never_covers_more_than_its_person(
            scopes in prop::collection::vec(
                prop::sample::select(vec!["admin", "read", "read:acme", "publish:acme", "publish:globex", "admin:acme"]), 1..5
            ),
            owner in prop::sample::select(vec!["acme", "globex", "other"]),
        ) {
            let scopes: Scopes = scopes.join(" ").parse().unwrap();
            let session = session(&scopes.to_string());
            let owner = Owner::of_namespace(owner);
            prop_assert_eq!(session.scopes().allow_reading(&owner), scopes.allow_reading(&owner));
            prop_assert!(!session.scopes().allow_all());
            prop_assert!(!session.scopes().allow_publishing(&owner));
            prop_assert!(!session.scopes().allow_administering_any());
        }
    }
}
