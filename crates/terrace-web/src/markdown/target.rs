//! The targets of links and images, by the rules of browsers.

use std::borrow::Cow;

use super::{Links, TargetKind};
use crate::limits;

/// A target that HTML may contain.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target<'t> {
    /// A place in the document: the text after `#`, as written.
    Fragment(Cow<'t, str>),
    /// A page of this registry: a path with one slash at its start, or a query or fragment.
    Own(String),
    /// A page elsewhere: a URL with `https`, `http` or `mailto`.
    Foreign(String),
}

impl<'t> Target<'t> {
    /// Parses a target. `None` if it has another scheme, or leads nowhere.
    pub(super) fn parse(written: &'t str, kind: TargetKind, links: &dyn Links) -> Option<Self> {
        let target = as_read_by_browsers(written);
        if target.is_empty() || target.len() > limits::URL_BYTES {
            return None;
        }
        if target.starts_with('#') {
            let fragment = |text: &str| text.get(1..).unwrap_or_default().to_owned();
            return Some(Self::Fragment(Cow::Owned(fragment(&target))));
        }
        if is_mail(&target) {
            return (kind == TargetKind::Link).then(|| Self::Foreign(target.into_owned()));
        }
        if is_web(&target) {
            return match links.resolve(&target, kind) {
                Some(resolved) => Self::resolved(resolved),
                None => Some(Self::Foreign(target.into_owned())),
            };
        }
        if let Some(host) = without_scheme(&target) {
            return Some(Self::Foreign(format!("https://{host}")));
        }
        if has_scheme(&target) {
            return None;
        }
        Self::resolved(links.resolve(&target, kind)?)
    }

    fn resolved(target: String) -> Option<Self> {
        let is_path = target.starts_with('/') && without_scheme(&target).is_none();
        match () {
            () if as_read_by_browsers(&target) != target => None,
            () if is_path => Some(Self::Own(target)),
            () if is_web(&target) => Some(Self::Foreign(target)),
            () => None,
        }
    }
}

/// Removes the characters that browsers ignore in URLs.
fn as_read_by_browsers(target: &str) -> Cow<'_, str> {
    let target = target.trim_matches(|c: char| c <= ' ');
    if !target.contains(['\t', '\n', '\r']) {
        return Cow::Borrowed(target);
    }
    Cow::Owned(target.replace(['\t', '\n', '\r'], ""))
}

fn is_web(target: &str) -> bool {
    let rest = ["https://", "http://"].iter().find_map(|scheme| {
        let (start, rest) = target.split_at_checked(scheme.len())?;
        start.eq_ignore_ascii_case(scheme).then_some(rest)
    });
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['/', '\\']))
}

fn is_mail(target: &str) -> bool {
    let start = target.split_at_checked("mailto:".len());
    start.is_some_and(|(start, rest)| start.eq_ignore_ascii_case("mailto:") && !rest.is_empty())
}

/// Returns the rest of a URL that begins with its host. Browsers read backslashes as slashes.
fn without_scheme(target: &str) -> Option<&str> {
    let rest = target
        .strip_prefix(['/', '\\'])?
        .strip_prefix(['/', '\\'])?;
    Some(rest.trim_start_matches(['/', '\\']))
}

/// Returns whether a browser could find a scheme: there is a colon before any slash, query or fragment.
fn has_scheme(target: &str) -> bool {
    let end = target.find(['/', '\\', '?', '#', ':']);
    end.and_then(|at| target.get(at..))
        .is_some_and(|rest| rest.starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::super::NoLinks;
    use super::*;

    /// Resolves to what is asked.
    struct Echo;

    impl Links for Echo {
        fn resolve(&self, target: &str, _kind: TargetKind) -> Option<String> {
            Some(target.to_owned())
        }
    }

    fn parse(target: &str) -> Option<Target<'_>> {
        Target::parse(target, TargetKind::Link, &NoLinks)
    }

    #[test]
    fn urls_of_the_web_and_of_mail_are_foreign() {
        for url in [
            "https://a.b",
            "HTTP://a.b/c?d#e",
            "mailto:a@b",
            "https://a b",
        ] {
            assert_eq!(parse(url), Some(Target::Foreign(url.to_owned())), "{url}");
        }
        for url in ["//a.b/c", "/\\a.b/c", "\\\\a.b/c", "///a.b/c"] {
            assert_eq!(
                parse(url),
                Some(Target::Foreign("https://a.b/c".into())),
                "{url}"
            );
        }
        assert_eq!(
            parse(" ht\ntps://a "),
            Some(Target::Foreign("https://a".into()))
        );
    }

    #[test]
    fn other_schemes_are_rejected_however_they_are_written() {
        for target in [
            "javascript:alert(1)",
            "JaVaScRiPt:alert(1)",
            " javascript:x",
            "java\nscript:x",
            "\u{1}javascript:x",
            "java\0script:x",
            "data:text/html,x",
            "vbscript:x",
            "file:///etc",
            "tel:1",
            "blob:x",
            "x:y",
            "https:a",
            "https:/a",
            "http:\\\\a",
            "https:///a",
            "https://",
            "mailto:",
            "a b:c",
            "",
        ] {
            assert_eq!(parse(target), None, "{target:?}");
            assert_eq!(
                Target::parse(target, TargetKind::Link, &Echo),
                None,
                "{target:?}"
            );
        }
    }

    #[test]
    fn relative_references_need_a_meaning() {
        assert_eq!(parse("a/b.md"), None);
        assert_eq!(
            Target::parse("/a", TargetKind::Link, &Echo),
            Some(Target::Own("/a".into()))
        );
        assert_eq!(Target::parse("a", TargetKind::Link, &Echo), None);
        assert_eq!(parse("#a"), Some(Target::Fragment("a".into())));
    }

    #[test]
    fn too_long_targets_are_rejected() {
        let long = format!("https://{}", "a".repeat(limits::URL_BYTES));
        assert_eq!(parse(&long), None);
    }
}
