//! `--explain`: what a check is about.

use serde_json::{Value, json};

use super::table::{CHECKS, Check};
use crate::error::Failure;
use crate::output::Screen;

/// The ID of each check in the order of the table, and what users notice if it fails, why, and what to do about it: a paragraph of
/// four lines.
const EXPLANATIONS: &str = include_str!("explain.txt");

/// Returns what a check is about, for people and for programs.
///
/// # Errors
/// A name that is not the ID of a check.
pub(super) fn explained(id: &str) -> Result<(Screen, Value), Failure> {
    let is_named = |name: &str| name.eq_ignore_ascii_case(id.trim());
    let check = CHECKS.iter().find(|check| is_named(check.id));
    let mut paragraphs = EXPLANATIONS
        .split("\n\n")
        .map(|it| it.lines().collect::<Vec<_>>());
    let found = paragraphs.find(|lines| lines.first().is_some_and(|name| is_named(name)));
    let (Some(Check { id, title, .. }), Some([_, symptom, cause, fix])) = (check, found.as_deref())
    else {
        let known: Vec<&str> = CHECKS.iter().map(|check| check.id).collect();
        let id: String = id.chars().take(20).collect();
        let known = known.join(", ");
        return Err(Failure::Usage(format!(
            "--explain: {id:?} is not a check: write one of {known}"
        )));
    };
    let mut screen = Screen::new();
    screen.title(&format!("{id}  {title}"));
    let fields = [("symptom", symptom), ("cause", cause), ("fix", fix)];
    screen.fields(&fields.map(|(name, text)| (name, (*text).to_owned())));
    let document = json!({ "status": "ok", "id": id, "title": title, "symptom": symptom, "cause": cause, "fix": fix });
    Ok((screen, document))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_is_explained_and_no_other() {
        let paragraphs = EXPLANATIONS.split("\n\n");
        let explained: Vec<&str> = paragraphs.filter_map(|it| it.lines().next()).collect();
        let checks: Vec<&str> = CHECKS.iter().map(|check| check.id).collect();
        assert_eq!(explained, checks);
        let (_, document) = super::explained("k5").unwrap();
        assert_eq!(document["id"], "K5");
        let refused = super::explained("K9").err().unwrap().to_string();
        assert!(refused.contains("K3, K5"), "{refused}");
    }
}
