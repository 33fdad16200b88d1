//! The table of all settings of a deployment.

use std::borrow::Cow;

use super::ConfigError;
use terrace_base::spelling;

/// The prefix of the name of every setting.
const VARIABLE_PREFIX: &str = "TERRACE_";

/// The variables of the `terrace` command, which have the same prefix.
const COMMAND_VARIABLES: [&str; 5] = [
    "TERRACE_TOKEN",
    "TERRACE_URL",
    "TERRACE_INSECURE",
    "TERRACE_ID_TOKEN",
    "TERRACE_PROFILE",
];

/// The name of a setting, and whether its value is a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    /// The name of the variable.
    pub name: &'static str,
    /// Whether the value must stay out of `wrangler.toml` and of every message.
    pub is_secret: bool,
}

/// Defines a constant for the name of each setting, and [`SETTINGS`], the table of all of them.
macro_rules! settings {
    ($($(#[$doc:meta])* $kind:ident $constant:ident = $name:literal;)*) => {
        $($(#[$doc])* pub const $constant: &str = $name;)*

        /// All settings.
        pub const SETTINGS: &[Setting] = &[
            $(Setting { name: $name, is_secret: settings!(@is_secret $kind) },)*
        ];
    };
    (@is_secret secret) => { true };
    (@is_secret variable) => { false };
}

settings! {
    /// The secret that opens the admin routes, of at least 16 characters; there are no admin routes without it.
    secret ADMIN_TOKEN = "TERRACE_ADMIN_TOKEN";
    /// The admin secret that [`ADMIN_TOKEN`] replaces, as long as it and the tokens made under it remain valid.
    secret ADMIN_TOKEN_PREVIOUS = "TERRACE_ADMIN_TOKEN_PREVIOUS";
    /// The callers who may read: anyone (`public`, the default) or the holders of a token (`private`).
    variable ACCESS = "TERRACE_ACCESS";
    /// The owners to which the opposite of [`ACCESS`] applies: namespaces, hostnames of mirrored providers, or
    /// `hostname/namespace`, separated by commas or spaces.
    variable ACCESS_EXCEPT = "TERRACE_ACCESS_EXCEPT";
    /// The limit of requests with invalid credentials from one address per minute, after which each is
    /// answered with 429.
    variable FAILURES_A_MINUTE = "TERRACE_FAILURES_A_MINUTE";
    /// The limit of anonymous searches, and lists of the whole registry, from one address per minute, after which each is
    /// answered with 429.
    variable SEARCHES_A_MINUTE = "TERRACE_SEARCHES_A_MINUTE";
    /// The requests that are logged: `all` (the default), `failures` or `none`.
    variable LOG_REQUESTS = "TERRACE_LOG_REQUESTS";
    /// The optional fields of the log line of a request: any of `package`, `version`, `token` and `caller`, separated by
    /// commas or spaces; none by default.
    variable LOG_FIELDS = "TERRACE_LOG_FIELDS";
    /// The CI jobs that may publish with the token of their CI: rules in the form of
    /// [`TrustedPublishers`](crate::auth::oidc::TrustedPublishers), as JSON text or as a JSON value.
    variable TRUSTED_PUBLISHERS = "TERRACE_TRUSTED_PUBLISHERS";
    /// The S3 endpoint of the bucket, such as `https://<account>.r2.cloudflarestorage.com`; may have a path.
    variable S3_ENDPOINT = "TERRACE_S3_ENDPOINT";
    /// The bucket's name.
    variable S3_BUCKET = "TERRACE_S3_BUCKET";
    /// The region to sign for; the default is `auto`.
    variable S3_REGION = "TERRACE_S3_REGION";
    /// The S3 access key.
    secret S3_ACCESS_KEY_ID = "TERRACE_S3_ACCESS_KEY_ID";
    /// The S3 secret.
    secret S3_SECRET_ACCESS_KEY = "TERRACE_S3_SECRET_ACCESS_KEY";
    /// The S3 endpoint of a second bucket, with copies of all archives and blobs; may be that of any S3-compatible store.
    variable S3_FALLBACK_ENDPOINT = "TERRACE_S3_FALLBACK_ENDPOINT";
    /// The name of the second bucket.
    variable S3_FALLBACK_BUCKET = "TERRACE_S3_FALLBACK_BUCKET";
    /// The region to sign for; the default is `auto`.
    variable S3_FALLBACK_REGION = "TERRACE_S3_FALLBACK_REGION";
    /// The S3 access key of the second bucket.
    secret S3_FALLBACK_ACCESS_KEY_ID = "TERRACE_S3_FALLBACK_ACCESS_KEY_ID";
    /// The S3 secret of the second bucket.
    secret S3_FALLBACK_SECRET_ACCESS_KEY = "TERRACE_S3_FALLBACK_SECRET_ACCESS_KEY";
    /// The way in which archives reach clients: `presigned`, `worker` or `edge`. The default is `presigned` with the S3
    /// variables, and `worker` without.
    variable DOWNLOADS = "TERRACE_DOWNLOADS";
    /// The lifetime of a download URL in seconds: 1 to 604800; the default is 900.
    variable URL_LIFETIME = "TERRACE_URL_LIFETIME";
    /// The secret that keys the URLs signed by the Worker; the default is the admin secret.
    secret URL_SECRET = "TERRACE_URL_SECRET";
    /// Further hostnames of this registry, separated by commas. For a provider under one of them, the mirror
    /// returns the registry's own. The hostname of the request always counts.
    variable HOSTNAMES = "TERRACE_HOSTNAMES";
    /// Providers of other registries to mirror on demand: patterns such as
    /// `registry.opentofu.org/hashicorp/*`, separated by commas or spaces.
    variable PULL_THROUGH = "TERRACE_PULL_THROUGH";
    /// Mirrored providers that are blocked: the same patterns, or with a version `…/widget@1.2.0`.
    variable PULL_BLOCK = "TERRACE_PULL_BLOCK";
    /// The minimum time for which its origin must have listed a version before it is mirrored, in seconds.
    variable PULL_MINIMUM_AGE = "TERRACE_PULL_MINIMUM_AGE";
    /// The addresses of registries that are not reached under their hostnames: `hostname=https://host:port`,
    /// separated by commas or spaces. These hosts, and no others, may be private.
    variable PULL_ORIGINS = "TERRACE_PULL_ORIGINS";
    /// Whether publishers may add documentation to providers of other registries: `true` or `false` (the default).
    variable MIRRORED_DOCS = "TERRACE_MIRRORED_DOCS";
    /// The OCI repositories that hold providers of another registry: `prefix=hostname`, separated by commas or
    /// spaces; [`ProviderRepositories::NONE`](crate::oci::pushed::ProviderRepositories::NONE) for none. The
    /// default is `opentofu-providers=registry.opentofu.org`.
    variable OCI_PROVIDERS = "TERRACE_OCI_PROVIDERS";
    /// The OpenID Connect provider with which people sign in, exactly as its tokens name it, or
    /// `https://github.com`.
    variable LOGIN_ISSUER = "TERRACE_LOGIN_ISSUER";
    /// The registry's client ID at that provider.
    variable LOGIN_CLIENT_ID = "TERRACE_LOGIN_CLIENT_ID";
    /// The registry's client secret at that provider; a public client has none.
    secret LOGIN_CLIENT_SECRET = "TERRACE_LOGIN_CLIENT_SECRET";
    /// The requested scopes, separated by spaces; the default is `openid email profile`, and `read:org` for
    /// GitHub.
    variable LOGIN_SCOPES = "TERRACE_LOGIN_SCOPES";
    /// The Cloudflare Access team in front of the registry, instead of a provider.
    variable LOGIN_ACCESS_TEAM = "TERRACE_LOGIN_ACCESS_TEAM";
    /// The audience tag of the team's application.
    variable LOGIN_ACCESS_AUDIENCE = "TERRACE_LOGIN_ACCESS_AUDIENCE";
    /// The scopes of people, in the form of [`LoginRules`](crate::auth::oidc::LoginRules).
    variable LOGIN_RULES = "TERRACE_LOGIN_RULES";
    /// The lifetime of a person's token in seconds: 60 to 315360000; the default is 7776000.
    variable LOGIN_LIFETIME = "TERRACE_LOGIN_LIFETIME";
    /// The hosts of the documents of OAuth clients that may sign people in to the MCP endpoints: hostnames, with a port if
    /// that is not 443, separated by commas or spaces; none by default. These hosts may be private.
    variable MCP_CLIENT_HOSTS = "TERRACE_MCP_CLIENT_HOSTS";
    /// The hosts to which requests for the issuers of the configuration may go besides the public ones: hostnames, with a port if
    /// that is not 443, separated by commas or spaces. These hosts may be private.
    variable ISSUER_HOSTS = "TERRACE_ISSUER_HOSTS";
    /// The maximum lifetime of new tokens in seconds: 60 to 315360000; by default, a token may also never expire.
    variable MAX_TOKEN_LIFETIME = "TERRACE_MAX_TOKEN_LIFETIME";
    /// The name of the registry on its web pages; the default is its hostname.
    variable WEB_NAME = "TERRACE_WEB_NAME";
    /// The logo of the web pages: a data URL of an image.
    variable WEB_LOGO = "TERRACE_WEB_LOGO";
    /// The accent colour of the web pages: `#rrggbb`.
    variable WEB_ACCENT = "TERRACE_WEB_ACCENT";
    /// The storage operations of one step of a repair; the default is 40, and 0 means no periodic repair.
    variable REPAIR_OPERATIONS = "TERRACE_REPAIR_OPERATIONS";
}

/// Returns whether a variable of the environment is meant for Terrace: its name begins with `TERRACE`, in any
/// case and with anything after it (`TERRACE-ACCESS`), or with a word that is one edit away from `TERRACE_`
/// (`TERACE_ACCESS`). All others are bindings.
pub fn is_meant_for_terrace(name: &str) -> bool {
    let beginning = name.get(..VARIABLE_PREFIX.len() - 1).unwrap_or_default();
    if beginning.eq_ignore_ascii_case(VARIABLE_PREFIX.trim_end_matches('_')) {
        return true;
    }
    let first_word = name.split_inclusive('_').next().unwrap_or_default();
    first_word.len().abs_diff(VARIABLE_PREFIX.len()) <= 1
        && spelling::distance(&first_word.to_ascii_uppercase(), VARIABLE_PREFIX) <= 1
}

/// Returns whether a variable with this name belongs to the `terrace` command, and not to a registry.
pub fn is_of_command(name: &str) -> bool {
    COMMAND_VARIABLES.contains(&name)
}

/// Returns whether a member of the environment is a variable that is meant for Terrace. An object, such as a
/// KV namespace or a service, is a binding, whatever its name. Under the name of a setting, however, an
/// object is an invalid value, which must not be ignored.
pub fn is_variable_for_terrace(name: &str, is_object: bool) -> bool {
    match is_object {
        true => is_setting(name),
        false => is_meant_for_terrace(name),
    }
}

fn is_setting(name: &str) -> bool {
    SETTINGS.iter().any(|setting| setting.name == name)
}

/// Rejects the first name that is meant for Terrace and is not the name of a setting: with a misspelt
/// `TERRACE_ACCESS = "private"` the registry would be public.
pub(super) fn check_names<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<(), ConfigError> {
    let mut names = names.into_iter();
    match names.find(|name| is_meant_for_terrace(name) && !is_setting(name)) {
        Some(unknown) => Err(not_a_setting(unknown)),
        None => Ok(()),
    }
}

#[inline(never)]
fn not_a_setting(name: &str) -> ConfigError {
    let known = SETTINGS.iter().map(|setting| setting.name);
    let rule = match spelling::nearest(&name.to_ascii_uppercase(), known) {
        _ if is_of_command(name) => {
            "belongs to the terrace command and not to the Worker: remove it here, and from the environment of \
             `wrangler dev`"
                .to_owned()
        }
        Some(nearest) => format!("is not a setting of Terrace; did you mean {nearest}?"),
        None => "is not a setting of Terrace: remove it".to_owned(),
    };
    let shown = name.chars().take(SHOWN_CHARACTERS);
    let variable = Cow::Owned(shown.flat_map(char::escape_default).collect());
    ConfigError { variable, rule }
}

/// The number of characters of an unknown name that a message shows, more than the longest setting has.
const SHOWN_CHARACTERS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(name: &str) -> Option<String> {
        check_names([name]).err().map(|error| error.to_string())
    }

    #[test]
    fn a_misspelt_name_is_rejected_with_a_suggestion() {
        for (misspelt, meant) in [
            ("TERRACE_ACESS", ACCESS),
            ("TERRACE_ACCESS_EXEPT", ACCESS_EXCEPT),
            ("TERRACE_ADMIN_TOKEN_PREVOIUS", ADMIN_TOKEN_PREVIOUS),
            ("TERRACE_PULL_BLOCKS", PULL_BLOCK),
            ("terrace_access", ACCESS),
            ("TERACE_ACCESS", ACCESS),
            ("TERRACES_ACCESS", ACCESS),
            ("TERRCAE_ACCESS", ACCESS),
            ("TERRACE-ACCESS", ACCESS),
            ("TERRACEACCESS", ACCESS),
        ] {
            let message = format!("{misspelt} is not a setting of Terrace; did you mean {meant}?");
            assert_eq!(refusal(misspelt), Some(message));
        }
    }

    #[test]
    fn a_name_unlike_any_setting_is_rejected_without_a_suggestion() {
        for name in ["TERRACE_", "TERRACE_VERBOSE"] {
            let message = format!("{name} is not a setting of Terrace: remove it");
            assert_eq!(refusal(name), Some(message));
        }
    }

    #[test]
    fn a_variable_of_the_command_is_rejected_as_such() {
        for name in COMMAND_VARIABLES {
            let message = refusal(name).unwrap();
            let beginning =
                format!("{name} belongs to the terrace command and not to the Worker: ");
            assert!(message.starts_with(&beginning), "{message}");
        }
    }

    #[test]
    fn an_object_is_a_binding_unless_it_has_the_name_of_a_setting() {
        for name in ["TERRACE_CACHE", "TERRACE_ACESS", "terrace_access"] {
            assert!(!is_variable_for_terrace(name, true), "{name}");
            assert!(is_variable_for_terrace(name, false), "{name}");
        }
        assert!(is_variable_for_terrace(ACCESS, true));
        assert!(is_variable_for_terrace(TRUSTED_PUBLISHERS, true));
        assert_eq!(
            TRUSTED_PUBLISHERS,
            crate::auth::exchange::TRUSTED_PUBLISHERS
        );
        assert_eq!(MCP_CLIENT_HOSTS, crate::auth::login::CLIENT_HOSTS);
        assert!(!is_variable_for_terrace("INDICES", false));
    }

    #[test]
    fn bindings_and_foreign_variables_are_ignored() {
        for name in [
            "FACTS",
            "INDICES",
            "TRACE_ID",
            "CF_VERSION_METADATA",
            "",
            "_",
            "TERRACOTTA",
        ] {
            assert!(!is_meant_for_terrace(name), "{name}");
            assert_eq!(refusal(name), None);
        }
    }

    #[test]
    fn an_unknown_name_is_shown_on_one_line_and_truncated() {
        let message = refusal(&format!("TERRACE_\n{}", "A".repeat(500))).unwrap();
        assert!(
            message.starts_with("TERRACE_\\nAAA") && message.len() < 128,
            "{message}"
        );
    }
}
