//! Patterns for the values of claims: a text, optionally with wildcards.

use std::fmt;
use std::str::FromStr;

use super::limits;

/// A pattern for the value of a claim. It is compared byte by byte, so `Acme` does not match `acme`: names
/// that a forge accepts in any case (GitHub's repositories) appear in its tokens as their owner has written
/// them. A `*` matches any run of characters, possibly empty, except `/` and control characters. Nothing else
/// is special.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimPattern(String);

impl ClaimPattern {
    /// Returns whether a value matches the pattern.
    pub fn matches(&self, text: &str) -> bool {
        let mut literals = self.0.split('*');
        let first = literals.next().unwrap_or_default();
        let Some(mut rest) = text.strip_prefix(first) else {
            return false;
        };
        let Some(last) = literals.next_back() else {
            return rest.is_empty();
        };
        // The first occurrence of each literal suffices: an obstacle between a star and this occurrence also
        // lies before all later ones.
        for literal in literals {
            match rest.split_once(literal) {
                Some((run, after)) if is_run(run) => rest = after,
                _ => return false,
            }
        }
        rest.strip_suffix(last).is_some_and(is_run)
    }

    /// Returns whether an e-mail address matches the pattern, if the case of its domain is ignored. Only its domain has no
    /// case: the part before the last `@` belongs to its host.
    pub(super) fn matches_address(&self, text: &str) -> bool {
        let folded = |text: &str| {
            let (local, domain) = text.rsplit_once('@')?;
            Some(format!("{local}@{}", domain.to_ascii_lowercase()))
        };
        let pattern = folded(&self.0).map(Self);
        let text = folded(text);
        pattern
            .zip(text)
            .is_some_and(|(pattern, text)| pattern.matches(&text))
    }

    /// Returns whether a domain matches the pattern, if its case is ignored.
    pub(super) fn matches_domain(&self, text: &str) -> bool {
        let pattern = Self(self.0.to_ascii_lowercase());
        pattern.matches(&text.to_ascii_lowercase())
    }

    /// Returns whether the pattern matches arbitrary values, or only requires a form: `*@*` matches every
    /// address.
    pub(super) fn is_anything(&self) -> bool {
        !self.0.contains(char::is_alphanumeric)
    }

    /// Returns whether all addresses that the pattern matches are of one domain and its subdomains.
    pub(super) fn fixes_domain(&self) -> bool {
        let Some((_, domain)) = self.0.rsplit_once('@') else {
            return false;
        };
        match domain.rsplit_once('*') {
            None => true,
            Some((_, fixed)) => fixed.starts_with('.') && fixed.matches('.').count() > 1,
        }
    }

    /// Returns whether the pattern fixes the first part of a path, the first name of a subject with its value, or the whole of a
    /// value: `acme*/widget` would also admit strangers who take a name with that start, and `organization:*` admits everyone.
    pub(super) fn pins_first_part(&self) -> bool {
        let fixed = self.fixed_parts();
        let is_name = |c: char| c.is_ascii_lowercase() || matches!(c, '_' | '-');
        let star = self.0.get(fixed.len()..).unwrap_or_default();
        let needed = match fixed.split(':').next().unwrap_or_default() {
            _ if !star.contains('*') => 1,
            // The namespace of a Kubernetes service account, and the account of an ARN.
            "system" => 3,
            "arn" => 5,
            name if star.starts_with(':') && name.chars().all(is_name) => 2,
            _ => 1,
        };
        self.pins_some_part() && !star.starts_with("::") && fixed.split(':').count() >= needed
    }

    /// Returns whether the pattern fixes a part at the beginning, which may be a name.
    pub(super) fn pins_some_part(&self) -> bool {
        let fixed = self.fixed_parts();
        !fixed.is_empty() && !fixed.starts_with(SEPARATORS)
    }

    /// Returns the parts before the first star that it cannot extend; all of them if there is no star.
    fn fixed_parts(&self) -> &str {
        match self.0.split_once('*') {
            None => &self.0,
            Some((before, _)) => {
                let parts = before.rsplit_once(SEPARATORS);
                parts.map_or("", |(parts, _)| parts.trim_end_matches(SEPARATORS))
            }
        }
    }
}

/// The characters between the parts of paths, and of the subjects of other systems.
const SEPARATORS: [char; 2] = ['/', ':'];

/// Returns whether a `*` may match this text.
fn is_run(text: &str) -> bool {
    !text.contains(|c: char| c == '/' || c.is_control())
}

impl FromStr for ClaimPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let max = limits::PATTERN_BYTES;
        match text {
            "" => Err("it is empty".to_owned()),
            _ if text.len() > max => Err(format!("it is longer than {max} bytes")),
            _ if text.contains(char::is_control) => {
                Err("it contains a control character".to_owned())
            }
            _ if text.contains("**") => Err(
                "`**` has no meaning: a `*` never matches a `/`, so write one for each part"
                    .to_owned(),
            ),
            _ => Ok(Self(text.to_owned())),
        }
    }
}

