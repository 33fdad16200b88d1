//! Presigned S3 URLs: AWS Signature Version 4 in the query string, as a pure function.
//!
//! <https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html>;
//! for R2: <https://developers.cloudflare.com/r2/api/s3/presigned-urls/>.
//!
//! # In scope
//! Requests for one object, path style, payload unsigned, extra headers signed; a page of the listing of a bucket; a property of
//! a bucket.
//!
//! # Out of scope
//! Header authentication, session tokens: nothing in Terrace needs them.
//!
//! go-getter sorts and re-encodes the query of a module's URL (clients.md 4.2). The URLs produced here
//! survive that byte for byte: parameters are sorted, every value is percent-encoded as `url.Values.Encode`
//! would, and no value contains a space or a `;`.

use std::sync::{Arc, Mutex, PoisonError};

use terrace_base::digest::Sha256;
use terrace_base::mac::{MacKey, hmac};
use terrace_base::percent;
use terrace_base::secret::Secret;
use terrace_base::time::UnixTime;
use terrace_base::url::{Url, UrlError};

/// The target of presigned URLs, and the credentials that sign them.
#[derive(Debug, Clone)]
pub struct Presigner {
    endpoint: Endpoint,
    region: String,
    /// The path of the bucket, or of a part of it, percent-encoded and with a slash at its end.
    bucket: String,
    access_key_id: String,
    secret_access_key: Secret,
    /// The values computed for the day of the latest URL.
    day: Arc<Mutex<Option<Arc<Day>>>>,
}

/// The values that all URLs of one day share.
#[derive(Debug)]
struct Day {
    /// The date, such as `20130524`.
    date: String,
    /// The credential scope, such as `20130524/auto/s3/aws4_request`.
    scope: String,
    /// The credential, percent-encoded.
    credential: String,
    key: MacKey,
}

/// An S3 endpoint: `http(s)://host[:port][/prefix]`, without a trailing slash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    scheme: &'static str,
    host: String,
    prefix: String,
}

/// The HTTP method that a URL is signed for. A URL signed for GET answers HEAD with 403.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignedMethod {
    /// A download.
    Get,
    /// An upload.
    Put,
    /// The headers of a download.
    Head,
    /// A removal. Succeeds if nothing is stored.
    Delete,
}

impl SignedMethod {
    /// Returns the name of the method.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Put => "PUT",
            Self::Head => "HEAD",
            Self::Delete => "DELETE",
        }
    }
}

/// A page of the listing of a bucket
/// (<https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html>).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Listing<'l> {
    /// The beginning of the listed keys.
    pub prefix: &'l str,
    /// The key after which the page begins, if it is not the first.
    pub after: Option<&'l str>,
    /// Maximum number of keys of the page: at most 1,000.
    pub limit: u32,
}

impl Endpoint {
    /// Parses an endpoint. A trailing slash is dropped.
    ///
    /// # Errors
    /// If it is not an http(s) URL with a path that can be signed unchanged.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let url: Url = text.parse()?;
        let path = url.path();
        let is_signed = |b: u8| percent::is_unreserved(b) || b == b'/';
        if url.query().is_some() {
            return Err(UrlError::Query);
        }
        if !path.bytes().all(is_signed) {
            return Err(UrlError::Escape);
        }
        Ok(Self {
            scheme: url.scheme().as_str(),
            host: url.host_header(),
            prefix: path.trim_end_matches('/').to_owned(),
        })
    }

    /// Returns its host and, unless it is that of the scheme, its port.
    pub fn authority(&self) -> &str {
        &self.host
    }

    /// Returns whether it is reached without TLS.
    pub fn is_plain(&self) -> bool {
        self.scheme == "http"
    }

    /// Returns whether its path already ends in this bucket, as in the URL that the dashboard shows.
    pub fn names_bucket(&self, bucket: &str) -> bool {
        self.prefix.rsplit('/').next() == Some(bucket)
    }
}

impl Presigner {
    /// Creates a signer for the objects of one bucket.
    pub fn new(
        endpoint: Endpoint,
        region: impl Into<String>,
        bucket: &str,
        access_key_id: impl Into<String>,
        secret_access_key: Secret,
    ) -> Self {
        Self {
            endpoint,
            region: region.into(),
            bucket: format!("{}/", percent::encode(bucket)),
            access_key_id: access_key_id.into(),
            secret_access_key,
            day: Arc::default(),
        }
    }

