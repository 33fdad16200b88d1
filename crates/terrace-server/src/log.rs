//! The log: lines on standard error, which service managers collect.

use std::io::Write as _;

/// Writes a line. A log that cannot be written must not end the server.
pub(crate) fn line(text: &str) {
    let mut line = String::with_capacity(text.len() + 1);
    line.push_str(text);
    line.push('\n');
    // One write for each line, so that the lines of two threads never mix.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}
