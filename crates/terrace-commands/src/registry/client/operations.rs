//! The operations that operators use.

use terrace_base::percent::encode;
use terrace_core::api::admin::{
    DocumentedAnswer, ErasureAnswer, ErasureBody, FactBody, FactsAnswer, FailoverAnswer,
    FailoverBody, GarbageAnswer, GarbageBody, ReindexAnswer, ReindexBody, ReplicationAnswer,
    ReplicationBody, RestoreAnswer, RestoreBody, StoredAnswer, UploadBody, UploadsAnswer,
    UploadsBody, VerifyAnswer, VerifyBody,
};
use ureq::http::Method;

use super::{Call, Client, json_text};
use crate::error::Failure;

const FAILOVER: &str = "/admin/v1/failover";
const FACTS: &str = "/admin/v1/facts";
const DOCUMENTATION: &str = "/admin/v1/documentation";
const ARCHIVES: &str = "/admin/v1/archives";

impl Client<'_> {
    pub(crate) fn reindex(&self, body: &ReindexBody) -> Result<ReindexAnswer, Failure> {
        self.post("/admin/v1/reindex".to_owned(), body)
    }

    pub(crate) fn verify(&self, body: &VerifyBody) -> Result<VerifyAnswer, Failure> {
        self.post("/admin/v1/verify".to_owned(), body)
    }

    pub(crate) fn garbage(&self, body: &GarbageBody) -> Result<GarbageAnswer, Failure> {
        self.post("/admin/v1/garbage".to_owned(), body)
    }

    pub(crate) fn erase(&self, body: &ErasureBody) -> Result<ErasureAnswer, Failure> {
        self.post("/admin/v1/erasures".to_owned(), body)
    }

    /// Returns the bucket that serves downloads.
    pub(crate) fn failover(&self) -> Result<FailoverAnswer, Failure> {
        self.get(FAILOVER.to_owned())
    }

    /// Changes the bucket that serves downloads.
    pub(crate) fn set_failover(&self, body: &FailoverBody) -> Result<FailoverAnswer, Failure> {
        let text = json_text(body)?;
        self.ask(Call {
            method: Method::PUT,
            path: FAILOVER.to_owned(),
            body: Some((&text, "application/json")),
        })
    }

    /// Compares a page of the two buckets.
    pub(crate) fn replication(&self, body: &ReplicationBody) -> Result<ReplicationAnswer, Failure> {
        self.post("/admin/v1/replication".to_owned(), body)
    }

    /// Returns a page of the documents with a key prefix: those after a key.
    pub(crate) fn facts(&self, prefix: &str, after: Option<&str>) -> Result<FactsAnswer, Failure> {
        let mut path = format!("{FACTS}?prefix={}", encode(prefix));
        if let Some(after) = after {
            path.push_str(&format!("&after={}", encode(after)));
        }
        self.get(path)
    }

    /// Returns a page of the archives that documented versions refer to: those after a key.
    pub(crate) fn documented(&self, after: Option<&str>) -> Result<DocumentedAnswer, Failure> {
        let query = after.map(|after| format!("?after={}", encode(after)));
        self.get(format!("{DOCUMENTATION}{}", query.unwrap_or_default()))
    }

    pub(crate) fn restore(&self, facts: Vec<FactBody>) -> Result<RestoreAnswer, Failure> {
        let text = json_text(&RestoreBody { facts })?;
        self.ask(Call {
            method: Method::PUT,
            path: FACTS.to_owned(),
            body: Some((&text, "application/json")),
        })
    }

    /// Returns a page of the stored bytes: those after a key.
    pub(crate) fn archives(
        &self,
        after: Option<&str>,
        with_urls: bool,
    ) -> Result<StoredAnswer, Failure> {
        let mut path = format!("{ARCHIVES}?urls={with_urls}");
        if let Some(after) = after {
            path.push_str(&format!("&after={}", encode(after)));
        }
        self.get(path)
    }

    /// Returns which of these archives are missing, and how to upload them.
    pub(crate) fn missing(&self, archives: Vec<UploadBody>) -> Result<UploadsAnswer, Failure> {
        self.post(ARCHIVES.to_owned(), &UploadsBody { archives })
    }

    fn get<T: serde::de::DeserializeOwned>(&self, path: String) -> Result<T, Failure> {
        self.ask(Call {
            method: Method::GET,
            path,
            body: None,
        })
    }
}
