//! Files that hold secrets according to their contents, under any name.

mod credentials;

use terrace_archive::SecretFile;

use credentials::has_credentials;

/// The end of the first and the last line of a private key in PEM or OpenPGP's ASCII armour.
const PRIVATE_KEY: &str = "PRIVATE KEY";

/// The longest label of a key before its end, such as `-----BEGIN RSA `, with room for a comment's start, in bytes.
const LABEL_BYTES: usize = 64;

/// The number of bytes after the first line of a key in which its contents begin.
const KEY_BYTES: usize = 512;

/// The number of digits of base64 that no placeholder has.
const KEY_DIGITS: usize = 40;

/// The start of a zip's first entry, up to the length of its name, and the length of the part before the name.
const ZIP: &[u8] = b"PK\x03\x04";
const ZIP_NAME: usize = 30;

/// The name of the first entry in the zip of a plan.
const PLAN: &[u8] = b"tfplan";

/// The members that each state has, at its start.
const STATE: [&str; 3] = ["\"terraform_version\"", "\"serial\"", "\"lineage\""];
const STATE_BYTES: usize = 4096;

/// The part of a file in which a zero byte shows that it is no text.
const TEXT_BYTES: usize = 8192;

/// Returns the kind of secrets that a file with these contents holds, if it is a plan, a state, or has a private key or a
/// token.
pub(super) fn secret_in(contents: &[u8]) -> Option<SecretFile> {
    if contents.starts_with(ZIP) {
        let name = contents.get(ZIP_NAME..).unwrap_or_default();
        return name.starts_with(PLAN).then_some(SecretFile::Plan);
    }
    let text = String::from_utf8_lossy(contents);
    let start = contents.get(..STATE_BYTES).unwrap_or(contents);
    let start = String::from_utf8_lossy(start);
    let is_state = start.trim_start().starts_with('{') && STATE.iter().all(|it| start.contains(it));
    if is_state {
        return Some(SecretFile::State);
    }
    let mut ends = text.match_indices(PRIVATE_KEY);
    let has_key = ends.any(|(at, _)| is_key(&text, at));
    if has_key {
        return Some(SecretFile::PrivateKey);
    }
    let start = contents.get(..TEXT_BYTES).unwrap_or(contents);
    let is_text = !start.contains(&0);
    (is_text && has_credentials(&text)).then_some(SecretFile::Credentials)
}

/// Returns whether a key is around this place, and not only a mention of one: digits follow, also if the text is a string
/// in JSON, where lines end with `\n`.
fn is_key(text: &str, at: usize) -> bool {
    let (before, rest) = text.split_at_checked(at).unwrap_or_default();
    // A line may be as long as the file.
    let start = before.ceil_char_boundary(before.len().saturating_sub(LABEL_BYTES));
    let line = before.get(start..).unwrap_or_default();
    let line = line.rsplit(['\n', '"', '\'']).next().unwrap_or_default();
    if !line.contains("-----BEGIN ") {
        return false;
    }
    let contents: String = rest
        .chars()
        .skip(PRIVATE_KEY.len())
        .take(KEY_BYTES)
        .collect();
    let contents = contents.replace("\\r", " ").replace("\\n", " ");
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    let mut words = contents.split_whitespace();
    words.any(|word| word.len() >= KEY_DIGITS && word.bytes().all(is_digit))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGITS: &str = "MIIEpAIBAAKCAQEAwq7Yh0bGm0bq3Xb3Zs1nTn2q9pY1kZ0b9xk3m5Zt";

    #[test]
    fn a_private_key_is_found_in_every_form() {
        for text in [
            format!("-----BEGIN RSA PRIVATE KEY-----\n{DIGITS}\n"),
            format!("x = <<EOT\n  -----BEGIN PRIVATE KEY-----\r\n  {DIGITS}\r\n  EOT\n"),
            format!("{{\"private_key\": \"-----BEGIN PRIVATE KEY-----\\n{DIGITS}\\n\"}}"),
            format!("-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n{DIGITS}\n"),
            format!(
                "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n{DIGITS}\n"
            ),
        ] {
            assert_eq!(
                secret_in(text.as_bytes()),
                Some(SecretFile::PrivateKey),
                "{text}"
            );
        }
    }

    #[test]
    fn a_mention_of_a_key_and_a_public_key_are_no_private_key() {
        for text in [
            "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n".to_owned(),
            "a PEM text that starts with -----BEGIN RSA PRIVATE KEY-----".to_owned(),
            format!("-----BEGIN PUBLIC KEY-----\n{DIGITS}\n"),
            format!("-----BEGIN CERTIFICATE-----\n{DIGITS}\n"),
            format!("the PRIVATE KEY is not {DIGITS}"),
        ] {
            assert_eq!(secret_in(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_long_line_takes_no_longer_than_many_short_ones() {
        let line = PRIVATE_KEY.repeat(200_000);
        assert_eq!(secret_in(line.as_bytes()), None);
        let key = format!("{line}-----BEGIN PRIVATE KEY-----\n{DIGITS}\n");
        assert_eq!(secret_in(key.as_bytes()), Some(SecretFile::PrivateKey));
    }

    #[test]
    fn plans_and_states_are_found_under_any_name() {
        let plan = [ZIP, &[0; ZIP_NAME - 4], b"tfplan"].concat();
        assert_eq!(secret_in(&plan), Some(SecretFile::Plan));
        let other = [ZIP, &[0; ZIP_NAME - 4], b"main.py"].concat();
        assert_eq!(secret_in(&other), None);
        let state = br#"{"version": 4, "terraform_version": "1.9.0", "serial": 1, "lineage": "x"}"#;
        assert_eq!(secret_in(state), Some(SecretFile::State));
        assert_eq!(secret_in(br#"{"serial": 1}"#), None);
    }
}
