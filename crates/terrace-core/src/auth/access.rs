//! Access control: callers, their rights, and the packages that they may read.
//!
//! A request identifies its caller by a token, or is anonymous. Public packages need no credentials. A
//! private package is visible to callers with a token that covers its [`Owner`]; for all others it appears
//! not to exist.

mod client_token;
mod document;
mod keys;
mod revocation;
mod scope;
mod seal;
mod session;
mod throttle;
mod token;
mod webhook;

pub use crate::model::owner::{Owner, OwnerPattern};
pub use client_token::{CLIENT_TOKEN_PREFIX, ClientToken, ClientTokenKeys, Resource};
pub use document::{SIGN_IN, TokenDocument};
pub use revocation::{RevocationDocument, Revocations};
pub use scope::{Scope, Scopes};
pub use seal::{SealError, SealKeys, Sealable};
pub use session::{SESSION_PREFIX, Session, SessionKeys};
pub use throttle::{Throttle, network};
pub use token::{IssuedUnder, KeyMark, TOKEN_PREFIX, Token, TokenKeys, TokenName};
pub use webhook::WebhookKeys;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::http::problem::Problem;
use crate::model::provenance::Provenance;
use crate::model::token_id::TokenId;
use terrace_base::secret::Secret;
use terrace_base::time::UnixTime;

/// The access rules of a deployment.
#[derive(Debug, Clone)]
pub struct Access {
    roots: Option<Roots>,
    read_policy: ReadPolicy,
}

#[derive(Debug, Clone)]
struct Roots {
    newest: Secret,
    previous: Option<Secret>,
    keys: TokenKeys,
}

/// The rules for reads without a token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReadPolicy {
    /// Whether reads require a token, with the exceptions below.
    pub is_private: bool,
    /// Owners to which the opposite of `is_private` applies.
    pub exceptions: Vec<OwnerPattern>,
}

/// The sender of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Caller {
    /// A caller without a token.
    Anonymous,
    /// A caller with an admin token.
    Root(AdminToken),
    /// The bearer of an API token.
    Bearer(Box<Token>),
    /// A signed-in person's browser, which only reads.
    Browser(Box<Session>),
    /// The OAuth client of a person, which only reads, at the resource of its token.
    Client(Box<ClientToken>),
}

/// One of the admin tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdminToken {
    /// `TERRACE_ADMIN_TOKEN`.
    Current,
    /// `TERRACE_ADMIN_TOKEN_PREVIOUS`.
    Previous,
}

/// The reason why the credentials of a request are rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CredentialsError {
    /// The header contains neither a bearer token nor a user name with a password.
    #[error(
        "the Authorization header must be \"Bearer <token>\", or Basic with a token as the password"
    )]
    Unreadable,
    /// The credentials are neither the admin token nor in the form of an API token.
    #[error("this is not a token of this registry")]
    Unknown,
    /// The form or the checksum of an API token is wrong.
    #[error("this token is mistyped or incomplete: copy it again")]
    Mistyped,
    /// The token was not issued with the keys of this registry.
    #[error(
        "this token was issued by another registry, or before the admin token of this one was changed"
    )]
    Foreign,
    /// The token has expired; the field is the time.
    #[error("this token expired at {0}: use another one")]
    Expired(UnixTime),
    /// The credentials are the session of a browser.
    #[error(
        "this is the session of a signed-in browser, which clients cannot use: create a token for them"
    )]
    Session,
    /// The credentials are the token of an OAuth client, presented anywhere but at its kind of resource.
    #[error(
        "this is the token of an MCP client, which only an MCP endpoint accepts: create a token for other uses"
    )]
    Client,
    /// The credentials are the token of an OAuth client for another resource.
    #[error(
        "this token was issued for another MCP endpoint: sign in again for this one, or use that endpoint"
    )]
    OtherResource,
    /// The token was valid and has been revoked.
    #[error("this token is revoked: use another one")]
    Revoked,
    /// Too many invalid credentials came from the same address.
    #[error("too many requests with wrong credentials came from this address: wait a minute")]
    TooMany,
}

/// The view that a caller has of a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Visibility {
    /// Readable by anyone.
    Public,
    /// Readable because of the caller's token.
    Private,
    /// Reported as missing.
    Hidden,
    /// Rejected until the caller presents a token.
    Unauthenticated,
}

