//! `terrace docs check`.

use serde_json::json;

use crate::commands::docs::DocsSubject;
use crate::commands::documentation::Extracted;
use crate::error::Failure;
use crate::output::{Output, plural};

/// Checks the documentation in a directory.
pub(super) fn run(subject: &DocsSubject, output: &Output) -> Result<(), Failure> {
    let files = subject.files()?;
    let extracted = Extracted::new(subject.draft(&files)?, &files);
    let mut reasons = extracted.problems();
    reasons.extend(subject.dead_links(&files));
    if extracted.is_empty() {
        let place = subject.dir.display();
        reasons.push(format!(
            "{place}: there is no documentation; name the directory of a module, or that of a provider's pages"
        ));
    }
    let mut notes: Vec<String> = extracted.notes().into_iter().cloned().collect();
    notes.retain(|note| !reasons.contains(note));
    notes.extend(subject.doubt());
    for note in &notes {
        output.progress(&format!("note: {note}"));
    }
    let report = json!({ "documentation": extracted.document(), "notes": notes });
    let text = match reasons.is_empty() {
        true => format!("nothing to correct in the {}", extracted.line()),
        false => format!("{} to correct", plural(reasons.len(), "problem")),
    };
    let worst = (!reasons.is_empty()).then(|| Failure::Refused(Vec::new()));
    output.outcome(text, report, worst, reasons)
}
