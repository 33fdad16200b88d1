//! One line of the log for each request: what was asked for, how it went, and what it took.
//!
//! It holds no path, no query and no header but the product of the client, so nothing that anybody could
//! use: a path may hold the signature of a URL.

use crate::http::method::Method;
use crate::limits;

/// Which requests are written down.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LoggedRequests {
    /// All of them.
    #[default]
    All,
    /// Those that are answered with a status of 400 and above.
    Failures,
    /// None.
    None,
}

/// What some part of the platform was used for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Took {
    /// How many operations.
    pub operations: u32,
    /// How long they took together, in milliseconds. Some may have run at the same time.
    pub millis: u64,
}

/// What answering a request took of the platform.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Workers KV.
    pub kv: Took,
    /// R2.
    pub r2: Took,
    /// Other registries, and providers of identities.
    pub origin: Took,
}

/// What became of the one index that a read is answered from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexState {
    /// KV had it.
    Hit,
    /// KV had none, or could not be asked: the facts were.
    Miss,
    /// It was too old, or made by other rules.
    Unfit,
    /// It could not be read.
    Corrupt,
}

/// The program that sent a request, as it calls itself: `Terraform/1.11.4`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Client {
    product: String,
    version: String,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestLine<'r> {
    /// What was asked for; see `api::endpoint::Endpoint::name`.
    pub route: &'static str,
    /// How.
    pub method: Option<Method>,
    /// What was answered.
    pub status: u16,
    /// How long it took until then, in milliseconds.
    pub millis: u64,
    /// What it took.
    pub usage: Usage,
    /// Whether the index was there, of a read.
    pub index: Option<IndexState>,
    /// Who asked.
    pub client: &'r Client,
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

impl LoggedRequests {
    /// Reads the setting; `None` for another text.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "all" => Some(Self::All),
            "failures" => Some(Self::Failures),
            "none" => Some(Self::None),
            _ => None,
        }
    }

    /// Whether one that is answered like this is among them.
    pub fn include(self, status: u16) -> bool {
        match self {
            Self::All => true,
            Self::Failures => status >= 400,
            Self::None => false,
        }
    }
}

impl Usage {
    /// What was taken since then.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        let since = |now: Took, before: Took| Took {
            operations: now.operations.saturating_sub(before.operations),
            millis: now.millis.saturating_sub(before.millis),
        };
        Self {
            kv: since(self.kv, before.kv),
            r2: since(self.r2, before.r2),
            origin: since(self.origin, before.origin),
        }
    }
}

impl Client {
    /// Whoever sends this header `User-Agent`: the first product in it. What is no product of RFC 9110,
    /// section 10.1.5, has no name.
    pub fn of_user_agent(header: Option<&str>) -> Self {
        let first = header.unwrap_or_default().split(' ').next();
        let (product, version) = first.and_then(|it| it.split_once('/')).unwrap_or_default();
        let is_part = |text: &str| {
            let is_inner = |b: u8| b.is_ascii_alphanumeric() || b"._+-".contains(&b);
            (1..=limits::CLIENT_PART_BYTES).contains(&text.len()) && text.bytes().all(is_inner)
        };
        if is_part(product) && is_part(version) {
            let (product, version) = (product.to_owned(), version.to_owned());
            Self { product, version }
        } else {
            Self::default()
        }
    }

    /// What it is called; empty where nobody knows.
    pub fn product(&self) -> &str {
        &self.product
    }

    /// Which version it is.
    pub fn version(&self) -> &str {
        &self.version
    }
}

impl RequestLine<'_> {
    /// The line, if it is one of those that are written.
    pub fn logged(&self, which: LoggedRequests) -> Option<String> {
        which.include(self.status).then(|| self.to_json())
    }

    /// The line: a JSON object, of which Workers Logs makes fields to search by
    /// (<https://developers.cloudflare.com/workers/observability/logs/workers-logs/>).
    ///
    /// It is put together by hand: a serialiser writes it quote by quote, each by a call that copies a byte, which
    /// is a third of what wasm takes to decide a read. Nothing in it has to be escaped.
    pub fn to_json(&self) -> String {
        let Usage { kv, r2, origin } = self.usage;
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
        text(",\"kv\":", digits.format(kv.operations));
        text(",\"kv_ms\":", digits.format(kv.millis));
        text(",\"r2\":", digits.format(r2.operations));
        text(",\"r2_ms\":", digits.format(r2.millis));
        text(",\"origin\":", digits.format(origin.operations));
        text(",\"origin_ms\":", digits.format(origin.millis));
        text(",\"client\":\"", &self.client.product);
        text("\",\"client_version\":\"", &self.client.version);
        text("\"}", "");
        line
    }

    /// The same as the header `Server-Timing` has it (<https://www.w3.org/TR/server-timing/>).
    pub fn server_timing(&self) -> String {
        let Usage { kv, r2, origin } = self.usage;
        let parts = [("kv", kv), ("r2", r2), ("origin", origin)];
        let mut header = format!("total;dur={}", self.millis);
        for (name, Took { operations, millis }) in parts {
            header += &format!(", {name};dur={millis};desc=\"{operations}\"");
        }
        header
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line(client: &Client) -> RequestLine<'_> {
        RequestLine {
            route: "provider_versions",
            method: Some(Method::Get),
            status: 200,
            millis: 12,
            usage: Usage {
                kv: Took {
                    operations: 1,
                    millis: 11,
                },
                ..Usage::default()
            },
            index: Some(IndexState::Hit),
            client,
        }
    }

    #[test]
    fn a_line_tells_what_was_asked_and_what_it_took() {
        let client = Client::of_user_agent(Some("Terraform/1.11.4 (+https://www.terraform.io)"));
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
    fn a_client_is_the_first_product_it_names() {
        let named = |header| {
            let client = Client::of_user_agent(header);
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
        let long = format!("{}/1", "a".repeat(limits::CLIENT_PART_BYTES + 1));
        for odd in ["", "x", "/1", "a/", "a\"b/1", "a/1/2", "ä/1", " a/1", &long] {
            assert_eq!(named(Some(odd)), known("", ""), "{odd}");
        }
        assert_eq!(named(None), known("", ""));
    }

    #[test]
    fn what_was_taken_since_is_what_was_not_before() {
        let took = |operations, millis| Took { operations, millis };
        let usage = |kv, r2, origin| Usage { kv, r2, origin };
        let before = usage(took(1, 2), took(3, 4), took(5, 6));
        let now = usage(took(2, 4), took(6, 8), took(10, 12));
        assert_eq!(now.since(before), before);
    }

    #[test]
    fn which_requests_are_written_down_is_one_of_three() {
        for (text, of_success, of_failure) in [
            ("all", true, true),
            ("failures", false, true),
            ("none", false, false),
        ] {
            let logged = LoggedRequests::parse(text).unwrap();
            assert_eq!(logged.include(399), of_success);
            assert_eq!(logged.include(400), of_failure);
        }
        assert_eq!(LoggedRequests::parse("All"), None);
    }

    proptest! {
        #[test]
        fn no_client_breaks_out_of_its_line(header in "\\PC{0,80}|[ -~]{0,20}/[ -~]{0,20}") {
            let client = Client::of_user_agent(Some(&header));
            let json: serde_json::Value = serde_json::from_str(&line(&client).to_json()).unwrap();
            prop_assert_eq!(json["client"].as_str(), Some(client.product()));
        }
    }
}
