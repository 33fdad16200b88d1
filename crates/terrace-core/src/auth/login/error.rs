//! Errors that end a sign-in without a token, and their pages. Only the log states a reason that would reveal
//! details of the deployment to a stranger.

use super::page::{Html, PATIENCE, page};
use super::{Client, SignInPurpose};
use crate::auth::parameter::ParameterError;
use crate::http::reply::Reply;
use terrace_base::url::authority;

/// The reason why a sign-in fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignInError {
    /// The request is not one that a terminal or an application makes.
    Parameter(ParameterError),
    /// The sign-in was started elsewhere, or in another browser.
    Foreign,
    /// The sign-in took too long.
    Stale,
    /// The provider did not sign the person in; the field is its error.
    RefusedThere(String),
    /// The person declined.
    RefusedHere,
    /// The person with this name is signed in, but no rule grants them anything.
    NothingGranted(String),
    /// The provider's response is invalid.
    Distrusted,
    /// The provider, or the storage of the rules, does not respond.
    Unreachable,
    /// The configuration and the provider do not fit together, which no waiting changes.
    Misconfigured,
    /// Too many failed sign-ins came from this network.
    TooOften,
    /// The request did not come through Cloudflare Access.
    Unprotected,
    /// The document of an OAuth client is not accepted, or cannot be fetched; the field is the reason.
    Document(String),
    /// The person's scopes do not fit into the cookie of a browser.
    TooManyScopes,
}

