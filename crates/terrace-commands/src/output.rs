//! The output: the result on standard output, everything else on standard error.

mod screen;
pub(crate) mod secrets;
mod shell;
mod style;
mod table;
mod times;
mod wrap;

use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal as _, Write as _};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::time::Duration;

use console::Term;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use serde_json::{Map, Value, json};
use terrace_base::secret::Secret;
use terrace_base::untrusted;

pub(crate) use screen::{Mark, Screen};
pub use shell::in_shell;
pub(crate) use table::{Column, Table, shown};
pub(crate) use times::with_times;

use crate::error::{Failure, Several};
use crate::output::secrets::Secrets;
use crate::output::style::Style;

const UPLOAD_BAR: &str = "  {bar:16} {bytes:>10} of {total_bytes:<10} {eta:>4}  {wide_msg}";

const COUNTER: &str = "  {pos} of {len}  {wide_msg}";

/// The amount of output on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    /// Warnings and errors only.
    Quiet,
    /// Progress as well.
    Normal,
    /// The source of the token, and every request to the registry, as well.
    Verbose,
}

/// The kind and the amount of output.
pub struct Output {
    json: bool,
    verbosity: Verbosity,
    bars: MultiProgress,
    warnings: Mutex<Vec<String>>,
    secrets: RwLock<Secrets>,
    /// The options on the command line that name the registry, each after a space.
    registry: String,
    /// The reason that the result could not be printed, if any.
    unprinted: Mutex<Option<std::io::Error>>,
}

impl Output {
    pub(crate) fn new(json: bool, verbosity: Verbosity, secrets: Secrets) -> Self {
        let target = if verbosity > Verbosity::Quiet && std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        Self {
            json,
            verbosity,
            bars: MultiProgress::with_draw_target(target),
            warnings: Mutex::default(),
            secrets: RwLock::new(secrets),
            registry: String::new(),
            unprinted: Mutex::default(),
        }
    }

    /// Adds the options on the command line that name the registry, for the commands that messages propose.
    pub(crate) fn with_registry(self, options: String) -> Self {
        Self {
            registry: options,
            ..self
        }
    }

    /// Returns a command that a message proposes, for the registry of this one.
    pub(crate) fn command(&self, line: impl Display) -> String {
        format!("terrace {line}{}", self.registry)
    }

    /// Prints a line of progress.
    pub(crate) fn progress(&self, line: &str) {
        if self.verbosity > Verbosity::Quiet {
            self.to_stderr(line);
        }
    }

    /// Prints a line with an address that the user needs. Its parameters are secrets of a sign-in that has not happened
    /// yet. Nothing in it is hidden.
    pub(crate) fn link(&self, line: &str) {
        let line = untrusted::line(line).to_string();
        let _ = (self.bars).suspend(|| writeln!(std::io::stderr(), "{line}"));
    }

    /// Prints a line that helps to find the cause of a failure.
    pub(crate) fn detail(&self, line: &str) {
        if self.verbosity == Verbosity::Verbose {
            self.to_stderr(line);
        }
    }

    /// Hides a secret in everything that is printed from now on.
    pub(crate) fn hide(&self, secret: &Secret) {
        let secrets = self.secrets.write();
        secrets.unwrap_or_else(PoisonError::into_inner).add(secret);
    }

    fn secrets(&self) -> RwLockReadGuard<'_, Secrets> {
        self.secrets.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Prints a warning about something that succeeds anyway. A repeated warning is not printed again: the registry makes the
    /// same checks as this program.
    pub fn warning(&self, line: &str) {
        if let Ok(mut warnings) = self.warnings.lock() {
            if warnings.iter().any(|printed| printed == line) {
                return;
            }
            warnings.push(line.to_owned());
        }
        self.to_stderr(&format!("warning: {line}"));
    }

    /// Prints the result: the lines for people, or `document` with the warnings for programs.
    pub(crate) fn result(&self, lines: &[impl AsRef<str>], document: &impl Serialize) {
        match self.json {
            true => self.print_document(document),
            false => self.print(&self.shown_lines(lines)),
        }
    }

    /// Prints a result that is a secret. No other output contains one.
    ///
    /// # Errors
    /// The write failed, also if the reader closed standard output: nobody has the secret.
    pub(crate) fn secret(&self, secret: &str, document: &impl Serialize) -> Result<(), Failure> {
        self.text(&untrusted::line(secret).to_string(), document);
        self.check_printed(|_| true)
    }

    /// Prints the result: the screen for people, or `document` with the warnings for programs.
    pub(crate) fn report(&self, screen: Screen, document: &impl Serialize) {
        match self.json {
            true => self.print_document(document),
            false => self.print(&self.secrets().hide(&screen.into_text())),
        }
    }

