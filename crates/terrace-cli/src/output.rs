//! What is printed: the result on standard output, everything else on standard error.

use std::borrow::Cow;
use std::io::{IsTerminal as _, Write as _};
use std::sync::Mutex;
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::error::Failure;
use crate::secrets::Secrets;

const BAR: &str =
    "  {bar:24} {bytes:>11} of {total_bytes:<11} {bytes_per_sec:>13} {eta:>4}  {wide_msg}";

/// How and how much to print.
pub(crate) struct Output {
    json: bool,
    quiet: bool,
    bars: MultiProgress,
    warnings: Mutex<Vec<String>>,
    secrets: Secrets,
    /// Why the result could not be printed, if it could not.
    unprinted: Mutex<Option<String>>,
}

impl Output {
    pub(crate) fn new(json: bool, quiet: bool, secrets: Secrets) -> Self {
        let target = if !quiet && std::io::stderr().is_terminal() {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        Self {
            json,
            quiet,
            bars: MultiProgress::with_draw_target(target),
            warnings: Mutex::default(),
            secrets,
            unprinted: Mutex::default(),
        }
    }

    /// A line of progress.
    pub(crate) fn progress(&self, line: &str) {
        if !self.quiet {
            self.to_stderr(line);
        }
    }

    /// What one should know although it works.
    pub(crate) fn warning(&self, line: &str) {
        self.to_stderr(&format!("warning: {line}"));
        if let Ok(mut warnings) = self.warnings.lock() {
            warnings.push(line.to_owned());
        }
    }

    /// The result: `text` for people, `document` and the warnings for programs.
    pub(crate) fn result(&self, text: &str, document: &impl Serialize) {
        if !self.json {
            return self.print(&self.shown(text));
        }
        let mut document = self.with_warnings(document);
        self.secrets.hide_in(&mut document);
        self.print(&document.to_string());
    }

    /// A result that is a secret: the only one that is printed.
    pub(crate) fn secret(&self, secret: &str, document: &impl Serialize) {
        if !self.json {
            return self.print(&harmless(secret));
        }
        self.print(&self.with_warnings(document).to_string());
    }

    fn with_warnings(&self, document: &impl Serialize) -> Value {
        let mut document = serde_json::to_value(document).unwrap_or_default();
        if let Value::Object(members) = &mut document {
            members.insert("warnings".to_owned(), json!(self.warnings()));
        }
        document
    }

    fn warnings(&self) -> Vec<String> {
        let warnings = self.warnings.lock().map(|warnings| warnings.clone());
        warnings.unwrap_or_default()
    }

    /// Whether the result reached standard output.
    ///
    /// # Errors
    /// That it did not: whoever reads it must not take silence for success.
    pub(crate) fn printed(&self) -> Result<(), Failure> {
        let unprinted = self.unprinted.lock().map(|unprinted| unprinted.clone());
        match unprinted.unwrap_or_default() {
            None => Ok(()),
            Some(cause) => Err(Failure::Unexpected(format!(
                "it is done, but the result could not be printed: {cause}"
            ))),
        }
    }

    fn print(&self, line: &str) {
        if let Err(error) = to_stdout(line)
            && let Ok(mut unprinted) = self.unprinted.lock()
        {
            *unprinted = Some(error.to_string());
        }
    }

    /// A failure, in the same two forms.
    pub(crate) fn failure(&self, failure: &Failure) {
        for reason in failure.reasons() {
            self.to_stderr(&format!("error: {reason}"));
        }
        match failure {
            Failure::Several(several) if self.json => {
                let mut document = failure_document(failure);
                document.extend(several.document.clone());
                document.insert("warnings".to_owned(), json!(self.warnings()));
                let mut document = Value::Object(document);
                self.secrets.hide_in(&mut document);
                self.print(&document.to_string());
            }
            Failure::Several(several) => self.print(&self.shown(&several.text)),
            _ if self.json => self.print_failure(failure),
            _ => {}
        }
    }

    /// A failure as the one JSON document on standard output.
    pub(crate) fn print_failure(&self, failure: &Failure) {
        let mut document = Value::Object(failure_document(failure));
        self.secrets.hide_in(&mut document);
        // The exit code tells it too.
        let _ = to_stdout(&document.to_string());
    }

    /// The message about a command line that is wrong.
    pub(crate) fn misread(&self, lines: &[String]) {
        for line in lines {
            self.to_stderr(line);
        }
    }

    /// Whether bars are drawn, which then take the place of lines.
    pub(crate) fn draws(&self) -> bool {
        !self.bars.is_hidden()
    }

    /// A bar for one upload; it is gone when it is dropped.
    pub(crate) fn upload_bar(&self, name: &str, size: u64) -> UploadBar {
        let bar = self.bars.add(ProgressBar::new(size));
        if let Ok(style) = ProgressStyle::with_template(BAR) {
            bar.set_style(style);
        }
        bar.set_message(name.to_owned());
        bar.enable_steady_tick(Duration::from_millis(250));
        UploadBar(bar)
    }

    fn shown(&self, text: &str) -> String {
        harmless(&self.secrets.hide(text)).into_owned()
    }

    fn to_stderr(&self, line: &str) {
        let line = self.shown(line);
        if self.draws() {
            // It goes above the bars. Nobody is left to be told when that fails.
            let _ = self.bars.println(line);
        } else {
            let _ = writeln!(std::io::stderr(), "{line}");
        }
    }
}

/// The progress of one upload.
pub(crate) struct UploadBar(ProgressBar);

impl UploadBar {
    pub(crate) fn advance(&self, bytes: u64) {
        self.0.inc(bytes);
    }
}

impl Drop for UploadBar {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

fn failure_document(failure: &Failure) -> Map<String, Value> {
    let members = [
        ("status", json!(failure.status())),
        ("exit_code", json!(failure.exit_code())),
        ("errors", json!(failure.reasons())),
    ];
    members
        .map(|(name, value)| (name.to_owned(), value))
        .into_iter()
        .collect()
}

fn to_stdout(line: &str) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "{line}")?;
    stdout.flush()
}

/// Text that cannot move the cursor or recolour the terminal: some of it comes from file names
/// and from servers.
fn harmless(text: &str) -> Cow<'_, str> {
    let harmful = |c: char| c.is_control() && c != '\n';
    if !text.contains(harmful) {
        return Cow::Borrowed(text);
    }
    let escape = |c: char| {
        if harmful(c) {
            c.escape_default().to_string()
        } else {
            c.to_string()
        }
    };
    Cow::Owned(text.chars().map(escape).collect())
}

/// A number of bytes for people.
pub(crate) fn bytes(count: u64) -> String {
    indicatif::HumanBytes(count).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_of_a_bar_is_one() {
        assert!(ProgressStyle::with_template(BAR).is_ok());
    }

    #[test]
    fn control_characters_are_shown_and_not_obeyed() {
        assert_eq!(harmless("a\x1b[2Jb\r\nc"), "a\\u{1b}[2Jb\\r\nc");
        assert_eq!(harmless("größer\n"), "größer\n");
    }
}
