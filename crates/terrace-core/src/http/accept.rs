//! The header `Accept`.

/// The media types that a client accepts (RFC 9110, section 12.5.1).
#[derive(Debug, Clone, Copy)]
pub struct Accept<'h>(pub &'h str);

/// The weight of a range that states none, in thousandths.
const FULL_WEIGHT: u16 = 1000;

impl Accept<'_> {
    /// Returns whether a client names a media type, and does not exclude it. A wildcard names none.
    pub fn names(&self, media_type: &str) -> bool {
        self.weight_and_place(media_type)
            .is_some_and(|(weight, _)| weight > 0)
    }

    /// Returns whether a client names one media type, and prefers it to another: by its weight, then because the other is
    /// accepted by a wildcard only, then because it comes first.
    pub fn prefers(&self, media_type: &str, other: &str) -> bool {
        let Some((weight, place)) = self.weight_and_place(media_type) else {
            return false;
        };
        let (kind, _) = other.split_once('/').unwrap_or((other, ""));
        let is_better = match self.weight_and_place(other) {
            Some((than, after)) => (weight, after) > (than, place),
            None => self
                .weight_and_place(&format!("{kind}/*"))
                .or_else(|| self.weight_and_place("*/*"))
                .is_none_or(|(than, _)| weight >= than),
        };
        is_better && weight > 0
    }

    /// Returns the weight of a media type in thousandths, and its place, where it is named first.
    fn weight_and_place(&self, media_type: &str) -> Option<(u16, usize)> {
        let mut ranges = self.0.split(',').enumerate();
        ranges.find_map(|(place, text)| {
            let mut parts = text.split(';').map(str::trim);
            let is_named = parts.next()?.eq_ignore_ascii_case(media_type);
            is_named.then(|| (parts.find_map(weight).unwrap_or(FULL_WEIGHT), place))
        })
    }
}

/// Returns the weight that a parameter states, in thousandths; `None` for any other parameter. A weight that is not a
/// number from 0 to 1 accepts nothing.
fn weight(parameter: &str) -> Option<u16> {
    let (name, value) = parameter.split_once('=')?;
    name.trim_end()
        .eq_ignore_ascii_case("q")
        .then(|| thousandths(value.trim_start()).unwrap_or_default())
}

/// Returns a `qvalue` in thousandths: `0` or `1`, and at most three decimals.
fn thousandths(value: &str) -> Option<u16> {
    let (whole, decimals) = value.split_once('.').unwrap_or((value, ""));
    let is_number = decimals.bytes().all(|byte| byte.is_ascii_digit()) && decimals.len() <= 3;
    if !is_number || !matches!(whole, "0" | "1") {
        return None;
    }
    let digits = format!("{whole}{decimals:0<3}");
    digits.parse().ok().filter(|it| *it <= FULL_WEIGHT)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARKDOWN: &str = "text/markdown";
    const HTML: &str = "text/html";

    #[test]
    fn a_type_is_preferred_by_weight_then_precision_then_place() {
        for header in [
            "text/markdown",
            "TEXT/Markdown",
            "text/markdown, text/html",
            "text/markdown, */*",
            "*/*, text/*, text/markdown",
            "text/html;q=0.1, text/markdown",
            "text/markdown;q=0.5, text/*;q=0.4, */*",
            "text/html ; q=0.5 , text/markdown ; Q=0.501",
            "text/markdown;charset=utf-8;q=0.2, text/html;q=0.1",
            "text/markdown;q=0.001",
            "text/html;q=nothing, text/markdown;q=0.5",
        ] {
            assert!(Accept(header).prefers(MARKDOWN, HTML), "{header}");
        }
        for header in [
            "",
            "*/*",
            "text/*",
            "text/html",
            "text/html, text/markdown",
            "text/markdown;q=0.1, text/html",
            "text/markdown;q=0.1, */*",
            "text/markdown;q=0",
            "text/markdown;q=0.000, text/html;q=0",
            "text/markdown;q=0, text/*",
            "text/markdown;q=2",
            "text/markdown;q=1.001",
            "text/markdown;q=0.0001",
            "text/markdown;q=",
            "text/markdownx",
            "xtext/markdown",
            "text",
            ";q=1",
        ] {
            assert!(!Accept(header).prefers(MARKDOWN, HTML), "{header}");
        }
    }

    #[test]
    fn a_type_is_named_only_by_itself() {
        for header in ["text/html", "Text/HTML;q=0.1", "image/png, text/html"] {
            assert!(Accept(header).names(HTML), "{header}");
        }
        for header in ["", "*/*", "text/*", "text/html;q=0", "text/htmlx"] {
            assert!(!Accept(header).names(HTML), "{header}");
        }
    }
}
