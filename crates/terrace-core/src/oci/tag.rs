//! Lists of tags, with pagination.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::http::form::Query;
use crate::http::problem::Problem;
use crate::model::oci::tag;
use crate::model::version::Version;
use terrace_base::json;
use terrace_base::untrusted::{QUOTED_CHARS, line};

/// The list of a repository's tags.
#[derive(Debug, Serialize, Deserialize)]
struct Tags {
    name: String,
    tags: Vec<String>,
}

/// A page of a list of tags (OCI Distribution 1.1, "Listing Tags").
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TagPage {
    /// The maximum number of tags.
    pub n: Option<usize>,
    /// The tag after which the page begins.
    pub last: Option<String>,
}

/// Returns the list of a repository's tags as a response, in the order of the specification: by their bytes.
pub fn tags(name: &str, versions: &[&Version]) -> String {
    list(
        name,
        versions.iter().map(|version| tag::of(version)).collect(),
    )
}

/// Returns the list of the given tags.
pub(crate) fn list(name: &str, mut tags: Vec<String>) -> String {
    tags.sort_unstable();
    let name = name.to_owned();
    json::to_string(&Tags { name, tags })
}

impl TagPage {
    /// Parses a query; `None` if it does not request a page.
    ///
    /// # Errors
    /// If `n` is not a number.
    pub fn parse(query: &str) -> Result<Option<Self>, Problem> {
        let query = Query(query);
        let n = query.value("n").filter(|n| !n.is_empty());
        let n = n
            .map(|n| n.parse().map_err(|_| no_number(&n)))
            .transpose()?;
        let last = query.value("last").map(Cow::into_owned);
        Ok((n.is_some() || last.is_some()).then_some(Self { n, last }))
    }

    /// Returns this page of a list, and the tag after which the next page begins, if there is one.
    ///
    /// # Errors
    /// If `text` is not a list of tags.
    pub fn of(&self, text: &str) -> Result<(String, Option<String>), serde_json::Error> {
        let mut list: Tags = serde_json::from_slice(text.as_bytes())?;
        if let Some(last) = &self.last {
            list.tags.retain(|tag| tag > last);
        }
        let n = self.n.unwrap_or(usize::MAX);
        let is_truncated = list.tags.len() > n;
        list.tags.truncate(n);
        let next = list.tags.last().cloned().filter(|_| is_truncated);
        Ok((json::to_string(&list), next))
    }
}

fn no_number(text: &str) -> Problem {
    let text = line(text).at_most(QUOTED_CHARS);
    Problem::BadRequest(format!(
        "the parameter n is {text}: it must be a number of tags, 0 or more"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_contains_the_requested_tags() {
        let versions: Vec<Version> = ["1.0.0", "1.1.0", "1.2.0"]
            .map(|v| v.parse().unwrap())
            .into();
        let list = tags("a/b", &versions.iter().collect::<Vec<_>>());
        for (query, tags, next) in [
            ("n=2", r#"["1.0.0","1.1.0"]"#, Some("1.1.0")),
            ("n=3", r#"["1.0.0","1.1.0","1.2.0"]"#, None),
            ("n=1&last=1.0.0", r#"["1.1.0"]"#, Some("1.1.0")),
            ("last=1.1.0", r#"["1.2.0"]"#, None),
            ("last=9&n=5", "[]", None),
            ("n=0", "[]", None),
        ] {
            let (text, found) = TagPage::parse(query).unwrap().unwrap().of(&list).unwrap();
            assert_eq!(
                text,
                format!(r#"{{"name":"a/b","tags":{tags}}}"#),
                "{query}"
            );
            assert_eq!(found.as_deref(), next, "{query}");
        }
        for nothing in ["", "n=", "m=1"] {
            assert_eq!(TagPage::parse(nothing), Ok(None), "{nothing}");
        }
        for value in ["-1", "x", "1.5", "99999999999999999999"] {
            let refused = TagPage::parse(&format!("n={value}&last=a")).unwrap_err();
            assert_eq!(refused.status(), 400, "{value}");
            let start = format!("the parameter n is {value}: ");
            let messages = refused.messages();
            assert!(messages[0].starts_with(&start), "{messages:?}");
        }
    }
}
