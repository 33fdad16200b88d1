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

#[cfg(test)]
mod tests {
    use super::super::explanation::EXPLANATIONS;
    use super::*;

    #[test]
    fn every_check_is_explained_and_no_other() {
        let paragraphs = EXPLANATIONS.split("\n\n");
        let explained: Vec<&str> = paragraphs.filter_map(|it| it.lines().next()).collect();
        let checks: Vec<&str> = CHECKS.iter().map(|check| check.id).collect();
        assert_eq!(explained, checks);
        assert!(checks.iter().all(|id| explanation(id).is_some()));
        let (_, document) = super::explained("k5").unwrap();
        assert_eq!(document["id"], "K5");
        assert!(super::explained("K9").is_err());
    }
}
