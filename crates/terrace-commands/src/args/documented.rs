//! The command lines in the documentation.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use clap::error::ErrorKind;

/// Returns the words of each command in a line of a shell, without comments, redirections and quotes.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut commands = vec![Vec::new()];
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = line.chars().peekable();
    while let Some(char) = chars.next() {
        match (quote, char) {
            (Some(open), close) if open == close => quote = None,
            (Some(_), char) => word.get_or_insert_default().push(char),
            (None, '\'' | '"') => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, '<' | '>') => {
                // The name of a file, which may follow at once.
                word = None;
                while chars.next_if(|next| *next == ' ').is_some() {}
                while chars.next_if(|next| *next != ' ').is_some() {}
            }
            (None, ' ' | '|' | ';' | '&' | '(' | ')') => {
                let command = commands.last_mut().unwrap();
                command.extend(word.take());
                if char != ' ' {
                    commands.push(Vec::new());
                }
            }
            (None, char) => word.get_or_insert_default().push(char),
        }
    }
    commands.last_mut().unwrap().extend(word);
    commands
}

/// Returns the lines of the shell blocks of a page. A line that ends in a backslash continues.
fn shell_lines(page: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let (mut is_shell, mut continues) = (false, false);
    for line in page.lines().map(str::trim) {
        match line.strip_prefix("```") {
            Some(language) => is_shell = language == "sh",
            None if is_shell => {
                let (text, next) = match line.strip_suffix('\\') {
                    Some(text) => (text, true),
                    None => (line, false),
                };
                match lines.last_mut().filter(|_| continues) {
                    Some(last) => last.push_str(text),
                    None => lines.push(text.to_owned()),
                }
                continues = next;
            }
            None => {}
        }
    }
    lines
}

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let docs = fs::read_dir(root.join("docs")).unwrap();
    let docs = docs.map(|entry| entry.unwrap().path());
    let mut pages: Vec<_> = docs
        .filter(|path| path.extension().is_some_and(|it| it == "md"))
        .collect();
    for name in ["README.md", "SECURITY.md", "crates/terrace-cli/README.md"] {
        pages.push(root.join(name));
    }
    pages
}

/// Returns whether an invalid value is a word such as `SHA256` or `sha256:…`, in place of which the reader writes a value.
fn is_of_placeholder(error: &clap::Error, command: &[String]) -> bool {
    let is_placeholder = |word: &String| {
        let is_of_name = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
        word.ends_with('…') || word.len() > 1 && word.bytes().all(is_of_name)
    };
    error.kind() == ErrorKind::ValueValidation && command.iter().any(is_placeholder)
}

#[test]
fn every_command_line_of_the_documentation_parses() {
    let (mut count, mut wrong) = (0, Vec::new());
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for line in shell_lines(&text) {
            for command in commands(&line) {
                let is_set = |word: &&String| word.contains('=') && !word.starts_with('-');
                let words: Vec<_> = command.iter().skip_while(is_set).collect();
                let is_whole = !words.iter().any(|word| *word == "…");
                if words.first().is_some_and(|word| *word == "terrace") && is_whole {
                    let given: Vec<OsString> = words.into_iter().map(Into::into).collect();
                    match super::parse(&given) {
                        Err(error) if !is_of_placeholder(&error, &command) => {
                            wrong.push(format!("{}: {line}: {error}", page.display()));
                        }
                        Ok(_) | Err(_) => count += 1,
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "only {count} command lines were found");
}