/// The placeholder token of anonymous callers, for clients that do not continue without a token. It grants
/// nothing.
pub const ANONYMOUS: &str = "anonymous";

impl Access {
    /// Creates the access rules for these admin tokens. The previous one stays valid while it is configured.
    /// Without an admin token, every caller is anonymous.
    pub fn new(newest: Option<Secret>, previous: Option<Secret>, read_policy: ReadPolicy) -> Self {
        let roots = newest.map(|newest| Roots {
            keys: TokenKeys::new(&newest, previous.as_ref()),
            newest,
            previous,
        });
        Self { roots, read_policy }
    }

    /// Returns whether there is an admin token, without which nothing can be changed.
    pub fn has_root(&self) -> bool {
        self.roots.is_some()
    }

    /// Returns whether every read requires a token.
    pub fn guards_all_reads(&self) -> bool {
        self.read_policy.is_private && self.read_policy.exceptions.is_empty()
    }

    /// Returns whether reads require a token by default.
    pub fn is_private(&self) -> bool {
        self.read_policy.is_private
    }

    /// Returns whether any package is private. If not, reads ignore all credentials: a stale token must not
    /// break requests that work without one (clients.md 2.1.5, 5.5).
    pub fn guards_reads(&self) -> bool {
        self.read_policy != ReadPolicy::default()
    }

    /// Returns the keys that issue tokens; `None` without an admin token.
    pub fn keys(&self) -> Option<&TokenKeys> {
        self.roots.as_ref().map(|roots| &roots.keys)
    }

    /// Returns the seal keys for the state of sign-ins; `None` without an admin token.
    pub fn seal_keys(&self) -> Option<SealKeys> {
        self.derived(SealKeys::new)
    }

    /// Returns the keys for the sessions of browsers; `None` without an admin token.
    pub fn session_keys(&self) -> Option<SessionKeys> {
        self.derived(SessionKeys::new)
    }

    /// Returns the keys that issue the tokens of OAuth clients; `None` without an admin token.
    pub fn client_keys(&self) -> Option<ClientTokenKeys> {
        self.derived(ClientTokenKeys::new)
    }

    /// Returns the keys that the secrets of webhooks are derived from; `None` without an admin token.
    pub fn webhook_keys(&self) -> Option<WebhookKeys> {
        self.derived(WebhookKeys::new)
    }

    fn derived<K>(&self, new: fn(&Secret, Option<&Secret>) -> K) -> Option<K> {
        let roots = self.roots.as_ref()?;
        Some(new(&roots.newest, roots.previous.as_ref()))
    }

    /// Identifies the caller from the `Authorization` header. Without an admin token, the header is ignored.
    ///
    /// # Errors
    /// The reason why the credentials are rejected. Revocation is checked elsewhere.
    pub fn caller(
        &self,
        authorization: Option<&str>,
        now: impl FnOnce() -> UnixTime,
    ) -> Result<Caller, CredentialsError> {
        self.caller_at(authorization, None, now)
    }

    /// Identifies the caller as [`Access::caller`] does. At a resource, the token of an OAuth client for it counts as well.
    ///
    /// # Errors
    /// The reason why the credentials are rejected. Revocation is checked elsewhere.
    pub fn caller_at(
        &self,
        authorization: Option<&str>,
        resource: Option<&Resource>,
        now: impl FnOnce() -> UnixTime,
    ) -> Result<Caller, CredentialsError> {
        let header = authorization.unwrap_or_default().trim();
        let Some(roots) = self.roots.as_ref().filter(|_| !header.is_empty()) else {
            return Ok(Caller::Anonymous);
        };
        let (scheme, value) = header.split_once(' ').unwrap_or((header, ""));
        let value = value.trim();
        let presented = if scheme.eq_ignore_ascii_case("bearer") {
            value.to_owned()
        } else if scheme.eq_ignore_ascii_case("basic") {
            password(value).ok_or(CredentialsError::Unreadable)?
        } else {
            return Err(CredentialsError::Unreadable);
        };
        if presented == ANONYMOUS {
            return Ok(Caller::Anonymous);
        }
        if let Some(resource) = resource.filter(|_| presented.starts_with(CLIENT_TOKEN_PREFIX)) {
            let keys = ClientTokenKeys::new(&roots.newest, roots.previous.as_ref());
            let token = keys.read(&presented, resource, now())?;
            return Ok(Caller::Client(Box::new(token)));
        }
        if presented.starts_with(TOKEN_PREFIX) {
            let token = roots.keys.read(&presented, now);
            let token = token.map_err(|error| rejected(&presented, error))?;
            return Ok(Caller::Bearer(Box::new(token)));
        }
        let previous = roots.previous.as_ref();
        if roots.newest.matches(&presented) {
            return Ok(Caller::Root(AdminToken::Current));
        }
        if previous.is_some_and(|it| it.matches(&presented)) {
            return Ok(Caller::Root(AdminToken::Previous));
        }
        Err(CredentialsError::Unknown)
    }

