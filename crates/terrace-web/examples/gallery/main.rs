//! Writes all pages, with the assets, into a folder.
//!
//! `cargo run -p terrace-web --example gallery DIR`; then open `DIR/index.html`. Links to pages that the gallery does not
//! have lead nowhere.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a tool of development: a fixture that does not parse must fail loudly"
)]

pub mod fixtures;
pub mod pages;

use std::error::Error;
use std::path::Path;
use std::{env, fs};

use terrace_web::assets::Assets;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = env::args().nth(1).ok_or("name the folder to write to")?;
    let folder = Path::new(&folder);
    fs::create_dir_all(folder.join("_assets"))?;
    for file in Assets::new(None).files() {
        fs::write(folder.join("_assets").join(file.name), file.contents)?;
    }
    let mut index = "<!doctype html><title>Gallery</title><ul>".to_owned();
    for (name, html) in pages::all() {
        // Files have no root to which a path could be relative.
        let html = html.replace("=\"/_assets/", "=\"_assets/");
        fs::write(folder.join(format!("{name}.html")), html)?;
        index.push_str(&format!("<li><a href={name}.html>{name}</a>"));
    }
    fs::write(folder.join("index.html"), index)?;
    for (name, text) in pages::documents() {
        fs::write(folder.join(name), text)?;
    }
    Ok(())
}