impl fmt::Display for ClaimPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn matches(pattern: &str, text: &str) -> bool {
        pattern.parse::<ClaimPattern>().unwrap().matches(text)
    }

    #[test]
    fn without_a_star_only_the_same_bytes_match() {
        assert!(matches("acme/widget", "acme/widget"));
        for other in [
            "Acme/widget",
            "acme/widget ",
            "acme/widge",
            "acme/widgets",
            "",
        ] {
            assert!(!matches("acme/widget", other), "{other:?}");
        }
        assert!(!matches("v?", "v1"));
        assert!(!matches("v[0-9]", "v1"));
        assert!(matches("v?[.]", "v?[.]"));
    }

    #[test]
    fn a_star_matches_any_run_within_one_part() {
        for text in ["refs/tags/v", "refs/tags/v1.2.3-rc.1", "refs/tags/v*"] {
            assert!(matches("refs/tags/v*", text), "{text:?}");
        }
        for text in [
            "refs/tags/v1/x",
            "refs/tags/v1/../x",
            "refs/tags/v1\n",
            "refs/tags/v1\0",
            "refs/tags/w1",
            "refs/heads/v1",
            "xrefs/tags/v1",
        ] {
            assert!(!matches("refs/tags/v*", text), "{text:?}");
        }
        assert!(matches(
            "acme/*/.github/*@refs/tags/*",
            "acme/x/.github/y.yml@refs/tags/v1"
        ));
        assert!(matches("a*a", "aa"));
        assert!(!matches("a*a", "a"));
    }

    #[test]
    fn an_invalid_pattern_is_rejected() {
        let long = "a".repeat(limits::PATTERN_BYTES + 1);
        for text in ["", "a\n", "acme/**", &long] {
            assert!(text.parse::<ClaimPattern>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_domain_of_an_address_has_no_case_and_the_rest_has() {
        let matches = |pattern: &str, text: &str| {
            let pattern: ClaimPattern = pattern.parse().unwrap();
            pattern.matches_address(text)
        };
        for (pattern, address) in [
            ("ann@acme.example", "ann@ACME.example"),
            ("ann@Acme.Example", "ann@acme.example"),
            ("*@acme.example", "Ann@ACME.EXAMPLE"),
            ("*@*.acme.example", "ann@eu.Acme.example"),
        ] {
            assert!(matches(pattern, address), "{pattern} {address}");
        }
        for (pattern, address) in [
            ("ann@acme.example", "Ann@acme.example"),
            ("Ann@acme.example", "ann@acme.example"),
            ("*@acme.example", "ann@acme.example.evil.example"),
            ("*@acme.example", "ann@acme.example@evil.example"),
            ("*@acme.example", "ann"),
            ("acme.example", "acme.example"),
        ] {
            assert!(!matches(pattern, address), "{pattern} {address}");
        }
        let domain: ClaimPattern = "Acme.example".parse().unwrap();
        assert!(domain.matches_domain("ACME.example"));
        assert!(!domain.matches_domain("acme.example.evil"));
    }

    #[test]
    fn only_a_fixed_first_part_identifies() {
        let pins = |text: &str| text.parse::<ClaimPattern>().unwrap().pins_first_part();
        for text in [
            "acme",
            "acme/*",
            "acme/widget-*",
            "repo:acme/widget:ref:refs/tags/v*",
            "{3fa85f64-5717}:*",
            "organization:acme:project:infra:workspace:*:run_phase:*",
            "organization:acme:*",
            "space:root:stack:*:run_type:*:scope:*",
            "project_path:acme/*:ref_type:tag:ref:*",
            "system:serviceaccount:ci:*",
            "arn:aws:iam::123456789012:role/*",
        ] {
            assert!(pins(text), "{text}");
        }
        for text in [
            "*",
            "*/widget",
            "acme*",
            "acme*/widget",
            "a*/*",
            "repo:*",
            "/acme",
            "organization:*",
            "organization:acme*:project:infra",
            "organization:*:project:infra",
            "project_path:*/*:ref_type:tag",
            "spiffe://*",
            "{3fa85f64*",
            ":acme:*",
            "acme:widget::*",
            "system:serviceaccount:*",
            "system:serviceaccount:*:deploy",
            "arn:aws:iam::*:role/deploy",
            "arn:aws:iam:*",
        ] {
            assert!(!pins(text), "{text}");
        }
        let vouched = |text: &str| text.parse::<ClaimPattern>().unwrap().pins_some_part();
        assert!(vouched("system:*") && !vouched("*") && !vouched("system*"));
    }

    /// Matches by trying every way to fill each star.
    fn naive(pattern: &[char], text: &[char]) -> bool {
        match (pattern.split_first(), text.split_first()) {
            (None, text) => text.is_none(),
            (Some(('*', rest)), after) => {
                naive(rest, text)
                    || after.is_some_and(|(c, after)| {
                        *c != '/' && !c.is_control() && naive(pattern, after)
                    })
            }
            (Some((p, rest)), Some((c, after))) => p == c && naive(rest, after),
            (Some(_), None) => false,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn a_pattern_matches_as_an_exhaustive_search_does(
            pattern in "[ab/*\u{430}]{1,8}",
            text in "[ab/\n\u{430}]{0,10}",
        ) {
            if let Ok(parsed) = pattern.parse::<ClaimPattern>() {
                let pattern: Vec<char> = pattern.chars().collect();
                let chars: Vec<char> = text.chars().collect();
                prop_assert_eq!(parsed.matches(&text), naive(&pattern, &chars));
            }
        }
    }
}
