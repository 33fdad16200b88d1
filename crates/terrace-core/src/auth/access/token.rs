//! API tokens: self-contained texts that are verified without a lookup.
//!
//! ```text
//! terrace_{id}.{claims}.{mac}.{checksum}
//!
//! id        16 hexadecimal digits
//! claims    base64url of three lines: the expiry, as seconds since 1970 or empty; the scopes; the name. In a
//!           job's token, a fourth line has the verified claims of the job. Further lines are ignored
//! mac       base64url of HMAC-SHA-256 over everything before it, with a key derived from the admin token
//! checksum  8 hexadecimal digits of SHA-256 over everything before it: distinguishes typos from forgeries
//! ```

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use super::keys::DerivedKeys;
use super::scope::Scopes;
use super::{AdminToken, CredentialsError};
use crate::limits;
use crate::model::provenance::ProvenanceText;
use crate::model::token_id::TokenId;
use terrace_base::digest::Sha256;
use terrace_base::mac::MacKey;
use terrace_base::secret::Secret;
use terrace_base::time::UnixTime;
use terrace_base::untrusted::is_unprintable;

/// The prefix of every token, for scanners that look for leaked ones.
pub const TOKEN_PREFIX: &str = "terrace_";

/// The display name of a token: one line of 1 to 100 bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenName(String);

/// The content of a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    /// The ID, which is unique among all tokens.
    pub id: TokenId,
    /// The display name.
    pub name: TokenName,
    /// The scopes that it grants.
    pub scopes: Scopes,
    /// The time when it expires; `None` for a token that never does.
    pub expires: Option<UnixTime>,
    /// Whether it was issued under the previous admin token: tokens issued in exchange for it become invalid
    /// with it.
    pub is_of_previous: bool,
    /// The verified claims of the job that it was issued to; `None` for other tokens.
    pub provenance: Option<ProvenanceText>,
}

/// The mark of a key that issues tokens. It tells the keys of a registry apart in lists of tokens, and is too short to
/// guess an admin token by: one of 65,536 other keys has the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyMark(pub(super) u16);

impl fmt::Display for KeyMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04x}", self.0)
    }
}

/// The admin token that a token was issued under.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IssuedUnder {
    /// `TERRACE_ADMIN_TOKEN`.
    Current,
    /// `TERRACE_ADMIN_TOKEN_PREVIOUS`: the token becomes invalid when this variable is deleted.
    Previous,
    /// One that the registry no longer has: the token is invalid.
    Earlier,
}

/// The keys that issue tokens and verify them.
#[derive(Debug, Clone)]
pub struct TokenKeys(DerivedKeys);

impl TokenKeys {
    /// Derives the keys from these admin tokens. The previous one issues no new tokens, except in exchange
    /// for its own.
    pub fn new(newest: &Secret, previous: Option<&Secret>) -> Self {
        Self(DerivedKeys::new("terrace API token 1", newest, previous))
    }

    /// Returns the text of a token.
    pub fn write(&self, token: &Token) -> String {
        let Token {
            id,
            name,
            scopes,
            expires,
            is_of_previous,
            provenance,
        } = token;
        let expires = expires.map(|time| time.0.to_string()).unwrap_or_default();
        let mut claims = format!("{expires}\n{scopes}\n{name}");
        if let Some(provenance) = provenance {
            claims.push('\n');
            claims.push_str(provenance.as_str());
        }
        let claims = URL_SAFE_NO_PAD.encode(claims);
        let signed = format!("{TOKEN_PREFIX}{id}.{claims}");
        let previous = self.0.previous.as_ref().filter(|_| *is_of_previous);
        let key = previous.unwrap_or(&self.0.newest);
        let mac = URL_SAFE_NO_PAD.encode(key.sign(signed.as_bytes()));
        let whole = format!("{signed}.{mac}");
        let checksum = checksum(&whole);
        format!("{whole}.{checksum}")
    }

    /// Returns the mark of the key that issues tokens.
    pub fn mark(&self) -> KeyMark {
        mark(&self.0.newest)
    }

