//! Who is asking: the admin token as a bearer or a password, or a token that was given for it.
//!
//! OCI clients are told by one challenge where tokens are (clients.md 6.10), ask there with their
//! password, and come back with what they got. So that the admin token does not end up in their
//! caches, they get another one, good for a while.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::Mac as _;
use serde::Serialize;

use crate::digest::Sha256;
use crate::limits;
use crate::presign::{hmac, keyed};
use crate::secret::Secret;
use crate::time::UnixTime;

use super::{OciCode, OciError};

/// What a request says about who sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// Nothing, or the token that anybody gets.
    Anonymous,
    /// That it may push.
    Publisher,
    /// Something that is not right, or not any more.
    Unknown,
}

/// Gives tokens for the admin token, and knows them again.
#[derive(Debug)]
pub struct PushTokens<'a> {
    admin: Option<&'a Secret>,
}

/// The answer of the token endpoint (Docker Registry, "Token Authentication").
#[derive(Serialize)]
pub struct TokenAnswer {
    token: String,
    /// The same once more: OAuth calls it so.
    access_token: String,
    expires_in: u32,
}

/// The token of whoever has not said who they are. It opens nothing.
const ANONYMOUS: &str = "anonymous";

impl<'a> PushTokens<'a> {
    /// Tokens for this admin token; where there is none, nobody may push.
    pub fn new(admin: Option<&'a Secret>) -> Self {
        Self { admin }
    }

    /// Who sends a request with this `Authorization` header.
    pub fn caller(&self, authorization: Option<&str>, now: UnixTime) -> Caller {
        let header = authorization.unwrap_or_default().trim();
        if header.is_empty() {
            return Caller::Anonymous;
        }
        let (scheme, value) = header.split_once(' ').unwrap_or((header, ""));
        let value = value.trim();
        let is_right = if scheme.eq_ignore_ascii_case("bearer") {
            if value == ANONYMOUS {
                return Caller::Anonymous;
            }
            self.opens(value) || self.is_given(value, now)
        } else if scheme.eq_ignore_ascii_case("basic") {
            password(value).is_some_and(|password| self.opens(&password))
        } else {
            false
        };
        if is_right {
            Caller::Publisher
        } else {
            Caller::Unknown
        }
    }

    /// What the token endpoint answers to this caller; the scopes it asks for do not matter, for
    /// there is one right only.
    pub fn answer(&self, caller: Caller, now: UnixTime) -> Option<TokenAnswer> {
        let lifetime = limits::PUSH_TOKEN_SECONDS;
        let token = match caller {
            Caller::Anonymous => ANONYMOUS.to_owned(),
            Caller::Publisher => self.give(now.plus(lifetime))?,
            Caller::Unknown => return None,
        };
        Some(TokenAnswer {
            access_token: token.clone(),
            token,
            expires_in: lifetime,
        })
    }

    fn opens(&self, presented: &str) -> bool {
        self.admin.is_some_and(|admin| admin.matches(presented))
    }

    fn give(&self, expires: UnixTime) -> Option<String> {
        let mac = hmac(&self.key()?, message(expires).as_bytes());
        Some(format!("{}.{}", expires.0, Sha256::from_bytes(mac)))
    }

    fn is_given(&self, token: &str, now: UnixTime) -> bool {
        let is_good = || {
            let (expires, mac) = token.split_once('.')?;
            let expires = UnixTime(expires.parse().ok()?);
            let mac: Sha256 = mac.parse().ok()?;
            let mut expected = keyed(&self.key()?);
            expected.update(message(expires).as_bytes());
            expected.verify_slice(mac.as_bytes()).ok()?;
            (now <= expires).then_some(())
        };
        is_good().is_some()
    }

    /// Derived, so that one secret may serve other ends, too.
    fn key(&self) -> Option<[u8; 32]> {
        let admin = self.admin?.expose().as_bytes();
        Some(hmac(admin, b"terrace OCI push token 1"))
    }
}

