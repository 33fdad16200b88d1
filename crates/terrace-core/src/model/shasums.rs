//! The SHA256SUMS file of a provider release.
//!
//! Its bytes are signed, so nothing in it can be corrected here: text that would break or crash a client is
//! rejected (clients.md 2.3.1, 2.3.2).

use std::collections::BTreeMap;

use crate::limits;
use terrace_base::digest::Sha256;

/// A SHA256SUMS text that every client reads in the same way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shasums {
    text: String,
    digests: BTreeMap<String, Sha256>,
}

/// The error for a SHA256SUMS text that clients cannot use. Lines are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ShasumsError {
    /// A blank line makes every client panic.
    #[error(
        "SHA256SUMS line {0} is blank, which crashes terraform and tofu: remove it and sign again"
    )]
    Blank(usize),
    /// A file name appears twice.
    #[error("SHA256SUMS names {0:?} twice")]
    Duplicate(String),
    /// The file is empty.
    #[error("SHA256SUMS is empty")]
    Empty,
    /// A line is not a digest and a name.
    #[error("SHA256SUMS line {line} is not \"<sha256>  <filename>\": {text:?}")]
    Malformed {
        /// The number of the line.
        line: usize,
        /// The text of the line, at most 120 characters.
        text: String,
    },
    /// A name that no client matches with the name of its file.
    #[error(
        "SHA256SUMS line {line} names {name:?}: clients require the bare file name, without \"*\" or a directory"
    )]
    Name {
        /// The number of the line.
        line: usize,
        /// The name, at most 120 characters.
        name: String,
    },
    /// The file exceeds the limit.
    #[error("SHA256SUMS is {0} bytes long, at most {max} are allowed", max = limits::SHASUMS_BYTES)]
    TooLong(usize),
}

impl Shasums {
    /// Parses the text by the clients' own rules.
    ///
    /// # Errors
    /// All unusable lines at once.
    pub fn parse(text: &str) -> Result<Self, Vec<ShasumsError>> {
        if text.len() > limits::SHASUMS_BYTES {
            return Err(vec![ShasumsError::TooLong(text.len())]);
        }
        // Clients trim one final line ending and split at `\n`; a further line ending is a blank line.
        let body = text.strip_suffix('\n').unwrap_or(text);
        if body.trim().is_empty() {
            return Err(vec![ShasumsError::Empty]);
        }
        let mut digests = BTreeMap::new();
        let mut errors = Vec::new();
        for (index, line) in body.split('\n').enumerate() {
            match parse_line(index + 1, line) {
                Ok((name, digest)) => {
                    if digests.insert(name.to_owned(), digest).is_some() {
                        errors.push(ShasumsError::Duplicate(name.to_owned()));
                    }
                }
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            Ok(Self {
                text: text.to_owned(),
                digests,
            })
        } else {
            Err(errors)
        }
    }

    /// Returns the exact text that was signed.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the digest of the text.
    pub fn digest(&self) -> Sha256 {
        Sha256::of(self.text.as_bytes())
    }

    /// Returns the digest that it lists for a file.
    pub fn digest_of(&self, filename: &str) -> Option<Sha256> {
        self.digests.get(filename).copied()
    }

    /// Returns the names of all files that it lists, sorted.
    pub fn filenames(&self) -> impl Iterator<Item = &str> {
        self.digests.keys().map(String::as_str)
    }
}

/// The rule of [`is_file_name`], for messages.
pub const FILE_NAME_RULE: &str =
    "it must be 1 to 255 visible ASCII characters, without /, \\ and :, and not start with * or .";

/// Returns whether every client finds a file of this name in SHA256SUMS, and no program takes the name for a path. Publishers
/// choose the names of their packages.
pub fn is_file_name(name: &str) -> bool {
    (1..=limits::FILENAME_BYTES).contains(&name.len())
        && !name.starts_with(['*', '.'])
        && name
            .bytes()
            .all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'/' | b'\\' | b':'))
}

