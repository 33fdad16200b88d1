//! Texts that the registry hands out and gets back: it keeps nothing meanwhile, and nobody can change or
//! make one.
//!
//! ```text
//! {fields}.{mac}
//!
//! fields   base64url of lines: until when it is good, as seconds since 1970, and what it says
//! mac      base64url of HMAC-SHA-256 over what it is for and the fields, keyed by what is made of the
//!          admin token
//! ```
//!
//! What it says can be read by whoever has it.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::limits;
use terrace_base::mac::{MacKey, hmac};
use terrace_base::secret::Secret;
use terrace_base::time::UnixTime;

/// What can be sealed: lines of text, none of which holds a line break.
pub trait Sealable: Sized {
    /// What it is for, so that none is taken for another.
    const PURPOSE: &'static str;

    /// What it says, line by line.
    fn lines(&self) -> Vec<String>;

    /// Reads it back.
    fn parse<'l>(lines: impl Iterator<Item = &'l str>) -> Option<Self>;
}

/// Seals texts, and knows them again.
#[derive(Clone)]
pub struct Seals {
    newest: SealKey,
    previous: Option<SealKey>,
}

/// The key of a seal. What is derived from it belongs to what it has sealed.
#[derive(Clone)]
pub struct SealKey(MacKey);

/// Why a text is no good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    /// It was not sealed with these keys, or for something else.
    #[error("it was not made here, or was changed, or the admin token was")]
    Foreign,
    /// It was good until then.
    #[error("it was good until {0}")]
    Stale(UnixTime),
}

impl Seals {
    /// The seals of these admin tokens. The previous one seals nothing any more.
    pub fn new(newest: &Secret, previous: Option<&Secret>) -> Self {
        let derived = |secret: &Secret| {
            SealKey(MacKey::new(&hmac(
                secret.expose().as_bytes(),
                b"terrace sign-in 1",
            )))
        };
        Self {
            newest: derived(newest),
            previous: previous.map(derived),
        }
    }

    /// The key that seals now.
    pub fn newest(&self) -> &SealKey {
        &self.newest
    }

    /// A text that is good until then.
    pub fn seal<T: Sealable>(&self, what: &T, expires: UnixTime) -> String {
        let mut lines = what.lines();
        lines.insert(0, expires.0.to_string());
        let fields = URL_SAFE_NO_PAD.encode(lines.join("\n"));
        let mac = self.newest.0.sign(message::<T>(&fields).as_bytes());
        format!("{fields}.{}", URL_SAFE_NO_PAD.encode(mac))
    }

    /// Reads a text, with the key that has sealed it.
    ///
    /// # Errors
    /// Why it is good for nothing.
    pub fn open<T: Sealable>(&self, text: &str, now: UnixTime) -> Result<(T, &SealKey), SealError> {
        let (fields, mac) = Some(text)
            .filter(|text| text.len() <= limits::SEALED_BYTES)
            .and_then(|text| text.rsplit_once('.'))
            .ok_or(SealError::Foreign)?;
        let mac = URL_SAFE_NO_PAD.decode(mac);
        let mac = mac.map_err(|_| SealError::Foreign)?;
        let message = message::<T>(fields);
        let has_sealed = |key: &&SealKey| key.0.has_signed(message.as_bytes(), &mac);
        let mut keys = [Some(&self.newest), self.previous.as_ref()]
            .into_iter()
            .flatten();
        let key = keys.find(has_sealed).ok_or(SealError::Foreign)?;
        // What follows was written here, by this version or another.
        let (expires, what) = parse(fields).ok_or(SealError::Foreign)?;
        if expires < now {
            return Err(SealError::Stale(expires));
        }
        Ok((what, key))
    }
}

impl SealKey {
    /// What belongs to `value` and nobody else can know, in 43 characters of base64url.
    pub fn derive(&self, label: &str, value: &str) -> String {
        URL_SAFE_NO_PAD.encode(self.0.sign(format!("{label}\n{value}").as_bytes()))
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

impl fmt::Debug for Seals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seals(…)")
    }
}

impl fmt::Debug for SealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealKey(…)")
    }
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

    #[derive(Debug, PartialEq)]
    struct Other;

    impl Sealable for Other {
        const PURPOSE: &'static str = "other";

        fn lines(&self) -> Vec<String> {
            Vec::new()
        }

        fn parse<'l>(_: impl Iterator<Item = &'l str>) -> Option<Self> {
            Some(Self)
        }
    }

    fn seals(newest: &str, previous: Option<&str>) -> Seals {
        Seals::new(&Secret::new(newest), previous.map(Secret::new).as_ref())
    }

    fn opened(seals: &Seals, text: &str, now: UnixTime) -> Result<String, SealError> {
        seals.open(text, now).map(|(Note(text), _)| text)
    }

    #[test]
    fn a_sealed_text_reads_back_until_it_is_stale() {
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
    fn no_byte_of_it_can_be_changed() {
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
    fn what_is_for_one_thing_is_not_for_another() {
        let seals = seals("0123456789abcdef", None);
        let text = seals.seal(&Note("hello".to_owned()), NOW);
        let other = seals.open::<Other>(&text, NOW).map(|(other, _)| other);
        assert_eq!(other, Err(SealError::Foreign));
    }

    #[test]
    fn a_changed_admin_token_breaks_off_no_sign_in_while_the_old_one_is_the_previous() {
        let (old, new) = ("0123456789abcdef", "fedcba9876543210");
        let before = seals(old, None);
        let text = before.seal(&Note("hello".to_owned()), NOW);
        let derived = before.newest().derive("nonce", "x");
        let overlap = seals(new, Some(old));
        let (_, key) = overlap.open::<Note>(&text, NOW).unwrap();
        assert_eq!(key.derive("nonce", "x"), derived);
        assert_ne!(overlap.newest().derive("nonce", "x"), derived);
        assert_eq!(
            opened(&seals(new, None), &text, NOW),
            Err(SealError::Foreign)
        );
    }

    #[test]
    fn what_is_derived_has_the_length_of_a_verifier_and_differs_by_label_and_value() {
        let key = seals("0123456789abcdef", None).newest;
        assert_eq!(key.derive("a", "b").len(), 43);
        assert_ne!(key.derive("a", "b"), key.derive("a", "c"));
        assert_ne!(key.derive("a", "b"), key.derive("b", "b"));
    }

    #[test]
    fn keys_do_not_print() {
        let seals = seals("0123456789abcdef", None);
        assert_eq!(format!("{seals:?}{:?}", seals.newest), "Seals(…)SealKey(…)");
    }

    proptest! {
        #[test]
        fn no_text_is_opened_by_chance(text in "[A-Za-z0-9_.-]{0,120}|\\PC{0,80}") {
            prop_assert!(opened(&seals("0123456789abcdef", None), &text, NOW).is_err());
        }
    }
}
