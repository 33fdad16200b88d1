//! Suggestions for misspelt names.

/// Returns the number of edits between two names: a character added, removed or replaced, or two
/// neighbours exchanged.
pub fn distance(a: &str, b: &str) -> usize {
    strsim::osa_distance(a, b)
}

/// Returns the name that a misspelt one most likely stands for; `None` if more than a third of its characters
/// would have to change.
pub fn nearest<'n>(misspelt: &str, names: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    let limit = misspelt.chars().count() / 3;
    let measured = names
        .into_iter()
        .map(|name| (distance(misspelt, name), name));
    let (edits, name) = measured.min_by_key(|(edits, _)| *edits)?;
    (edits <= limit).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_with_the_fewest_edits_is_the_nearest() {
        let names = ["project_path", "project_id", "repository"];
        assert_eq!(nearest("projct_path", names), Some("project_path"));
        assert_eq!(nearest("repositroy", names), Some("repository"));
    }

    #[test]
    fn a_name_that_would_have_to_change_by_more_than_a_third_has_no_nearest() {
        assert_eq!(nearest("pipeline_slug", ["project_path"]), None);
        assert_eq!(nearest("", ["a"]), None);
        assert_eq!(nearest("repository", []), None);
    }
}