fn parse_line(number: usize, line: &str) -> Result<(&str, Sha256), ShasumsError> {
    let malformed = || ShasumsError::Malformed {
        line: number,
        text: line.chars().take(120).collect(),
    };
    let mut fields = line.split_whitespace();
    let digest = fields.next().ok_or(ShasumsError::Blank(number))?;
    let name = fields.next().ok_or_else(malformed)?;
    if fields.next().is_some() {
        return Err(malformed());
    }
    let digest: Sha256 = digest.parse().map_err(|_| malformed())?;
    if !is_file_name(name) {
        return Err(ShasumsError::Name {
            line: number,
            name: name.chars().take(120).collect(),
        });
    }
    Ok((name, digest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIGEST: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn errors(text: &str) -> Vec<ShasumsError> {
        Shasums::parse(text).expect_err(text)
    }

    #[test]
    fn a_text_that_clients_read_is_accepted_2_3_1() {
        for text in [
            format!("{DIGEST}  a.zip\n"),
            format!("{DIGEST}  a.zip"),
            format!("{DIGEST}  a.zip\r\n{DIGEST}  b.zip\r\n"),
            format!("{DIGEST} a.zip\n{DIGEST}\tmanifest.json\n"),
            format!("{}  a.zip\n", DIGEST.to_ascii_uppercase()),
            // Clients split at any Unicode white space.
            format!("{DIGEST}\u{a0}a.zip\n"),
            format!("{DIGEST}\u{2003}a.zip\n"),
            format!("{DIGEST}\u{b}a.zip\n"),
            format!("{DIGEST}  a.zip \n{DIGEST}  b.zip\n"),
            format!("{DIGEST}  a.zip\r"),
            format!("{DIGEST}  a.zip\u{b}\n"),
            format!("{DIGEST}  a.zip\u{85}\n"),
            format!("{DIGEST}  a.zip\u{2028}"),
        ] {
            let shasums = Shasums::parse(&text).expect(&text);
            assert_eq!(shasums.digest_of("a.zip"), Some(DIGEST.parse().unwrap()));
            assert_eq!(shasums.as_str(), text);
        }
    }

    #[test]
    fn a_blank_line_which_crashes_clients_is_rejected_anywhere_2_3_2() {
        for (text, line) in [
            (format!("\n{DIGEST}  a.zip\n"), 1),
            (format!("{DIGEST}  a.zip\n\n{DIGEST}  b.zip\n"), 2),
            (format!("{DIGEST}  a.zip\n\n"), 2),
            (format!("{DIGEST}  a.zip\n \t\r\n"), 2),
            (format!("{DIGEST}  a.zip\r\n\r\n{DIGEST}  b.zip\r\n"), 2),
            (format!("{DIGEST}  a.zip\n\u{a0}\u{2003}\n"), 2),
            (format!("{DIGEST}  a.zip\n\u{b}\n"), 2),
            (format!("{DIGEST}  a.zip\n\u{2028}\n"), 2),
        ] {
            assert_eq!(errors(&text), [ShasumsError::Blank(line)], "{text:?}");
        }
    }

    #[test]
    fn binary_mode_and_dotted_names_are_rejected_2_3_1() {
        for name in [
            "*a.zip",
            "./a.zip",
            "d/a.zip",
            "..\\a.zip",
            "C:a.zip",
            "é.zip",
            "\u{feff}a.zip",
            "a.zip\u{200b}",
            "a.zip\0",
        ] {
            let found = errors(&format!("{DIGEST}  {name}\n"));
            assert!(
                matches!(found.as_slice(), [ShasumsError::Name { line: 1, .. }]),
                "{found:?}"
            );
        }
    }

    #[test]
    fn a_comment_or_a_malformed_line_is_rejected_2_3_2() {
        for line in [
            "# checksums",
            "abc  a.zip",
            DIGEST,
            &format!("{DIGEST}  a b"),
            &format!("{DIGEST}  a\u{a0}b"),
            // Clients end a line only at `\n`.
            &format!("{DIGEST}  a.zip\r{DIGEST}  b.zip"),
            &format!("{DIGEST}  a.zip\u{2028}{DIGEST}  b.zip"),
            &format!("{DIGEST}  a.zip{DIGEST}  b.zip"),
        ] {
            let found = errors(&format!("{line}\n"));
            assert!(
                matches!(found.as_slice(), [ShasumsError::Malformed { line: 1, .. }]),
                "{found:?}"
            );
        }
    }

    #[test]
    fn all_invalid_lines_are_reported_at_once() {
        let found = errors(&format!("{DIGEST}  a.zip\n\n{DIGEST}  a.zip\nnonsense\n"));
        assert_eq!(found.len(), 3, "{found:?}");
    }

    #[test]
    fn an_empty_text_and_a_huge_one_are_rejected() {
        assert_eq!(errors(""), [ShasumsError::Empty]);
        assert_eq!(errors("\n"), [ShasumsError::Empty]);
        let huge = "x".repeat(limits::SHASUMS_BYTES + 1);
        assert_eq!(errors(&huge), [ShasumsError::TooLong(huge.len())]);
    }
}
