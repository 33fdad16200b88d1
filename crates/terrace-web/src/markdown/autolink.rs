//! URLs in text, which readers expect to be links ("extended autolinks" of GitHub's dialect).

/// A part of a text.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'t> {
    Text(&'t str),
    Url(&'t str),
}

/// Splits a text into URLs with `http` or `https` and the text between them.
pub(super) fn parts(text: &str) -> impl Iterator<Item = Part<'_>> {
    let mut rest = text;
    let mut url = None;
    std::iter::from_fn(move || {
        if let Some(url) = url.take() {
            return Some(Part::Url(url));
        }
        if rest.is_empty() {
            return None;
        }
        let Some((start, end)) = next_url(rest) else {
            return Some(Part::Text(std::mem::take(&mut rest)));
        };
        let (before, found) = (rest.get(..start)?, rest.get(start..end)?);
        rest = rest.get(end..)?;
        if before.is_empty() {
            return Some(Part::Url(found));
        }
        url = Some(found);
        Some(Part::Text(before))
    })
}

/// Returns the start and the end of the first URL.
fn next_url(text: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    loop {
        let start = from + text.get(from..)?.find("http")?;
        from = start + "http".len();
        let before = text.get(..start)?.chars().next_back();
        let url = text.get(start..)?;
        let rest = url
            .strip_prefix("https://")
            .or_else(|| url.strip_prefix("http://"));
        let has_host =
            rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_alphanumeric()));
        if has_host && before.is_none_or(|c| !c.is_alphanumeric()) {
            let length =
                url.find(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"' | '`'));
            let url = url.get(..length.unwrap_or(url.len()))?;
            return Some((start, start + without_punctuation(url).len()));
        }
    }
}

/// Removes the punctuation of the sentence around a URL. A closing bracket belongs to the URL if it is opened there.
fn without_punctuation(mut url: &str) -> &str {
    let count = |c: char| url.matches(c).count();
    let mut surplus = count(')').saturating_sub(count('('));
    loop {
        url = match url.chars().next_back() {
            Some(')') if surplus > 0 => {
                surplus -= 1;
                url.strip_suffix(')').unwrap_or(url)
            }
            Some(c @ ('?' | '!' | '.' | ',' | ':' | ';' | '*' | '_' | '~' | '\'' | ']' | '}')) => {
                url.strip_suffix(c).unwrap_or(url)
            }
            _ => return url,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_end_before_the_punctuation_of_the_sentence() {
        for (text, expected) in [
            (
                "see https://a.b/c.",
                vec![
                    Part::Text("see "),
                    Part::Url("https://a.b/c"),
                    Part::Text("."),
                ],
            ),
            (
                "(https://a.b/(c))",
                vec![
                    Part::Text("("),
                    Part::Url("https://a.b/(c)"),
                    Part::Text(")"),
                ],
            ),
            (
                "http://a http://b",
                vec![
                    Part::Url("http://a"),
                    Part::Text(" "),
                    Part::Url("http://b"),
                ],
            ),
            (
                "xhttp://a http:// https://<h>",
                vec![Part::Text("xhttp://a http:// https://<h>")],
            ),
            ("", vec![]),
        ] {
            assert_eq!(parts(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }
}
