//! The optional fields of the log line of a request: which package it is about, and who sent it.

use terrace_base::json::push_escaped;

/// The name of an optional field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogField {
    /// The address of the package, or the name of the OCI repository.
    Package,
    /// The version, or the tag.
    Version,
    /// The ID of the token.
    Token,
    /// The name of the caller.
    Caller,
}

/// The fields that identify a version.
pub const SUBJECT: [LogField; 2] = [LogField::Package, LogField::Version];

impl LogField {
    fn name(self) -> &'static str {
        match self {
            Self::Package => "package",
            Self::Version => "version",
            Self::Token => "token",
            Self::Caller => "caller",
        }
    }

    /// Parses the name of a field.
    ///
    /// # Errors
    /// The rule that the text breaks.
    pub fn parse(text: &str) -> Result<Self, String> {
        let all = [Self::Package, Self::Version, Self::Token, Self::Caller];
        let found = all.into_iter().find(|field| field.name() == text);
        found.ok_or_else(|| {
            format!("{text:?} is none of the fields package, version, token and caller")
        })
    }
}

/// Returns whether one of the fields is about the caller.
pub fn include_caller(fields: &[LogField]) -> bool {
    let is_of_caller = |field: &LogField| matches!(field, LogField::Token | LogField::Caller);
    fields.iter().any(is_of_caller)
}

/// Returns the members of a JSON object for the chosen fields that have a value, each after a comma.
pub fn members(fields: &[LogField], values: &[(LogField, Option<String>)]) -> String {
    let mut members = String::new();
    for (field, value) in values {
        if let Some(value) = value.as_ref().filter(|_| fields.contains(field)) {
            members.push_str(",\"");
            members.push_str(field.name());
            members.push_str("\":\"");
            push_escaped(&mut members, value);
            members.push('"');
        }
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "Ann \"the\\\u{1}\" Ä";

    #[test]
    fn exactly_the_chosen_fields_are_written_and_escaped() {
        use LogField::{Caller, Package, Token, Version};
        let values = [
            (Package, Some("acme/widget".to_owned())),
            (Version, Some("1.0.0".to_owned())),
            (Token, Some("0123456789abcdef".to_owned())),
            (Caller, Some(NAME.to_owned())),
        ];
        for (chosen, members) in [
            (&[][..], ""),
            (&[Package], r#","package":"acme/widget""#),
            (
                &[Token, Version],
                r#","version":"1.0.0","token":"0123456789abcdef""#,
            ),
            (&[Caller], "\"caller\":\"Ann \\\"the\\\\\\u0001\\\" Ä\""),
        ] {
            let written = super::members(chosen, &values);
            assert_eq!(
                written.trim_start_matches(','),
                members.trim_start_matches(',')
            );
            let json = format!("{{\"route\":\"x\"{written}}}");
            let json: serde_json::Value = serde_json::from_str(&json).unwrap();
            if chosen == [Caller] {
                assert_eq!(json["caller"], NAME);
            }
        }
    }
}
