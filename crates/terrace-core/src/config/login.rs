//! The configuration of sign-in.

use super::{
    ConfigError, LOGIN_ACCESS_AUDIENCE, LOGIN_ACCESS_TEAM, LOGIN_CLIENT_ID, LOGIN_CLIENT_SECRET,
    LOGIN_ISSUER, LOGIN_LIFETIME, LOGIN_RULES, LOGIN_SCOPES, MAX_TOKEN_LIFETIME, MCP_CLIENT_HOSTS,
    Variables, error, needs_admin_token, number, parsed, words,
};
use crate::auth::access::Access;
use crate::auth::login::{ClientHost, GitHub, Login, OAuthClient, Provider};
use crate::auth::oidc::LoginRules;
use crate::limits;
use terrace_base::secret::Secret;
use terrace_jose::IssuerUrl;

/// Maximum length of a client ID, a client secret or a list of scopes at the provider.
const LOGIN_CLIENT_BYTES: usize = 1_000;

const ALL: [&str; 8] = [
    LOGIN_ISSUER,
    LOGIN_CLIENT_ID,
    LOGIN_CLIENT_SECRET,
    LOGIN_SCOPES,
    LOGIN_ACCESS_TEAM,
    LOGIN_ACCESS_AUDIENCE,
    LOGIN_RULES,
    LOGIN_LIFETIME,
];

/// The default scopes: the claims that every provider has about people, except their groups.
const SCOPES: &str = "openid email profile";

pub(super) fn login(var: Variables<'_>, access: &Access) -> Result<Option<Login>, ConfigError> {
    match ALL.into_iter().find(|name| var(name).is_some()) {
        None if var(MCP_CLIENT_HOSTS).is_some() => {
            let rule = format!(
                "requires a sign-in of people: set {LOGIN_ISSUER} and {LOGIN_CLIENT_ID}, or {LOGIN_ACCESS_TEAM} and \
                 {LOGIN_ACCESS_AUDIENCE}"
            );
            Err(error(MCP_CLIENT_HOSTS, rule))
        }
        None => Ok(None),
        Some(set) => configured(set, var, access).map(Some),
    }
}

/// Parses the settings of sign-in, of which `set` is one.
#[inline(never)]
fn configured(
    set: &'static str,
    var: Variables<'_>,
    access: &Access,
) -> Result<Login, ConfigError> {
    let needs = || needs_admin_token(set);
    Ok(Login {
        seal_keys: access.seal_keys().ok_or_else(needs)?,
        session_keys: access.session_keys().ok_or_else(needs)?,
        provider: provider(var)?,
        // Rules may also be stored in the registry.
        rules: parsed::<LoginRules>(var, LOGIN_RULES)?.unwrap_or_default(),
        lifetime: lifetime(var)?,
        client_hosts: words(var, MCP_CLIENT_HOSTS, str::parse::<ClientHost>)?,
    })
}

