//! What is printed: results on standard output, progress and errors on standard error.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use crate::error::Failure;

/// How and how much to print.
pub(crate) struct Output {
    json: bool,
    /// Whether lines of progress are shown.
    talks: bool,
    bars: MultiProgress,
}

impl Output {
    pub(crate) fn new(json: bool, quiet: bool) -> Self {
        let draws = !quiet && std::io::stderr().is_terminal();
        let target = if draws {
            ProgressDrawTarget::stderr()
        } else {
            ProgressDrawTarget::hidden()
        };
        Self {
            json,
            talks: !quiet,
            bars: MultiProgress::with_draw_target(target),
        }
    }

    /// A line of progress.
    pub(crate) fn progress(&self, line: &str) {
        if !self.talks {
            return;
        }
        if self.bars.println(line).is_err() || self.bars.is_hidden() {
            print_to_stderr(line);
        }
    }

    /// What one should know although it worked.
    pub(crate) fn warning(&self, line: &str) {
        print_to_stderr(&format!("warning: {line}"));
    }

    /// The result: `text` for people, `document` for programs.
    pub(crate) fn result(&self, text: &str, document: &impl Serialize) {
        let line = if self.json {
            serde_json::to_string(document).unwrap_or_default()
        } else {
            text.to_owned()
        };
        // Nobody is left to be told when standard output is closed.
        let _ = writeln!(std::io::stdout(), "{line}");
    }

    /// A failure, in the same two forms.
    pub(crate) fn failure(&self, failure: &Failure) {
        if self.json {
            let document = serde_json::json!({
                "status": failure.kind(),
                "errors": failure.reasons(),
            });
            let _ = writeln!(std::io::stdout(), "{document}");
            return;
        }
        for reason in failure.reasons() {
            print_to_stderr(&format!("error: {reason}"));
        }
    }

    /// A bar for one upload. Hidden where nobody looks.
    pub(crate) fn upload_bar(&self, name: &str, size: u64) -> ProgressBar {
        let template = "  {bar:24} {bytes:>10} of {total_bytes:10} {bytes_per_sec:>12} {msg}";
        let bar = self.bars.add(ProgressBar::new(size));
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        bar.set_message(name.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        bar
    }
}

fn print_to_stderr(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