    /// Returns the signer for the objects with keys that begin with `prefix` and a slash. It adds them to each key.
    #[must_use]
    pub fn below(mut self, prefix: &str) -> Self {
        if !prefix.is_empty() {
            self.bucket.push_str(&percent::encode_path(prefix));
            self.bucket.push('/');
        }
        self
    }

    /// Returns the URL that allows `method` on `key` from `now` for `lifetime` seconds.
    ///
    /// `headers` are signed as well: the client must send them unchanged. Their names must be in lower case
    /// and sorted, and must not include `host`.
    pub fn presign(
        &self,
        method: SignedMethod,
        key: &str,
        headers: &[(&str, &str)],
        now: UnixTime,
        lifetime: u32,
    ) -> String {
        let path = self.bucket_path() + &percent::encode_path(key);
        self.presign_path(method, (&path, ""), headers, now, lifetime)
    }

    /// Returns the URL of a page of the listing, from `now` for `lifetime` seconds. Its keys are those of the bucket, also for
    /// a signer of a part of it.
    pub fn presign_listing(&self, listing: &Listing<'_>, now: UnixTime, lifetime: u32) -> String {
        // Sorted by name, and after the parameters of the signature.
        let (limit, prefix) = (listing.limit, percent::encode(listing.prefix));
        let mut query = format!("&list-type=2&max-keys={limit}&prefix={prefix}");
        if let Some(after) = listing.after {
            query.push_str("&start-after=");
            query.push_str(&percent::encode(after));
        }
        self.presign_bucket(&query, now, lifetime)
    }

    /// Returns the URL of a property of the bucket, such as `versioning`, from `now` for `lifetime` seconds.
    pub fn presign_property(&self, property: &str, now: UnixTime, lifetime: u32) -> String {
        // Sorted after the parameters of the signature.
        self.presign_bucket(&format!("&{property}="), now, lifetime)
    }

    fn presign_bucket(&self, query: &str, now: UnixTime, lifetime: u32) -> String {
        let path = self.bucket_path();
        self.presign_path(SignedMethod::Get, (&path, query), &[], now, lifetime)
    }

    fn bucket_path(&self) -> String {
        format!("{}/{}", self.endpoint.prefix, self.bucket)
    }

    /// Returns the URL of the bucket, without a signature.
    pub fn bucket_url(&self) -> String {
        let Endpoint { scheme, host, .. } = &self.endpoint;
        format!("{scheme}://{host}{}", self.bucket_path())
    }

    /// Returns the endpoint of the bucket.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Returns whether another signer signs for the same bucket.
    pub fn is_for_bucket_of(&self, other: &Self) -> bool {
        self.endpoint == other.endpoint && self.bucket == other.bucket
    }

    fn presign_path(
        &self,
        method: SignedMethod,
        (path, parameters): (&str, &str),
        headers: &[(&str, &str)],
        now: UnixTime,
        lifetime: u32,
    ) -> String {
        let method = method.as_str();
        let Endpoint { scheme, host, .. } = &self.endpoint;
        let day = self.day(now);
        let (scope, credential, date) = (&day.scope, &day.credential, now.amz_date());

        // Inserted at its position: sorting would add four kilobytes to the wasm.
        let mut all_headers = headers.to_vec();
        let place = all_headers.partition_point(|(name, _)| *name < "host");
        all_headers.insert(place, ("host", host));
        let signed_headers = all_headers
            .iter()
            .map(|(name, _)| *name)
            .collect::<Vec<_>>()
            .join(";");
        let canonical_headers = all_headers
            .iter()
            .map(|(name, value)| format!("{name}:{}\n", value.trim()))
            .collect::<String>();

        // Sorted by name, as the canonical query requires.
        let query = format!(
            "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={credential}&X-Amz-Date={date}&X-Amz-Expires={lifetime}&X-Amz-SignedHeaders={}{parameters}",
            percent::encode(&signed_headers),
        );
        let canonical_request = format!(
            "{method}\n{path}\n{query}\n{canonical_headers}\n{signed_headers}\nUNSIGNED-PAYLOAD"
        );
        let string_to_sign = format!(
            "AWS4-HMAC-SHA256\n{date}\n{scope}\n{}",
            Sha256::of(canonical_request.as_bytes())
        );
        let signature = Sha256::from_bytes(day.key.sign(string_to_sign.as_bytes()));
        // `X-Amz-Signature` sorts between `X-Amz-Expires` and `X-Amz-SignedHeaders`, and go-getter sorts the
        // query. The signature itself covers the other parameters.
        let (before, after) = query
            .split_once("&X-Amz-SignedHeaders=")
            .unwrap_or((query.as_str(), ""));
        format!(
            "{scheme}://{host}{path}?{before}&X-Amz-Signature={signature}&X-Amz-SignedHeaders={after}"
        )
    }

