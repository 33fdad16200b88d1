//! The header `Cookie`.

/// Returns the value of the first cookie with this name (RFC 6265, section 4.2.1).
pub fn cookie<'h>(header: &'h str, name: &str) -> Option<&'h str> {
    let mut pairs = header
        .split(';')
        .filter_map(|pair| pair.trim().split_once('='));
    pairs
        .find(|(known, _)| *known == name)
        .map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_found_by_its_whole_name() {
        for header in ["a=1", "b=2; a=1", " a=1 ;ab=3", "a=1; a=2", "x; a=1"] {
            assert_eq!(cookie(header, "a"), Some("1"), "{header}");
        }
        for header in ["", "a", "A=1", "ab=1", "b=a=1"] {
            assert_eq!(cookie(header, "a"), None, "{header}");
        }
    }
}