fn provider(var: Variables<'_>) -> Result<Provider, ConfigError> {
    let is_access = [LOGIN_ACCESS_TEAM, LOGIN_ACCESS_AUDIENCE]
        .iter()
        .any(|name| var(name).is_some());
    if is_access {
        let others = [
            LOGIN_ISSUER,
            LOGIN_CLIENT_ID,
            LOGIN_CLIENT_SECRET,
            LOGIN_SCOPES,
        ];
        if let Some(other) = others.into_iter().find(|name| var(name).is_some()) {
            let rule = format!("is set, and so is {LOGIN_ACCESS_TEAM}: choose one way to sign in");
            return Err(error(other, rule));
        }
        return Ok(Provider::CloudflareAccess {
            team: parsed(var, LOGIN_ACCESS_TEAM)?.ok_or_else(|| missing(LOGIN_ACCESS_TEAM))?,
            audience: short(var, LOGIN_ACCESS_AUDIENCE)?
                .ok_or_else(|| missing(LOGIN_ACCESS_AUDIENCE))?,
        });
    }
    let issuer: Option<IssuerUrl> = parsed(var, LOGIN_ISSUER)?;
    let issuer = issuer.ok_or_else(|| missing(LOGIN_ISSUER))?;
    let is_github = issuer.as_str().trim_end_matches('/') == GitHub::ISSUER;
    let default = if is_github { GitHub::SCOPES } else { SCOPES };
    let scopes = short(var, LOGIN_SCOPES)?.unwrap_or_else(|| default.to_owned());
    if !is_github && !scopes.split(' ').any(|scope| scope == "openid") {
        let rule = format!("is {scopes:?}: it must include openid");
        return Err(error(LOGIN_SCOPES, rule));
    }
    let secret = short(var, LOGIN_CLIENT_SECRET)?.map(Secret::new);
    if is_github && secret.is_none() {
        return Err(error(
            LOGIN_CLIENT_SECRET,
            "is not set: GitHub requires one",
        ));
    }
    let client = OAuthClient {
        id: short(var, LOGIN_CLIENT_ID)?.ok_or_else(|| missing(LOGIN_CLIENT_ID))?,
        secret,
        scopes,
    };
    Ok(match is_github {
        true => Provider::GitHub(client),
        false => Provider::OpenId(issuer, client),
    })
}

fn missing(name: &'static str) -> ConfigError {
    let rule = format!(
        "is not set, but other TERRACE_LOGIN_… variables are: set {LOGIN_ISSUER} and {LOGIN_CLIENT_ID}, or \
         {LOGIN_ACCESS_TEAM} and {LOGIN_ACCESS_AUDIENCE}"
    );
    error(name, rule)
}

/// Returns a value that is sent to a provider unchanged. The error omits it.
fn short(var: Variables<'_>, name: &'static str) -> Result<Option<String>, ConfigError> {
    let max = LOGIN_CLIENT_BYTES;
    let is_short =
        |text: &String| text.len() <= max && text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    match var(name) {
        Some(text) if !is_short(&text) => {
            let rule = format!("must be at most {max} printable ASCII characters");
            Err(error(name, rule))
        }
        text => Ok(text),
    }
}