    fn day(&self, now: UnixTime) -> Arc<Day> {
        let date = now.date_stamp();
        let mut latest = self.day.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(day) = latest.as_ref().filter(|day| day.date == date) {
            return Arc::clone(day);
        }
        let day = Arc::new(self.new_day(date));
        *latest = Some(Arc::clone(&day));
        day
    }

    fn new_day(&self, date: String) -> Day {
        let secret = format!("AWS4{}", self.secret_access_key.expose());
        let of_day = hmac(secret.as_bytes(), date.as_bytes());
        let of_region = hmac(&of_day, self.region.as_bytes());
        let of_service = hmac(&of_region, b"s3");
        let scope = format!("{date}/{}/s3/aws4_request", self.region);
        Day {
            key: MacKey::new(&hmac(&of_service, b"aws4_request")),
            credential: percent::encode(&format!("{}/{scope}", self.access_key_id)),
            date,
            scope,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn presigner(endpoint: &str, region: &str, (id, secret): (&str, &str)) -> Presigner {
        let endpoint = Endpoint::parse(endpoint).unwrap();
        Presigner::new(endpoint, region, "releases", id, Secret::new(secret))
    }

    fn example() -> Presigner {
        let credentials = (
            "AKIAIOSFODNN7EXAMPLE",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        );
        presigner(
            "https://examplebucket.s3.amazonaws.com",
            "us-east-1",
            credentials,
        )
    }

    /// An endpoint that independent signers sign for as well.
    const ENDPOINT: &str = "https://account.example.com/pre/fix/";

    /// Returns the independent signer `rusty-s3`.
    fn rusty_s3(id: &str, secret: &str) -> (rusty_s3::Bucket, rusty_s3::Credentials) {
        let endpoint = ENDPOINT.parse().unwrap();
        let style = rusty_s3::UrlStyle::Path;
        let bucket = rusty_s3::Bucket::new(endpoint, style, "releases", "auto").unwrap();
        (bucket, rusty_s3::Credentials::new(id, secret))
    }

    /// "Example of an authenticated GET by query parameters" in
    /// <https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html>,
    /// Fri, 24 May 2013 00:00:00 GMT.
    #[test]
    fn the_signature_matches_the_example_of_aws() {
        let url = example().presign_path(
            SignedMethod::Get,
            ("/test.txt", ""),
            &[],
            UnixTime(1_369_353_600),
            86_400,
        );
        assert_eq!(
            url,
            "https://examplebucket.s3.amazonaws.com/test.txt\
             ?X-Amz-Algorithm=AWS4-HMAC-SHA256\
             &X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request\
             &X-Amz-Date=20130524T000000Z\
             &X-Amz-Expires=86400\
             &X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404\
             &X-Amz-SignedHeaders=host"
        );
    }

    #[test]
    fn each_day_is_signed_with_its_own_key() {
        let (kept, day) = (example(), 86_400);
        let url = |signer: &Presigner, now| {
            signer.presign(SignedMethod::Get, "a.zip", &[], UnixTime(now), 900)
        };
        for now in [1_369_353_600, 1_369_353_600 + day, 1_369_353_600 - day] {
            assert_eq!(url(&kept, now), url(&example(), now));
        }
    }

    #[test]
    fn an_endpoint_keeps_its_prefix_and_is_normalized() {
        let endpoint = |text| Endpoint::parse(text).unwrap();
        assert_eq!(
            endpoint("https://R2.example.com:443/"),
            endpoint("https://r2.example.com")
        );
        assert_eq!(
            endpoint("http://127.0.0.1:8787/cdn-cgi/s3/").prefix,
            "/cdn-cgi/s3"
        );
        for text in [
            "r2.example.com",
            "https://x/?q",
            "https://u@x/",
            "https://x/a/../b",
            "https://x/%41",
        ] {
            assert!(Endpoint::parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_part_of_a_bucket_is_the_beginning_of_each_key() {
        let url = |prefix: &str, key: &str| {
            let presigner = presigner(ENDPOINT, "auto", ("id", "secret")).below(prefix);
            presigner.presign(SignedMethod::Get, key, &[], UnixTime(1), 60)
        };
        assert_eq!(url("a b/c", "d.zip"), url("", "a b/c/d.zip"));
        assert_ne!(url("a", "d.zip"), url("", "d.zip"));
    }

    /// AWS signs the list of a bucket like an object with an empty key and further parameters.
    #[test]
    fn a_listing_is_signed_as_an_independent_signer_signs_it() {
        use rusty_s3::S3Action as _;
        let (bucket, credentials) = rusty_s3("id", "secret");
        let mut theirs = bucket.list_objects_v2(Some(&credentials));
        theirs.with_prefix("archives/");
        theirs.with_start_after("archives/a+b.zip");
        theirs.with_max_keys(500);
        // Not every store knows it, and the keys of archives need no encoding.
        theirs.query_mut().remove("encoding-type");
        let at = jiff::Timestamp::from_second(1_369_353_600).unwrap();
        let theirs = theirs.sign_with_time(std::time::Duration::from_secs(60), &at);
        let ours = presigner(ENDPOINT, "auto", ("id", "secret"));
        let listing = Listing {
            prefix: "archives/",
            after: Some("archives/a+b.zip"),
            limit: 500,
        };
        let ours = ours.presign_listing(&listing, UnixTime(1_369_353_600), 60);
        assert_eq!(sorted_query(&ours), sorted_query(theirs.as_str()));
    }

    fn any_method() -> impl Strategy<Value = SignedMethod> {
        prop_oneof![
            Just(SignedMethod::Get),
            Just(SignedMethod::Put),
            Just(SignedMethod::Head),
            Just(SignedMethod::Delete)
        ]
    }

    /// Returns the URL that the independent signer `rusty-s3` creates, for comparison parameter by parameter.
    fn by_rusty_s3(
        method: SignedMethod,
        key: &str,
        header: Option<(&str, &str)>,
        (id, secret): (&str, &str),
        now: u64,
        lifetime: u32,
    ) -> String {
        use rusty_s3::S3Action as _;
        let (bucket, credentials) = rusty_s3(id, secret);
        let at = jiff::Timestamp::from_second(i64::try_from(now).unwrap()).unwrap();
        let lifetime = std::time::Duration::from_secs(lifetime.into());
        macro_rules! signed {
            ($action:ident) => {{
                let mut action = bucket.$action(Some(&credentials), key);
                if let Some((name, value)) = header {
                    let headers = action.headers_mut();
                    headers.insert(name.to_owned(), value.to_owned());
                }
                action.sign_with_time(lifetime, &at).to_string()
            }};
        }
        match method {
            SignedMethod::Get => signed!(get_object),
            SignedMethod::Put => signed!(put_object),
            SignedMethod::Head => signed!(head_object),
            SignedMethod::Delete => signed!(delete_object),
        }
    }

    fn sorted_query(url: &str) -> (String, Vec<String>) {
        let (path, query) = url.split_once('?').unwrap();
        let mut parameters: Vec<String> = query.split('&').map(str::to_owned).collect();
        parameters.sort();
        (path.to_owned(), parameters)
    }

    proptest! {
        #[test]
        fn the_query_survives_go_getters_sorting(now in 0u64..4_000_000_000, lifetime in 1u32..604_801) {
            let presigner = presigner(ENDPOINT, "auto", ("id/with+odd=chars", "secret"));
            let url = presigner.presign(SignedMethod::Get, "archives/a.zip", &[], UnixTime(now), lifetime);
            let (_, query) = url.split_once('?').unwrap();
            let mut sorted: Vec<&str> = query.split('&').collect();
            sorted.sort_unstable();
            prop_assert_eq!(sorted.join("&"), query);
            prop_assert!(!query.contains(['+', ';', ' ']));
        }

        #[test]
        fn an_independent_signer_agrees(
            method in any_method(),
            key in "[a-zA-Z0-9._~/ +-]{1,40}",
            header in proptest::option::of(("(content-type|if-none-match|x-amz-checksum-sha256)", "[a-zA-Z0-9/+=*]{1,20}")),
            id in "[A-Z0-9]{16,20}",
            secret in "[a-zA-Z0-9/+]{30,40}",
            now in 0u64..4_000_000_000,
            lifetime in 1u32..604_801,
        ) {
            prop_assume!(!key.starts_with('/') && !key.contains("//") && !key.split('/').any(|part| part == "." || part == ".."));
            let ours = presigner(ENDPOINT, "auto", (&id, &secret));
            let header = header.as_ref().map(|(name, value)| (name.as_str(), value.as_str()));
            let headers: Vec<(&str, &str)> = header.into_iter().collect();
            let url = ours.presign(method, &key, &headers, UnixTime(now), lifetime);
            let theirs = by_rusty_s3(method, &key, header, (&id, &secret), now, lifetime);
            prop_assert_eq!(sorted_query(&url), sorted_query(&theirs));
        }
    }
}