/// Why the answer is a 401, with the one challenge that clients read (clients.md 6.10). `origin` is
/// the registry's own, as the client reached it.
pub fn unauthorized(origin: &str) -> OciError {
    let told = "this needs the admin token: as a bearer token, or as the password of any user name";
    OciError::new(OciCode::Unauthorized, told).with_header("www-authenticate", challenge(origin))
}

/// Where tokens are.
pub fn challenge(origin: &str) -> String {
    let host = origin.split_once("://").map_or(origin, |(_, host)| host);
    format!("Bearer realm=\"{origin}/v2/token\",service=\"{host}\"")
}

fn message(expires: UnixTime) -> String {
    format!("PUSH\n{}", expires.0)
}

/// The password of Basic credentials that have a user name, whatever it is.
fn password(encoded: &str) -> Option<String> {
    let bytes = STANDARD.decode(encoded).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let (user, password) = text.split_once(':')?;
    (!user.is_empty()).then(|| password.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: UnixTime = UnixTime(1_800_000_000);

    fn caller(header: &str, now: UnixTime) -> Caller {
        let secret = Secret::new("0123456789abcdef");
        PushTokens::new(Some(&secret)).caller(Some(header), now)
    }

    fn basic(credentials: &str) -> String {
        format!("Basic {}", STANDARD.encode(credentials))
    }

    #[test]
    fn the_admin_token_is_a_bearer_or_a_password_of_any_user() {
        for header in [
            "Bearer 0123456789abcdef",
            "bearer  0123456789abcdef",
            &basic("me:0123456789abcdef"),
        ] {
            assert_eq!(caller(header, NOW), Caller::Publisher, "{header}");
        }
        for header in [
            "Bearer x",
            "Bearer",
            "0123456789abcdef",
            "Digest x",
            "Basic !",
            &basic(":0123456789abcdef"),
            &basic("0123456789abcdef"),
            &basic("me:"),
        ] {
            assert_eq!(caller(header, NOW), Caller::Unknown, "{header}");
        }
        assert_eq!(caller("", NOW), Caller::Anonymous);
        assert_eq!(PushTokens::new(None).caller(None, NOW), Caller::Anonymous);
        let anyone = PushTokens::new(None).caller(Some("Bearer x"), NOW);
        assert_eq!(anyone, Caller::Unknown);
    }

    #[test]
    fn what_is_given_for_it_is_good_for_a_while_and_holds_it_not() {
        let secret = Secret::new("0123456789abcdef");
        let tokens = PushTokens::new(Some(&secret));
        let given = tokens.answer(Caller::Publisher, NOW).unwrap().token;
        assert!(!given.contains("0123456789abcdef"));
        let header = format!("Bearer {given}");
        let later = NOW.plus(limits::PUSH_TOKEN_SECONDS);
        assert_eq!(caller(&header, later), Caller::Publisher);
        assert_eq!(caller(&header, later.plus(1)), Caller::Unknown);
        let longer = header.replace("18000", "18001");
        assert_eq!(caller(&longer, NOW), Caller::Unknown);
        let other = Secret::new("another-admin-token");
        let other = PushTokens::new(Some(&other));
        assert_eq!(other.caller(Some(&header), NOW), Caller::Unknown);
    }

    #[test]
    fn anybody_gets_a_token_that_opens_nothing() {
        let tokens = PushTokens::new(None);
        let given = tokens.answer(Caller::Anonymous, NOW).unwrap().token;
        assert_eq!(caller(&format!("Bearer {given}"), NOW), Caller::Anonymous);
        assert!(tokens.answer(Caller::Unknown, NOW).is_none());
        assert!(tokens.answer(Caller::Publisher, NOW).is_none());
    }

    #[test]
    fn the_challenge_names_where_the_client_came_to() {
        assert_eq!(
            challenge("http://127.0.0.1:8787"),
            r#"Bearer realm="http://127.0.0.1:8787/v2/token",service="127.0.0.1:8787""#
        );
    }

    proptest! {
        #[test]
        fn no_header_opens_by_chance(header in "\\PC{0,80}") {
            prop_assert_ne!(caller(&header, NOW), Caller::Publisher);
        }
    }
}
