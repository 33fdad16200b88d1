//! Finding secrets in the URLs that a text quotes.
//!
//! Messages quote URLs in sentences, and texts that are not quite URLs, such as one with a slash in its
//! password. So the secrets are found by their positions in the text, not in a parsed URL; the tests compare
//! the result with that of a parser.

use url::form_urlencoded;

use super::HIDDEN;
use super::search::Hit;

/// Parts of the names of query parameters with secret values.
const SECRET_PARAMETERS: [&str; 8] = [
    "sig", "token", "secret", "key", "pass", "auth", "cred", "code",
];

/// Finds the user and the password in a URL.
pub(super) fn userinfo(text: &str) -> Option<Hit> {
    urls(text).find_map(|(start, url)| {
        let authority_end = url.find(['/', '?', '#']).unwrap_or(url.len());
        let authority = url.get(..authority_end).unwrap_or_default();
        let at = authority.rfind('@').or_else(|| {
            // A password with an unencoded slash looks like a port that is not a number.
            let (_, port) = authority.rsplit_once(':')?;
            let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
            let is_address = authority.ends_with(']');
            url.rfind('@').filter(|_| !is_port && !is_address)
        })?;
        let is_hidden = url.get(..at) == Some(HIDDEN);
        (!is_hidden && at > 0).then_some(Hit {
            start,
            end: start + at,
            by: HIDDEN,
        })
    })
}

/// Finds the query of a URL, if one of its parameters is a secret.
pub(super) fn signed_query(text: &str) -> Option<Hit> {
    urls(text).find_map(|(start, url)| {
        let before = url.find('?')? + 1;
        let query = url.get(before..)?.split('#').next()?;
        let is_secret = |name: &str| {
            let name = name.to_ascii_lowercase();
            SECRET_PARAMETERS.iter().any(|part| name.contains(part))
        };
        let mut parameters = form_urlencoded::parse(query.as_bytes());
        parameters.any(|(name, _)| is_secret(&name)).then_some(Hit {
            start: start + before,
            end: start + before + query.len(),
            by: HIDDEN,
        })
    })
}

/// Returns the URLs in a text, each from its authority on, with their positions.
fn urls(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices("://").filter_map(|(scheme_end, mark)| {
        let start = scheme_end + mark.len();
        let rest = text.get(start..)?;
        let is_end = |c: char| c.is_whitespace() || "\"'`<>".contains(c);
        let end = rest.find(is_end).unwrap_or(rest.len());
        Some((start, rest.get(..end)?))
    })
}

#[cfg(test)]
mod tests {
    use url::Url;

    use super::super::Secrets;

    #[test]
    fn a_url_loses_its_userinfo_and_its_signature() {
        for (url, shown) in [
            ("https://me:pa5s@h/p", "https://[hidden]@h/p"),
            ("https://pa5s@h", "https://[hidden]@h"),
            (
                "x=git::https://me:pa5/s@h/p?a=b",
                "x=git::https://[hidden]@h/p?a=b",
            ),
            (
                "https://h/p?X-Amz-Date=1&X-Amz-Signature=pa5s#f",
                "https://h/p?[hidden]#f",
            ),
            ("https://h/?%74oken=pa5s", "https://h/?[hidden]"),
            (
                "https://u:pa5s@h/?TOKEN=pa5s",
                "https://[hidden]@h/?[hidden]",
            ),
        ] {
            let text = format!("see \"{url}\", twice: {url} there");
            assert_eq!(
                Secrets::default().hide(&text),
                format!("see \"{shown}\", twice: {shown} there")
            );
        }
    }

    #[test]
    fn a_parser_reads_the_same_url_without_its_secrets() {
        let mut count = 0;
        for userinfo in ["", "me@", "me:pa5s@", "me:p@a5s@", ":pa5s@", "pa%2f5s:x@"] {
            for host in ["h", "h:8443", "[::1]", "[::1]:8443", "10.0.0.1", "h:"] {
                for path in ["", "/", "/p/q@1.0.0", "/p:q@r"] {
                    for query in [
                        "",
                        "?",
                        "?a=b&c=d",
                        "?a=b&X-Sig=pa5s",
                        "?%53ig=pa5s",
                        "?sig",
                    ] {
                        for fragment in ["", "#f", "#f@g"] {
                            check(&format!("https://{userinfo}{host}{path}{query}{fragment}"));
                            count += 1;
                        }
                    }
                }
            }
        }
        assert_eq!(count, 6 * 6 * 4 * 6 * 3);
    }

    /// Compares the text without its secrets with the URL that a parser returns.
    fn check(text: &str) {
        let url = Url::parse(text).unwrap();
        let hidden = Secrets::default().hide(text).into_owned();
        let mut expected = url.clone();
        if !url.username().is_empty() || url.password().is_some() {
            expected.set_username("[hidden]").unwrap();
            expected.set_password(None).unwrap();
        }
        let mut parameters = url.query_pairs();
        if parameters.any(|(name, _)| name.to_lowercase().contains("sig")) {
            expected.set_query(Some("[hidden]"));
        }
        assert_eq!(Url::parse(&hidden).unwrap(), expected, "{text}: {hidden}");
    }
}
