//! The settings of S3 that this host reads itself.

use std::env;

use object_store::ClientConfigKey;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path;
use terrace_base::secret::Secret;
use terrace_presign::{Endpoint, Presigner};

/// Returns whether a boolean is true, as the client of the store parses it. The client refuses a value that is no boolean.
fn is_set(builder: &AmazonS3Builder, key: AmazonS3ConfigKey) -> bool {
    let value = builder.get_config_value(&key).unwrap_or_default();
    let value = value.to_ascii_lowercase();
    matches!(value.as_str(), "1" | "true" | "on" | "yes" | "y")
}

/// Returns the endpoint of an S3-compatible store, if the environment names one.
fn endpoint(builder: &AmazonS3Builder) -> Option<String> {
    let value = |key| builder.get_config_value(&key);
    value(AmazonS3ConfigKey::S3Endpoint).or_else(|| value(AmazonS3ConfigKey::Endpoint))
}

/// Refuses an endpoint with a user name or a password, which errors would repeat, and one without TLS with a reason. The client's
/// own error would not name the variable.
pub(super) fn check_endpoint(builder: &AmazonS3Builder) -> Result<(), String> {
    let allow = AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp);
    let is_allowed = is_set(builder, allow);
    match endpoint(builder) {
        Some(endpoint) if endpoint.contains('@') => Err(
            "AWS_ENDPOINT_URL contains \"@\": name only the host, and set the credentials in AWS_ACCESS_KEY_ID and \
             AWS_SECRET_ACCESS_KEY"
                .to_owned(),
        ),
        Some(endpoint) if endpoint.starts_with("http://") && !is_allowed => Err(format!(
            "{endpoint} is an endpoint without TLS: set AWS_ALLOW_HTTP=true to send requests and credentials unprotected, or use \
             https://"
        )),
        _ => Ok(()),
    }
}

/// Returns the signer of URLs for the objects below a prefix. There is none without keys, with keys that expire, and for
/// a bucket that is part of the hostname.
pub(super) fn presigner(
    builder: &AmazonS3Builder,
    bucket: &str,
    prefix: &Path,
) -> Option<Presigner> {
    let other_ways = [
        AmazonS3ConfigKey::VirtualHostedStyleRequest,
        AmazonS3ConfigKey::S3Express,
        AmazonS3ConfigKey::SkipSignature,
    ];
    if other_ways.into_iter().any(|key| is_set(builder, key)) {
        return None;
    }
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

    fn presigns(builder: &AmazonS3Builder) -> bool {
        presigner(builder, "registry", &Path::default()).is_some()
    }

    #[test]
    fn urls_are_presigned_only_if_the_store_has_them_under_the_path_of_the_bucket() {
        assert!(presigns(&with_keys()));
        assert!(!presigns(&AmazonS3Builder::new()));
        assert!(!presigns(&with_keys().with_token("expires")));
        for key in [
            AmazonS3ConfigKey::VirtualHostedStyleRequest,
            AmazonS3ConfigKey::SkipSignature,
            AmazonS3ConfigKey::S3Express,
        ] {
            for (value, is_presigned) in [("true", false), ("Yes", false), ("0", true)] {
                let builder = with_keys().with_config(key, value);
                assert_eq!(presigns(&builder), is_presigned, "{key:?} {value}");
            }
        }
    }

    #[test]
    fn an_endpoint_with_a_password_is_refused_without_printing_it() {
        for endpoint in [
            "http://user:sesame@127.0.0.1:9000",
            "https://sesame@example.com",
        ] {
            let refused = check_endpoint(&with_keys().with_endpoint(endpoint)).unwrap_err();
            assert!(refused.contains("contains \"@\""), "{refused}");
            assert!(!refused.contains("sesame"), "{refused}");
        }
    }

    #[test]
    fn an_endpoint_without_tls_must_be_allowed() {
        let allow = AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp);
        let plain = || with_keys().with_endpoint("http://127.0.0.1:9000");
        let allowed = |value: &str| check_endpoint(&plain().with_config(allow, value));
        assert!(allowed("True").is_ok());
        for refused in [check_endpoint(&plain()), allowed("0"), allowed("maybe")] {
            let refused = refused.unwrap_err();
            assert!(refused.contains("an endpoint without TLS"), "{refused}");
        }
    }
}
