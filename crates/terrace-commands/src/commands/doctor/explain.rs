//! `--explain`: what a check is about.

use serde_json::{Value, json};

use super::explanation::explanation;
use super::table::{CHECKS, unknown};
use crate::error::Failure;
use crate::output::Screen;

/// Returns what a check is about, for people and for programs.
///
/// # Errors
/// A name that is not the ID of a check.
pub(super) fn explained(name: &str) -> Result<(Screen, Value), Failure> {
    let id = name.trim().to_ascii_uppercase();
    let check = CHECKS.iter().find(|check| check.id == id);
    let Some((check, [symptom, cause, fix])) = check.zip(explanation(&id)) else {
        return Err(unknown("--explain", name));
    };
    let mut screen = Screen::new();
    screen.title(&format!("{id}  {}", check.title));
    let fields = [("symptom", symptom), ("cause", cause), ("fix", fix)];
    screen.fields(&fields.map(|(name, text)| (name, text.to_owned())));
    let document = json!({
        "status": "ok", "id": id, "title": check.title, "symptom": symptom, "cause": cause, "fix": fix,
    });
    Ok((screen, document))
}
