//! Where a sign-in ends without a token, and what the person in front of the browser is told. The reason is
//! in the log alone where it would tell a stranger about the deployment.

use super::page::{Html, PATIENCE, page};
use super::terminal::ParameterError;
use super::{Person, Terminal};
use crate::http::reply::Reply;

/// Why a sign-in goes no further.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SignInError {
    /// What was opened is not what a client opens.
    Parameter(ParameterError),
    /// What came back was not begun here, or in another browser.
    Foreign,
    /// It took too long.
    Stale,
    /// The provider sends somebody back without having signed them in, for this reason.
    RefusedThere(String),
    /// The person has refused.
    RefusedHere,
    /// The person is signed in, and there is nothing for them.
    NothingGranted(Box<Person>),
    /// The provider's answer is not one to believe.
    Distrusted,
    /// The provider does not answer.
    Unreachable,
    /// Too many sign-ins that came to nothing were begun from where this comes from.
    TooOften,
    /// Nobody stands before the registry who would know people.
    Unprotected,
}

impl SignInError {
    /// The page that says so; `host` is what people call the registry, and `terminal` who still waits, if that
    /// is known.
    pub fn page<S>(&self, host: &str, terminal: Option<&Terminal>) -> Reply<S> {
        let body = Html::default();
        let (status, title, body) = match self {
            Self::Parameter(ParameterError { parameter, rule }) => {
                let body = body
                    .raw("<p>The address that was opened is not one that a terminal opens: its parameter <code>")
                    .text(parameter)
                    .raw("</code> ")
                    .text(rule)
                    .raw(".</p>");
                (400, "This address is not complete", body)
            }
            Self::Foreign => {
                let body = body
                    .raw("<p>This sign-in was not begun in this browser, or another one was begun ")
                    .raw("after it. Cookies have to be allowed for this site.</p>");
                (400, "This sign-in cannot go on", body)
            }
            Self::TooOften => {
                let body = body.raw("<p>Too many sign-ins from this network have come to nothing. Wait a minute, and begin again.</p>");
                (429, "Too many sign-ins", body)
            }
            Self::Stale => {
                let body = body
                    .raw("<p>A sign-in has to be finished within ")
                    .raw(PATIENCE)
                    .raw(".</p>");
                (400, "This sign-in took too long", body)
            }
            Self::RefusedThere(error) => {
                let body = body
                    .raw("<p>The sign-in was refused where you were sent to sign in: <code>")
                    .text(error)
                    .raw("</code>. The terminal gets no token.</p>");
                (403, "Sign-in was refused", body)
            }
            Self::RefusedHere => {
                let body = body.raw("<p>You have refused. The terminal gets no token.</p>");
                (200, "Refused", body)
            }
            Self::NothingGranted(person) => {
                let body = body
                    .raw("<p>You are signed in as <strong>")
                    .text(&person.name.to_string())
                    .raw("</strong>, and no rule of <strong>")
                    .text(host)
                    .raw("</strong> lets you do anything. Ask whoever operates it: the Worker&#39;s log ")
                    .raw("says which rule comes nearest.</p>");
                (403, "Nothing is granted to you", body)
            }
            Self::Distrusted => {
                let body = body
                    .raw("<p>What the sign-in provider has answered cannot be believed, or not be used. ")
                    .raw("If that stays so, ask whoever operates this registry: the Worker&#39;s log has ")
                    .raw("the reason.</p>");
                (502, "Sign-in has failed", body)
            }
            Self::Unreachable => {
                let body = body
                    .raw("<p>The sign-in provider does not answer. Wait a moment; if that stays so, ask ")
                    .raw("whoever operates this registry.</p>");
                (503, "The sign-in provider does not answer", body)
            }
            Self::Unprotected => {
                let body = body
                    .raw("<p>This registry relies on Cloudflare Access, and this request did not come ")
                    .raw("through it, or not with a good token. Ask whoever operates the registry: the ")
                    .raw("Worker&#39;s log has the reason.</p>");
                (403, "Sign-in has failed", body)
            }
        };
        let reply = page(status, title, body.begin_again(host, terminal), None);
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
    use crate::http::reply::Body;

    #[test]
    fn every_page_says_what_to_do_in_the_terminal_7_5() {
        let name = "ann <b>";
        let person = Person {
            name: name.parse().unwrap(),
            account: "1".parse().unwrap(),
        };
        let fault = ParameterError {
            parameter: "state",
            rule: "is missing".to_owned(),
        };
        for (stop, status, words) in [
            (
                SignInError::Parameter(fault),
                400,
                "<code>state</code> is missing",
            ),
            (SignInError::Foreign, 400, "in this browser"),
            (SignInError::Stale, 400, "ten minutes"),
            (
                SignInError::RefusedThere("<x>".to_owned()),
                403,
                "&lt;x&gt;",
            ),
            (SignInError::RefusedHere, 200, "You have refused"),
            (
                SignInError::NothingGranted(Box::new(person)),
                403,
                "ann &lt;b&gt;",
            ),
            (SignInError::Distrusted, 502, "log"),
            (SignInError::Unreachable, 503, "does not answer"),
            (SignInError::Unprotected, 403, "Cloudflare Access"),
        ] {
            let reply: Reply<()> = stop.page("registry.example.com", None);
            let Body::Text(html) = &reply.body else {
                panic!()
            };
            assert_eq!(reply.status, status);
            assert!(html.contains(words), "{html}");
            assert!(html.contains("<kbd>C</kbd> in the terminal"), "{html}");
            assert!(!html.contains("href"), "{html}");
            assert!(
                html.contains("terraform login registry.example.com"),
                "{html}"
            );
        }
    }

    #[test]
    fn where_it_is_known_who_waits_one_click_ends_that_7_5() {
        let query = "client_id=terraform-cli&response_type=code&code_challenge_method=S256\
            &redirect_uri=http://localhost:10003/login&state=a%20%22state\
            &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
        let terminal = Terminal::parse(query).unwrap();
        let reply: Reply<()> =
            SignInError::RefusedHere.page("registry.example.com", Some(&terminal));
        let Body::Text(html) = &reply.body else {
            panic!()
        };
        let link = "<a href=\"http://localhost:10003/login?code=refused&amp;state=a%20%22state\">";
        assert!(html.contains(link), "{html}");
    }
}
