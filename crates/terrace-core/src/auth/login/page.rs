//! The pages of a sign-in.
//!
//! All text from a request, a provider or a setting goes through [`Html::text`], which escapes it; only
//! literals of this program are written unescaped. There are no scripts, and nothing is loaded.

use super::{Client, Consent, ReturnPath, SIGN_IN_PATH, SignInPurpose};
use crate::auth::access::{Scope, Scopes, TokenName};
use crate::auth::login::SIGN_IN_SECONDS;
use crate::http::form::encoded;
use crate::http::reply::{CachePolicy, Reply};
use terrace_base::time::UnixTime;
use terrace_base::url::authority;

/// An HTML builder.
#[derive(Debug, Default)]
pub(super) struct Html(String);

impl Html {
    /// Appends a literal of this program without escaping.
    pub(super) fn raw(mut self, html: &'static str) -> Self {
        self.0.push_str(html);
        self
    }

    /// Appends untrusted text, escaped for an element or an attribute in double quotes.
    pub(super) fn text(mut self, text: &str) -> Self {
        for char in text.chars() {
            match char {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                char => self.0.push(char),
            }
        }
        self
    }

    /// Appends instructions for starting again. A client waits until it is ended. Ctrl-C ends OpenTofu, while
    /// Terraform 1.11 reacts only to Ctrl-\. Both end when the browser delivers a code that yields no token.
    pub(super) fn begin_again(self, origin: &str, purpose: Option<&SignInPurpose>) -> Self {
        let host = authority(origin);
        let html = match purpose {
            Some(SignInPurpose::Page(path)) => return self
                .raw("<p><a href=\"")
                .text(&sign_in_url(path))
                .raw("\">Sign in again</a>.</p>"),
            Some(SignInPurpose::Token(authorization)) => {
                let html = self.raw("<p><a href=\"").text(&authorization.refusal(origin));
                match authorization.client {
                    Client::Application { .. } => return html
                        .raw("\">Notify the application</a>, so that it stops waiting. Then connect it to this registry again.</p>"),
                    Client::Terminal => html
                        .raw("\">Notify the terminal</a>, so that it stops waiting.</p>"),
                }
            }
            None => self
                .raw("<p>If you were opening a page of this registry, <a href=\"")
                .text(SIGN_IN_PATH)
                .raw("\">sign in again</a>. If you were connecting an application, connect it again.</p>"),
        };
        html.raw("<p>Or press <kbd>Ctrl</kbd>-<kbd>C</kbd> in the terminal, or <kbd>Ctrl</kbd>-<kbd>\\</kbd> ")
            .raw("if that has no effect. Then start again with <code>terraform login ")
            .text(host)
            .raw("</code>, <code>tofu login ")
            .text(host)
            .raw("</code> or <code>terrace login ")
            .text(host)
            .raw("</code>.</p>")
    }
}

/// Returns the path and query at which a browser signs in, and which then leads to a page.
pub fn sign_in_url(path: &ReturnPath) -> String {
    format!("{SIGN_IN_PATH}?{}", encoded(&[("to", &path.to_string())]))
}

/// A style for phones, dark mode and large text.
const STYLE: &str = "\
:root{color-scheme:light dark;background:Canvas;color:CanvasText;font:1.0625rem/1.5 system-ui,sans-serif}\
body{max-width:34rem;margin:0 auto;padding:2rem 1.25rem;overflow-wrap:anywhere}\
h1{font-size:1.375rem;line-height:1.3}\
form{display:flex;flex-wrap:wrap;gap:.75rem;margin:1.5rem 0}\
button{font:inherit;padding:.6rem 1.4rem;border:1px solid;border-radius:.5rem;cursor:pointer}\
button.allow{background:#0b57d0;border-color:#0b57d0;color:#fff}\
.note{opacity:.8;font-size:.9375rem}";

/// The hash that allows the style above in the content security policy, and no other.
const STYLE_HASH: &str = "sha256-OSV5xZStyhpDU/do1/mPZynZ90G+lOgb/7/wQc/imxs=";

