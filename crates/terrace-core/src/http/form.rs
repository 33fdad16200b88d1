//! Queries and forms: percent-encoded `name=value` pairs, separated by `&`.
//!
//! Both are decoded strictly: malformed escapes and bytes that are not UTF-8 are rejected. Everything else is
//! parsed as the `form_urlencoded` crate does, except for the `+` of a [`Query`].

use std::borrow::Cow;

use terrace_base::percent::{Plus, decoded, encode};

/// A query as it was sent, without its `?`. Clients may encode its values in any way (clients.md 11.2).
#[derive(Debug, Clone, Copy)]
pub struct Query<'a>(pub &'a str);

/// A text in `application/x-www-form-urlencoded`, sent by a browser or an OAuth client (RFC 6749, appendix
/// B).
#[derive(Debug, Clone, Copy)]
pub struct Form<'a>(pub &'a str);

/// The reason why a parameter, or a whole form, is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FormError {
    /// The parameter occurs more than once.
    #[error("is given more than once")]
    Twice,
    /// A name or a value is not UTF-8 text.
    #[error("is not UTF-8 text")]
    NoText,
}

impl<'a> Query<'a> {
    /// Returns the first value of a name. Values that are not UTF-8 text are skipped, and so are names
    /// without `=`. A `+` is a literal `+`: no value that is read here has a space, and media types have a
    /// `+`.
    pub fn value(self, name: &str) -> Option<Cow<'a, str>> {
        self.values(name).next()
    }

    /// Returns the first parameter with none of these names, and its value.
    pub fn unknown(self, names: &[&str]) -> Option<(Cow<'a, str>, Cow<'a, str>)> {
        let text = |text: &'a str| decoded(text, Plus::Plus).unwrap_or(Cow::Borrowed(text));
        let pairs =
            Pair::all(self.0).map(|pair| (text(pair.name), text(pair.value.unwrap_or_default())));
        let mut unknown = pairs.filter(|(name, _)| !names.contains(&&**name));
        unknown.next()
    }

    /// Returns all values of a name.
    pub fn values(self, name: &str) -> impl Iterator<Item = Cow<'a, str>> {
        let named = Pair::all(self.0).filter(move |pair| pair.is_named(name, Plus::Plus));
        named.filter_map(|pair| decoded(pair.value?, Plus::Plus))
    }
}

impl Form<'_> {
    /// Returns the value of a parameter. An empty value counts as missing; a repeated parameter is an error
    /// (RFC 6749, section 3.1). Parameters with other names are ignored.
    ///
    /// # Errors
    /// If the parameter is given more than once, or its value is not UTF-8 text.
    pub fn value(self, name: &str) -> Result<Option<String>, FormError> {
        let mut named = Pair::all(self.0).filter(|pair| pair.is_named(name, Plus::Space));
        let Some(pair) = named.next() else {
            return Ok(None);
        };
        if named.next().is_some() {
            return Err(FormError::Twice);
        }
        let value = decoded(pair.value.unwrap_or_default(), Plus::Space);
        let value = value.ok_or(FormError::NoText)?.into_owned();
        Ok(Some(value).filter(|value| !value.is_empty()))
    }
}

