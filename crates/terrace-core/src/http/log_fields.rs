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

/// The optional fields that a deployment logs, one bit for each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogFields(u8);

impl LogField {
    const fn bit(self) -> u8 {
        1 << self as u8
    }

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

impl FromIterator<LogField> for LogFields {
    fn from_iter<I: IntoIterator<Item = LogField>>(fields: I) -> Self {
        let fields = fields.into_iter();
        Self(fields.fold(0, |bits, field| bits | field.bit()))
    }
}

impl LogFields {
    /// The fields that identify a version.
    pub const VERSION: Self = Self(LogField::Package.bit() | LogField::Version.bit());

    fn include(self, field: LogField) -> bool {
        self.0 & field.bit() != 0
    }

    /// Returns whether no field is logged.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// Returns whether a field about the caller is logged.
    pub fn include_caller(self) -> bool {
        self.include(LogField::Token) || self.include(LogField::Caller)
    }

    /// Returns the members of the log line, each after a comma: `,"package":"acme/widget"`. A field without a value is left out.
    pub fn members(self, values: &[(LogField, Option<String>)]) -> String {
        let mut members = String::new();
        for (field, value) in values {
            if let Some(value) = value.as_ref().filter(|_| self.include(*field)) {
                members.push_str(",\"");
                members.push_str(field.name());
                members.push_str("\":\"");
                push_escaped(&mut members, value);
                members.push('"');
            }
        }
        members
    }
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
            let fields: LogFields = chosen.iter().copied().collect();
            assert_eq!(fields.is_empty(), chosen.is_empty());
            let written = fields.members(&values);
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

    #[test]
    fn an_unknown_field_is_rejected_by_name() {
        assert_eq!(LogField::parse("caller"), Ok(LogField::Caller));
        let refusal = LogField::parse("Package").unwrap_err();
        assert!(
            refusal.contains("\"Package\"") && refusal.contains("version, token"),
            "{refusal}"
        );
    }
}