    /// Returns the caller's name for the audit log. It tells admin tokens apart, by the marks of their keys.
    pub fn audited_name(&self, caller: &Caller) -> String {
        match (caller, self.mark_of(caller)) {
            (Caller::Root(_), Some(mark)) => format!("{} (key {mark})", caller.name()),
            _ => caller.name(),
        }
    }

    /// Returns the name of the token, person or job alone, for the log line of a request; `None` for an anonymous caller.
    pub fn logged_name(&self, caller: &Caller) -> Option<String> {
        let name = match caller {
            Caller::Anonymous => return None,
            Caller::Root(_) => return Some(self.audited_name(caller)),
            Caller::Bearer(token) => token.name.to_string(),
            Caller::Browser(session) => session.name.to_string(),
            Caller::Client(token) => token.name.to_string(),
        };
        // A name that looks like that of the admin token has its ID with it.
        match name.starts_with("root") {
            true => Some(caller.name()),
            false => Some(name),
        }
    }

    /// Returns the mark of the admin token's key, if the caller has an admin token.
    pub fn mark_of(&self, caller: &Caller) -> Option<KeyMark> {
        match caller {
            Caller::Root(token) => self.keys()?.mark_of(*token),
            Caller::Anonymous | Caller::Bearer(_) | Caller::Browser(_) | Caller::Client(_) => None,
        }
    }

    /// Returns whether this caller may read everything.
    pub fn may_read_all(&self, caller: &Caller) -> bool {
        caller.reads(Scopes::allow_reading_all) || !self.guards_reads()
    }

    /// Returns the view that this caller has of the packages of `owner`.
    pub fn visibility(&self, caller: &Caller, owner: &Owner) -> Visibility {
        let is_private = self.read_policy.is_private;
        let mut exceptions = self.read_policy.exceptions.iter();
        if is_private == exceptions.any(|owners| owners.includes(owner)) {
            return Visibility::Public;
        }
        match caller {
            caller if caller.reads(|scopes| scopes.allow_reading(owner)) => Visibility::Private,
            Caller::Anonymous if is_private => Visibility::Unauthenticated,
            _ => Visibility::Hidden,
        }
    }
}

impl Caller {
    /// Returns whether the caller may read what these scopes allow to read.
    fn reads(&self, allow: impl FnOnce(&Scopes) -> bool) -> bool {
        match self {
            Self::Anonymous => false,
            Self::Root(_) => true,
            Self::Bearer(token) => allow(&token.scopes),
            Self::Browser(session) => allow(session.scopes()),
            Self::Client(token) => allow(token.scopes()),
        }
    }

    /// Returns whether the caller may do what these scopes allow. Browsers and OAuth clients only read.
    fn acts(&self, allow: impl FnOnce(&Scopes) -> bool) -> bool {
        match self {
            Self::Anonymous | Self::Browser(_) | Self::Client(_) => false,
            Self::Root(_) | Self::Bearer(_) => self.reads(allow),
        }
    }

    /// Returns whether the caller may do everything.
    pub fn is_admin(&self) -> bool {
        self.acts(Scopes::allow_all)
    }

    /// Returns whether the caller may copy everything that is stored.
    pub fn may_back_up(&self) -> bool {
        self.acts(Scopes::allow_backups)
    }

    /// Returns whether the caller may publish for an owner.
    pub fn may_publish(&self, owner: &Owner) -> bool {
        self.acts(|scopes| scopes.allow_publishing(owner))
    }

    /// Returns whether the caller, or the person whose browser it is, may publish for any owner.
    pub fn may_publish_any(&self) -> bool {
        match self {
            Self::Browser(session) => session.is_of_publisher,
            _ => self.acts(Scopes::allow_publishing_any),
        }
    }

