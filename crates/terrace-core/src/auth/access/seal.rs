//! Sealed texts: state that the registry hands out and gets back instead of storing it. Clients can neither
//! forge nor change it.
//!
//! ```text
//! {fields}.{mac}
//!
//! fields   base64url of lines: the expiry, as seconds since 1970, and the content
//! mac      base64url of HMAC-SHA-256 over the purpose and the fields, with a key derived from the
//!          admin token
//! ```
//!
//! The content is not encrypted: the holder of the text can read it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::keys::DerivedKeys;
use terrace_base::mac::MacKey;
use terrace_base::secret::Secret;
use terrace_base::time::UnixTime;

/// Maximum length of a sealed text: scopes and names as in a token (`TOKEN_BYTES`), and a client's state.
const SEALED_BYTES: usize = 16 * 1024;

/// A value that can be sealed: lines of text without line breaks.
pub trait Sealable: Sized {
    /// The purpose, so that a text sealed for one purpose is not accepted for another.
    const PURPOSE: &'static str;

    /// Returns the content, line by line.
    fn lines(&self) -> Vec<String>;

    /// Parses the content.
    fn parse<'l>(lines: impl Iterator<Item = &'l str>) -> Option<Self>;
}

/// The keys that seal texts and verify them.
#[derive(Debug, Clone)]
pub struct SealKeys(DerivedKeys);

/// The reason why a sealed text is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// The text was not sealed with these keys, or for another purpose.
    #[error("it was not issued by this registry, or it or the admin token was changed")]
    Foreign,
    /// The text has expired; the field is the time.
    #[error("it expired at {0}")]
    Stale(UnixTime),
}

impl SealKeys {
    /// Derives the keys from these admin tokens. The previous one only verifies.
    pub fn new(newest: &Secret, previous: Option<&Secret>) -> Self {
        Self::labelled("terrace sign-in 1", newest, previous)
    }

    /// Derives keys from these admin tokens that no other label gives.
    pub(super) fn labelled(label: &str, newest: &Secret, previous: Option<&Secret>) -> Self {
        Self(DerivedKeys::new(label, newest, previous))
    }

    /// Returns the key that seals new texts.
    pub fn newest(&self) -> &MacKey {
        &self.0.newest
    }

    /// Seals a value until `expires`.
    pub fn seal<T: Sealable>(&self, what: &T, expires: UnixTime) -> String {
        let mut lines = what.lines();
        lines.insert(0, expires.0.to_string());
        let fields = URL_SAFE_NO_PAD.encode(lines.join("\n"));
        let mac = self.newest().sign(message::<T>(&fields).as_bytes());
        format!("{fields}.{}", URL_SAFE_NO_PAD.encode(mac))
    }

    /// Opens a text, and returns its value with the key that sealed it.
    ///
    /// # Errors
    /// The reason why the text is rejected.
    pub fn open<T: Sealable>(&self, text: &str, now: UnixTime) -> Result<(T, &MacKey), SealError> {
        let (fields, mac) = Some(text)
            .filter(|text| text.len() <= SEALED_BYTES)
            .and_then(|text| text.rsplit_once('.'))
            .ok_or(SealError::Foreign)?;
        let mac = URL_SAFE_NO_PAD.decode(mac);
        let mac = mac.map_err(|_| SealError::Foreign)?;
        let key = self.0.signer_of(&message::<T>(fields), &mac);
        let key = key.ok_or(SealError::Foreign)?;
        // The rest was written by this registry, by this version or another.
        let (expires, what) = parse(fields).ok_or(SealError::Foreign)?;
        if expires < now {
            return Err(SealError::Stale(expires));
        }
        Ok((what, key))
    }
}

fn message<T: Sealable>(fields: &str) -> String {
    format!("{}\n{fields}", T::PURPOSE)
}

fn parse<T: Sealable>(fields: &str) -> Option<(UnixTime, T)> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(fields).ok()?).ok()?;
    let mut lines = text.split('\n');
    let expires = UnixTime(lines.next()?.parse().ok()?);
    Some((expires, T::parse(lines)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: UnixTime = UnixTime(1_800_000_000);

    #[derive(Debug, PartialEq)]
    struct Note(String);

    impl Sealable for Note {
        const PURPOSE: &'static str = "note";

        fn lines(&self) -> Vec<String> {
            vec![self.0.clone()]
        }

        fn parse<'l>(mut lines: impl Iterator<Item = &'l str>) -> Option<Self> {
            Some(Self(lines.next()?.to_owned()))
        }
    }

    fn seals(newest: &str, previous: Option<&str>) -> SealKeys {
        SealKeys::new(&Secret::new(newest), previous.map(Secret::new).as_ref())
    }

    fn opened(seals: &SealKeys, text: &str, now: UnixTime) -> Result<String, SealError> {
        seals.open(text, now).map(|(Note(text), _)| text)
    }

    #[test]
    fn a_sealed_text_opens_until_it_expires() {
        let seals = seals("0123456789abcdef", None);
        let text = seals.seal(&Note("hello".to_owned()), NOW);
        assert_eq!(
            text,
            "MTgwMDAwMDAwMApoZWxsbw.0S42FmnQq2fKvD-IP7Fm_ksVxQa8hGKUOfGrd_XijpM"
        );
        assert_eq!(opened(&seals, &text, NOW), Ok("hello".to_owned()));
        let later = opened(&seals, &text, NOW.plus(1));
        assert_eq!(later, Err(SealError::Stale(NOW)));
    }

    #[test]
    fn a_text_with_a_changed_byte_is_rejected() {
        let seals = seals("0123456789abcdef", None);
        let text = seals.seal(&Note("hello".to_owned()), NOW);
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] = if changed[at] == b'a' { b'b' } else { b'a' };
            let changed = String::from_utf8(changed).unwrap();
            let opened = opened(&seals, &changed, NOW);
            assert_eq!(opened, Err(SealError::Foreign), "{changed}");
        }
        let without_its_last = text.strip_suffix(char::is_alphanumeric).unwrap();
        for other in ["", ".", "a.b", &format!("M{text}"), without_its_last] {
            assert_eq!(opened(&seals, other, NOW), Err(SealError::Foreign));
        }
    }

    #[test]
    fn a_sign_in_survives_a_new_admin_token_while_the_previous_one_is_configured() {
        let (old, new) = ("0123456789abcdef", "fedcba9876543210");
        let before = seals(old, None);
        let text = before.seal(&Note("hello".to_owned()), NOW);
        let derived = before.newest().sign(b"x");
        let overlap = seals(new, Some(old));
        let (_, key) = overlap.open::<Note>(&text, NOW).unwrap();
        assert_eq!(key.sign(b"x"), derived);
        assert_ne!(overlap.newest().sign(b"x"), derived);
        assert_eq!(
            opened(&seals(new, None), &text, NOW),
            Err(SealError::Foreign)
        );
    }

    proptest! {
        #[test]
        fn a_random_text_is_rejected(text in "[A-Za-z0-9_.-]{0,120}|\\PC{0,80}") {
            prop_assert!(opened(&seals("0123456789abcdef", None), &text, NOW).is_err());
        }
    }
}
