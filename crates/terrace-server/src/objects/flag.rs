//! The booleans among the settings of a store's client.

/// A setting of the environment that is no boolean.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{variable} is {value:?}, which is no boolean: set it to \"true\" or \"false\", or unset it"
)]
pub struct FlagError {
    variable: String,
    value: String,
}

/// Parses a boolean as the client of the store does, which has no public function for it.
fn parse(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "on" | "yes" | "y" => Some(true),
        "0" | "false" | "off" | "no" | "n" => Some(false),
        _ => None,
    }
}

/// Returns the value of a boolean setting; `false` if it is not set. The variable of a setting begins with that of its store,
/// such as `AWS_`.
pub(super) fn flag(store: &str, setting: &str, value: Option<&str>) -> Result<bool, FlagError> {
    let Some(value) = value else {
        return Ok(false);
    };
    parse(value).ok_or_else(|| FlagError {
        variable: variable(store, setting),
        value: value.to_owned(),
    })
}

/// Returns the variable of a setting. The names of the settings that all stores have do not contain that of the store.
fn variable(store: &str, setting: &str) -> String {
    let setting = setting.to_ascii_uppercase();
    match setting.starts_with(store) {
        true => setting,
        false => format!("{store}{setting}"),
    }
}

#[cfg(test)]
mod tests {
    use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};

    use super::*;

    #[test]
    fn a_boolean_is_one_for_the_client_of_the_store_as_well() {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let spellings = [
            "1", "true", "on", "yes", "y", "0", "false", "off", "no", "n", "TRUE", "True", "Yes",
            "YES", "ON", "No", "", " true", "true ", "t", "f", "2", "enabled", "nonsense",
        ];
        for spelling in spellings {
            let builder = AmazonS3Builder::new()
                .with_bucket_name("registry")
                .with_access_key_id("id")
                .with_secret_access_key("secret")
                .with_config(AmazonS3ConfigKey::SkipSignature, spelling);
            assert_eq!(
                parse(spelling).is_some(),
                builder.build().is_ok(),
                "{spelling:?}"
            );
        }
        assert_eq!(["1", "TRUE", "yes", "True"].map(parse), [Some(true); 4]);
        assert_eq!(["0", "FALSE", "no", "Off"].map(parse), [Some(false); 4]);
    }

    #[test]
    fn a_value_that_is_no_boolean_is_refused_with_its_variable() {
        assert_eq!(flag("AWS_", "allow_http", None), Ok(false));
        assert_eq!(flag("AWS_", "allow_http", Some("Y")), Ok(true));
        for (setting, variable) in [
            ("allow_http", "AWS_ALLOW_HTTP"),
            ("aws_skip_signature", "AWS_SKIP_SIGNATURE"),
        ] {
            let refused = flag("AWS_", setting, Some("ture")).unwrap_err().to_string();
            let expected =
                "is \"ture\", which is no boolean: set it to \"true\" or \"false\", or unset it";
            assert_eq!(refused, format!("{variable} {expected}"));
        }
    }
}
