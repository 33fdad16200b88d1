//! Heads that would be too long.

use terrace_core::documentation::{Contents, Head, ModuleDetails, ModulePart, ProviderDetails};
use terrace_core::limits::{DOCUMENTATION_HEAD_BYTES, ENTRY_BYTES, MODULE_ENTRIES, PART_ENTRIES};

use crate::text::cut;

/// The length to which types, defaults and descriptions are cut.
const TEXT_BYTES: usize = 200;

/// A step that makes details shorter: its subject, the outcome, and the change.
type Step<T> = (&'static str, &'static str, fn(&mut T));

/// The steps for a module. The largest public ones need none.
const MODULE: [Step<ModuleDetails>; 6] = [
    (
        "The README texts of submodules and examples",
        "were cut after 10000 bytes",
        |module| each_other(module, |part| cut_text(&mut part.readme, 10_000)),
    ),
    (
        "The README texts of submodules and examples",
        "were left out",
        |module| each_other(module, |part| part.readme = None),
    ),
    (
        "The README of the root",
        "was cut after 50000 bytes",
        |module| cut_text(&mut module.root.readme, 50_000),
    ),
    (
        "The types, defaults and descriptions",
        "were cut after 200 bytes",
        |module| {
            cut_texts(&mut module.root);
            each_other(module, cut_texts);
        },
    ),
    (
        "The inputs, outputs and resources of submodules and examples",
        "were left out",
        |module| each_other(module, |part| *part = ModulePart::default()),
    ),
    (
        "The inputs, outputs and resources",
        "were left out",
        |module| module.root = ModulePart::default(),
    ),
];

/// The steps for a provider.
const PROVIDER: [Step<ProviderDetails>; 4] = [
    ("The descriptions of pages", "were left out", |provider| {
        let pages = provider.pages.iter_mut();
        pages.for_each(|page| page.description = None);
    }),
    ("The symbols without a page", "were left out", |provider| {
        provider.symbols.retain(|symbol| symbol.page.is_some());
    }),
    (
        "The titles and groups of pages",
        "were left out",
        |provider| {
            for page in &mut provider.pages {
                page.title = page.name.to_string();
                page.subcategory = None;
            }
        },
    ),
    ("All symbols", "were left out", |provider| {
        provider.symbols.clear();
    }),
];

/// Returns a head as JSON. Parts of it are cut or removed until it is within its limits, each with a note.
pub(super) fn shrink(head: &mut Head) -> Vec<u8> {
    let excess = head.remove_excess();
    if excess > 0 {
        head.notes.push(format!(
            "{excess} inputs, outputs, resources and the like were left out, because the details would have more than {PART_ENTRIES} of \
             one directory or {MODULE_ENTRIES} in all, or one of more than {ENTRY_BYTES} bytes"
        ));
    }
    for step in 0.. {
        if let Some(json) = fitting(head) {
            return json;
        }
        let changed = match &mut head.contents {
            Contents::Module(module) => apply(MODULE.get(step), module),
            Contents::Provider(provider) => apply(PROVIDER.get(step), provider),
        };
        let Some((subject, outcome)) = changed else {
            break;
        };
        // Of several changes of one subject, only the last matters.
        head.notes.retain(|note| !note.starts_with(subject));
        head.notes.push(format!(
            "{subject} {outcome}, because the details would have more than {DOCUMENTATION_HEAD_BYTES} bytes"
        ));
    }
    head.notes.truncate(1);
    fitting(head).unwrap_or_default()
}

fn apply<T>(step: Option<&Step<T>>, details: &mut T) -> Option<(&'static str, &'static str)> {
    let (subject, outcome, change) = step?;
    change(details);
    Some((subject, outcome))
}

fn fitting(head: &Head) -> Option<Vec<u8>> {
    let json = serde_json::to_vec(head).ok()?;
    (json.len() <= DOCUMENTATION_HEAD_BYTES).then_some(json)
}

/// Changes the parts other than the root.
fn each_other(module: &mut ModuleDetails, change: impl Fn(&mut ModulePart)) {
    for named in module.submodules.iter_mut().chain(&mut module.examples) {
        change(&mut named.part);
    }
}

fn cut_texts(part: &mut ModulePart) {
    for input in &mut part.inputs {
        cut_text(&mut input.constraint, TEXT_BYTES);
        cut_text(&mut input.default, TEXT_BYTES);
        cut_text(&mut input.description, TEXT_BYTES);
        cut_text(&mut input.deprecated, TEXT_BYTES);
    }
    for output in &mut part.outputs {
        cut_text(&mut output.description, TEXT_BYTES);
        cut_text(&mut output.deprecated, TEXT_BYTES);
    }
    if let Some(opentofu) = &mut part.opentofu {
        cut_texts(opentofu);
    }
}

fn cut_text(text: &mut Option<String>, bytes: usize) {
    if let Some(text) = text.as_mut().filter(|text| text.len() > bytes) {
        *text = format!("{}…", cut(text, bytes));
    }
}
