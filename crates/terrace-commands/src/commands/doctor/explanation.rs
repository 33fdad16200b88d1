//! The explanations of the checks.

/// The ID of each check in the order of the table, and what users notice if it fails, why, and what to do about it: a paragraph of
/// four lines.
pub(super) const EXPLANATIONS: &str = include_str!("explain.txt");

/// Returns the symptom, the cause and the fix of the check with this ID.
pub(super) fn explanation(id: &str) -> Option<[&'static str; 3]> {
    EXPLANATIONS.split("\n\n").find_map(|paragraph| {
        let mut lines = paragraph.lines();
        (lines.next() == Some(id)).then_some([lines.next()?, lines.next()?, lines.next()?])
    })
}