    /// Returns whether the caller may administer an owner.
    pub fn may_administer(&self, owner: &Owner) -> bool {
        self.acts(|scopes| scopes.allow_administering(owner))
    }

    /// Returns whether the caller may administer anything.
    pub fn may_administer_any(&self) -> bool {
        self.acts(Scopes::allow_administering_any)
    }

    /// Returns the first scope that the caller does not have itself, and so may not grant.
    pub fn lacks<'s>(&self, mut scopes: impl Iterator<Item = &'s Scope>) -> Option<&'s Scope> {
        match self {
            Self::Anonymous | Self::Browser(_) | Self::Client(_) => scopes.next(),
            Self::Root(_) => None,
            Self::Bearer(token) => scopes.find(|scope| !token.scopes.cover(scope)),
        }
    }

    /// Returns the ID of the caller's token, or of the one that was entered in its browser, so that its revocation can be checked.
    pub fn token(&self) -> Option<TokenId> {
        match self {
            Self::Bearer(token) => Some(token.id),
            Self::Client(token) => Some(token.id),
            Self::Browser(session) => session.token,
            Self::Anonymous | Self::Root(_) => None,
        }
    }

    fn session(&self) -> Option<&Session> {
        match self {
            Self::Browser(session) => Some(session),
            Self::Anonymous | Self::Root(_) | Self::Bearer(_) | Self::Client(_) => None,
        }
    }

    /// Returns the name of the person whose browser the caller is; `None` for every other caller.
    pub fn signed_in(&self) -> Option<&TokenName> {
        self.session().map(|session| &session.name)
    }

    /// Returns whether the caller is the browser of an administrator, which may do no more than other browsers.
    pub fn is_admin_in_browser(&self) -> bool {
        self.session().is_some_and(|session| session.is_of_admin)
    }

    /// Returns the verified claims of the job that the caller is; `None` for every other caller.
    pub fn provenance(&self) -> Option<Provenance> {
        match self {
            Self::Bearer(token) => token.provenance.as_ref()?.parse(),
            Self::Anonymous | Self::Root(_) | Self::Browser(_) | Self::Client(_) => None,
        }
    }

    /// Returns the caller's name for logs and documents.
    pub fn name(&self) -> String {
        match self {
            Self::Anonymous => "nobody".to_owned(),
            Self::Root(_) => "root".to_owned(),
            Self::Bearer(token) => format!("token {} ({})", token.id, token.name),
            Self::Browser(session) => {
                format!("browser of {} ({})", session.name, session.account)
            }
            Self::Client(token) => format!("MCP token {} ({})", token.id, token.name),
        }
    }
}

/// Returns the reason why a text with the prefix of a token is rejected.
fn rejected(presented: &str, error: CredentialsError) -> CredentialsError {
    if presented.starts_with(SESSION_PREFIX) {
        return CredentialsError::Session;
    }
    if presented.starts_with(CLIENT_TOKEN_PREFIX) {
        return CredentialsError::Client;
    }
    error
}

/// Returns the password of Basic credentials with any user name that is not empty.
fn password(encoded: &str) -> Option<String> {
    let bytes = STANDARD.decode(encoded).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (user, password) = text.split_once(':')?;
    (!user.is_empty()).then(|| password.to_owned())
}

