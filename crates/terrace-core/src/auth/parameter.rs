//! The parameters of requests to the OAuth endpoints (RFC 6749, section 3.1). An empty one counts as missing.

use std::fmt;
use std::str::FromStr;

use crate::http::form::Form;

/// The error for a request with an invalid parameter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{parameter} {rule}")]
pub struct ParameterError {
    /// The name of the parameter.
    pub parameter: &'static str,
    /// The rule that it violates.
    pub rule: String,
}

/// Checks that a parameter has exactly this value.
pub(super) fn must_be(
    form: Form<'_>,
    parameter: &'static str,
    value: &str,
) -> Result<(), ParameterError> {
    match form.value(parameter) {
        Ok(Some(found)) if found == value => Ok(()),
        Err(fault) => Err(wrong(parameter, fault)),
        _ => Err(wrong(parameter, format!("must be {value}"))),
    }
}

/// Parses a required parameter.
pub(super) fn required<T: FromStr>(
    form: Form<'_>,
    parameter: &'static str,
) -> Result<T, ParameterError>
where
    T::Err: fmt::Display,
{
    let value = optional(form, parameter)?;
    value.ok_or_else(|| wrong(parameter, "is missing"))
}

/// Parses a parameter that may be missing.
pub(super) fn optional<T: FromStr>(
    form: Form<'_>,
    parameter: &'static str,
) -> Result<Option<T>, ParameterError>
where
    T::Err: fmt::Display,
{
    let value = form.value(parameter);
    let value = value.map_err(|fault| wrong(parameter, fault))?;
    let parsed = value.map(|text| text.parse()).transpose();
    parsed.map_err(|rule| wrong(parameter, rule))
}

/// The error for a parameter that violates a rule.
pub(super) fn wrong(parameter: &'static str, rule: impl ToString) -> ParameterError {
    let rule = rule.to_string();
    ParameterError { parameter, rule }
}
