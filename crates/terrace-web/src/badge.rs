//! Badges: small pictures with a version or a status, for a README.

use terrace_core::model::status::ReleaseState;
use terrace_core::model::version::Version;

use crate::text::state_name;
use crate::well_known::escaped;

/// Maximum number of characters in each half of a badge; the rest is cut. A line of a README has about 100.
const BADGE_CHARS: usize = 40;

/// The text on a badge, and its colour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadgeText {
    /// The left half.
    pub label: String,
    /// The right half.
    pub value: String,
    /// The colour of the right half. White text on each colour of this file has a contrast of at least 4.5.
    pub colour: &'static str,
}

impl BadgeText {
    /// Creates the badge of the newest version that can be installed, with its status. Without such a version, the badge
    /// shows the status.
    pub fn version(label: &str, latest: Option<&Version>, state: Option<ReleaseState>) -> Self {
        match latest {
            Some(version) => Self::new(label, &format!("v{version}"), colour(state)),
            None if state.is_some() => Self::status(label, state),
            None => Self::unknown(label),
        }
    }

    /// Creates the badge of a status; `None` for a package that can be used.
    pub fn status(label: &str, state: Option<ReleaseState>) -> Self {
        Self::new(label, state.map_or("active", state_name), colour(state))
    }

    /// Creates the badge of a package that does not exist, or that the reader may not see.
    pub fn unknown(label: &str) -> Self {
        Self::new(label, "unknown", "#5b6572")
    }

    fn new(label: &str, value: &str, colour: &'static str) -> Self {
        Self {
            label: cut(label),
            value: cut(value),
            colour,
        }
    }

    /// Returns the picture.
    pub fn to_svg(&self) -> String {
        let (left, right) = (width(&self.label) + 12, width(&self.value) + 12);
        let whole = left + right;
        let (label, value) = (escaped(&self.label), escaped(&self.value));
        let colour = self.colour;
        let (label_width, value_width) = (left - 12, right - 12);
        let value_at = left + 6;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{whole}\" height=\"20\" role=\"img\" aria-label=\"{label}: {value}\">\
             <title>{label}: {value}</title><clipPath id=\"r\"><rect width=\"{whole}\" height=\"20\" rx=\"4\"/></clipPath>\
             <g clip-path=\"url(#r)\"><rect width=\"{left}\" height=\"20\" fill=\"#3b424c\"/>\
             <rect x=\"{left}\" width=\"{right}\" height=\"20\" fill=\"{colour}\"/></g>\
             <g fill=\"#fff\" font-family=\"Verdana,DejaVu Sans,sans-serif\" font-size=\"11\">\
             <text x=\"6\" y=\"14\" textLength=\"{label_width}\">{label}</text>\
             <text x=\"{value_at}\" y=\"14\" textLength=\"{value_width}\">{value}</text></g></svg>\n"
        )
    }
}

fn colour(state: Option<ReleaseState>) -> &'static str {
    match state {
        None => "#0b6e63",
        Some(ReleaseState::Deprecated) => "#8a5a00",
        Some(ReleaseState::Withdrawn | ReleaseState::Revoked | ReleaseState::Blocked) => "#b3261e",
    }
}

fn cut(text: &str) -> String {
    text.chars().take(BADGE_CHARS).collect()
}

/// Returns the width of a text at 11 pixels, rounded up. The renderer stretches the text to it, so that an error costs
/// spacing and never overlaps.
fn width(text: &str) -> u32 {
    let tenths: u32 = text.chars().map(tenths).sum();
    tenths.div_ceil(10)
}

/// Returns the width of a character of Verdana at 11 pixels, in tenths of a pixel.
fn tenths(c: char) -> u32 {
    match c {
        'i' | 'j' | 'l' => 30,
        '.' | ',' | ':' | ';' | ' ' | '\'' | '|' => 40,
        'f' | 't' | 'r' | 'I' | '-' | '/' | '(' | ')' => 47,
        'a' | 'c' | 'e' | 'k' | 's' | 'v' | 'x' | 'y' | 'z' | '_' | '0'..='9' => 66,
        'm' | 'w' | 'M' | 'W' | 'G' | 'O' | 'Q' | '+' | '~' => 100,
        ' '..='~' => 72,
        // Letters of other scripts may be as wide as they are high.
        _ => 110,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wider_text_makes_a_wider_badge() {
        assert!(width("iii") < width("aaa") && width("aaa") < width("mmm"));
        assert_eq!(width("1.0"), 18);
        // Measured in DejaVu Sans and Verdana at 11 px: 37 and 38 px.
        assert!((34..=44).contains(&width("v1.2.3")), "{}", width("v1.2.3"));
    }

    #[test]
    fn the_halves_of_a_badge_add_up_and_hold_their_texts() {
        let version: Version = "1.2.3".parse().unwrap();
        let svg = BadgeText::version("acme/widget", Some(&version), None).to_svg();
        let (left, right) = (width("acme/widget") + 12, width("v1.2.3") + 12);
        assert!(svg.contains(&format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\"",
            left + right
        )));
        assert!(svg.contains(&format!("textLength=\"{}\">v1.2.3<", right - 12)));
    }

    #[test]
    fn a_hostile_label_is_escaped_and_cut() {
        let svg = BadgeText::unknown(&"<script>\"'&".repeat(100)).to_svg();
        assert!(!svg.contains("<script") && svg.len() < 2_000, "{svg}");
    }
}
