//! Requests about the rules that are stored in the registry.

use terrace_core::api::admin::{RemovedRule, RuleAnswer, RuleBody, RuleList};
use terrace_core::model::rule_id::RuleId;
use ureq::http::Method;

use super::{Call, Client};
use crate::error::Failure;

const RULES: &str = "/admin/v1/rules";

impl Client<'_> {
    pub(crate) fn add_rule(&self, body: &RuleBody) -> Result<RuleAnswer, Failure> {
        self.post(RULES.to_owned(), body)
    }

    /// Returns the rules that the token may manage.
    pub(crate) fn rules(&self) -> Result<Vec<RuleAnswer>, Failure> {
        let list: RuleList = self.ask(Call {
            method: Method::GET,
            path: RULES.to_owned(),
            body: None,
        })?;
        Ok(list.rules)
    }

    pub(crate) fn remove_rule(&self, id: RuleId) -> Result<RemovedRule, Failure> {
        self.ask_about(Call {
            method: Method::DELETE,
            path: format!("{RULES}/{id}"),
            body: None,
        })
    }
}
