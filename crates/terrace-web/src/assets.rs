//! The stylesheet, the script and the pictures, named by the digests of their contents so that browsers may keep them for
//! ever.

use terrace_base::digest::Sha256;
use terrace_core::api::route::PageRoute;
use terrace_core::config::Accent;

use crate::accent;

/// The stylesheet, without the colour of the operator.
const STYLE: &str = include_str!("assets/style.css");

/// The script.
const SCRIPT: &str = include_str!("assets/script.js");

/// The picture in tabs and in the header.
const ICON: &str = include_str!("assets/icon.svg");

/// The file names of the assets, as pages link them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssetNames {
    /// The stylesheet.
    pub stylesheet: String,
    /// The script.
    pub script: String,
    /// The icon.
    pub icon: String,
}

/// The assets of a registry. Create them once: their names are computed from their contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assets {
    names: AssetNames,
    style: String,
}

/// A file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asset<'a> {
    /// Its name, which changes with its contents.
    pub name: &'a str,
    /// Its content type.
    pub content_type: &'static str,
    /// Its contents.
    pub contents: &'a str,
}

impl Assets {
    /// Creates the assets with the colour of the operator.
    pub fn new(accent: Option<Accent>) -> Self {
        let mut style = STYLE.to_owned();
        if let Some(accent) = accent {
            style.push_str(&accent::rules(accent));
        }
        let names = AssetNames {
            stylesheet: named(&style, "css"),
            script: named(SCRIPT, "js"),
            icon: named(ICON, "svg"),
        };
        Self { names, style }
    }

    /// Returns the names, for [`Site`](crate::Site).
    pub fn names(&self) -> &AssetNames {
        &self.names
    }

    /// Returns all files.
    pub fn files(&self) -> [Asset<'_>; 3] {
        let file = |name, content_type, contents| Asset {
            name,
            content_type,
            contents,
        };
        let names = &self.names;
        [
            file(&names.stylesheet, "text/css; charset=utf-8", &self.style),
            file(&names.script, "text/javascript; charset=utf-8", SCRIPT),
            file(&names.icon, "image/svg+xml", ICON),
        ]
    }

    /// Returns the file of a name and whether the name is current. A name of another version of Terrace gets the current
    /// file of its kind, which no cache may keep.
    pub fn file(&self, name: &str) -> Option<(Asset<'_>, bool)> {
        let extension = name.rsplit('.').next()?;
        let of_kind = |file: &Asset<'_>| file.name.rsplit('.').next() == Some(extension);
        let file = self.files().into_iter().find(of_kind)?;
        Some((file, file.name == name))
    }
}

/// Returns the path of an asset.
pub(crate) fn path_of(name: &str) -> String {
    PageRoute::Asset(name.to_owned()).to_string()
}

fn named(contents: &str, extension: &str) -> String {
    let digest = Sha256::of(contents.as_bytes()).to_string();
    let short: String = digest.chars().take(16).collect();
    format!("{short}.{extension}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_changes_with_the_colour() {
        let plain = Assets::new(None);
        let tinted = Assets::new("#aa00aa".parse().ok());
        assert_ne!(plain.names().stylesheet, tinted.names().stylesheet);
        assert_eq!(plain.names().script, tinted.names().script);
    }

    #[test]
    fn an_old_name_leads_to_the_current_file_of_its_kind() {
        let assets = Assets::new(None);
        let (file, is_current) = assets.file("0123456789abcdef.css").unwrap();
        assert_eq!(
            (file.name, is_current),
            (&*assets.names().stylesheet, false)
        );
        let (_, is_current) = assets.file(&assets.names().script).unwrap();
        assert!(is_current);
        assert_eq!(assets.file("x.png"), None);
        assert_eq!(assets.file(""), None);
    }

    #[test]
    fn the_stylesheet_and_the_script_load_nothing_from_other_hosts() {
        for text in [STYLE, SCRIPT, ICON] {
            assert!(
                !text.contains("url(") && !text.contains("@import") && !text.contains("https:")
            );
        }
    }
}