/// Returns the lifetime of people's tokens, which must not exceed that of all tokens.
fn lifetime(var: Variables<'_>) -> Result<u64, ConfigError> {
    let range = limits::TOKEN_LIFETIME_SECONDS;
    let max = number(var, MAX_TOKEN_LIFETIME, range.clone())?;
    let Some(seconds) = number(var, LOGIN_LIFETIME, range)? else {
        let default = limits::LOGIN_LIFETIME_SECONDS;
        return Ok(max.map_or(default, |max| max.min(default)));
    };
    match max.filter(|max| seconds > *max) {
        Some(max) => {
            let rule = format!("is {seconds}, more than {MAX_TOKEN_LIFETIME} allows: {max}");
            Err(error(LOGIN_LIFETIME, rule))
        }
        None => Ok(seconds),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ADMIN_TOKEN, Config};

    const TOKEN: (&str, &str) = (ADMIN_TOKEN, "0123456789abcdef");
    const RULES: (&str, &str) = (LOGIN_RULES, r#"[{"scopes":["read"],"claims":{"sub":"*"}}]"#);
    const ISSUER: (&str, &str) = (LOGIN_ISSUER, "https://accounts.example.com");
    const CLIENT: (&str, &str) = (LOGIN_CLIENT_ID, "terrace");
    const TEAM: (&str, &str) = (LOGIN_ACCESS_TEAM, "https://acme.cloudflareaccess.com");
    const AUDIENCE: (&str, &str) = (LOGIN_ACCESS_AUDIENCE, "4714c1358e65fe4b408ad6d432a5f878");
    const GITHUB: (&str, &str) = (LOGIN_ISSUER, "https://github.com");
    const SECRET: (&str, &str) = (LOGIN_CLIENT_SECRET, "hunter2hunter2");

    fn read(vars: &[(&str, &str)]) -> Result<Config, ConfigError> {
        Config::from_vars(vars)
    }

    #[test]
    fn there_are_three_ways_to_sign_in() {
        let login = |vars: &[_]| read(vars).unwrap().login.unwrap();
        let found = login(&[TOKEN, RULES, ISSUER, CLIENT]);
        assert_eq!(found.lifetime, 90 * 86_400);
        let Provider::OpenId(issuer, client) = &found.provider else {
            panic!("{found:?}");
        };
        assert_eq!(issuer.as_str(), ISSUER.1);
        assert_eq!(client.scopes, "openid email profile");
        assert!(client.secret.is_none());
        let found = login(&[TOKEN, RULES, GITHUB, CLIENT, SECRET]);
        assert!(matches!(found.provider, Provider::GitHub(client) if client.scopes == "read:org"));
        let found = login(&[TOKEN, RULES, TEAM, AUDIENCE, (LOGIN_LIFETIME, "3600")]);
        assert_eq!(found.lifetime, 3_600);
        assert!(matches!(found.provider, Provider::CloudflareAccess { .. }));
    }

    #[test]
    fn the_default_lifetime_keeps_to_the_maximum_of_all_tokens() {
        let lifetime = |max| {
            let config = read(&[TOKEN, RULES, ISSUER, CLIENT, (MAX_TOKEN_LIFETIME, max)]);
            config.unwrap().login.unwrap().lifetime
        };
        assert_eq!(lifetime("600"), 600);
        assert_eq!(lifetime("315360000"), limits::LOGIN_LIFETIME_SECONDS);
    }

    #[test]
    fn an_invalid_variable_is_reported_with_its_name() {
        let read_error = |vars: &[_]| read(vars).unwrap_err().to_string();
        for (vars, name) in [
            (
                vec![TOKEN, (MCP_CLIENT_HOSTS, "a.example")],
                MCP_CLIENT_HOSTS,
            ),
            (vec![RULES, ISSUER, CLIENT], LOGIN_ISSUER),
            (vec![TOKEN, RULES], LOGIN_ISSUER),
            (vec![TOKEN, RULES, CLIENT], LOGIN_ISSUER),
            (vec![TOKEN, RULES, ISSUER], LOGIN_CLIENT_ID),
            (vec![TOKEN, SECRET], LOGIN_ISSUER),
            (vec![TOKEN, RULES, TEAM], LOGIN_ACCESS_AUDIENCE),
            (vec![TOKEN, RULES, AUDIENCE], LOGIN_ACCESS_TEAM),
            (vec![TOKEN, RULES, TEAM, AUDIENCE, ISSUER], LOGIN_ISSUER),
            (vec![TOKEN, RULES, GITHUB, CLIENT], LOGIN_CLIENT_SECRET),
        ] {
            let error = read_error(&vars);
            assert!(error.starts_with(name), "{error}");
        }
        let maximum = (MAX_TOKEN_LIFETIME, "3600");
        for (name, value) in [
            (MCP_CLIENT_HOSTS, "app.example.com https://b.example"),
            (LOGIN_ISSUER, "http://a.example"),
            (LOGIN_RULES, "[]"),
            (LOGIN_SCOPES, "email"),
            (LOGIN_LIFETIME, "3601"),
            (LOGIN_LIFETIME, "90d"),
            (LOGIN_CLIENT_ID, "a\nb"),
        ] {
            // The first value of a name counts.
            let error = read_error(&[(name, value), TOKEN, RULES, ISSUER, CLIENT, maximum]);
            assert!(error.starts_with(name), "{error}");
        }
    }

    #[test]
    fn hosts_of_clients_are_separated_by_commas_or_spaces() {
        let hosts = |value| {
            let config = read(&[TOKEN, ISSUER, CLIENT, (MCP_CLIENT_HOSTS, value)]);
            let login = config.unwrap().login.unwrap();
            let hosts: Vec<String> = login.client_hosts.iter().map(ToString::to_string).collect();
            hosts
        };
        assert_eq!(hosts(""), [""; 0]);
        assert_eq!(
            hosts("claude.ai, vscode.dev localhost:8443"),
            ["claude.ai", "vscode.dev", "localhost:8443"]
        );
    }
}
