//! The identity of a CI job, by the token that its CI issues to it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;
use terrace_base::secret::Secret;
use ureq::http::Request;
use url::Url;

use crate::error::Failure;
use crate::http::{Http, Response};

/// The variable with the job's token. In GitLab CI, `id_tokens` sets it.
const ID_TOKEN: &str = "TERRACE_ID_TOKEN";

/// The variable with the URL where GitHub Actions issues a token to jobs that have the permission `id-token:
/// write` (<https://docs.github.com/en/actions/reference/security/oidc>).
const ACTIONS_URL: &str = "ACTIONS_ID_TOKEN_REQUEST_URL";

/// The variable with the bearer token for that URL.
const ACTIONS_TOKEN: &str = "ACTIONS_ID_TOKEN_REQUEST_TOKEN";

/// The source of the job's token.
#[derive(Debug)]
pub(crate) enum JobIdentity {
    /// The token is in the environment.
    Given(Secret),
    /// GitHub Actions issues the token for an audience.
    Actions { url: String, bearer: Secret },
}

impl JobIdentity {
    /// Returns the identity that the environment describes, if this is such a job. `variable` looks up a
    /// variable.
    pub(crate) fn find(variable: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let variable = |name| {
            let value = variable(name)?.trim().to_owned();
            Some(value).filter(|value| !value.is_empty())
        };
        if let Some(token) = variable(ID_TOKEN) {
            return Some(Self::Given(Secret::new(token)));
        }
        let (url, bearer) = (variable(ACTIONS_URL)?, variable(ACTIONS_TOKEN)?);
        let bearer = Secret::new(bearer);
        Some(Self::Actions { url, bearer })
    }

    /// Returns whether the token is for the registry of this origin. GitHub Actions issues it for any; one in the environment
    /// names its audiences (RFC 7519, section 4.1.3).
    pub(crate) fn is_for(&self, origin: &str) -> bool {
        match self {
            Self::Given(token) => {
                let audiences = audiences(token.expose());
                audiences
                    .iter()
                    .any(|audience| audience.trim_end_matches('/') == origin)
            }
            Self::Actions { .. } => true,
        }
    }

    /// Returns the token for the registry of this origin as its audience.
    pub(crate) fn token(&self, http: &Http<'_>, origin: &str) -> Result<Secret, Failure> {
        match self {
            Self::Given(token) => Ok(token.clone()),
            Self::Actions { url, bearer } => from_actions(http, url, bearer, origin),
        }
    }
}

/// Returns the audiences that a token names; none if it cannot be read.
fn audiences(token: &str) -> Vec<String> {
    let claims = token.split('.').nth(1).unwrap_or_default();
    let claims = URL_SAFE_NO_PAD.decode(claims).unwrap_or_default();
    let claims: Value = serde_json::from_slice(&claims).unwrap_or_default();
    match claims.get("aud") {
        Some(Value::String(audience)) => vec![audience.clone()],
        Some(Value::Array(audiences)) => {
            let texts = audiences.iter().filter_map(Value::as_str);
            texts.map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

fn from_actions(
    http: &Http<'_>,
    url: &str,
    bearer: &Secret,
    origin: &str,
) -> Result<Secret, Failure> {
    let mut url = Url::parse(url)
        .map_err(|error| Failure::Usage(format!("{ACTIONS_URL} is not a URL: {error}")))?;
    let place = url.as_str().split('?').next().unwrap_or_default();
    http.check_transport(&url, place, "the job's token")?;
    url.query_pairs_mut().append_pair("audience", origin);
    let answer = http.until_answered("GitHub Actions", || {
        let request = Request::get(url.as_str())
            .header("accept", "application/json")
            .header("authorization", format!("Bearer {}", bearer.expose()));
        Response::read(http.agent().run(request.body(())?)?)
    })?;
    let status = answer.status;
    if !answer.is_success() {
        return Err(Failure::NotAllowed(format!(
            "GitHub Actions issues no token to this job: it responded with status {status}"
        )));
    }
    let document: serde_json::Value = serde_json::from_str(&answer.text).unwrap_or_default();
    let token = document.get("value").and_then(|value| value.as_str());
    token.map(Secret::new).ok_or_else(|| {
        let message = "GitHub Actions responded without a token for the job";
        Failure::Unexpected(message.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(variables: &[(&str, &str)]) -> Option<JobIdentity> {
        JobIdentity::find(|name| {
            let known = variables.iter().find(|(known, _)| *known == name);
            known.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn a_job_is_recognised_by_its_environment() {
        let url = (ACTIONS_URL, "https://actions.example/token?v=2");
        let bearer = (ACTIONS_TOKEN, "x");
        assert!(found(&[]).is_none() && found(&[url]).is_none() && found(&[bearer]).is_none());
        assert!(found(&[url, (ACTIONS_TOKEN, " ")]).is_none());
        assert!(matches!(
            found(&[url, bearer]),
            Some(JobIdentity::Actions { .. })
        ));
        let given = found(&[url, bearer, (ID_TOKEN, " a.b.c\n")]);
        let Some(JobIdentity::Given(token)) = given else {
            panic!("{given:?}")
        };
        assert_eq!(token.expose(), "a.b.c");
    }

    #[test]
    fn a_token_in_the_environment_is_for_its_audiences_only() {
        let is_for = |claims: &str| {
            let token = format!("e30.{}.x", URL_SAFE_NO_PAD.encode(claims));
            JobIdentity::Given(Secret::new(token)).is_for("https://r.example.com")
        };
        assert!(is_for(r#"{"aud":"https://r.example.com"}"#));
        assert!(is_for(
            r#"{"aud":["https://a.example","https://r.example.com/"]}"#
        ));
        for claims in [
            "",
            "{}",
            r#"{"aud":"https://r.example.com.evil"}"#,
            r#"{"aud":[]}"#,
            r#"{"aud":1}"#,
        ] {
            assert!(!is_for(claims), "{claims}");
        }
        assert!(!JobIdentity::Given(Secret::new("x")).is_for("https://r.example.com"));
    }
}
