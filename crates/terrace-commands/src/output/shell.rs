//! Command lines in messages.

/// Returns a word of a command line that a shell reads as this text.
pub fn in_shell(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./+:@%,=".contains(&byte);
    match !text.is_empty() && text.bytes().all(is_plain) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "'\\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_of_a_command_line_is_quoted_where_a_shell_needs_it() {
        assert_eq!(in_shell("modules/vpc"), "modules/vpc");
        assert_eq!(in_shell("my modules"), "'my modules'");
        assert_eq!(in_shell("it's"), "'it'\\''s'");
    }
}