    /// Returns the mark of the key that is derived from an admin token, if that is configured.
    pub fn mark_of(&self, token: AdminToken) -> Option<KeyMark> {
        match token {
            AdminToken::Current => Some(self.mark()),
            AdminToken::Previous => self.0.previous.as_ref().map(mark),
        }
    }

    /// Returns the admin token that a key with this mark is derived from.
    pub fn issued_under(&self, key: KeyMark) -> IssuedUnder {
        match self.0.all().position(|known| key == mark(known)) {
            Some(0) => IssuedUnder::Current,
            Some(_) => IssuedUnder::Previous,
            None => IssuedUnder::Earlier,
        }
    }

    /// Parses and verifies a token.
    ///
    /// # Errors
    /// The reason why the token is rejected.
    pub fn read(
        &self,
        text: &str,
        now: impl FnOnce() -> UnixTime,
    ) -> Result<Token, CredentialsError> {
        if text.len() > limits::TOKEN_BYTES {
            return Err(CredentialsError::Mistyped);
        }
        let (whole, message) = text.rsplit_once('.').ok_or(CredentialsError::Mistyped)?;
        if checksum(whole) != message {
            return Err(CredentialsError::Mistyped);
        }
        let (signed, mac) = whole.rsplit_once('.').ok_or(CredentialsError::Mistyped)?;
        let mac = URL_SAFE_NO_PAD
            .decode(mac)
            .map_err(|_| CredentialsError::Foreign)?;
        let key = self.0.signer_of(signed, &mac);
        let key = key.ok_or(CredentialsError::Foreign)?;
        // The rest was written by this registry, by this version or another.
        let mut token = parse(signed).ok_or(CredentialsError::Foreign)?;
        token.is_of_previous = !std::ptr::eq(key, &self.0.newest);
        match token.expires {
            Some(expires) if expires < now() => Err(CredentialsError::Expired(expires)),
            _ => Ok(token),
        }
    }
}

fn parse(signed: &str) -> Option<Token> {
    let (id, claims) = signed.strip_prefix(TOKEN_PREFIX)?.split_once('.')?;
    let claims = String::from_utf8(URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
    let mut lines = claims.split('\n');
    let (expires, scopes, name) = (lines.next()?, lines.next()?, lines.next()?);
    Some(Token {
        id: id.parse().ok()?,
        name: name.parse().ok()?,
        scopes: scopes.parse().ok()?,
        expires: match expires {
            "" => None,
            seconds => Some(UnixTime(seconds.parse().ok()?)),
        },
        is_of_previous: false,
        provenance: lines.next().and_then(ProvenanceText::of_line),
    })
}

fn mark(key: &MacKey) -> KeyMark {
    // No token begins with this text.
    let [first, second, ..] = key.sign(b"mark");
    KeyMark(u16::from_be_bytes([first, second]))
}

fn checksum(text: &str) -> String {
    let mut digest = Sha256::of(text.as_bytes()).to_string();
    digest.truncate(8);
    digest
}

impl TokenName {
    /// Returns the valid name closest to any text: unprintable characters are replaced, and a long text is
    /// truncated.
    pub fn nearest(text: &str) -> Self {
        let shown = |c: char| {
            if is_unprintable(c) {
                char::REPLACEMENT_CHARACTER
            } else {
                c
            }
        };
        let shown: String = text.trim().chars().map(shown).collect();
        let end = shown.floor_char_boundary(limits::TOKEN_NAME_BYTES);
        let name = shown.get(..end).unwrap_or_default().trim();
        Self(if name.is_empty() { "nameless" } else { name }.to_owned())
    }
}

impl FromStr for TokenName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let max = limits::TOKEN_NAME_BYTES;
        let is_name = (1..=max).contains(&text.len())
            && text.trim() == text
            && !text.chars().any(is_unprintable);
        is_name
            .then(|| Self(text.to_owned()))
            .ok_or_else(|| format!("a token's name must be one printable line of 1 to {max} bytes"))
    }
}

