//! Constraints on versions.

/// The distance by which a lower bound was moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Raise {
    /// The new bound is lower.
    Lowered,
    /// The new bound has the same major version.
    Minor,
    /// The new bound has another major version.
    Major,
}

/// Returns how the lower bound of a constraint was moved, if nothing else in it differs: `>= 6.28` in place of `>= 6.0`.
pub(super) fn raise(old: &str, new: &str) -> Option<Raise> {
    let (mut old, mut new) = (old.split(','), new.split(','));
    let mut found = None;
    loop {
        let (old, new) = match (old.next(), new.next()) {
            (Some(old), Some(new)) => (old.trim(), new.trim()),
            (None, None) => return found,
            _ => return None,
        };
        if old != new {
            found = Some(of_bounds(old, new)?).max(found);
        }
    }
}

fn of_bounds(old: &str, new: &str) -> Option<Raise> {
    let (operator, old, new) = [">=", "~>"].into_iter().find_map(|operator| {
        let bound = |text: &str| numbers(text.strip_prefix(operator)?);
        Some((operator, bound(old)?, bound(new)?))
    })?;
    // `~> 5.1` admits all later versions of 5, as `~> 5.0` does.
    let keeps_limit = old.len() == new.len() && old.split_last()?.1 == new.split_last()?.1;
    let is_moved = new != old && (operator == ">=" || keeps_limit);
    is_moved.then(|| match old.first() == new.first() {
        _ if new < old => Raise::Lowered,
        true => Raise::Minor,
        false => Raise::Major,
    })
}

fn numbers(version: &str) -> Option<Vec<u64>> {
    version
        .trim()
        .split('.')
        .map(|number| number.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_another_lower_bound_is_a_move() {
        for (old, new, expected) in [
            (">= 6.0", ">= 6.28", Some(Raise::Minor)),
            (">= 6.0, < 7.0", ">=6.1.2, < 7.0", Some(Raise::Minor)),
            ("~> 5.0", "~> 5.2", Some(Raise::Minor)),
            (">= 5.95", ">= 6.0", Some(Raise::Major)),
            ("~> 5.0", "~> 6.0", None),
            (">= 6.0, < 7.0", ">= 6.0, < 6.9", None),
            (">= 6.0", ">= 6.0, < 7.0", None),
            (">= 6.1", ">= 6.0", Some(Raise::Lowered)),
            (">= 7.1, < 8", ">= 6.0, < 8", Some(Raise::Lowered)),
            ("6.0", "6.1", None),
            (">= 6.0", ">= 6.0", None),
        ] {
            assert_eq!(raise(old, new), expected, "{old} {new}");
        }
    }
}
