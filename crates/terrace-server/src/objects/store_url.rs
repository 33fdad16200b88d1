//! The URL of a store: `s3://BUCKET`, `gs://BUCKET` or `az://CONTAINER`, with or without a `/PREFIX`.
//!
//! A parser of general URLs resolves `..`, decodes percent escapes, and ignores a port, a query and a password. Here each of them is
//! refused: the registry would be in another part of the bucket than the URL says, or a secret on the command line.

use std::fmt;
use std::str::FromStr;

use object_store::path::Path;

/// The reason against a URL with a user name or a password, which it does not repeat.
const USER_INFO: &str = "the URL contains a user name or a password before \"@\", which other users of this machine see in the list of processes: name only the bucket, and set the credentials in the environment";

/// The kind of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// S3, or a compatible store.
    S3,
    /// Google Cloud Storage.
    Google,
    /// Azure Blob Storage.
    Azure,
}

/// The URL of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StoreUrl {
    pub(super) kind: Kind,
    pub(super) bucket: String,
    /// The part of the bucket that contains the registry.
    pub(super) prefix: Path,
    text: String,
}

impl FromStr for StoreUrl {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let Some((kind, bucket, prefix)) = parts(text) else {
            // A secret may contain slashes, so "@" counts wherever it is.
            return Err(match text.contains('@') {
                true => USER_INFO.to_owned(),
                false => format!(
                    "{text} is not s3://BUCKET, gs://BUCKET or az://CONTAINER, with or without a /PREFIX"
                ),
            });
        };
        let invalid = |part: &str| {
            format!(
                "{text}: the prefix contains {part:?}, and may not contain an empty segment, \".\", \"..\", a control character, \
                 \"%\", \"?\", \"#\" or \"\\\": write the keys of the bucket as they are"
            )
        };
        let is_whole = prefix.is_empty();
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        let mut segments = prefix.split('/').filter(|_| !is_whole);
        if let Some(part) = segments.find(|part| !is_segment(part)) {
            return Err(invalid(part));
        }
        Ok(Self {
            kind,
            bucket: bucket.to_owned(),
            prefix: Path::parse(prefix).map_err(|_| invalid(prefix))?,
            text: text.to_owned(),
        })
    }
}

/// Splits a URL into its kind, bucket and prefix; `None` if it is of another form.
fn parts(text: &str) -> Option<(Kind, &str, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    let kind = match scheme {
        "s3" => Kind::S3,
        "gs" => Kind::Google,
        "az" => Kind::Azure,
        _ => return None,
    };
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let is_in_name = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | '.');
    let is_name = !bucket.is_empty() && bucket.chars().all(is_in_name);
    is_name.then_some((kind, bucket, prefix))
}

fn is_segment(part: &str) -> bool {
    let is_ambiguous = |it: char| it.is_control() || matches!(it, '%' | '?' | '#' | '\\');
    !matches!(part, "" | "." | "..") && !part.contains(is_ambiguous)
}

impl fmt::Display for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        text.parse::<StoreUrl>().unwrap_err()
    }

    #[test]
    fn a_url_names_a_kind_a_bucket_and_a_prefix() {
        for (text, kind, bucket, prefix) in [
            ("s3://registry", Kind::S3, "registry", ""),
            ("s3://registry/", Kind::S3, "registry", ""),
            (
                "gs://my.registry_1/a/b",
                Kind::Google,
                "my.registry_1",
                "a/b",
            ),
            ("az://registry/a/b/", Kind::Azure, "registry", "a/b"),
            (
                "s3://registry/a@b/é x/...",
                Kind::S3,
                "registry",
                "a@b/é x/...",
            ),
        ] {
            let url: StoreUrl = text.parse().unwrap();
            let found = (url.kind, url.bucket.as_str(), url.prefix.as_ref());
            assert_eq!(found, (kind, bucket, prefix), "{text}");
            assert_eq!(url.to_string(), text);
        }
    }

    #[test]
    fn a_url_of_another_form_is_refused() {
        for text in [
            "registry",
            "https://example.com/x",
            "file:///tmp",
            "memory:///",
            "s3a://bucket",
            "S3://bucket",
            "s3://",
            "s3:///x",
            "s3://bucket:9000",
            "s3://bucket?region=x",
            "s3://bucket#x",
            "s3:bucket",
        ] {
            let error = refused(text);
            assert!(
                error.starts_with(&format!("{text} is not s3://")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_url_with_a_password_is_refused_without_printing_it() {
        for text in [
            "s3://AKIA:sesame@bucket",
            "s3://AKIA:sesame@bucket/prefix",
            "s3://sesame@bucket",
            "s3://AKIA:ses/ame@bucket",
            "https://user:sesame@example.com",
            "AKIA:sesame@bucket",
            "gs://user:sesame@bucket",
            "az://user:sesame@container",
        ] {
            assert_eq!(refused(text), USER_INFO, "{text}");
        }
    }

    #[test]
    fn a_prefix_that_a_parser_would_resolve_is_refused() {
        for (text, part) in [
            ("s3://bucket/a/../b", ".."),
            ("s3://bucket/..", ".."),
            ("s3://bucket/./a", "."),
            ("s3://bucket/a/.", "."),
            ("s3://bucket//a", ""),
            ("s3://bucket/a//b", ""),
            ("s3://bucket/a//", ""),
            ("s3://bucket//", ""),
            ("s3://bucket/a/%2e%2e/b", "%2e%2e"),
            ("gs://bucket/a?b", "a?b"),
            ("az://bucket/a#b", "a#b"),
            ("s3://bucket/a\\..\\b", "a\\..\\b"),
            ("s3://bucket/a\nb", "a\nb"),
        ] {
            let error = refused(text);
            let told = format!("{text}: the prefix contains {part:?}");
            assert!(error.starts_with(&told), "{error}");
        }
    }
}