impl fmt::Display for TokenName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

terrace_base::text_serde!(TokenName);

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::model::provenance::tests::provenance;
    use proptest::prelude::*;

    const NOW: UnixTime = UnixTime(1_800_000_000);

    fn keys() -> TokenKeys {
        TokenKeys::new(&Secret::new("0123456789abcdef"), None)
    }

    /// Returns a token with these scopes that never expires.
    pub(in crate::auth::access) fn token_with(scopes: &str) -> Token {
        Token {
            id: "0123456789abcdef".parse().unwrap(),
            name: "ci of acme".parse().unwrap(),
            scopes: scopes.parse().unwrap(),
            expires: None,
            is_of_previous: false,
            provenance: None,
        }
    }

    fn token() -> Token {
        Token {
            expires: Some(NOW),
            ..token_with("read publish:acme")
        }
    }

    #[test]
    fn a_token_verifies_until_it_expires() {
        let text = keys().write(&token());
        assert_eq!(
            text,
            "terrace_0123456789abcdef.MTgwMDAwMDAwMApyZWFkIHB1Ymxpc2g6YWNtZQpjaSBvZiBhY21l.\
             KoVG-aLovt4khVN0yAp8WyxNe0sQDov4A0IsbhF69u0.257a696e"
        );
        assert_eq!(keys().read(&text, || NOW), Ok(token()));
        let later = keys().read(&text, || NOW.plus(1));
        assert_eq!(later, Err(CredentialsError::Expired(NOW)));
        let for_ever = token_with("read");
        let text = keys().write(&for_ever);
        assert_eq!(keys().read(&text, || UnixTime(u64::MAX)), Ok(for_ever));
    }

    #[test]
    fn the_longest_token_of_a_job_is_within_the_limit() {
        let scope = |number: usize| {
            let host = format!("{number:02}{}", ".a1234567".repeat(27));
            let namespace = "n".repeat(limits::NAME_BYTES);
            format!("publish:{host}/{namespace}")
        };
        let scopes: Vec<String> = (0..limits::SCOPES).map(scope).collect();
        let mut provenance = provenance();
        provenance.workflow = "w".repeat(limits::CLAIM_BYTES).parse().ok();
        let spare = limits::PROVENANCE_BYTES - provenance.to_text().unwrap().as_str().len();
        let reference = "r".repeat(spare + "refs/tags/v1.2.3".len());
        provenance.reference = reference.parse().ok();
        let provenance = provenance.to_text().unwrap();
        assert_eq!(provenance.as_str().len(), limits::PROVENANCE_BYTES);
        let longest = Token {
            name: "x".repeat(limits::TOKEN_NAME_BYTES).parse().unwrap(),
            scopes: scopes.join(" ").parse().unwrap(),
            provenance: Some(provenance),
            ..token()
        };
        let text = keys().write(&longest);
        assert!(text.len() <= limits::TOKEN_BYTES, "{}", text.len());
        assert_eq!(keys().read(&text, || NOW), Ok(longest));
    }

    #[test]
    fn a_mark_names_the_admin_token_that_a_key_is_derived_from() {
        let [first, second, third] =
            ["0123456789abcdef", "fedcba9876543210", "0011223344556677"].map(Secret::new);
        let mark = |secret| TokenKeys::new(secret, None).mark();
        let keys = TokenKeys::new(&second, Some(&first));
        for (secret, expected) in [
            (&second, IssuedUnder::Current),
            (&first, IssuedUnder::Previous),
            (&third, IssuedUnder::Earlier),
        ] {
            assert_eq!(keys.issued_under(mark(secret)), expected);
        }
    }

    #[test]
    fn a_typo_is_distinguished_from_a_foreign_token() {
        let text = keys().write(&token());
        for at in 0..text.len() {
            let mut typo = text.clone().into_bytes();
            typo[at] = if typo[at] == b'a' { b'b' } else { b'a' };
            let typo = String::from_utf8(typo).unwrap();
            let read = keys().read(&typo, || NOW);
            assert_eq!(read, Err(CredentialsError::Mistyped), "{typo}");
        }
        let without_its_first = text.strip_prefix('t').unwrap();
        let without_its_last = text.strip_suffix(char::is_alphanumeric).unwrap();
        for cut in [without_its_first, without_its_last, "", "terrace_", "a.b.c"] {
            let read = keys().read(cut, || NOW);
            assert_eq!(read, Err(CredentialsError::Mistyped), "{cut}");
        }
        let others = TokenKeys::new(&Secret::new("fedcba9876543210"), None);
        assert_eq!(others.read(&text, || NOW), Err(CredentialsError::Foreign));
    }

    #[test]
    fn a_token_with_a_changed_claim_is_rejected() {
        let text = keys().write(&token());
        let [head, claims, mac, _] = *text.split('.').collect::<Vec<_>>() else {
            panic!()
        };
        let more = URL_SAFE_NO_PAD.encode("\nadmin\nci of acme");
        let job = "1800000000\nread publish:acme\nci of acme\n{\"issuer\":\"https://ci.example\"}";
        let job = URL_SAFE_NO_PAD.encode(job);
        let sum = |text: String| format!("{text}.{}", checksum(&text));
        for forged in [
            sum(format!("{head}.{more}.{mac}")),
            sum(format!("{head}.{job}.{mac}")),
            sum(format!("terrace_0000000000000000.{claims}.{mac}")),
            sum(format!(
                "{head}.{claims}.{}",
                mac.strip_suffix(char::is_alphanumeric).unwrap()
            )),
            sum(format!("{head}.{claims}.")),
            sum(format!("{head}.{claims}.!")),
            sum(format!("{head}.{claims}")),
        ] {
            let read = keys().read(&forged, || NOW);
            assert_eq!(read, Err(CredentialsError::Foreign), "{forged}");
        }
    }

    #[test]
    fn a_token_stays_valid_while_its_admin_token_is_the_previous_one() {
        let (old, new) = (
            Secret::new("0123456789abcdef"),
            Secret::new("fedcba9876543210"),
        );
        let text = keys().write(&token());
        let overlap = TokenKeys::new(&new, Some(&old));
        let read = overlap.read(&text, || NOW).unwrap();
        assert!(read.is_of_previous);
        // A token issued in exchange for it becomes invalid with it.
        let after = TokenKeys::new(&new, None);
        let given = overlap.write(&read);
        assert!(overlap.read(&given, || NOW).is_ok());
        assert_eq!(after.read(&given, || NOW), Err(CredentialsError::Foreign));
        assert!(after.read(&overlap.write(&token()), || NOW).is_ok());
    }

    #[test]
    fn a_name_is_one_visible_line() {
        for text in [
            "",
            " ci",
            "ci\n",
            "a\u{1b}[31m",
            "\u{202e}ic",
            &"x".repeat(101),
        ] {
            assert!(text.parse::<TokenName>().is_err(), "{text:?}");
        }
        for text in ["ci", "Ana's laptop", "repo:acme/x:ref:refs/tags/v1"] {
            assert!(text.parse::<TokenName>().is_ok(), "{text:?}");
        }
    }

    #[test]
    fn any_text_has_a_nearest_name() {
        for (text, name) in [
            ("ci", "ci"),
            (" a\u{1b}[31m\n", "a\u{fffd}[31m"),
            ("\t", "nameless"),
            ("", "nameless"),
        ] {
            assert_eq!(TokenName::nearest(text).to_string(), name);
        }
        let cut = TokenName::nearest(&"\u{e4}".repeat(99)).to_string();
        assert_eq!(cut, "\u{e4}".repeat(50));
    }

    proptest! {
        #[test]
        fn a_name_from_any_text_is_valid(text in "\\PC{0,80}|(?s).{0,120}") {
            let made = TokenName::nearest(&text);
            prop_assert_eq!(made.to_string().parse(), Ok(made));
        }
    }
}
