//! One log line per request: its route, outcome and resource usage.
//!
//! The line contains no path, no query and no header except the product of the client, so it leaks nothing
//! usable: a path may contain the signature of a URL. A deployment may add [fields](super::log_fields) that name the
//! package and the caller.

use std::borrow::Cow;

use crate::http::method::Method;

/// Maximum length of a client's product name, and of its version. Longer ones are not recorded in logs and
/// metrics.
const CLIENT_PART_BYTES: usize = 32;

/// The requests that are logged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LoggedRequests {
    /// All requests.
    #[default]
    All,
    /// Requests with a status of 400 or above.
    Failures,
    /// No requests.
    None,
}

/// The usage of one part of the platform.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OperationStats {
    /// The number of operations.
    pub operations: u32,
    /// Their total duration in milliseconds. Some may have run concurrently.
    pub millis: u64,
}

/// The origin of an answer from the platform's cache of archives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheState {
    /// The cache had the bytes.
    Hit,
    /// The bucket was read, and the cache keeps the bytes.
    Miss,
    /// The cache had the bytes, and the bucket could not be read to renew them.
    Stale,
    /// The bucket was read, and the cache keeps nothing.
    Bypass,
    /// There is no cache in front of the archives.
    Absent,
}

/// The platform resources that a request used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Operations on Workers KV.
    pub kv: OperationStats,
    /// Operations on R2.
    pub r2: OperationStats,
    /// Requests to other registries and identity providers.
    pub origin: OperationStats,
    /// The origin of an archive that was requested from the platform's cache.
    pub cache: Option<CacheState>,
}

/// The outcome of the one index lookup of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexState {
    /// The index was in KV.
    Hit,
    /// The index was not in KV, or KV was unavailable; the facts were read instead.
    Miss,
    /// The index was too old, or built by other rules.
    Unfit,
    /// The index could not be parsed.
    Corrupt,
}

/// The program that sent a request, as named in its `User-Agent`: `Terraform/1.11.4`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientProduct {
    product: String,
    version: String,
}

/// The data of one log line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLine<'r> {
    /// The name of the route; see `api::endpoint::Endpoint::name`.
    pub route: &'static str,
    /// The method; `None` if no route supports it.
    pub method: Option<Method>,
    /// The status of the response.
    pub status: u16,
    /// The time until the response, in milliseconds.
    pub millis: u64,
    /// The resources that the request used.
    pub usage: Usage,
    /// The outcome of the index lookup, for a read.
    pub index: Option<IndexState>,
    /// The client that sent the request.
    pub client: &'r ClientProduct,
    /// The members of optional fields; see [`members`](super::log_fields::members).
    pub members: Cow<'r, str>,
}

impl IndexState {
    fn as_str(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::Unfit => "unfit",
            Self::Corrupt => "corrupt",
        }
    }
}

impl CacheState {
    fn as_str(self) -> &'static str {
        match self {
            Self::Hit => "hit",
            Self::Miss => "miss",
            Self::Stale => "stale",
            Self::Bypass => "bypass",
            Self::Absent => "none",
        }
    }
}

impl LoggedRequests {
    /// Parses the setting; `None` if it is invalid.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "all" => Some(Self::All),
            "failures" => Some(Self::Failures),
            "none" => Some(Self::None),
            _ => None,
        }
    }

    /// Returns whether a request with this status is logged.
    pub fn include(self, status: u16) -> bool {
        match self {
            Self::All => true,
            Self::Failures => status >= 400,
            Self::None => false,
        }
    }
}

impl Usage {
    /// Returns the usage since `before`.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        let since = |now: OperationStats, before: OperationStats| OperationStats {
            operations: now.operations.saturating_sub(before.operations),
            millis: now.millis.saturating_sub(before.millis),
        };
        Self {
            kv: since(self.kv, before.kv),
            r2: since(self.r2, before.r2),
            origin: since(self.origin, before.origin),
            cache: self.cache,
        }
    }
}

impl ClientProduct {
    /// Returns the first product in a `User-Agent` header. The client has an empty name if that is not a
    /// product of RFC 9110, section 10.1.5.
    pub fn of_user_agent(header: Option<&str>) -> Self {
        let first = header.unwrap_or_default().split(' ').next();
        let (product, version) = first.and_then(|it| it.split_once('/')).unwrap_or_default();
        let is_part = |text: &str| {
            let is_inner = |b: u8| b.is_ascii_alphanumeric() || b"._+-".contains(&b);
            (1..=CLIENT_PART_BYTES).contains(&text.len()) && text.bytes().all(is_inner)
        };
        if is_part(product) && is_part(version) {
            let (product, version) = (product.to_owned(), version.to_owned());
            Self { product, version }
        } else {
            Self::default()
        }
    }

    /// Returns the name of the product; empty if unknown.
    pub fn product(&self) -> &str {
        &self.product
    }

    /// Returns the version of the product; empty if unknown.
    pub fn version(&self) -> &str {
        &self.version
    }
}

