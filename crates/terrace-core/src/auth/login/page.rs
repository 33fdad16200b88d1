//! The pages of a sign-in.
//!
//! All text from a request, a provider or a setting stands for a `{}` of [`Html::with`], which escapes it; only
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
    pub(super) fn raw(self, html: &'static str) -> Self {
        self.with(html, &[])
    }

    /// Appends a literal of this program, in which each `{}` stands for one of these texts. They are untrusted: they are escaped
    /// for an element or an attribute in double quotes.
    pub(super) fn with(mut self, html: &'static str, texts: &[&str]) -> Self {
        debug_assert!(html.matches("{}").count() <= texts.len(), "{html}");
        let mut texts = texts.iter();
        let (first, rest) = html.split_once("{}").unwrap_or((html, ""));
        self.0.push_str(first);
        for part in rest.split("{}").filter(|_| first.len() < html.len()) {
            let text = texts.next().copied().unwrap_or_default();
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
            self.0.push_str(part);
        }
        self
    }

    /// Appends instructions for starting again. A client waits until it is ended. Ctrl-C ends OpenTofu, while
    /// Terraform 1.11 reacts only to Ctrl-\. Both end when the browser delivers a code that yields no token.
    pub(super) fn begin_again(self, origin: &str, purpose: Option<&SignInPurpose>) -> Self {
        let host = authority(origin);
        let html = match purpose {
            Some(SignInPurpose::Page(path)) => {
                let link = r#"<p><a href="{}">Sign in again</a>.</p>"#;
                return self.with(link, &[&sign_in_url(path)]);
            }
            Some(SignInPurpose::Token(authorization)) => {
                let url = authorization.refusal(origin);
                match authorization.client {
                    Client::Application { .. } => return self.with(
                        r#"<p><a href="{}">Notify the application</a>, so that it stops waiting. Then connect it to this registry again.</p>"#,
                        &[&url],
                    ),
                    Client::Terminal => self.with(
                        r#"<p><a href="{}">Notify the terminal</a>, so that it stops waiting.</p>"#,
                        &[&url],
                    ),
                }
            }
            None => self.with(
                r#"<p>If you were opening a page of this registry, <a href="{}">sign in again</a>. If you were connecting an application, connect it again.</p>"#,
                &[SIGN_IN_PATH],
            ),
        };
        html.with(
            "<p>Or press <kbd>Ctrl</kbd>-<kbd>C</kbd> in the terminal, or <kbd>Ctrl</kbd>-<kbd>\\</kbd> if that has no effect. \
             Then start again with <code>terraform login {}</code>, <code>tofu login {}</code> or \
             <code>terrace login {}</code>.</p>",
            &[host; 3],
        )
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
        .with(
            r#"<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1"><title>{}</title><style>"#,
            &[title],
        )
        .raw(STYLE)
        .with("</style></head><body><main><h1>{}</h1>", &[title]);
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
    let Consent {
        token,
        authorization,
        ..
    } = consent;
    let person = token.person.name.to_string();
    let body = Html::default().with(
        "<p>You are signed in to <strong>{}</strong> as <strong>{}</strong>.</p>",
        &[host, &person],
    );
    let body = match &authorization.client {
        Client::Terminal => body.raw("<p>A terminal on this computer"),
        // Only the host of an application is verified.
        Client::Application { id, .. } => body.with(
            "<p>An application that calls itself <strong>{}</strong>, as described by <strong>{}</strong>,",
            &[&name.map(ToString::to_string).unwrap_or_default(), id.host()],
        ),
    };
    let body = body.raw(" requests a token that allows it to:</p><ul>");
    let body = rights(body, &token.scopes).with(
        r#"</ul><p>The token is valid until {}, or until it is revoked.</p><form method="post" action="/oauth/consent"><input type="hidden" name="consent" value="{}"><button class="allow" name="answer" value="allow">Allow</button>"#,
        &[&expires.to_string(), sealed],
    );
    let body = match token.scopes == token.scopes.to_read() {
        true => body,
        false => body.raw(r#"<button name="answer" value="read">Allow reading only</button>"#),
    };
    let body = body.raw(r#"<button name="answer" value="refuse">Refuse</button></form>"#);
    let redirect = &authorization.redirect;
    let (title, body) = match &authorization.client {
        Client::Terminal => (
            "Give your terminal a token?",
            body.with(
                r#"<p class="note">Allow this only if you have just run <code>terraform login</code>, <code>tofu login</code> or <code>terrace login</code> on this computer. The token goes to port {} of it, and nowhere else.</p>"#,
                &[&redirect.port().unwrap_or_default().to_string()],
            ),
        ),
        Client::Application { resource, .. } => (
            "Give an application a token?",
            body.with(
                r#"<p class="note">Allow this only if you have just connected this application to the registry. Any program on this computer can use the description of another one. The token goes to <code>{}</code>, which is this computer, and only <code>{}</code> accepts it.</p>"#,
                &[redirect.as_str(), resource.as_str()],
            ),
        ),
    };
    page(200, title, body, Some(redirect.form_source()))
}

/// Creates the page that a browser shows after it has signed out of a registry in which every page needs a sign-in.
/// A redirect to one would sign in again at once, if the provider still knows the person.
pub fn signed_out_page<S>(host: &str) -> Reply<S> {
    let body = Html::default().with(
        r#"<p>This browser is signed out of <strong>{}</strong>. You may still be signed in at the sign-in provider.</p><p><a href="{}">Sign in again</a>.</p>"#,
        &[host, SIGN_IN_PATH],
    );
    page(200, "You are signed out", body, None)
}

/// Lists the scopes of a token in words.
fn rights(body: Html, scopes: &Scopes) -> Html {
    scopes.iter().fold(body, |body, scope| {
        let html = match scope {
            Scope::Admin => "do <strong>everything</strong>, as an administrator",
            Scope::Backup => "copy everything that is stored, for a backup",
            Scope::Read => "read everything",
            Scope::ReadOf(_) => "read the packages of {}",
            Scope::Publish(_) => "publish and read the packages of {}",
            Scope::AdminOf(_) => {
                "<strong>administer</strong> {}: its packages, signing keys, tokens and rules"
            }
        };
        let owners = scope.owners().map(ToString::to_string).unwrap_or_default();
        let body = body.raw("<li>").with(html, &[&owners]);
        body.with(" (<code>{}</code>)</li>", &[&scope.to_string()])
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
        let body = Html::default().with("<p>{}</p>", &[text]);
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
