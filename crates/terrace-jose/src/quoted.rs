//! External text in messages.

use std::fmt;

use serde_json::{Map, Value};

use super::limits;
use terrace_base::untrusted;

/// External text for use in a message: in quotes, shortened, and in ASCII, so that it cannot break a line of
/// the log or imitate other text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quoted(String);

impl Quoted {
    /// Quotes a text.
    pub fn text(text: &str) -> Self {
        let quoted = untrusted::quoted(text).at_most(limits::QUOTED_CHARS);
        Self(quoted.in_ascii().to_string())
    }

    /// Returns the value of a claim of a token. A provider leaves out a claim with too many values, and names it elsewhere
    /// (<https://openid.net/specs/openid-connect-core-1_0.html#AggregatedDistributedClaims>; `hasgroups` is Entra ID's).
    pub fn claim(claims: &Map<String, Value>, name: &str) -> Self {
        let elsewhere = claims.get("_claim_names").and_then(|it| it.get(name));
        let is_left_out =
            elsewhere.is_some() || name == "groups" && claims.contains_key("hasgroups");
        match claims.get(name) {
            None if is_left_out => Self(
                "nothing, because the provider left it out: it has too many values; assign fewer groups to the application at \
                 the provider, or require another claim, such as roles"
                    .to_owned(),
            ),
            value => Self::value(value),
        }
    }

    /// Returns a value: a text in quotes, and any other as JSON.
    pub fn value(value: Option<&Value>) -> Self {
        match value {
            None => Self("nothing".to_owned()),
            Some(Value::String(text)) => Self::text(text),
            Some(other) => {
                let json = other.to_string();
                let shown = untrusted::line(&json).at_most(limits::QUOTED_CHARS);
                Self(shown.in_ascii().to_string())
            }
        }
    }
}

impl fmt::Display for Quoted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_shown_as_json_and_a_claim_that_is_left_out_as_such() {
        let shown = |text: &str| {
            let claims: Map<String, Value> = serde_json::from_str(text).unwrap();
            Quoted::claim(&claims, "groups").to_string()
        };
        for (claims, found) in [
            (
                r#"{"groups":["/platform","\u202e",1]}"#,
                r#"["/platform","\u{202e}",1]"#,
            ),
            (r#"{"_claim_names":{"other":"src1"}}"#, "nothing"),
        ] {
            assert_eq!(shown(claims), found);
        }
        for claims in [
            r#"{"_claim_names":{"groups":"src1"}}"#,
            r#"{"hasgroups":true}"#,
        ] {
            assert!(
                shown(claims).contains("the provider left it out"),
                "{claims}"
            );
        }
    }
}
