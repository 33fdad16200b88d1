//! The accent colour of an operator, made readable on light and dark pages.

use std::fmt;

use terrace_core::config::Accent;

/// Red, green and blue, 0 to 255 each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Colour([u8; 3]);

/// The contrast that WCAG 2.2 (1.4.3) requires of text, and a little more, because tinted surfaces lie below some texts.
const CONTRAST: f64 = 5.2;

/// The backgrounds of the stylesheet.
const LIGHT: Colour = Colour([255, 255, 255]);
const DARK: Colour = Colour([0x11, 0x15, 0x1b]);

/// Returns the rules that follow the stylesheet.
pub(crate) fn rules(accent: Accent) -> String {
    let colour = Colour(accent.0);
    let (light, dark) = (colour.readable_on(LIGHT), colour.readable_on(DARK));
    format!(
        ":root{{--accent:{light}}}@media(prefers-color-scheme:dark){{:root{{--accent:{dark}}}}}"
    )
}

impl Colour {
    /// Returns the nearest mixture with black or white that is readable on `background`.
    fn readable_on(self, background: Self) -> Self {
        let end = if background.luminance() > 0.5 { 0 } else { 255 };
        let mixtures = (0..=50).map(|step| self.mixed(end, step));
        mixtures
            .into_iter()
            .find(|colour| colour.contrast(background) >= CONTRAST)
            .unwrap_or(Self([end; 3]))
    }

    /// Returns a mixture with the grey `end`, in fiftieths.
    fn mixed(self, end: u8, fiftieths: u16) -> Self {
        let mix = |part: u8| {
            let sum = u16::from(part) * (50 - fiftieths) + u16::from(end) * fiftieths;
            u8::try_from(sum / 50).unwrap_or(end)
        };
        Self(self.0.map(mix))
    }

    /// Returns the contrast ratio of WCAG 2.2.
    fn contrast(self, other: Self) -> f64 {
        let (own, other) = (self.luminance(), other.luminance());
        (own.max(other) + 0.05) / (own.min(other) + 0.05)
    }

    /// Returns the relative luminance of WCAG 2.2.
    fn luminance(self) -> f64 {
        let [red, green, blue] = self.0.map(|part| {
            let part = f64::from(part) / 255.0;
            match part <= 0.040_45 {
                true => part / 12.92,
                false => power_2_4((part + 0.055) / 1.055),
            }
        });
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }
}

/// Returns `base` to the power of 2.398, by square roots, which WebAssembly has as an instruction: `powf` would add its
/// tables to the module.
fn power_2_4(base: f64) -> f64 {
    let quarter = base.sqrt().sqrt();
    let eighth = quarter.sqrt();
    let sixty_fourth = eighth.sqrt().sqrt().sqrt();
    base * base * quarter * eighth * sixty_fourth * sixty_fourth.sqrt()
}

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [red, green, blue] = self.0;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_readable_colour_stays_as_it_is() {
        let teal = Colour([0x0b, 0x6e, 0x63]);
        assert_eq!(teal.readable_on(LIGHT), teal);
        assert_eq!(teal.to_string(), "#0b6e63");
    }

    #[test]
    fn the_contrast_is_that_of_the_definition() {
        let grey = Colour([0x76; 3]);
        assert!((grey.contrast(LIGHT) - 4.54).abs() < 0.02);
        assert!((Colour([0; 3]).contrast(LIGHT) - 21.0).abs() < 0.01);
    }

    proptest! {
        #[test]
        fn every_colour_becomes_readable(colour: [u8; 3]) {
            for background in [LIGHT, DARK] {
                prop_assert!(Colour(colour).readable_on(background).contrast(background) >= 4.5);
            }
        }
    }
}
