//! The rule that distinguishes texts for people from data.

/// Starts of data that has words: headers, policies, cookies, scopes, signed texts and files that scripts write.
const DATA: [&str; 15] = [
    "#!",
    "'self' {",
    "-----",
    "Basic {",
    "Bearer ",
    "CN=",
    "PULL\n",
    "[package]",
    "^",
    "bytes */",
    "bytes {",
    "default-src ",
    "openid ",
    "{COOKIE}=",
    "{method}\n",
];

/// Returns whether people read a literal: it has a word, and a second word or a value, or it is a sentence.
pub(super) fn is_text(literal: &str) -> bool {
    let literal = literal.trim();
    if DATA.iter().any(|start| literal.starts_with(start)) {
        return false;
    }
    if is_title(literal) && literal.ends_with(['.', '!', '?', '…']) {
        return true;
    }
    let text = without(&without(literal, '<', '>'), '{', '}');
    let parts: Vec<&str> = text.split_whitespace().collect();
    let words = parts.iter().filter(|part| is_word(part)).count();
    let values = parts.iter().filter(|part| is_value(part)).count();
    words > 0 && words + values > 1
}

/// Returns whether a literal is a capitalised word: a title or a button, if it is in a page.
pub(super) fn is_title(literal: &str) -> bool {
    literal.starts_with(char::is_uppercase) && is_word(literal)
}

/// Returns whether a literal has a letter that is not in a placeholder.
pub(super) fn has_letters(literal: &str) -> bool {
    without(literal, '{', '}').contains(char::is_alphabetic)
}

/// Returns whether a part of a text consists of letters and the punctuation of sentences.
fn is_word(part: &str) -> bool {
    let word = part.trim_matches(|c: char| c.is_ascii_punctuation() || c == '…');
    let is_letter = |c: char| c.is_alphabetic() || "'’-".contains(c);
    let has_data = |c: char| "/=<>{}".contains(c);
    !word.is_empty() && word.chars().all(is_letter) && !part.contains(has_data)
}

/// Returns whether a part of a text is a number or contains a placeholder.
fn is_value(part: &str) -> bool {
    part.contains(PLACEHOLDER) || part.chars().all(|c| c.is_ascii_digit())
}

/// Stands for a tag or placeholder.
const PLACEHOLDER: char = '\u{fffc}';

/// Replaces everything between the delimiters, with them. A tag separates words, a placeholder is part of one.
fn without(text: &str, open: char, close: char) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(open) {
        kept.push_str(before);
        let Some((_, after)) = after.split_once(close) else {
            kept.push(open);
            rest = after;
            continue;
        };
        kept.push(if open == '<' { ' ' } else { PLACEHOLDER });
        rest = after;
    }
    kept + rest
}

#[test]
fn a_text_has_a_word_and_another_word_or_a_value() {
    for text in [
        "the release does not exist",
        "key {}: {error}",
        "read everything",
        "<p>Too</p> <p>often</p>",
        "publish:{owner}, admin:{owner} or admin",
        "→ ${title} began",
        "HTTP tests",
        "1 waits",
        "[token hidden]",
    ] {
        assert!(is_text(text), "{text}");
    }
    for data in [
        "x-amz-date",
        "{}: {reason}",
        "https://{host}/v1/modules",
        "text/html; charset=utf-8",
        "<meta charset=\"utf-8\"><title>",
        "Bearer {token}",
        "{\"keys\": []}",
        "{count} {noun}s",
    ] {
        assert!(!is_text(data), "{data}");
    }
    assert!(is_text("\nStopped.") && !is_text("Stopped"));
    assert!(is_title("Refused") && !is_title("refused") && !is_title("X-Amz-Date="));
}
