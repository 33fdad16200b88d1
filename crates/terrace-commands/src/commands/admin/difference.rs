//! The difference between a document in a copy and the one that a registry has under the same key.

use std::collections::BTreeSet;

use terrace_core::maintenance::restore::Restored;
use terrace_core::storage::key::FactKey;

/// Describes how the registry's document differs from the copy's. If the registry's cannot be read, the
/// description only states that they differ.
pub(super) fn describe(key: &str, there: Option<&str>, copied: &str) -> String {
    let what = match there.and_then(|there| has_same_bytes(key, there, copied)) {
        Some(true) => "with other metadata, but the same archives",
        Some(false) => "with other bytes",
        None => "with other contents",
    };
    format!("the registry already has {key} {what}. It stays unchanged")
}

/// Returns whether two releases consist of the same archives; `None` if the documents are not releases.
pub(super) fn has_same_bytes(key: &str, there: &str, copied: &str) -> Option<bool> {
    let key = FactKey::parse(key)?;
    let bytes = |document: &str| -> Option<BTreeSet<String>> {
        let restored = Restored::parse(&key, document).ok()?;
        Some(
            restored
                .bytes
                .iter()
                .map(|needed| needed.key.to_string())
                .collect(),
        )
    };
    let (there, copied) = (bytes(there)?, bytes(copied)?);
    (!there.is_empty() || !copied.is_empty()).then_some(there == copied)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "releases/modules/acme/vpc/aws/1.0.0";

    fn release(published_at: u64, digit: &str) -> String {
        let archive = format!(
            r#"{{"format":"zip","sha256":"{}","size":7}}"#,
            digit.repeat(64)
        );
        let start = r#""kind":"module","schema":1,"address":"acme/vpc/aws","version":"1.0.0""#;
        format!(r#"{{{start},"published_at":{published_at},"archive":{archive}}}"#)
    }

    #[test]
    fn a_release_of_another_day_has_the_same_bytes_and_one_with_another_archive_others() {
        let told_of = |day, digit| describe(KEY, Some(&release(0, "a")), &release(day, digit));
        let message = told_of(86_400, "a");
        assert!(message.contains("but the same archives"), "{message}");
        let message = told_of(0, "b");
        assert!(message.contains("with other bytes"), "{message}");
        assert!(describe("keys/acme", Some("{"), "{}").contains("with other contents"));
    }
}