impl From<CredentialsError> for Problem {
    fn from(bad: CredentialsError) -> Self {
        match bad {
            CredentialsError::TooMany => Self::TooManyFailures,
            bad => Self::Unauthorized(bad.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::token::tests::token_with;
    use super::*;
    use proptest::prelude::*;

    const NOW: UnixTime = UnixTime(1_800_000_000);

    fn access(read_policy: ReadPolicy) -> Access {
        let secret = |text: &str| Some(Secret::new(text));
        Access::new(
            secret("0123456789abcdef"),
            secret("fedcba9876543210"),
            read_policy,
        )
    }

    fn caller(header: &str) -> Result<Caller, CredentialsError> {
        access(ReadPolicy::default()).caller(Some(header), || NOW)
    }

    fn basic(credentials: &str) -> String {
        format!("Basic {}", STANDARD.encode(credentials))
    }

    #[test]
    fn no_name_in_the_log_looks_like_that_of_the_admin_token() {
        let access = access(ReadPolicy::default());
        let logged = |name: &str| {
            let mut token = Box::new(token_with("read"));
            token.name = name.parse().unwrap();
            access.logged_name(&Caller::Bearer(token)).unwrap()
        };
        assert_eq!(logged("ci"), "ci");
        let name = logged("root (key 8bab)");
        assert_eq!(name, "token 0123456789abcdef (root (key 8bab))");
    }

    #[test]
    fn both_admin_tokens_are_accepted_as_bearer_or_as_password_of_any_user() {
        for (header, token) in [
            ("Bearer 0123456789abcdef", AdminToken::Current),
            ("bearer  fedcba9876543210", AdminToken::Previous),
            (&basic("me:0123456789abcdef"), AdminToken::Current),
        ] {
            assert_eq!(caller(header), Ok(Caller::Root(token)), "{header}");
        }
        for (header, bad) in [
            ("Bearer x", CredentialsError::Unknown),
            ("Bearer", CredentialsError::Unknown),
            ("Bearer 0123456789ABCDEF", CredentialsError::Unknown),
            ("Bearer terrace_x", CredentialsError::Mistyped),
            ("0123456789abcdef", CredentialsError::Unreadable),
            ("Digest x", CredentialsError::Unreadable),
            ("Basic !", CredentialsError::Unreadable),
            (&basic(":0123456789abcdef"), CredentialsError::Unreadable),
            (&basic("0123456789abcdef"), CredentialsError::Unreadable),
            (&basic("me:"), CredentialsError::Unknown),
        ] {
            assert_eq!(caller(header), Err(bad), "{header}");
        }
        assert_eq!(caller(""), Ok(Caller::Anonymous));
        assert_eq!(caller("Bearer anonymous"), Ok(Caller::Anonymous));
    }

    #[test]
    fn a_token_is_accepted_as_bearer_or_as_password() {
        let access = access(ReadPolicy::default());
        let text = access.keys().unwrap().write(&token_with("read"));
        for header in [format!("Bearer {text}"), basic(&format!("me:{text}"))] {
            let caller = access.caller(Some(&header), || NOW);
            assert_eq!(caller, Ok(Caller::Bearer(Box::new(token_with("read")))));
        }
    }

    #[test]
    fn credentials_are_ignored_without_an_admin_token() {
        let access = Access::new(None, None, ReadPolicy::default());
        let caller = access.caller(Some("Bearer x"), || NOW);
        assert_eq!(caller, Ok(Caller::Anonymous));
    }

    #[test]
    fn private_packages_are_visible_to_tokens_that_cover_their_owner() {
        use Visibility::{Hidden, Private, Public, Unauthenticated};
        let read_policy = |is_private| ReadPolicy {
            is_private,
            exceptions: vec!["acme".parse().unwrap()],
        };
        let (public, private) = (access(read_policy(false)), access(read_policy(true)));
        let bearer = |scopes| Caller::Bearer(Box::new(token_with(scopes)));
        let (acme, globex) = (Owner::of_namespace("acme"), Owner::of_namespace("globex"));
        // For each registry, the exception comes first and then the rest.
        for (caller, in_public, in_private) in [
            (
                Caller::Anonymous,
                [Hidden, Public],
                [Public, Unauthenticated],
            ),
            (
                Caller::Root(AdminToken::Current),
                [Private, Public],
                [Public, Private],
            ),
            (bearer("admin"), [Private, Public], [Public, Private]),
            (bearer("read"), [Private, Public], [Public, Private]),
            (bearer("read:acme"), [Private, Public], [Public, Hidden]),
            (bearer("read:globex"), [Hidden, Public], [Public, Private]),
            (bearer("publish:acme"), [Private, Public], [Public, Hidden]),
            (
                bearer("publish:globex"),
                [Hidden, Public],
                [Public, Private],
            ),
        ] {
            let seen =
                |access: &Access| [&acme, &globex].map(|owner| access.visibility(&caller, owner));
            assert_eq!(seen(&public), in_public, "{caller:?}");
            assert_eq!(seen(&private), in_private, "{caller:?}");
        }
    }

    proptest! {
        #[test]
        fn a_random_header_never_authenticates(header in "((Bearer|Basic) )?\\PC{0,80}") {
            prop_assert!(!matches!(caller(&header), Ok(Caller::Root(_) | Caller::Bearer(_) | Caller::Browser(_) | Caller::Client(_))));
        }
    }
}
