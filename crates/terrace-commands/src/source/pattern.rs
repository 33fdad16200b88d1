//! Patterns of directories, tags and addresses, such as `modules/{name}` and `{name}/v{version}`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use terrace_core::model::name::{ModuleName, System};
use terrace_core::model::version::Version;

/// A text with fields in braces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Field(Field),
}

/// A field of a pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Field {
    /// The name of a module.
    Name,
    /// The target system of a module.
    System,
    /// The directory of a module.
    Path,
    /// A version, with or without a leading `v`.
    Version,
}

/// The values of the fields.
pub(crate) type Captures = BTreeMap<Field, String>;

const BRACE: &str = "a brace is not closed, or not opened";

impl Field {
    const ALL: [(&'static str, Self); 4] = [
        ("name", Self::Name),
        ("system", Self::System),
        ("path", Self::Path),
        ("version", Self::Version),
    ];

    /// Returns whether a text may be the value of the field.
    fn accepts(self, text: &str) -> bool {
        match self {
            Self::Name => text.parse::<ModuleName>().is_ok(),
            Self::System => text.parse::<System>().is_ok(),
            Self::Path => !text.is_empty(),
            Self::Version => version(text).is_some(),
        }
    }
}

/// Returns the version that a part of a tag names.
pub(crate) fn version(text: &str) -> Option<Version> {
    text.strip_prefix('v').unwrap_or(text).parse().ok()
}

impl Pattern {
    pub(crate) fn has(&self, field: Field) -> bool {
        self.pieces.contains(&Piece::Field(field))
    }

    /// Returns the fields of a text with this pattern. Earlier fields are as long as possible.
    pub(crate) fn captures(&self, text: &str) -> Option<Captures> {
        let mut captures = Captures::default();
        capture(&self.pieces, text, &mut captures).then_some(captures)
    }

    /// Returns the text with these values of the fields, if all have one.
    pub(crate) fn expand(&self, captures: &Captures) -> Option<String> {
        let texts = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            Piece::Field(field) => captures.get(field).map(String::as_str),
        });
        texts.collect()
    }

    /// Returns the patterns of the parts between slashes.
    pub(crate) fn parts(&self) -> Vec<Self> {
        let parts = self.text.split('/').filter(|part| *part != ".");
        parts.filter_map(|part| part.parse().ok()).collect()
    }
}

fn capture(pieces: &[Piece], text: &str, captures: &mut Captures) -> bool {
    let Some((first, rest)) = pieces.split_first() else {
        return text.is_empty();
    };
    let field = match first {
        Piece::Text(literal) => {
            let after = text.strip_prefix(literal.as_str());
            return after.is_some_and(|after| capture(rest, after, captures));
        }
        Piece::Field(field) => *field,
    };
    let ends = text.char_indices().map(|(at, c)| at + c.len_utf8());
    let ends: Vec<usize> = ends.collect();
    ends.into_iter().rev().any(|end| {
        let (value, after) = text.split_at_checked(end).unwrap_or_default();
        let is_match = field.accepts(value) && capture(rest, after, captures);
        if is_match {
            captures.insert(field, value.to_owned());
        }
        is_match
    })
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (name, after) = after.split_once('}').ok_or(BRACE)?;
            let known = Field::ALL.iter().find(|(known, _)| *known == name);
            let (_, field) = known.ok_or_else(|| {
                format!("there is no field {{{name}}}: use {{name}}, {{system}}, {{path}} or {{version}}")
            })?;
            let piece = Piece::Field(*field);
            let follows = before.is_empty() && !pieces.is_empty();
            if follows || pieces.contains(&piece) {
                return Err(format!(
                    "the field {{{name}}} needs a separator before it, and stands only once in a pattern"
                ));
            }
            if before.contains('}') {
                return Err(BRACE.to_owned());
            }
            if !before.is_empty() {
                pieces.push(Piece::Text(before.to_owned()));
            }
            pieces.push(piece);
            rest = after;
        }
        if rest.contains('}') {
            return Err(BRACE.to_owned());
        }
        if !rest.is_empty() {
            pieces.push(Piece::Text(rest.to_owned()));
        }
        Ok(Self {
            text: text.to_owned(),
            pieces,
        })
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Returns whether a text is one in which each `*` stands for any characters.
pub(crate) fn is_like(text: &str, glob: &str) -> bool {
    match glob.split_once('*') {
        None => text == glob,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|after| {
            let mut ends = after.char_indices().map(|(at, _)| at).chain([after.len()]);
            ends.any(|at| after.get(at..).is_some_and(|after| is_like(after, rest)))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the name or the path, the system and the version that a pattern finds, joined by commas.
    fn captured(pattern: &str, text: &str) -> Option<String> {
        let captures = pattern.parse::<Pattern>().unwrap().captures(text)?;
        let value = |field| captures.get(&field).cloned().unwrap_or_default();
        let name = value(Field::Name) + &value(Field::Path);
        Some([name, value(Field::System), value(Field::Version)].join(","))
    }

    #[test]
    fn the_fields_of_common_directories_and_tags_are_found() {
        for (pattern, text, expected) in [
            ("modules/{name}", "modules/vpc", Some("vpc,,")),
            ("modules/{name}", "modules/vpc/inner", None),
            ("modules/{name}", "modules/a.b", None),
            ("{system}/{name}", "aws/vpc", Some("vpc,aws,")),
            (
                "terraform-{system}-{name}",
                "terraform-aws-vpc-a",
                Some("vpc-a,aws,"),
            ),
            ("{name}/v{version}", "vpc/v1.2.3", Some("vpc,,1.2.3")),
            ("{name}/{version}", "vpc/v1.2.3", Some("vpc,,v1.2.3")),
            (
                "{name}-{version}",
                "vpc-2-v1.2.3-rc.1",
                Some("vpc-2,,v1.2.3-rc.1"),
            ),
            (
                "{path}/{version}",
                "modules/vpc/1.2.3",
                Some("modules/vpc,,1.2.3"),
            ),
            ("{version}", "v1.2.3", Some(",,v1.2.3")),
            ("{version}", "v1.2", None),
            ("{version}", "latest", None),
        ] {
            let found = captured(pattern, text);
            assert_eq!(found.as_deref(), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn a_text_that_is_not_a_pattern_is_an_error_with_the_rule() {
        for (text, part) in [
            ("{nam}", "no field {nam}"),
            ("{name", "not closed"),
            ("name}", "not opened"),
            ("{name}{system}", "separator"),
            ("{name}-{name}", "only once"),
        ] {
            let error = text.parse::<Pattern>().unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