impl SignInError {
    /// Returns the page for the error. `origin` is that of the registry; `purpose` is that of the sign-in, if known.
    pub fn page<S>(&self, origin: &str, purpose: Option<&SignInPurpose>) -> Reply<S> {
        let texts = match self {
            Self::Parameter(ParameterError { parameter, rule }) => [parameter, rule.as_str()],
            Self::Stale => [PATIENCE, ""],
            Self::RefusedThere(error) => match purpose {
                Some(SignInPurpose::Page(_)) => [error, ""],
                Some(SignInPurpose::Token(it)) if it.client != Client::Terminal => {
                    [error, " The application gets no token."]
                }
                _ => [error, " The terminal gets no token."],
            },
            Self::NothingGranted(name) => [name, authority(origin)],
            Self::Document(why) => [why, ""],
            _ => [""; 2],
        };
        // Each text stands for a `{}`.
        let (status, title, html) = match self {
            Self::Parameter(_) => (
                400,
                "This sign-in address is not valid",
                "This address does not start a sign-in: its parameter <code>{}</code> {}.",
            ),
            Self::Foreign => (
                400,
                "This sign-in cannot continue",
                "This sign-in was not started in this browser, or another one was started after it. Cookies must be allowed for \
                 this site.",
            ),
            Self::TooOften => (
                429,
                "Too many sign-ins",
                "Too many sign-ins from this network have failed. Wait a minute, then start again.",
            ),
            Self::Stale => (
                400,
                "This sign-in took too long",
                "A sign-in must be finished within {}.",
            ),
            Self::RefusedThere(_) => (
                403,
                "Sign-in was refused",
                "The sign-in provider refused the sign-in: <code>{}</code>.{}",
            ),
            Self::RefusedHere => (
                200,
                "Refused",
                "You refused the request. The terminal gets no token.",
            ),
            Self::NothingGranted(_) => (
                403,
                "Your account has no access",
                "You are signed in as <strong>{}</strong>, but no sign-in rule of <strong>{}</strong> grants your account access. \
                 Ask its operator: the registry&#39;s log shows which rule comes closest.",
            ),
            Self::Distrusted => (
                502,
                "Sign-in has failed",
                "The sign-in provider returned an invalid response. If this persists, contact the operator of this registry: the \
                 registry&#39;s log states the reason.",
            ),
            Self::Unreachable => (
                503,
                "Sign-in does not respond",
                "The sign-in provider, or the storage of this registry, does not respond. Wait a moment; if this persists, contact \
                 the operator of this registry.",
            ),
            Self::Misconfigured => (
                502,
                "Sign-in is not configured correctly",
                "The settings of this registry and its sign-in provider do not fit together. Contact the operator of this \
                 registry: the registry&#39;s log states the reason.",
            ),
            Self::Unprotected => (
                403,
                "Sign-in has failed",
                "This registry relies on Cloudflare Access, and this request did not come through it, or not with a valid token. \
                 Contact the operator of this registry: the registry&#39;s log states the reason.",
            ),
            Self::Document(_) => (
                400,
                "This application cannot sign in",
                "The document that describes the application {}. If this persists, contact its publisher, or the operator of this \
                 registry.",
            ),
            Self::TooManyScopes => (
                403,
                "Your access does not fit into a cookie",
                "The rules of this registry grant your account more scopes than the cookie of a browser can hold. Ask the operator \
                 of this registry for fewer and wider ones, such as <code>read</code>. A token of <code>terraform login</code> can \
                 hold them all.",
            ),
        };
        let body = Html::default().raw("<p>").with(html, &texts);
        let body = body.raw("</p>").begin_again(origin, purpose);
        let reply = page(status, title, body, None);
        match self {
            Self::TooOften => reply.with("retry-after", "60"),
            Self::Unreachable => reply.with("retry-after", "10"),
            _ => reply,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::login::authorization::tests::{APPLICATION, TERMINAL, parse};
    use crate::http::reply::Body;

    /// Returns the page of an error that ends the sign-in of a known program, or of an unknown one.
    fn shown(error: &SignInError, query: Option<&str>) -> String {
        let purpose = query.map(|query| SignInPurpose::Token(Box::new(parse(query).unwrap())));
        html(error.page("https://registry.example.com", purpose.as_ref()))
    }

    fn html(reply: Reply<()>) -> String {
        let Body::Text(html) = reply.body else {
            panic!()
        };
        html
    }

    #[test]
    fn a_page_names_the_person_escaped_and_explains_what_to_do_in_the_terminal_7_5() {
        let html = shown(&SignInError::NothingGranted("ann <b>".to_owned()), None);
        for words in [
            "signed in as <strong>ann &lt;b&gt;</strong>",
            "sign-in rule of <strong>registry.example.com</strong>",
            "<kbd>C</kbd> in the terminal",
            "<code>terraform login registry.example.com</code>",
        ] {
            assert!(html.contains(words), "{html}");
        }
    }

    #[test]
    fn a_link_ends_a_known_waiting_terminal_7_5() {
        let html = shown(&SignInError::RefusedHere, Some(TERMINAL));
        let link = "<a href=\"http://localhost:10003/login?code=refused&amp;error=access_denied&amp;state=a%20%22state\">";
        assert!(html.contains(link), "{html}");
    }

    #[test]
    fn a_link_ends_a_waiting_application() {
        let html = shown(
            &SignInError::Document("is <b>".to_owned()),
            Some(APPLICATION),
        );
        let link = "<a href=\"http://127.0.0.1:33418/callback?error=access_denied&amp;state=a%20%22state\
            &amp;iss=https%3A%2F%2Fregistry.example.com\">Notify the application</a>";
        assert!(html.contains(link), "{html}");
        assert!(html.contains("is &lt;b&gt;"), "{html}");
        assert!(!html.contains("terminal"), "{html}");
    }

    #[test]
    fn a_link_repeats_the_sign_in_of_a_browser() {
        let purpose = SignInPurpose::Page("/search?q=a&kind=module".parse().unwrap());
        let error = SignInError::RefusedThere("access_denied".to_owned());
        let html = html(error.page("https://registry.example.com", Some(&purpose)));
        let link = "<a href=\"/sign-in?to=%2Fsearch%3Fq%3Da%26kind%3Dmodule\">Sign in again</a>";
        assert!(html.contains(link), "{html}");
        assert!(!html.contains("terminal"), "{html}");
    }
}
