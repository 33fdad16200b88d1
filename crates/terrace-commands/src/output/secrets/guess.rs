//! Recognising secrets by their randomness.

use std::path::Path;

/// The shortest text that may be a random secret: 18 bytes in base64.
const RANDOM_BYTES: usize = 24;

/// The shortest random text in which slashes are digits of base64 and do not separate the parts of a path: 30 bytes.
const RANDOM_BYTES_WITH_SLASHES: usize = 40;

/// The form of a date, `0` for a digit: texts that contain one are names.
const DATE: &str = "0000-00-00";

/// The form of a UUID, `x` for a hexadecimal digit: texts that contain one are names.
const UUID: &str = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

/// The number of digits of a fingerprint, which looks random and is not a secret.
const FINGERPRINT_DIGITS: usize = 40;

/// Returns whether an argument looks like the output of a secret generator. A path, and a name with a date or
/// a UUID, do not.
pub(super) fn looks_secret(text: &str) -> bool {
    let looks_secret = match text.contains(['/', '\\']) {
        true => looks_random_with_slashes(text),
        false => looks_random(text),
    };
    looks_secret && !Path::new(text).exists()
}

/// Returns whether a text without slashes is random: in base64url or hexadecimal, the characters alternate
/// between digits, capital and small letters, which they do not in a name.
pub(super) fn looks_random(text: &str) -> bool {
    if text.len() == FINGERPRINT_DIGITS && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return false;
    }
    let is_name = has_form(text, DATE) || has_form(text, UUID);
    let is_encoded = |byte: u8| byte.is_ascii_alphanumeric() || b"+-_=".contains(&byte);
    let is_random = |part: &str| {
        part.len() >= RANDOM_BYTES && part.bytes().all(is_encoded) && changes_often(part)
    };
    !is_name && text.split('.').any(is_random)
}

/// Returns whether a text with slashes is random: it consists only of base64, does not start with a slash,
/// and has digits, many capital and many small letters. A path with a digest in it has few of either.
fn looks_random_with_slashes(text: &str) -> bool {
    // A name may precede the secret, as in `name=value`.
    let digits = text.trim_end_matches('=').rsplit('=').next();
    let digits = digits.unwrap_or_default();
    let is_base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/".contains(&byte);
    let count = |is_one: fn(&u8) -> bool| digits.bytes().filter(is_one).count();
    digits.len() >= RANDOM_BYTES_WITH_SLASHES
        && digits.bytes().all(is_base64)
        && !digits.starts_with('/')
        && count(u8::is_ascii_digit) > 0
        && count(u8::is_ascii_uppercase) * 8 >= digits.len()
        && count(u8::is_ascii_lowercase) * 8 >= digits.len()
        && changes_often(digits)
}

/// Returns whether three of ten characters are of another kind than the one before: a digit, a capital
/// letter, or any other. Word separators do not count.
fn changes_often(text: &str) -> bool {
    let kind = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_uppercase());
    let kinds = text.bytes().filter(|byte| !b"-_".contains(byte)).map(kind);
    let kinds: Vec<_> = kinds.collect();
    let neighbours = kinds.iter().zip(kinds.iter().skip(1));
    let changes = neighbours.filter(|(one, next)| one != next).count();
    changes * 10 >= text.len() * 3
}

/// Returns whether a text contains a form, in which `0` stands for a digit and `x` for a hexadecimal one.
fn has_form(text: &str, form: &str) -> bool {
    let is_one = |(byte, of_form): (&u8, u8)| match of_form {
        b'0' => byte.is_ascii_digit(),
        b'x' => byte.is_ascii_hexdigit(),
        literal => *byte == literal,
    };
    let mut places = text.as_bytes().windows(form.len());
    places.any(|place| place.iter().zip(form.bytes()).all(is_one))
}
