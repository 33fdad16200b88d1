//! Names of resources and functions.

/// Returns a name without the type of the provider.
pub(crate) fn short_name<'n>(name: &'n str, provider_type: &str) -> &'n str {
    let rest = name.strip_prefix(provider_type);
    let rest = rest.and_then(|rest| rest.strip_prefix('_'));
    rest.filter(|rest| !rest.is_empty()).unwrap_or(name)
}
