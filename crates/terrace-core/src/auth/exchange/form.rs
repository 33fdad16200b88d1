//! The body of a request to an OAuth endpoint (RFC 6749, appendix B).

use super::ExchangeError;
use crate::auth::exchange::EXCHANGE_BYTES;
use crate::http::form::{self, FormError};
use terrace_base::untrusted::quoted;

/// Maximum number of parameters of a token exchange. RFC 8693 defines ten.
const EXCHANGE_PARAMETERS: usize = 20;

/// The parameters of a form, each given once.
pub(super) struct Form<'a>(form::Form<'a>);

impl<'a> Form<'a> {
    pub(super) fn parse(content_type: Option<&str>, body: &'a [u8]) -> Result<Self, ExchangeError> {
        let wrong = |message: &str| ExchangeError::Malformed(message.to_owned());
        let media_type = content_type.unwrap_or_default().split(';').next();
        let media_type = media_type.unwrap_or_default().trim();
        if !media_type.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
            return Err(wrong(
                "the content type must be application/x-www-form-urlencoded",
            ));
        }
        if body.len() as u64 > EXCHANGE_BYTES {
            return Err(ExchangeError::TooLarge);
        }
        let body = std::str::from_utf8(body)
            .map_err(|_| wrong("the body is not valid application/x-www-form-urlencoded"))?;
        let form = form::Form(body);
        match form.check(EXCHANGE_PARAMETERS) {
            Ok(()) => Ok(Self(form)),
            Err(FormError::NoText) => Err(wrong(
                "the body is not valid application/x-www-form-urlencoded",
            )),
            Err(FormError::Twice(name)) => Err(wrong(&format!(
                "the parameter {} is given more than once",
                quoted(&name)
            ))),
            Err(FormError::TooMany) => Err(wrong(&format!(
                "there are too many parameters: at most {} are allowed",
                EXCHANGE_PARAMETERS
            ))),
        }
    }

    /// Returns the value of a parameter. Empty parameters count as missing (RFC 6749, section 3.2).
    pub(super) fn value(&self, name: &str) -> Option<String> {
        // `parse` has checked the whole form.
        self.0.value(name).ok().flatten()
    }

    pub(super) fn required(&self, name: &'static str) -> Result<String, ExchangeError> {
        let missing = || ExchangeError::Malformed(format!("{name} is missing"));
        self.value(name).ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TYPE: Option<&str> = Some("Application/X-WWW-Form-Urlencoded; charset=UTF-8");

    fn parse(body: &str) -> Result<Form<'_>, String> {
        Form::parse(TYPE, body.as_bytes()).map_err(|error| format!("{error:?}"))
    }

    #[test]
    fn values_are_decoded_and_empty_ones_are_missing() {
        let form = parse("a=1%2b1+%3d+2&b=&c&&d=%C3%A4").unwrap();
        assert_eq!(form.value("a").as_deref(), Some("1+1 = 2"));
        assert_eq!(form.value("d").as_deref(), Some("ä"));
        assert_eq!((form.value("b"), form.value("c")), (None, None));
        assert!(form.required("b").is_err());
    }

    #[test]
    fn a_body_that_is_not_a_form_is_rejected() {
        let many: Vec<String> = (0..=EXCHANGE_PARAMETERS)
            .map(|n| format!("p{n}=1"))
            .collect();
        for (body, message) in [
            ("a=%", "not valid application/x-www-form-urlencoded"),
            ("a=%4", "not valid application/x-www-form-urlencoded"),
            ("a=%zz", "not valid application/x-www-form-urlencoded"),
            ("a=%ff", "not valid application/x-www-form-urlencoded"),
            ("a=1&a=1", r#"\"a\" is given more than once"#),
            ("a=1&%61=2", r#"\"a\" is given more than once"#),
            ("a&a", r#"\"a\" is given more than once"#),
            (&many.join("&"), "at most 20 are allowed"),
        ] {
            let error = parse(body).err().expect(body);
            assert!(error.contains(message), "{body}: {error}");
        }
        assert!(Form::parse(TYPE, b"a=\xff").is_err());
        for content_type in [None, Some(""), Some("application/json"), Some("text/plain")] {
            assert!(Form::parse(content_type, b"a=1").is_err());
        }
        let long = "a".repeat(usize::try_from(EXCHANGE_BYTES).unwrap() + 1);
        assert_eq!(parse(&long).err().as_deref(), Some("TooLarge"));
    }

    proptest! {
        #[test]
        fn no_body_panics(body in proptest::collection::vec(any::<u8>(), 0..80)) {
            let _ = Form::parse(TYPE, &body);
        }
    }
}
