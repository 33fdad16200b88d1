//! The paths that entries unpack to.

use super::limits;

/// A fault of a path inside an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// An empty path.
    #[error("is empty")]
    Empty,
    /// A path from the root of the file system.
    #[error("is an absolute path")]
    Absolute,
    /// A Windows drive at the start.
    #[error("starts with a drive letter")]
    Drive,
    /// A component `..`.
    #[error("contains \"..\"")]
    Parent,
    /// A backslash, which some systems treat as a slash.
    #[error("contains a backslash")]
    Backslash,
    /// A NUL, a line break or another control character.
    #[error("contains a control character: rename the file, and pack again")]
    Control,
    /// More components than the limit.
    #[error("has more than {max} parts", max = limits::DEPTH)]
    Deep,
    /// A component longer than file systems accept.
    #[error("has a component of {0} bytes, and file systems accept at most {max}", max = limits::PART_BYTES)]
    LongPart(usize),
}

/// Returns the path without `.` and empty components: `./a//b/` becomes `a/b`. The root itself is empty.
pub(super) fn clean(name: &str) -> Result<String, PathError> {
    check_text(name)?;
    let parts: Vec<&str> = name
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    let longest = parts.iter().map(|part| part.len()).max().unwrap_or(0);
    if parts.contains(&"..") {
        Err(PathError::Parent)
    } else if parts.len() > limits::DEPTH {
        Err(PathError::Deep)
    } else if longest > limits::PART_BYTES {
        Err(PathError::LongPart(longest))
    } else {
        Ok(parts.join("/"))
    }
}

/// Returns whether a symbolic link at the (clean) path `link` points to a path inside the archive.
///
/// A `..` is allowed only at the front, at most as often as the link's own directory is deep. After a
/// name, it could leave whatever directory that name, itself a link, points to.
pub(super) fn link_stays_inside(link: &str, target: &str) -> bool {
    if check_text(target).is_err() {
        return false;
    }
    let depth = link.split('/').count().saturating_sub(1);
    let parts: Vec<&str> = target
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    let ups = parts.iter().take_while(|part| **part == "..").count();
    ups <= depth && parts.iter().skip(ups).all(|part| *part != "..")
}

fn check_text(path: &str) -> Result<(), PathError> {
    let bytes = path.as_bytes();
    if path.is_empty() {
        Err(PathError::Empty)
    } else if path.chars().any(char::is_control) {
        Err(PathError::Control)
    } else if path.contains('\\') {
        Err(PathError::Backslash)
    } else if path.starts_with('/') {
        Err(PathError::Absolute)
    } else if bytes.first().is_some_and(u8::is_ascii_alphabetic) && bytes.get(1) == Some(&b':') {
        Err(PathError::Drive)
    } else {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_and_empty_components_are_removed_from_a_path() {
        for (name, cleaned) in [
            ("main.tf", "main.tf"),
            ("./main.tf", "main.tf"),
            ("a//b/./c/", "a/b/c"),
            ("./", ""),
            ("a..b/..c/d..", "a..b/..c/d.."),
            ("é/日本.tf", "é/日本.tf"),
        ] {
            assert_eq!(clean(name).as_deref(), Ok(cleaned), "{name:?}");
        }
    }

    #[test]
    fn a_path_that_could_leave_the_archive_is_refused() {
        for (name, fault) in [
            ("", PathError::Empty),
            ("/etc/passwd", PathError::Absolute),
            ("//server/share", PathError::Absolute),
            ("C:evil", PathError::Drive),
            ("c:/evil", PathError::Drive),
            ("..", PathError::Parent),
            ("a/../b", PathError::Parent),
            ("a/..", PathError::Parent),
            ("..\\evil", PathError::Backslash),
            ("a\0b", PathError::Control),
            ("a\nb", PathError::Control),
            ("a\u{85}b", PathError::Control),
        ] {
            assert_eq!(clean(name), Err(fault), "{name:?}");
        }
        assert_eq!(clean(&"a/".repeat(limits::DEPTH)).map(|_| ()), Ok(()));
        assert_eq!(clean(&"a/".repeat(limits::DEPTH + 1)), Err(PathError::Deep));
    }

    #[test]
    fn a_component_longer_than_the_limit_in_bytes_is_refused() {
        let long = "a".repeat(limits::PART_BYTES);
        assert!(clean(&format!("{long}/{long}/")).is_ok());
        assert_eq!(
            clean(&format!("a/{long}b/c")),
            Err(PathError::LongPart(256))
        );
        assert_eq!(clean(&"é".repeat(128)), Err(PathError::LongPart(256)));
    }

    #[test]
    fn a_link_may_lead_up_as_far_as_its_own_directory_is_deep() {
        for (link, target) in [
            ("a", "b"),
            ("a", "./b/c"),
            ("x/y", "../z"),
            ("x/y/z", "../../w"),
            ("x/y", ".."),
        ] {
            assert!(link_stays_inside(link, target), "{link} -> {target}");
        }
        for (link, target) in [
            ("a", ".."),
            ("a", "../b"),
            ("x/y", "../../z"),
            ("x/y", "b/../../../z"),
            ("x/y", "b/.."),
            ("a", "/etc"),
            ("a", "C:/x"),
            ("a", "b\\c"),
            ("a", ""),
        ] {
            assert!(!link_stays_inside(link, target), "{link} -> {target}");
        }
    }
}