    /// Prints a result: the screen for people, or for programs the registry's own document.
    pub(crate) fn screen(&self, screen: Screen, json: &str) {
        if !self.json {
            return self.print(&self.secrets().hide(&screen.into_text()));
        }
        self.print(&printable(&self.secrets().hide(json)));
    }

    /// Returns whether results are JSON documents.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints a text of this program, such as a script, unchanged.
    pub fn text(&self, text: &str, document: &impl Serialize) {
        if !self.json {
            return self.print(text.trim_end());
        }
        self.print(&json_text(&self.with_warnings(document)));
    }

    /// Prints the end of several operations: a success, or a failure that also contains the successful
    /// operations. Without any of these, `text` is empty.
    pub(crate) fn outcome(
        &self,
        text: String,
        report: Value,
        worst: Option<Failure>,
        reasons: Vec<String>,
    ) -> Result<(), Failure> {
        let mut document = match report {
            Value::Object(members) => members,
            _ => Map::new(),
        };
        let Some(worst) = worst else {
            document.insert("status".to_owned(), json!("ok"));
            self.result(&[text], &document);
            return Ok(());
        };
        Err(Failure::Several(Box::new(Several {
            worst,
            reasons,
            lines: vec![text].into_iter().filter(|it| !it.is_empty()).collect(),
            document,
        })))
    }

    fn with_warnings(&self, document: &impl Serialize) -> Value {
        let mut document = serde_json::to_value(document).unwrap_or_default();
        if let Value::Object(members) = &mut document {
            members.insert("warnings".to_owned(), json!(self.warnings()));
        }
        document
    }

    /// Prints a document with the warnings and without secrets.
    fn print_document(&self, document: &impl Serialize) {
        let mut document = self.with_warnings(document);
        self.secrets().hide_in(&mut document);
        self.print(&json_text(&document));
    }

    fn warnings(&self) -> Vec<String> {
        let warnings = self.warnings.lock().map(|warnings| warnings.clone());
        warnings.unwrap_or_default()
    }

    /// Checks that the result reached standard output. Its reader may close it early, as `head` does.
    ///
    /// # Errors
    /// The write failed: a caller must not take silence for success.
    pub(crate) fn printed(&self) -> Result<(), Failure> {
        self.check_printed(|cause| cause.kind() != ErrorKind::BrokenPipe)
    }

    fn check_printed(&self, matters: impl Fn(&std::io::Error) -> bool) -> Result<(), Failure> {
        let unprinted = self.unprinted.lock().ok().and_then(|mut it| it.take());
        match unprinted.filter(matters) {
            None => Ok(()),
            Some(cause) => Err(Failure::Unexpected(format!(
                "the command succeeded, but its result could not be printed: {cause}"
            ))),
        }
    }

    fn print(&self, line: &str) {
        if let Err(error) = to_stdout(line)
            && let Ok(mut unprinted) = self.unprinted.lock()
        {
            *unprinted = Some(error);
        }
    }

    /// Prints a failure, in the same two forms.
    pub(crate) fn failure(&self, failure: &Failure) {
        let several = match failure {
            Failure::Reported(_) => return,
            Failure::Several(several) => Some(several),
            _ => None,
        };
        if self.json {
            let mut document = failure_document(failure);
            document.extend(several.into_iter().flat_map(|it| it.document.clone()));
            return self.print_document(&document);
        }
        for reason in failure.reasons() {
            self.to_stderr(&format!("error: {reason}"));
        }
        if let Some(several) = several.filter(|it| !it.lines.is_empty()) {
            self.print(&self.shown_lines(&several.lines));
        }
    }

    /// Prints the message about an invalid command line.
    pub(crate) fn misread(&self, text: &str) {
        for line in text.lines() {
            self.to_stderr(line);
        }
    }

    /// Returns whether progress bars are drawn, which replace lines of progress.
    pub(crate) fn draws(&self) -> bool {
        !self.bars.is_hidden()
    }

    /// Adds a bar for one transfer.
    pub(crate) fn upload_bar(&self, name: &str, size: u64) -> Bar {
        let bar = self.bar(UPLOAD_BAR, size);
        bar.0.set_message(self.shown(name));
        bar.0.enable_steady_tick(Duration::from_millis(250));
        bar
    }

    /// Adds a line that counts the parts of one operation.
    pub(crate) fn counter(&self, total: usize) -> Bar {
        self.bar(COUNTER, total as u64)
    }

    fn bar(&self, template: &str, total: u64) -> Bar {
        let bar = self.bars.add(ProgressBar::new(total));
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Bar(bar)
    }

    /// Returns a line in printable form: without secrets, and without characters that control a terminal,
    /// such as a line feed from a server.
    fn shown(&self, line: &str) -> String {
        untrusted::line(&self.secrets().hide(line)).to_string()
    }