impl RequestLine<'_> {
    /// Returns the line if the setting includes this request.
    pub fn logged(&self, which: LoggedRequests) -> Option<String> {
        which.include(self.status).then(|| self.to_json())
    }

    /// Returns the line: a JSON object. Workers Logs indexes its members as fields
    /// (<https://developers.cloudflare.com/workers/observability/logs/workers-logs/>).
    ///
    /// The JSON is assembled by hand. A serialiser writes it quote by quote, each with a call that copies a
    /// byte, which takes a third of the wasm time of a read decision. No value needs escaping, except in the optional
    /// members, which are escaped already.
    pub fn to_json(&self) -> String {
        let Usage {
            kv,
            r2,
            origin,
            cache,
        } = self.usage;
        let mut line = String::with_capacity(256);
        let mut text = |name: &str, value: &str| {
            line.push_str(name);
            line.push_str(value);
        };
        let mut digits = itoa::Buffer::new();
        text("{\"route\":\"", self.route);
        let method = self.method.map_or("other", Method::as_str);
        text("\",\"method\":\"", method);
        text("\",\"status\":", digits.format(self.status));
        text(",\"ms\":", digits.format(self.millis));
        if let Some(index) = self.index {
            text(",\"index\":\"", index.as_str());
            text("\"", "");
        }
        if let Some(cache) = cache {
            text(",\"cache\":\"", cache.as_str());
            text("\"", "");
        }
        text(",\"kv\":", digits.format(kv.operations));
        text(",\"kv_ms\":", digits.format(kv.millis));
        text(",\"r2\":", digits.format(r2.operations));
        text(",\"r2_ms\":", digits.format(r2.millis));
        text(",\"origin\":", digits.format(origin.operations));
        text(",\"origin_ms\":", digits.format(origin.millis));
        text(",\"client\":\"", &self.client.product);
        text("\",\"client_version\":\"", &self.client.version);
        text("\"", &self.members);
        line.push('}');
        line
    }

    /// Returns the usage in the format of the `Server-Timing` header
    /// (<https://www.w3.org/TR/server-timing/>).
    pub fn server_timing(&self) -> String {
        let Usage { kv, r2, origin, .. } = self.usage;
        let parts = [("kv", kv), ("r2", r2), ("origin", origin)];
        let mut header = format!("total;dur={}", self.millis);
        for (name, OperationStats { operations, millis }) in parts {
            header += &format!(", {name};dur={millis};desc=\"{operations}\"");
        }
        header
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(client: &ClientProduct) -> RequestLine<'_> {
        RequestLine {
            route: "provider_versions",
            method: Some(Method::Get),
            status: 200,
            millis: 12,
            usage: Usage {
                kv: OperationStats {
                    operations: 1,
                    millis: 11,
                },
                ..Usage::default()
            },
            index: Some(IndexState::Hit),
            client,
            members: Cow::Borrowed(""),
        }
    }

    #[test]
    fn a_line_contains_the_route_the_outcome_and_the_usage() {
        let client =
            ClientProduct::of_user_agent(Some("Terraform/1.11.4 (+https://www.terraform.io)"));
        assert_eq!(
            line(&client).to_json(),
            r#"{"route":"provider_versions","method":"GET","status":200,"ms":12,"index":"hit","kv":1,"kv_ms":11,"r2":0,"r2_ms":0,"origin":0,"origin_ms":0,"client":"Terraform","client_version":"1.11.4"}"#
        );
        assert_eq!(
            line(&client).server_timing(),
            r#"total;dur=12, kv;dur=11;desc="1", r2;dur=0;desc="0", origin;dur=0;desc="0""#
        );
    }

    #[test]
    fn a_line_contains_the_origin_of_a_cached_archive() {
        let client = ClientProduct::default();
        let mut line = line(&client);
        line.usage.cache = Some(CacheState::Hit);
        assert!(line.to_json().contains(r#","cache":"hit","kv":1"#));
    }

    #[test]
    fn a_client_is_the_first_product_of_its_user_agent() {
        let named = |header| {
            let client = ClientProduct::of_user_agent(header);
            (client.product().to_owned(), client.version().to_owned())
        };
        let known = |product: &str, version: &str| (product.to_owned(), version.to_owned());
        for (header, name) in [
            ("Go-http-client/1.1", known("Go-http-client", "1.1")),
            (
                "OpenTofu/1.12.6 (+https://opentofu.org)",
                known("OpenTofu", "1.12.6"),
            ),
            ("oras-go/2.6 x/1", known("oras-go", "2.6")),
        ] {
            assert_eq!(named(Some(header)), name);
        }
        let long = format!("{}/1", "a".repeat(CLIENT_PART_BYTES + 1));
        for odd in ["", "x", "/1", "a/", "a\"b/1", "a/1/2", "ä/1", " a/1", &long] {
            assert_eq!(named(Some(odd)), known("", ""), "{odd}");
        }
        assert_eq!(named(None), known("", ""));
    }
}
