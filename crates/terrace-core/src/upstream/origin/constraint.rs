//! Version constraints, as terraform and tofu parse them for providers and for modules.
//!
//! The rules are those of the library that both use for providers, apparentlymart's `go-versions`, in its "ruby style". The
//! library is stricter about spaces, which never change the meaning of a constraint.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crate::model::version::{Version, padded};

/// Maximum length of version constraints, far longer than any in use.
const CONSTRAINTS_BYTES: usize = 1_000;

/// A list of constraints. A version must meet all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constraints {
    text: String,
    each: Vec<Constraint>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Constraint {
    operator: Operator,
    /// The version, with zeros for omitted numbers.
    boundary: semver::Version,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Greater,
    GreaterOrEqual,
    Less,
    LessOrEqual,
    /// `~> 1`: below the next major version, for providers.
    FromMajor,
    /// `~> 1.2`: below the next major version.
    SameMajor,
    /// `~> 1.2.3`: below the next minor version.
    SameMinor,
}

/// Error: a text that is not a list of version constraints.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a version constraint such as \"~> 3.6\" or \">= 1.2.0, < 2.0.0\": the operators are =, !=, >, >=, <, <= \
     and ~>, and numbers that may have any value are left out"
)]
pub struct ConstraintError {
    text: String,
}

impl Constraints {
    /// Creates the constraint for exactly this version.
    pub fn exactly(version: &Version) -> Self {
        Self {
            text: version.to_string(),
            each: vec![Constraint {
                operator: Operator::Equal,
                boundary: version.as_semver().clone(),
            }],
        }
    }

    /// Returns the combination of both lists.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        if !self.text.is_empty() && !other.text.is_empty() {
            self.text.push_str(", ");
        }
        self.text.push_str(&other.text);
        self.each.extend(other.each);
        self
    }

    /// Returns the constraints as clients read them for modules, by another library: there `~> 1` also admits version 2.
    #[must_use]
    pub fn of_modules(mut self) -> Self {
        for constraint in &mut self.each {
            if constraint.operator == Operator::FromMajor {
                constraint.operator = Operator::GreaterOrEqual;
            }
        }
        self
    }

    /// Returns whether a version is admitted. A prerelease is admitted only if it is named exactly (clients.md
    /// 2.1.4).
    pub fn admit(&self, version: &Version) -> bool {
        let version = version.as_semver();
        let is_named = |constraint: &Constraint| {
            constraint.operator == Operator::Equal && constraint.boundary == *version
        };
        self.each
            .iter()
            .all(|constraint| constraint.is_met(version))
            && (version.pre.is_empty() || self.each.iter().any(is_named))
    }
}

impl Constraint {
    fn is_met(&self, version: &semver::Version) -> bool {
        let boundary = &self.boundary;
        // Build metadata matters only in comparisons with an exact version.
        let order = version.cmp_precedence(boundary);
        let is_below = |major, minor| {
            let upper = semver::Version::new(major, minor, 0);
            order != Ordering::Less && version.cmp_precedence(&upper) == Ordering::Less
        };
        match self.operator {
            Operator::Equal => version == boundary,
            Operator::NotEqual => version != boundary,
            Operator::Greater => order == Ordering::Greater,
            Operator::GreaterOrEqual => order != Ordering::Less,
            Operator::Less => order == Ordering::Less,
            Operator::LessOrEqual => order != Ordering::Greater,
            Operator::FromMajor | Operator::SameMajor => {
                is_below(boundary.major.saturating_add(1), 0)
            }
            Operator::SameMinor => is_below(boundary.major, boundary.minor.saturating_add(1)),
        }
    }
}

impl fmt::Display for Constraints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Constraints {
    type Err = ConstraintError;

    /// Parses constraints, separated by commas. An empty list admits every release.
    fn from_str(text: &str) -> Result<Self, ConstraintError> {
        let list = text.trim();
        let list = list.strip_suffix(',').unwrap_or(list).trim();
        let each: Option<Vec<Constraint>> = match list {
            "" => Some(Vec::new()),
            list => list
                .split(',')
                .map(|part| constraint(part.trim()))
                .collect(),
        };
        let each = each.filter(|_| text.len() <= CONSTRAINTS_BYTES);
        let each = each.ok_or_else(|| ConstraintError {
            text: text.chars().take(80).collect(),
        })?;
        let text = text.trim().to_owned();
        Ok(Self { text, each })
    }
}

