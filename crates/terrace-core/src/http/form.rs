//! The query of an OCI request, whose values clients encode as they like (clients.md 11.2).

use std::borrow::Cow;

use terrace_base::percent::{Plus, decoded};

/// A query as it was sent, without its `?`.
#[derive(Debug, Clone, Copy)]
pub struct Query<'a>(pub &'a str);

impl<'a> Query<'a> {
    /// The first value of a name, without its percent escapes; one that is not text is passed over.
    /// A `+` is a `+`: no value that is asked for here has a space, and media types have a `+`.
    pub fn value(self, name: &str) -> Option<Cow<'a, str>> {
        self.values(name).next()
    }

    /// All values of a name.
    pub fn values(self, name: &str) -> impl Iterator<Item = Cow<'a, str>> {
        let pairs = self.0.split('&').filter_map(|pair| pair.split_once('='));
        pairs
            .filter(move |(known, _)| *known == name)
            .filter_map(|(_, value)| decoded(value, Plus::Plus))
    }
}

/// A text for a query: what is not unreserved is escaped.
pub fn encoded(text: &str) -> String {
    terrace_base::percent::encode(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_are_read_however_they_are_encoded_11_2() {
        let query = Query("digest=sha256%3Aab&from=a%2fb/c&tag=1&tag=2&artifactType=a/b+json&x");
        assert_eq!(query.value("digest").as_deref(), Some("sha256:ab"));
        assert_eq!(query.value("from").as_deref(), Some("a/b/c"));
        assert_eq!(query.values("tag").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(query.value("artifactType").as_deref(), Some("a/b+json"));
        assert_eq!(query.value("x"), None);
        for broken in ["a=%", "a=%4", "a=%zz", "a=%ff"] {
            assert_eq!(Query(broken).value("a"), None, "{broken}");
        }
    }

    proptest! {
        #[test]
        fn what_is_encoded_reads_back(text in "\\PC{0,40}") {
            let query = format!("a={}", encoded(&text));
            let read = Query(&query).value("a");
            prop_assert_eq!(read.as_deref(), Some(text.as_str()));
        }

        #[test]
        fn no_query_panics(text in "\\PC{0,80}") {
            let _ = Query(&text).value("digest");
        }
    }
}