    fn shown_lines(&self, lines: &[impl AsRef<str>]) -> String {
        let lines = lines.iter().map(|line| self.shown(line.as_ref()));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn to_stderr(&self, line: &str) {
        let line = in_color(
            &self.shown(line),
            Term::stderr().features().colors_supported(),
        );
        // The bars make way for the line, which ends with a line feed: `println` of the bars would fill it with spaces
        // instead, and lines would join where they are copied. A failure cannot be reported anywhere else.
        let _ = (self.bars).suspend(|| writeln!(std::io::stderr(), "{line}"));
    }
}

/// The progress of an operation, which disappears when it is dropped.
pub(crate) struct Bar(ProgressBar);

impl Bar {
    /// Shows the part that is beginning, which is a text of this program.
    pub(crate) fn begin(&self, part: &'static str) {
        self.0.set_message(part);
    }

    pub(crate) fn advance(&self, count: u64) {
        self.0.inc(count);
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn failure_document(failure: &Failure) -> Map<String, Value> {
    let members = [
        ("status", json!(failure.status())),
        ("exit_code", json!(failure.exit().code())),
        ("errors", json!(failure.reasons())),
    ];
    members
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect()
}

/// Colours the word at the beginning of a line that says what kind of line it is.
fn in_color(line: &str, has_colors: bool) -> String {
    for (word, style) in [("error:", Style::Blocked), ("warning:", Style::Warning)] {
        if let Some(rest) = line.strip_prefix(word) {
            return format!("{}{rest}", style.apply(word, has_colors));
        }
    }
    line.to_owned()
}

fn to_stdout(line: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}

/// Returns a document as JSON: indented on a terminal, and one line elsewhere.
fn json_text(document: &Value) -> String {
    printable(&match std::io::stdout().is_terminal() {
        true => format!("{document:#}"),
        false => document.to_string(),
    })
}

/// Returns JSON that does not control a terminal: characters that serde_json leaves unescaped, but that a terminal obeys, are
/// escaped, which does not change their meaning.
fn printable(json: &str) -> String {
    let mut text = String::new();
    for c in json.trim_end().chars() {
        match c {
            '\n' => text.push('\n'),
            // Outside of strings, where valid JSON has no other characters like these.
            '\r' | '\t' => text.push(' '),
            c if untrusted::is_unprintable(c) => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    text.push_str(&format!("\\u{unit:04x}"));
                }
            }
            c => text.push(c),
        }
    }
    text
}

/// Returns the first names, and the number of the others.
pub(crate) fn few(most: usize, names: impl IntoIterator<Item = impl Display>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
    match names.split_at_checked(most) {
        Some((shown, others @ [_, ..])) => {
            format!("{} and {} more", shown.join(", "), others.len())
        }
        _ => names.join(", "),
    }
}

/// Returns a count with its noun: `1 file`, `2 files`.
pub(crate) fn plural(count: impl TryInto<u64>, noun: &str) -> String {
    match count.try_into().unwrap_or(u64::MAX) {
        1 => format!("1 {noun}"),
        count => match noun.strip_suffix('y') {
            Some(stem) => format!("{count} {stem}ies"),
            None => format!("{count} {noun}s"),
        },
    }
}

/// Returns a count with its noun and verb: `1 file is`, `2 files are`.
pub(crate) fn are(count: impl TryInto<u64>, noun: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    let verb = if count == 1 { "is" } else { "are" };
    format!("{} {verb}", plural(count, noun))
}

/// Returns a count with its verb, for a noun that was mentioned before: `1 was`, `2 were`.
pub(crate) fn were(count: impl TryInto<u64>) -> String {
    match count.try_into().unwrap_or(u64::MAX) {
        1 => "1 was".to_owned(),
        count => format!("{count} were"),
    }
}

/// Returns a number of bytes for people.
pub(crate) fn bytes(count: u64) -> String {
    indicatif::HumanBytes(count).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_of_the_progress_bar_is_valid() {
        assert!(ProgressStyle::with_template(UPLOAD_BAR).is_ok());
        assert!(ProgressStyle::with_template(COUNTER).is_ok());
    }

    #[test]
    fn a_line_is_one_line_without_secrets() {
        let output = Output::new(false, Verbosity::Normal, Secrets::default());
        let line = "a\x1b[2J\r\nerror: b\u{202e} https://me:pa5s@h";
        let shown = "a\\u{1b}[2J\\r\\nerror: b\\u{202e} https://[hidden]@h";
        assert_eq!(output.shown(line), shown);
        assert_eq!(
            output.shown_lines(&["größer", line]),
            format!("größer\n{shown}")
        );
    }

    #[test]
    fn json_with_escaped_characters_has_the_same_value() {
        let document =
            json!({ "a\u{9b}\u{202e}": ["\x1b\n\u{7f}\u{2028}\u{feff}", "ö\u{e0041}\\"] });
        let text = json_text(&document);
        assert!(
            !text.replace('\n', "").contains(untrusted::is_unprintable),
            "{text}"
        );
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), document);
    }
}