/// Creates a page. If it has a form, the form may be submitted to this registry and redirect to this source on the reader's
/// own machine: browsers apply `form-action` to redirects as well.
pub(super) fn page<S>(
    status: u16,
    title: &'static str,
    body: Html,
    form: Option<String>,
) -> Reply<S> {
    let html = Html::default()
        .raw("<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">")
        .raw("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>")
        .raw(title)
        .raw("</title><style>")
        .raw(STYLE)
        .raw("</style></head><body><main><h1>")
        .raw(title)
        .raw("</h1>");
    let html = Html(html.0 + &body.0).raw("</main></body></html>\n");
    let form_action = match form {
        Some(source) => format!("'self' {source}"),
        None => "'none'".to_owned(),
    };
    let policy = format!(
        "default-src 'none'; style-src '{STYLE_HASH}'; form-action {form_action}; \
         frame-ancestors 'none'; base-uri 'none'"
    );
    Reply::page_with(status, CachePolicy::NoStore, policy.into(), html.0)
}

/// Creates the page that asks a person whether a program may have a token. `sealed` is the sealed [`Consent`]; `name` is that
/// of an OAuth client.
pub fn consent_page<S>(
    consent: &Consent,
    name: Option<&TokenName>,
    sealed: &str,
    host: &str,
    expires: UnixTime,
) -> Reply<S> {
    let token = &consent.token;
    let body = Html::default()
        .raw("<p>You are signed in to <strong>")
        .text(host)
        .raw("</strong> as <strong>")
        .text(&token.person.name.to_string())
        .raw("</strong>.</p>");
    let authorization = &consent.authorization;
    let body = match &authorization.client {
        Client::Terminal => body.raw("<p>A terminal on this computer"),
        // Only the host of an application is verified.
        Client::Application { id, .. } => body
            .raw("<p>An application that calls itself <strong>")
            .text(&name.map(ToString::to_string).unwrap_or_default())
            .raw("</strong>, as described by <strong>")
            .text(id.host())
            .raw("</strong>,"),
    };
    let body = body.raw(" requests a token that allows it to:</p><ul>");
    let body = rights(body, &token.scopes)
        .raw("</ul><p>The token is valid until ")
        .text(&expires.to_string())
        .raw(", or until it is revoked.</p>")
        .raw("<form method=\"post\" action=\"/oauth/consent\">")
        .raw("<input type=\"hidden\" name=\"consent\" value=\"")
        .text(sealed)
        .raw("\"><button class=\"allow\" name=\"answer\" value=\"allow\">Allow</button>");
    let body = match token.scopes == token.scopes.to_read() {
        true => body,
        false => body.raw("<button name=\"answer\" value=\"read\">Allow reading only</button>"),
    };
    let body = body.raw("<button name=\"answer\" value=\"refuse\">Refuse</button></form>");
    let (title, body) = match &authorization.client {
        Client::Terminal => (
            "Give your terminal a token?",
            body.raw("<p class=\"note\">Allow this only if you have just run <code>terraform login</code>, ")
                .raw("<code>tofu login</code> or <code>terrace login</code> on this computer. The token goes to port ")
                .text(&authorization.redirect.port().unwrap_or_default().to_string())
                .raw(" of it, and nowhere else.</p>"),
        ),
        Client::Application { resource, .. } => (
            "Give an application a token?",
            body.raw("<p class=\"note\">Allow this only if you have just connected this application to the registry. Any ")
                .raw("program on this computer can use the description of another one. The token goes to <code>")
                .text(authorization.redirect.as_str())
                .raw("</code>, which is this computer, and only <code>")
                .text(resource.as_str())
                .raw("</code> accepts it.</p>"),
        ),
    };
    page(200, title, body, Some(authorization.redirect.form_source()))
}

/// Creates the page that a browser shows after it has signed out of a registry in which every page needs a sign-in.
/// A redirect to one would sign in again at once, if the provider still knows the person.
pub fn signed_out_page<S>(host: &str) -> Reply<S> {
    let body = Html::default()
        .raw("<p>This browser is signed out of <strong>")
        .text(host)
        .raw("</strong>. You may still be signed in at the sign-in provider.</p><p><a href=\"")
        .text(SIGN_IN_PATH)
        .raw("\">Sign in again</a>.</p>");
    page(200, "You are signed out", body, None)
}

/// Lists the scopes of a token in words.
fn rights(body: Html, scopes: &Scopes) -> Html {
    scopes.iter().fold(body, |body, scope| {
        let body = body.raw("<li>");
        let body = match scope {
            Scope::Admin => body.raw("do <strong>everything</strong>, as an administrator"),
            Scope::Backup => body.raw("copy everything that is stored, for a backup"),
            Scope::Read => body.raw("read everything"),
            Scope::ReadOf(owner) => body.raw("read the packages of ").text(&owner.to_string()),
            Scope::Publish(owner) => {
                let owner = owner.to_string();
                body.raw("publish and read the packages of ").text(&owner)
            }
            Scope::AdminOf(owner) => {
                let body = body
                    .raw("<strong>administer</strong> ")
                    .text(&owner.to_string());
                body.raw(": its packages, signing keys, tokens and rules")
            }
        };
        let scope = scope.to_string();
        body.raw(" (<code>").text(&scope).raw("</code>)</li>")
    })
}

/// The time for which a page with a form is valid, in words.
pub(super) const PATIENCE: &str = "ten minutes";
const _: () = assert!(SIGN_IN_SECONDS == 600, "the pages state ten minutes");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::reply::Body;
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use proptest::prelude::*;
    use sha2::Digest as _;

    #[test]
    fn the_hash_is_that_of_the_style() {
        let hash = STANDARD.encode(sha2::Sha256::digest(STYLE.as_bytes()));
        assert_eq!(STYLE_HASH, format!("sha256-{hash}"));
    }

    #[test]
    fn a_page_loads_nothing_and_cannot_be_framed() {
        let reply: Reply<()> = page(200, "T", Html::default(), None);
        let policy = reply.header("content-security-policy").unwrap();
        for rule in [
            "default-src 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "base-uri 'none'",
        ] {
            assert!(policy.contains(rule), "{policy}");
        }
        let source = "http://localhost:10003".to_owned();
        let reply: Reply<()> = page(200, "T", Html::default(), Some(source));
        let policy = reply.header("content-security-policy").unwrap();
        assert!(
            policy.contains("form-action 'self' http://localhost:10003;"),
            "{policy}"
        );
    }

    fn shown(text: &str) -> String {
        let body = Html::default().raw("<p>").text(text).raw("</p>");
        let reply: Reply<()> = page(200, "T", body, None);
        let Body::Text(html) = reply.body else {
            panic!()
        };
        let (_, rest) = html.split_once("<p>").unwrap();
        rest.split_once("</p></main>").unwrap().0.to_owned()
    }

    #[test]
    fn untrusted_text_on_a_page_is_escaped() {
        assert_eq!(
            shown("<script>alert('1')</script> & \"x\""),
            "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt; &amp; &quot;x&quot;"
        );
    }

    proptest! {
        #[test]
        fn text_never_breaks_out_of_its_element(text in "[<>&\"'a-z/= \\PC]{0,60}") {
            let shown = shown(&text);
            prop_assert!(!shown.contains(['<', '>', '"', '\'']));
        }
    }
}
