//! Conversion between tags and versions: a tag has a `_` for the `+`, which OCI does not allow (clients.md
//! 6.3).

use crate::model::version::Version;

/// Returns the tag of a version.
pub fn of(version: &Version) -> String {
    version.to_string().replace('+', "_")
}

/// Returns the version that a tag names; `None` if it is not the tag of a version.
pub(crate) fn parse(tag: &str) -> Option<Version> {
    let version = tag.replacen('_', "+", 1).parse().ok()?;
    (of(&version) == tag).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_is_a_version_with_an_underscore_for_the_plus_6_3() {
        for (version, tag) in [
            ("1.2.3", "1.2.3"),
            ("1.2.3-rc.1", "1.2.3-rc.1"),
            ("1.2.3+b.1", "1.2.3_b.1"),
            ("1.2.3-rc.1+b.1", "1.2.3-rc.1_b.1"),
        ] {
            let version: Version = version.parse().unwrap();
            assert_eq!(of(&version), tag);
            assert_eq!(parse(tag), Some(version));
        }
    }

    #[test]
    fn a_tag_without_a_complete_version_is_rejected() {
        for tag in [
            "",
            "latest",
            "1",
            "1.0",
            "v1.0.0",
            "01.2.3",
            "1.2.3+b",
            "1.2.3_b_c",
            "1.2.3_",
        ] {
            assert_eq!(parse(tag), None, "{tag}");
        }
    }
}