fn constraint(text: &str) -> Option<Constraint> {
    let start = text.find(|c: char| !"<>=!~".contains(c))?;
    let (symbol, version) = text.split_at_checked(start)?;
    let (numbers, version) = padded(version.trim());
    let operator = match symbol {
        "" | "=" => Operator::Equal,
        "!=" => Operator::NotEqual,
        ">" => Operator::Greater,
        ">=" => Operator::GreaterOrEqual,
        "<" => Operator::Less,
        "<=" => Operator::LessOrEqual,
        "~>" if numbers == 1 => Operator::FromMajor,
        "~>" if numbers == 3 => Operator::SameMinor,
        "~>" => Operator::SameMajor,
        _ => return None,
    };
    let boundary = semver::Version::parse(&version).ok()?;
    Some(Constraint { operator, boundary })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(constraints: &str, admitted: &[&str], refused: &[&str]) {
        let parsed: Constraints = constraints.parse().unwrap();
        let admits = |version: &str| parsed.admit(&version.parse().unwrap());
        for version in admitted {
            assert!(admits(version), "{constraints:?} must admit {version}");
        }
        for version in refused {
            assert!(!admits(version), "{constraints:?} must not admit {version}");
        }
    }

    #[test]
    fn each_operator_follows_terraforms_documentation() {
        check("1.2.0", &["1.2.0"], &["1.2.1", "1.1.9"]);
        check("= 1.2", &["1.2.0"], &["1.2.1"]);
        check("!= 1.2.0", &["1.2.1", "0.1.0"], &["1.2.0"]);
        check("> 1.2.0", &["1.2.1", "2.0.0"], &["1.2.0", "1.1.0"]);
        check(">= 1.2.0", &["1.2.0", "2.0.0"], &["1.1.9"]);
        check("< 1.2.0", &["1.1.9", "0.0.1"], &["1.2.0"]);
        check("<= 1.2.0", &["1.2.0", "1.0.0"], &["1.2.1"]);
    }

    #[test]
    fn the_pessimistic_operator_allows_larger_values_of_the_last_given_number() {
        check(
            "~> 1.0.4",
            &["1.0.4", "1.0.5", "1.0.10"],
            &["1.0.3", "1.1.0"],
        );
        check("~> 1.1", &["1.1.0", "1.2.0", "1.10.9"], &["1.0.9", "2.0.0"]);
        check("~> 1", &["1.0.0", "1.9.0"], &["0.9.0", "2.0.0"]);
        let of_modules = |text: &str| text.parse::<Constraints>().unwrap().of_modules();
        for (constraints, admits) in [("~> 1", true), ("~> 1.0", false)] {
            let admitted = of_modules(constraints).admit(&"2.0.0".parse().unwrap());
            assert_eq!(admitted, admits, "{constraints}");
        }
        check("~>0.9", &["0.9.0", "0.10.0"], &["1.0.0"]);
    }

    #[test]
    fn all_constraints_must_be_met() {
        check(
            ">= 1.2.0, < 2.0.0, != 1.5.0",
            &["1.2.0", "1.9.9"],
            &["1.1.0", "1.5.0", "2.0.0"],
        );
        check(">=1.0,<1.1,", &["1.0.5"], &["1.1.0"]);
        check("", &["0.0.1", "9.9.9"], &["1.0.0-rc.1"]);
        let both: Constraints = ">= 1.0.0".parse().unwrap();
        let both = both.and("< 2.0.0".parse().unwrap());
        assert_eq!(both.to_string(), ">= 1.0.0, < 2.0.0");
        assert!(!both.admit(&"2.0.0".parse().unwrap()));
    }

    #[test]
    fn a_prerelease_is_admitted_only_if_it_is_named_exactly_2_1_4() {
        check(
            "= 1.2.0-beta.1",
            &["1.2.0-beta.1"],
            &["1.2.0-beta.2", "1.2.0"],
        );
        check("1.2.0-beta.1", &["1.2.0-beta.1"], &[]);
        check(">= 1.0.0", &["1.2.0"], &["1.2.0-beta.1"]);
        check(
            ">= 1.2.0-beta.1",
            &["1.2.0"],
            &["1.2.0-beta.1", "1.2.0-beta.2"],
        );
        check(
            "~> 1.2.0-beta",
            &["1.2.0", "1.2.5"],
            &["1.2.0-beta", "1.3.0"],
        );
        check("= 1.2.0-beta.1, > 2.0.0", &[], &["1.2.0-beta.1"]);
    }

    #[test]
    fn build_metadata_matters_only_for_an_exact_version() {
        check("= 1.0.0+b", &["1.0.0+b"], &["1.0.0", "1.0.0+c"]);
        check("= 1.0.0", &["1.0.0"], &["1.0.0+b"]);
        check("<= 1.0.0", &["1.0.0", "1.0.0+b"], &[]);
        let exactly = Constraints::exactly(&"1.0.0-rc.1+b".parse().unwrap());
        assert!(exactly.admit(&"1.0.0-rc.1+b".parse().unwrap()));
    }

    #[test]
    fn an_invalid_constraint_is_rejected() {
        for text in [
            "latest",
            "v1.0.0",
            ">= v1.0.0",
            "1.*",
            "1.x",
            "1.0.0.0",
            "=> 1.0",
            "== 1.0",
            "~> ",
            "1.0,,2.0",
            "1.0 2.0",
            "1.0.0-",
            "1.0.0+",
            "1.0.0-é",
            "99999999999999999999",
            &"1,".repeat(600),
        ] {
            assert!(text.parse::<Constraints>().is_err(), "{text}");
        }
    }
}
