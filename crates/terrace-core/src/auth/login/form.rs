//! Forms and queries, as browsers and OAuth clients encode them.

use terrace_base::percent::encode;
use terrace_base::percent::{Plus, decoded};

/// A text in `application/x-www-form-urlencoded` (RFC 6749, appendix B).
#[derive(Debug, Clone, Copy)]
pub struct Form<'a>(pub &'a str);

/// Why a parameter cannot be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FormFault {
    /// It is there more than once.
    #[error("is there more than once")]
    Twice,
    /// It is no text.
    #[error("is not text in UTF-8")]
    NoText,
}

impl Form<'_> {
    /// The value of a parameter. One that is empty counts as not there, and one that is there twice as
    /// wrong (RFC 6749, section 3.1).
    ///
    /// # Errors
    /// When it has no one value.
    pub fn value(self, name: &str) -> Result<Option<String>, FormFault> {
        let pairs = self.0.split('&').map(|pair| match pair.split_once('=') {
            Some((name, value)) => (name, value),
            None => (pair, ""),
        });
        let mut values =
            pairs.filter(|(known, _)| decoded(known, Plus::Space).as_deref() == Some(name));
        let Some((_, value)) = values.next() else {
            return Ok(None);
        };
        if values.next().is_some() {
            return Err(FormFault::Twice);
        }
        let value = decoded(value, Plus::Space).ok_or(FormFault::NoText)?;
        Ok(Some(value.into_owned()).filter(|value| !value.is_empty()))
    }
}

/// These parameters, encoded.
pub(super) fn encoded(parameters: &[(&str, &str)]) -> String {
    let pairs = parameters.iter();
    let pairs = pairs.map(|(name, value)| format!("{name}={}", encode(value)));
    pairs.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_are_decoded_and_empty_ones_are_not_there() {
        let form = Form("a=1+2%2B&b=&c&%64=x%3D&e=%zz&f=%ff&g=%2&h=1&h=1");
        assert_eq!(form.value("a"), Ok(Some("1 2+".to_owned())));
        assert_eq!(form.value("b"), Ok(None));
        assert_eq!(form.value("c"), Ok(None));
        assert_eq!(form.value("d"), Ok(Some("x=".to_owned())));
        for broken in ["e", "f", "g"] {
            assert_eq!(form.value(broken), Err(FormFault::NoText));
        }
        assert_eq!(form.value("h"), Err(FormFault::Twice));
        assert_eq!(form.value("i"), Ok(None));
    }

    #[test]
    fn a_second_spelling_of_a_name_is_the_same_name() {
        assert_eq!(Form("a=1&%61=2").value("a"), Err(FormFault::Twice));
    }

    proptest! {
        #[test]
        fn what_is_encoded_reads_back(value in "\\PC{1,40}") {
            let text = encoded(&[("a", "x"), ("b", &value)]);
            prop_assert_eq!(Form(&text).value("b"), Ok(Some(value)));
        }

        #[test]
        fn no_text_panics(text in "[a%=&+0-9\\PC]{0,40}") {
            let _ = Form(&text).value("a");
        }
    }
}
