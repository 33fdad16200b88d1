//! Errors that end a sign-in without a token, and their pages. Only the log states a reason that would reveal
//! details of the deployment to a stranger.

use super::page::{Html, PATIENCE, page};
use super::{Client, Person, SignInPurpose};
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
    /// The person is signed in, but no rule grants them anything.
    NothingGranted(Box<Person>),
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
        let say = |html: &'static str| Html::default().raw("<p>").raw(html);
        let (status, title, body) = match self {
            Self::Parameter(ParameterError { parameter, rule }) => {
                let body = say("This address does not start a sign-in: its parameter <code>");
                let body = body.text(parameter).raw("</code> ").text(rule).raw(".");
                (400, "This sign-in address is not valid", body)
            }
            Self::Foreign => (
                400,
                "This sign-in cannot continue",
                say(
                    "This sign-in was not started in this browser, or another one was started after it. Cookies must be allowed \
                     for this site.",
                ),
            ),
            Self::TooOften => (
                429,
                "Too many sign-ins",
                say(
                    "Too many sign-ins from this network have failed. Wait a minute, then start again.",
                ),
            ),
            Self::Stale => (
                400,
                "This sign-in took too long",
                say("A sign-in must be finished within ")
                    .raw(PATIENCE)
                    .raw("."),
            ),
            Self::RefusedThere(error) => {
                let body = say("The sign-in provider refused the sign-in: <code>").text(error);
                let lost = match purpose {
                    Some(SignInPurpose::Page(_)) => "</code>.",
                    Some(SignInPurpose::Token(it)) if it.client != Client::Terminal => {
                        "</code>. The application gets no token."
                    }
                    _ => "</code>. The terminal gets no token.",
                };
                (403, "Sign-in was refused", body.raw(lost))
            }
            Self::RefusedHere => (
                200,
                "Refused",
                say("You refused the request. The terminal gets no token."),
            ),
            Self::NothingGranted(person) => {
                let body = say("You are signed in as <strong>")
                    .text(&person.name.to_string())
                    .raw("</strong>, but no sign-in rule of <strong>")
                    .text(authority(origin))
                    .raw("</strong> grants your account access. Ask its operator: the registry&#39;s log ")
                    .raw("shows which rule comes closest.");
                (403, "Your account has no access", body)
            }
            Self::Distrusted => (
                502,
                "Sign-in has failed",
                say(
                    "The sign-in provider returned an invalid response. If this persists, contact the operator of this registry: \
                     the registry&#39;s log states the reason.",
                ),
            ),
            Self::Unreachable => (
                503,
                "Sign-in does not respond",
                say(
                    "The sign-in provider, or the storage of this registry, does not respond. Wait a moment; if this persists, \
                     contact the operator of this registry.",
                ),
            ),
            Self::Misconfigured => (
                502,
                "Sign-in is not configured correctly",
                say(
                    "The settings of this registry and its sign-in provider do not fit together. Contact the operator of this \
                     registry: the registry&#39;s log states the reason.",
                ),
            ),
            Self::Unprotected => (
                403,
                "Sign-in has failed",
                say(
                    "This registry relies on Cloudflare Access, and this request did not come through it, or not with a valid \
                     token. Contact the operator of this registry: the registry&#39;s log states the reason.",
                ),
            ),
            Self::Document(why) => {
                let body = say("The document that describes the application ").text(why);
                let body = body.raw(
                    ". If this persists, contact its publisher, or the operator of this registry.",
                );
                (400, "This application cannot sign in", body)
            }
            Self::TooManyScopes => (
                403,
                "Your access does not fit into a cookie",
                say(
                    "The rules of this registry grant your account more scopes than the cookie of a browser can hold. Ask the \
                     operator of this registry for fewer and wider ones, such as <code>read</code>. A token of <code>terraform \
                     login</code> can hold them all.",
                ),
            ),
        };
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

    #[test]
    fn a_page_names_the_person_escaped_and_explains_what_to_do_in_the_terminal_7_5() {
        let person = Person {
            name: "ann <b>".parse().unwrap(),
            account: "1".parse().unwrap(),
        };
        let stop = SignInError::NothingGranted(Box::new(person));
        let reply: Reply<()> = stop.page("registry.example.com", None);
        let Body::Text(html) = &reply.body else {
            panic!()
        };
        assert_eq!(reply.status, 403);
        assert!(html.contains("ann &lt;b&gt;"), "{html}");
        assert!(html.contains("<kbd>C</kbd> in the terminal"), "{html}");
        assert!(
            html.contains("terraform login registry.example.com"),
            "{html}"
        );
    }

    #[test]
    fn a_link_ends_a_known_waiting_terminal_7_5() {
        let purpose = SignInPurpose::Token(Box::new(parse(TERMINAL).unwrap()));
        let reply: Reply<()> =
            SignInError::RefusedHere.page("registry.example.com", Some(&purpose));
        let Body::Text(html) = &reply.body else {
            panic!()
        };
        let link = "<a href=\"http://localhost:10003/login?code=refused&amp;error=access_denied&amp;state=a%20%22state\">";
        assert!(html.contains(link), "{html}");
    }

    #[test]
    fn a_link_ends_a_waiting_application() {
        let purpose = SignInPurpose::Token(Box::new(parse(APPLICATION).unwrap()));
        let error = SignInError::Document("is <b>".to_owned());
        let reply: Reply<()> = error.page("https://registry.example.com", Some(&purpose));
        let Body::Text(html) = &reply.body else {
            panic!()
        };
        let link = "<a href=\"http://127.0.0.1:33418/callback?error=access_denied&amp;state=a%20%22state\
            &amp;iss=https%3A%2F%2Fregistry.example.com\">Notify the application</a>";
        assert!(html.contains(link), "{html}");
        assert!(html.contains("is &lt;b&gt;"), "{html}");
        assert!(!html.contains("terminal"), "{html}");
    }

    #[test]
    fn a_link_repeats_the_sign_in_of_a_browser() {
        let path = "/search?q=a&kind=module".parse().unwrap();
        let purpose = SignInPurpose::Page(path);
        let error = SignInError::RefusedThere("access_denied".to_owned());
        let reply: Reply<()> = error.page("registry.example.com", Some(&purpose));
        let Body::Text(html) = &reply.body else {
            panic!()
        };
        let link = "<a href=\"/sign-in?to=%2Fsearch%3Fq%3Da%26kind%3Dmodule\">Sign in again</a>";
        assert!(html.contains(link), "{html}");
        assert!(!html.contains("terminal"), "{html}");
    }
}