/// Encodes parameters for a query or a form. All bytes that are not unreserved are escaped, so that both
/// decode to the same values.
pub fn encoded(parameters: &[(&str, &str)]) -> String {
    let pairs = parameters.iter();
    let pairs = pairs.map(|(name, value)| format!("{name}={}", encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// A pair as it was sent, not decoded.
#[derive(Debug, Clone, Copy)]
struct Pair<'a> {
    name: &'a str,
    /// The text after the first `=`, if there is one.
    value: Option<&'a str>,
}

impl<'a> Pair<'a> {
    fn all(text: &'a str) -> impl Iterator<Item = Self> {
        let pairs = text.split('&').filter(|pair| !pair.is_empty());
        pairs.map(|pair| match pair.split_once('=') {
            Some((name, value)) => Self {
                name,
                value: Some(value),
            },
            None => Self {
                name: pair,
                value: None,
            },
        })
    }

    fn is_named(self, name: &str, plus: Plus) -> bool {
        decoded(self.name, plus).as_deref() == Some(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_of_a_query_are_decoded_in_any_encoding_11_2() {
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

    #[test]
    fn a_parameter_of_another_name_is_found_with_its_value() {
        let unknown = |query: &'static str| {
            let found = Query(query).unknown(&["after", "urls"]);
            found.map(|(name, value)| format!("{name}={value}"))
        };
        assert_eq!(unknown(""), None);
        assert_eq!(unknown("after=a&%61fter=b&urls"), None);
        assert_eq!(unknown("after=a&limit=%2D1").as_deref(), Some("limit=-1"));
        assert_eq!(unknown("kind").as_deref(), Some("kind="));
        assert_eq!(unknown("%zz=%ff").as_deref(), Some("%zz=%ff"));
    }

    #[test]
    fn values_of_a_form_are_decoded_and_empty_ones_are_missing() {
        let form = Form("a=1+2%2B&b=&c&%64=x%3D&e=%zz&f=%ff&g=%2&h=1&h=1");
        assert_eq!(form.value("a"), Ok(Some("1 2+".to_owned())));
        assert_eq!(form.value("b"), Ok(None));
        assert_eq!(form.value("c"), Ok(None));
        assert_eq!(form.value("d"), Ok(Some("x=".to_owned())));
        for broken in ["e", "f", "g"] {
            assert_eq!(form.value(broken), Err(FormError::NoText));
        }
        assert_eq!(form.value("h"), Err(FormError::Twice));
        assert_eq!(form.value("i"), Ok(None));
    }

    #[test]
    fn a_second_spelling_of_a_name_is_the_same_name() {
        assert_eq!(Form("a=1&%61=2").value("a"), Err(FormError::Twice));
    }

    /// Generates texts with pairs that are repeated, empty, or escaped in various ways.
    fn forms() -> impl Strategy<Value = String> {
        let piece = "(a=|%61=|b=|c|)([ab&=+\u{e4}]|%[2-7][0-9a-fA-F]|%C3%A4|[ !-~]){0,6}";
        prop::collection::vec(piece, 0..5).prop_map(|pieces| pieces.join("&"))
    }

    fn by_form_urlencoded(text: &str) -> Vec<(String, String)> {
        form_urlencoded::parse(text.as_bytes())
            .into_owned()
            .collect()
    }

    proptest! {
        #[test]
        fn an_accepted_form_has_the_parameters_that_form_urlencoded_reads(text in forms()) {
            let read = by_form_urlencoded(&text);
            if let Ok(Some(value)) = Form(&text).value("a") {
                let named: Vec<_> = read.iter().filter(|(name, _)| name == "a").collect();
                prop_assert_eq!(named, [&("a".to_owned(), value)]);
            }
        }

        #[test]
        fn every_value_of_a_query_is_one_that_form_urlencoded_reads(text in forms()) {
            let read = by_form_urlencoded(&text.replace('+', "%2B"));
            let mut named = read.iter().filter(|(name, _)| name == "a");
            for value in Query(&text).values("a") {
                prop_assert!(named.any(|(_, other)| *other == value), "{text:?}: {value:?}");
            }
        }

        #[test]
        fn encoded_parameters_decode_to_themselves(value in "\\PC{1,40}") {
            let text = encoded(&[("a", "x"), ("b", &value)]);
            let read = Query(&text).value("b");
            prop_assert_eq!(read.as_deref(), Some(value.as_str()));
            prop_assert_eq!(by_form_urlencoded(&text).pop(), Some(("b".to_owned(), value.clone())));
            prop_assert_eq!(Form(&text).value("b"), Ok(Some(value)));
        }
    }
}
