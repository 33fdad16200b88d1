//! Dates, sizes and counts as people read them.

use terrace_core::documentation::DocumentationKind;
use terrace_core::model::status::ReleaseState;

/// The sentence about a list or search without entries: the catalogue reaches every place by and by.
pub(crate) const RECENT: &str = "Packages published in the last minute or two may be missing.";

const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// Returns the date of a time in RFC 3339, such as `7 Mar 2026`; the text itself if it is none.
pub(crate) fn date(time: &str) -> String {
    let parts = time.split('T').next().and_then(|date| {
        let mut parts = date.split('-');
        let year: u32 = parts.next()?.parse().ok()?;
        let month: usize = parts.next()?.parse().ok()?;
        let day: u32 = parts.next()?.parse().ok()?;
        Some((year, *MONTHS.get(month.checked_sub(1)?)?, day))
    });
    match parts {
        Some((year, month, day)) => format!("{day} {month} {year}"),
        None => time.to_owned(),
    }
}

/// Returns a number of bytes in the largest decimal unit that it fills, such as `12.3 MB`.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)];
    match UNITS.into_iter().find(|(_, unit)| bytes >= *unit) {
        // Tenths are cut, not rounded, so that 999,999 bytes are not 1000.0 kB.
        Some((name, unit)) => format!("{}.{} {name}", bytes / unit, bytes % unit * 10 / unit),
        None => counted(usize::try_from(bytes).unwrap_or_default(), "byte"),
    }
}

/// Returns a number with its noun, such as `1 version` or `12 versions`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

/// Returns the heading of the pages of a kind.
pub(crate) fn kind_heading(kind: DocumentationKind) -> &'static str {
    kind_names(kind).1
}

/// Returns the name of one page of a kind.
pub(crate) fn kind_name(kind: DocumentationKind) -> &'static str {
    kind_names(kind).0
}

fn kind_names(kind: DocumentationKind) -> (&'static str, &'static str) {
    match kind {
        DocumentationKind::Overview => ("Overview", "Overview"),
        DocumentationKind::Guide => ("Guide", "Guides"),
        DocumentationKind::Function => ("Function", "Functions"),
        DocumentationKind::EphemeralResource => ("Ephemeral resource", "Ephemeral resources"),
        DocumentationKind::Resource => ("Resource", "Resources"),
        DocumentationKind::DataSource => ("Data source", "Data sources"),
        DocumentationKind::ListResource => ("List resource", "List resources"),
        DocumentationKind::Action => ("Action", "Actions"),
        DocumentationKind::StateStore => ("State store", "State stores"),
    }
}

/// Returns the word for a status.
pub(crate) fn state_name(state: ReleaseState) -> &'static str {
    match state {
        ReleaseState::Deprecated => "deprecated",
        ReleaseState::Withdrawn => "withdrawn",
        ReleaseState::Revoked => "revoked",
        ReleaseState::Blocked => "blocked",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_shown_as_its_date() {
        assert_eq!(date("2026-03-07T10:11:12Z"), "7 Mar 2026");
        for text in ["", "yesterday", "2026-13-01T00:00:00Z", "2026-00-01"] {
            assert_eq!(date(text), text);
        }
    }

    #[test]
    fn a_size_is_shown_in_the_largest_unit_that_it_fills() {
        for (bytes, shown) in [
            (1, "1 byte"),
            (999, "999 bytes"),
            (1_000, "1.0 kB"),
            (999_999, "999.9 kB"),
            (12_345_678, "12.3 MB"),
            (2_000_000_000, "2.0 GB"),
        ] {
            assert_eq!(size(bytes), shown);
        }
    }
}
