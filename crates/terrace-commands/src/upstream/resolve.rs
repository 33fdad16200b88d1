//! Resolving a URL against another one (RFC 3986, section 5.2), byte for byte: a signed query must not be
//! encoded again.

/// Returns the URL that `reference` means in a document from `base`, which is absolute.
pub(crate) fn resolve(base: &str, reference: &str) -> String {
    let (base, reference) = (Parts::of(base), Parts::of(reference));
    let target = if reference.scheme.is_some() {
        Parts {
            path: without_dots(&reference.path),
            ..reference
        }
    } else if reference.authority.is_some() {
        Parts {
            scheme: base.scheme,
            path: without_dots(&reference.path),
            ..reference
        }
    } else if reference.path.is_empty() {
        Parts {
            query: reference.query.or(base.query),
            ..base
        }
    } else if reference.path.starts_with('/') {
        Parts {
            path: without_dots(&reference.path),
            query: reference.query,
            ..base
        }
    } else {
        let upper = base.path.rsplit_once('/').map_or("", |(upper, _)| upper);
        Parts {
            path: without_dots(&format!("{upper}/{}", reference.path)),
            query: reference.query,
            ..base
        }
    };
    target.text()
}

/// The parts of a URL, without the fragment, which is never sent.
struct Parts<'u> {
    scheme: Option<&'u str>,
    authority: Option<&'u str>,
    path: String,
    query: Option<&'u str>,
}

impl<'u> Parts<'u> {
    fn of(text: &'u str) -> Self {
        let text = text.split('#').next().unwrap_or_default();
        let (text, query) = match text.split_once('?') {
            Some((text, query)) => (text, Some(query)),
            None => (text, None),
        };
        let is_scheme = |scheme: &str| {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        };
        let (scheme, text) = match text.split_once(':') {
            Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
            _ => (None, text),
        };
        let (authority, path) = match text.strip_prefix("//") {
            None => (None, text),
            Some(rest) => {
                let end = rest.find('/').unwrap_or(rest.len());
                let (authority, path) = rest.split_at_checked(end).unwrap_or_default();
                (Some(authority), path)
            }
        };
        Self {
            scheme,
            authority,
            path: path.to_owned(),
            query,
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        if let Some(scheme) = self.scheme {
            text.push_str(&format!("{scheme}:"));
        }
        if let Some(authority) = self.authority {
            text.push_str(&format!("//{authority}"));
        }
        text.push_str(&self.path);
        if let Some(query) = self.query {
            text.push_str(&format!("?{query}"));
        }
        text
    }
}

/// Removes dot segments (RFC 3986, section 5.2.4). The path begins with `/`, as in every requested URL.
fn without_dots(path: &str) -> String {
    if !path.starts_with('/') {
        return path.to_owned();
    }
    let mut segments = Vec::new();
    let mut is_directory = false;
    for segment in path.split('/').skip(1) {
        is_directory = matches!(segment, "." | "..");
        match segment {
            "." => {}
            ".." => {
                segments.pop();
            }
            segment => segments.push(segment),
        }
    }
    let end = if is_directory { "/" } else { "" };
    let whole: String = segments
        .iter()
        .map(|segment| format!("/{segment}"))
        .collect();
    whole + end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_resolve_as_the_examples_of_rfc_3986_section_5_4() {
        for (reference, target) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("#s", "http://a/b/c/d;p?q"),
            ("g#s", "http://a/b/c/g"),
            (";x", "http://a/b/c/;x"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("./", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"),
            ("/./g", "http://a/g"),
            ("/../g", "http://a/g"),
            ("g.", "http://a/b/c/g."),
            ("..g", "http://a/b/c/..g"),
            ("./../g", "http://a/b/g"),
            ("g;x=1/../y", "http://a/b/c/y"),
            ("g?y/../x", "http://a/b/c/g?y/../x"),
        ] {
            let resolved = resolve("http://a/b/c/d;p?q", reference);
            assert_eq!(resolved, target, "{reference:?}");
        }
    }

    #[test]
    fn absolute_urls_and_queries_are_kept_byte_for_byte() {
        for url in [
            "https://a.example/p?X-Sig=aa%2Fbb&&a=1&e&sp=a+b;c'\"<>",
            "https://a.example",
            "https://a.example:8443/%2e%2e/a//b",
        ] {
            assert_eq!(resolve("https://b.example/x", url), url);
        }
        let relative = resolve("https://a.example/v1/download/linux/amd64", "p.zip");
        assert_eq!(relative, "https://a.example/v1/download/linux/p.zip");
        assert_eq!(resolve("https://a.example", "b"), "https://a.example/b");
    }
}
