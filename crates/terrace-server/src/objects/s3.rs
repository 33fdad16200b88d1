//! The settings of S3 that this host reads itself.

use std::env;

use object_store::ClientConfigKey;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path;
use terrace_base::secret::Secret;
use terrace_presign::{Endpoint, Presigner};

use super::connection::UrlError;
use super::flag::{FlagError, flag};

/// The beginning of the variables of S3.
pub(super) const VARIABLES: &str = "AWS_";

fn is_set(builder: &AmazonS3Builder, key: AmazonS3ConfigKey) -> Result<bool, FlagError> {
    let value = builder.get_config_value(&key);
    flag(VARIABLES, key.as_ref(), value.as_deref())
}

/// Returns the endpoint of an S3-compatible store, if the environment names one.
fn endpoint(builder: &AmazonS3Builder) -> Option<String> {
    let value = |key| builder.get_config_value(&key);
    value(AmazonS3ConfigKey::S3Endpoint).or_else(|| value(AmazonS3ConfigKey::Endpoint))
}

/// Refuses an endpoint with a password, which errors would repeat, and one without TLS with a reason. The client's own error would
/// not name the variable.
pub(super) fn check_endpoint(builder: &AmazonS3Builder) -> Result<(), UrlError> {
    let allow = AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp);
    let is_allowed = is_set(builder, allow)?;
    match endpoint(builder) {
        Some(endpoint) if endpoint.contains('@') => Err(UrlError::EndpointUserInfo),
        Some(endpoint) if endpoint.starts_with("http://") && !is_allowed => {
            Err(UrlError::Plain { endpoint })
        }
        _ => Ok(()),
    }
}

/// Returns the signer of URLs for the objects below a prefix. There is none without keys, with keys that expire, and for
/// a bucket that is part of the hostname.
pub(super) fn presigner(
    builder: &AmazonS3Builder,
    bucket: &str,
    prefix: &Path,
) -> Result<Option<Presigner>, FlagError> {
    let has_other_urls = is_set(builder, AmazonS3ConfigKey::VirtualHostedStyleRequest)?
        || is_set(builder, AmazonS3ConfigKey::S3Express)?;
    let has_no_signatures = is_set(builder, AmazonS3ConfigKey::SkipSignature)?;
    if has_other_urls || has_no_signatures {
        return Ok(None);
    }
    Ok(of_keys(builder, bucket, prefix))
}

fn of_keys(builder: &AmazonS3Builder, bucket: &str, prefix: &Path) -> Option<Presigner> {
    let value = |key| {
        builder
            .get_config_value(&key)
            .filter(|value| !value.is_empty())
    };
    if value(AmazonS3ConfigKey::Token).is_some() {
        return None;
    }
    let region = value(AmazonS3ConfigKey::Region)
        .or_else(|| env::var("AWS_DEFAULT_REGION").ok())
        .unwrap_or_else(|| "us-east-1".to_owned());
    let endpoint =
        endpoint(builder).unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com"));
    let presigner = Presigner::new(
        Endpoint::parse(&endpoint).ok()?,
        region,
        bucket,
        value(AmazonS3ConfigKey::AccessKeyId)?,
        Secret::new(value(AmazonS3ConfigKey::SecretAccessKey)?),
    );
    Some(presigner.below(prefix.as_ref()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_keys() -> AmazonS3Builder {
        AmazonS3Builder::new()
            .with_access_key_id("id")
            .with_secret_access_key("secret")
    }

    fn presigns(builder: &AmazonS3Builder) -> Result<bool, FlagError> {
        let presigner = presigner(builder, "registry", &Path::default())?;
        Ok(presigner.is_some())
    }

    #[test]
    fn urls_are_presigned_only_if_the_store_has_them_under_the_path_of_the_bucket() {
        assert_eq!(presigns(&with_keys()), Ok(true));
        assert_eq!(presigns(&AmazonS3Builder::new()), Ok(false));
        assert_eq!(presigns(&with_keys().with_token("expires")), Ok(false));
        for key in [
            AmazonS3ConfigKey::VirtualHostedStyleRequest,
            AmazonS3ConfigKey::SkipSignature,
            AmazonS3ConfigKey::S3Express,
        ] {
            for (value, is_presigned) in [
                ("true", false),
                ("1", false),
                ("TRUE", false),
                ("yes", false),
                ("True", false),
                ("0", true),
                ("No", true),
            ] {
                let builder = with_keys().with_config(key, value);
                assert_eq!(presigns(&builder), Ok(is_presigned), "{key:?} {value}");
            }
            let refused = presigns(&with_keys().with_config(key, "si")).unwrap_err();
            let variable = key.as_ref().to_ascii_uppercase();
            assert!(refused.to_string().starts_with(&variable), "{refused}");
        }
    }

    #[test]
    fn an_endpoint_with_a_password_is_refused_without_printing_it() {
        for endpoint in [
            "http://user:sesame@127.0.0.1:9000",
            "https://sesame@example.com",
        ] {
            let refused = check_endpoint(&with_keys().with_endpoint(endpoint)).unwrap_err();
            assert!(matches!(refused, UrlError::EndpointUserInfo), "{refused}");
            assert!(!format!("{refused} {refused:?}").contains("sesame"));
        }
    }

    #[test]
    fn an_endpoint_without_tls_is_accepted_if_any_spelling_allows_it() {
        let allow = AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp);
        let plain = || with_keys().with_endpoint("http://127.0.0.1:9000");
        let allowed = |value: &str| check_endpoint(&plain().with_config(allow, value));
        for value in ["true", "1", "TRUE", "yes", "True"] {
            assert!(allowed(value).is_ok(), "{value}");
        }
        for unset in [check_endpoint(&plain()), allowed("false"), allowed("0")] {
            assert!(matches!(unset, Err(UrlError::Plain { .. })), "{unset:?}");
        }
        let refused = allowed("maybe").unwrap_err().to_string();
        assert!(
            refused.starts_with("AWS_ALLOW_HTTP is \"maybe\""),
            "{refused}"
        );
    }
}
