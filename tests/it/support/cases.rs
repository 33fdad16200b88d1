//! The cases of tests that generate them.

/// Returns `few`, or `many` if `TERRACE_CASES` is `many`, as in `npm run test:more`, or the number in that variable.
pub fn cases(few: u32, many: u32) -> u32 {
    match std::env::var("TERRACE_CASES").as_deref() {
        Err(_) => few,
        Ok("many") => many,
        Ok(number) => number.parse().expect("TERRACE_CASES is `many` or a number"),
    }
}

/// Checks a scene with many delays. It returns which of two outcomes it has had: both must occur, or else the interleavings
/// prove nothing.
pub fn in_both_outcomes(scene: impl Fn(usize) -> bool) {
    let outcomes: Vec<bool> = (0..50).map(scene).collect();
    assert!(
        outcomes.contains(&true) && outcomes.contains(&false),
        "{outcomes:?}"
    );
}
