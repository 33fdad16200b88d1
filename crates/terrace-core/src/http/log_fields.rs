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

/// The optional fields that a deployment logs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogFields {
    package: bool,
    version: bool,
    token: bool,
    caller: bool,
}

/// The values of the optional fields; `None` for each that the request does not have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LogValues {
    /// The address of the package, or the name of the OCI repository.
    pub package: Option<String>,
    /// The version, or the tag.
    pub version: Option<String>,
    /// The ID of the token.
    pub token: Option<String>,
    /// The name of the caller, which is arbitrary text.
    pub caller: Option<String>,
}

impl LogField {
    /// Parses the name of a field.
    ///
    /// # Errors
    /// The rule that the text breaks.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "package" => Ok(Self::Package),
            "version" => Ok(Self::Version),
            "token" => Ok(Self::Token),
            "caller" => Ok(Self::Caller),
            _ => Err(format!(
                "{text:?} is none of the fields package, version, token and caller"
            )),
        }
    }
}

impl FromIterator<LogField> for LogFields {
    fn from_iter<I: IntoIterator<Item = LogField>>(fields: I) -> Self {
        let mut all = Self::default();
        for field in fields {
            *match field {
                LogField::Package => &mut all.package,
                LogField::Version => &mut all.version,
                LogField::Token => &mut all.token,
                LogField::Caller => &mut all.caller,
            } = true;
        }
        all
    }
}

impl LogFields {
    /// The fields that identify a version.
    pub const VERSION: Self = Self {
        package: true,
        version: true,
        token: false,
        caller: false,
    };

    /// Returns whether no field is logged.
    pub fn is_empty(self) -> bool {
        self == Self::default()
    }

    /// Returns whether a field about the caller is logged.
    pub fn include_caller(self) -> bool {
        self.token || self.caller
    }

    /// Returns the members of the log line, each after a comma: `,"package":"acme/widget"`.
    pub fn members(self, values: &LogValues) -> String {
        let mut members = String::new();
        for (is_logged, name, value) in [
            (self.package, "package", &values.package),
            (self.version, "version", &values.version),
            (self.token, "token", &values.token),
            (self.caller, "caller", &values.caller),
        ] {
            if let Some(value) = value.as_ref().filter(|_| is_logged) {
                members.push_str(",\"");
                members.push_str(name);
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

    fn values() -> LogValues {
        let text = |text: &str| Some(text.to_owned());
        LogValues {
            package: text("acme/widget"),
            version: text("1.0.0"),
            token: text("0123456789abcdef"),
            caller: text("Ann \"the\\\u{1}\" Ä"),
        }
    }

    #[test]
    fn exactly_the_chosen_fields_are_written_and_escaped() {
        use LogField::{Caller, Package, Token, Version};
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
            let written = fields.members(&values());
            assert_eq!(
                written.trim_start_matches(','),
                members.trim_start_matches(',')
            );
            let json = format!("{{\"route\":\"x\"{written}}}");
            let json: serde_json::Value = serde_json::from_str(&json).unwrap();
            if chosen == [Caller] {
                assert_eq!(json["caller"].as_str(), values().caller.as_deref());
            }
        }
    }

    #[test]
    fn a_field_without_a_value_is_left_out() {
        assert_eq!(LogFields::VERSION.members(&LogValues::default()), "");
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
