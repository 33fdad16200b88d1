//! Heads that would be too long.

use terrace_core::documentation::{Contents, Head, ModuleDetails, ModulePart, ProviderDetails};
use terrace_core::limits::{DOCUMENTATION_HEAD_BYTES, ENTRY_BYTES, MODULE_ENTRIES, PART_ENTRIES};

use crate::text::cut;

/// The lengths to which README texts are cut, one after the other.
const README_BYTES: [usize; 6] = [200_000, 100_000, 50_000, 20_000, 5_000, 0];

/// The lengths to which other texts are cut, one after the other.
const TEXT_BYTES: [usize; 3] = [1_000, 200, 0];

/// Returns a head as JSON. Parts of it are cut or removed until it is within its limits, each with a note.
pub(super) fn shrink(head: &mut Head) -> Vec<u8> {
    let excess = head.remove_excess();
    if excess > 0 {
        head.notes.push(format!(
            "{excess} inputs, outputs, resources and the like were left out, because the details would have more than {PART_ENTRIES} of \
             one directory or {MODULE_ENTRIES} in all, or one of more than {ENTRY_BYTES} bytes"
        ));
    }
    if let Some(json) = fitting(head) {
        return json;
    }
    for Change {
        subject,
        outcome,
        apply,
    } in changes(&head.contents)
    {
        apply(&mut head.contents);
        // Of several changes of one subject, only the last matters.
        head.notes.retain(|note| !note.starts_with(subject));
        head.notes.push(format!(
            "{subject} {outcome}, because the details would have more than {DOCUMENTATION_HEAD_BYTES} bytes"
        ));
        if let Some(json) = fitting(head) {
            return json;
        }
    }
    head.notes.truncate(1);
    fitting(head).unwrap_or_default()
}

fn fitting(head: &Head) -> Option<Vec<u8>> {
    let json = serde_json::to_vec(head).ok()?;
    (json.len() <= DOCUMENTATION_HEAD_BYTES).then_some(json)
}

/// A change that makes a head shorter, and the words of its note.
struct Change {
    subject: &'static str,
    outcome: String,
    apply: Box<dyn Fn(&mut Contents)>,
}

const LEFT_OUT: &str = "were left out";

fn changes(contents: &Contents) -> Vec<Change> {
    match contents {
        Contents::Module(_) => module_changes(),
        Contents::Provider(_) => provider_changes(),
    }
}

fn module_changes() -> Vec<Change> {
    let mut changes = Vec::new();
    for bytes in README_BYTES {
        changes.push(of_module(
            "The README texts of submodules and examples",
            format!("were cut after {bytes} bytes"),
            move |module| each_other(module, |part| cut_text(&mut part.readme, bytes)),
        ));
    }
    for bytes in README_BYTES {
        changes.push(of_module(
            "The README text",
            format!("was cut after {bytes} bytes"),
            move |module| cut_text(&mut module.root.readme, bytes),
        ));
    }
    for bytes in TEXT_BYTES {
        changes.push(of_module(
            "The types, defaults and descriptions",
            format!("were cut after {bytes} bytes"),
            move |module| {
                cut_texts(&mut module.root, bytes);
                each_other(module, |part| cut_texts(part, bytes));
            },
        ));
    }
    changes.push(of_module(
        "The inputs, outputs and resources of submodules and examples",
        LEFT_OUT.to_owned(),
        |module| each_other(module, |part| *part = ModulePart::default()),
    ));
    changes.push(of_module(
        "The inputs, outputs and resources",
        LEFT_OUT.to_owned(),
        |module| module.root = ModulePart::default(),
    ));
    changes
}

fn of_module(
    subject: &'static str,
    outcome: String,
    change: impl Fn(&mut ModuleDetails) + 'static,
) -> Change {
    let apply = move |contents: &mut Contents| match contents {
        Contents::Module(module) => change(module),
        Contents::Provider(_) => {}
    };
    Change {
        subject,
        outcome,
        apply: Box::new(apply),
    }
}

fn provider_changes() -> Vec<Change> {
    vec![
        of_provider("The descriptions of pages", |provider| {
            let pages = provider.pages.iter_mut();
            pages.for_each(|page| page.description = None);
        }),
        of_provider("The symbols without a page", |provider| {
            provider.symbols.retain(|symbol| symbol.page.is_some());
        }),
        of_provider("The titles and groups of pages", |provider| {
            for page in &mut provider.pages {
                page.title = page.name.to_string();
                page.subcategory = None;
            }
        }),
        of_provider("All symbols", |provider| provider.symbols.clear()),
    ]
}

fn of_provider(subject: &'static str, change: impl Fn(&mut ProviderDetails) + 'static) -> Change {
    let apply = move |contents: &mut Contents| match contents {
        Contents::Provider(provider) => change(provider),
        Contents::Module(_) => {}
    };
    Change {
        subject,
        outcome: LEFT_OUT.to_owned(),
        apply: Box::new(apply),
    }
}

/// Changes the parts other than the root.
fn each_other(module: &mut ModuleDetails, change: impl Fn(&mut ModulePart)) {
    for named in module.submodules.iter_mut().chain(&mut module.examples) {
        change(&mut named.part);
    }
}

fn cut_texts(part: &mut ModulePart, bytes: usize) {
    for input in &mut part.inputs {
        cut_text(&mut input.constraint, bytes);
        // An input without a default would look required.
        input.default = input.default.take().map(|text| limited(&text, bytes));
        cut_text(&mut input.description, bytes);
        cut_text(&mut input.deprecated, bytes);
    }
    for output in &mut part.outputs {
        cut_text(&mut output.description, bytes);
        cut_text(&mut output.deprecated, bytes);
    }
    if let Some(opentofu) = &mut part.opentofu {
        cut_texts(opentofu, bytes);
    }
}

fn cut_text(text: &mut Option<String>, bytes: usize) {
    *text = text
        .take()
        .filter(|_| bytes > 0)
        .map(|text| limited(&text, bytes));
}

fn limited(text: &str, bytes: usize) -> String {
    if text.len() <= bytes {
        text.to_owned()
    } else {
        format!("{}…", cut(text, bytes))
    }
}
