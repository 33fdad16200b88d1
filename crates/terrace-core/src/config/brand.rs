//! The appearance of the web pages.

use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{ConfigError, Variables, WEB_ACCENT, WEB_LOGO, WEB_NAME, error, parsed};
use crate::limits;
use terrace_base::untrusted::is_unprintable;

/// The name, the logo and the accent colour of the web pages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Brand {
    /// The name of the registry; `None` for its hostname.
    pub name: Option<String>,
    /// The logo, as a data URL of an image; `None` for Terrace's.
    pub logo: Option<String>,
    /// The accent colour; `None` for Terrace's.
    pub accent: Option<Accent>,
}

/// A colour of sRGB: red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Accent(pub [u8; 3]);

/// The error for a text that is not a colour.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it must be a colour of six hexadecimal digits, such as #0f766e")]
pub struct AccentError;

/// The beginnings of data URLs of images. As the source of an image element, none of them runs scripts, SVG included
/// (<https://www.w3.org/TR/SVG2/conform.html#secure-static-mode>).
const IMAGES: [&str; 4] = [
    "data:image/svg+xml;base64,",
    "data:image/png;base64,",
    "data:image/webp;base64,",
    "data:image/jpeg;base64,",
];

impl FromStr for Accent {
    type Err = AccentError;

    fn from_str(text: &str) -> Result<Self, AccentError> {
        let digits = text.strip_prefix('#').ok_or(AccentError)?;
        if digits.len() != 6 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(AccentError);
        }
        let number = u32::from_str_radix(digits, 16).map_err(|_| AccentError)?;
        let [_, red, green, blue] = number.to_be_bytes();
        Ok(Self([red, green, blue]))
    }
}

pub(super) fn brand(var: Variables<'_>) -> Result<Brand, ConfigError> {
    Ok(Brand {
        name: var(WEB_NAME).map(name).transpose()?,
        logo: var(WEB_LOGO).map(logo).transpose()?,
        accent: parsed(var, WEB_ACCENT)?,
    })
}

#[inline(never)]
fn name(text: String) -> Result<String, ConfigError> {
    let most = limits::WEB_NAME_CHARS;
    if text.chars().count() <= most && !text.chars().any(is_unprintable) {
        return Ok(text);
    }
    let rule = format!("must be one printable line of at most {most} characters");
    Err(error(WEB_NAME, rule))
}

#[inline(never)]
fn logo(text: String) -> Result<String, ConfigError> {
    let image = IMAGES.iter().find_map(|start| text.strip_prefix(start));
    if image.is_some_and(|data| STANDARD.decode(data).is_ok()) {
        return Ok(text);
    }
    let rule = "must be a data URL of an image in base64, such as data:image/svg+xml;base64,PHN2Zy…: \
                SVG, PNG, WebP or JPEG";
    Err(error(WEB_LOGO, rule))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn read(name: &'static str, value: &str) -> Result<Brand, String> {
        let config = Config::from_vars(&[(name, value)]);
        config
            .map(|config| config.brand)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_appearance_is_configured_by_three_variables() {
        assert_eq!(read(WEB_NAME, ""), Ok(Brand::default()));
        assert_eq!(
            read(WEB_NAME, "Acme infrastructure").unwrap().name.unwrap(),
            "Acme infrastructure"
        );
        let accent = read(WEB_ACCENT, "#0F766E").unwrap().accent.unwrap();
        assert_eq!(accent, Accent([0x0f, 0x76, 0x6e]));
        for start in IMAGES {
            let logo = format!("{start}{}", STANDARD.encode("an image"));
            assert_eq!(read(WEB_LOGO, &logo).unwrap().logo, Some(logo));
        }
    }

    #[test]
    fn an_invalid_value_is_rejected_with_its_rule() {
        let long = "x".repeat(limits::WEB_NAME_CHARS + 1);
        for (name, value, rule) in [
            (WEB_NAME, long.as_str(), "at most"),
            (WEB_NAME, "a\nb", "one printable line"),
            (WEB_NAME, "a\u{202e}b", "one printable line"),
            (WEB_LOGO, "https://acme.example/logo.svg", "a data URL"),
            (WEB_LOGO, "data:text/html;base64,PHA+", "a data URL"),
            (WEB_LOGO, "data:image/png;base64,\"onerror=", "a data URL"),
            (WEB_ACCENT, "red", "six hexadecimal digits"),
            (WEB_ACCENT, "#0f76", "six hexadecimal digits"),
            (WEB_ACCENT, "#0f766e;}", "six hexadecimal digits"),
            (WEB_ACCENT, "#+12345", "six hexadecimal digits"),
        ] {
            let message = read(name, value).unwrap_err();
            assert!(
                message.contains(name) && message.contains(rule),
                "{message}"
            );
        }
    }
}
