//! The pages of a draft, as text.

use terrace_core::documentation::{Contents, ModuleDetails, ModulePart, ProviderDetails};
use terrace_metadata::Draft;

/// A page, and its place in the navigation.
pub(super) struct PreviewPage {
    pub(super) group: String,
    pub(super) title: String,
    pub(super) path: String,
    pub(super) text: String,
}

/// Returns all pages in the order of the navigation.
pub(super) fn pages(draft: &Draft) -> Vec<PreviewPage> {
    let texts = draft.pages.iter();
    let texts = texts.map(|text| String::from_utf8_lossy(text).into_owned());
    match &draft.contents {
        Contents::Provider(details) => pages_of_provider(details, texts),
        Contents::Module(details) => pages_of_module(details, texts),
    }
}

fn pages_of_provider(
    details: &ProviderDetails,
    texts: impl Iterator<Item = String>,
) -> Vec<PreviewPage> {
    let pages = details.pages.iter().zip(texts);
    let pages = pages.map(|(page, text)| PreviewPage {
        group: page.kind.to_string(),
        title: page.title.clone(),
        path: format!("/{}/{}", page.kind, page.name),
        text,
    });
    pages.collect()
}

fn pages_of_module(
    details: &ModuleDetails,
    mut texts: impl Iterator<Item = String>,
) -> Vec<PreviewPage> {
    let mut pages = vec![page_of_part("module", "overview", "/module", &details.root)];
    for named in &details.submodules {
        let path = format!("/submodules/{}", named.name);
        let name = named.name.as_str();
        pages.push(page_of_part("submodules", name, &path, &named.part));
    }
    for named in &details.examples {
        let path = format!("/examples/{}", named.name);
        let name = named.name.as_str();
        pages.push(page_of_part("examples", name, &path, &named.part));
        let files = named.files.iter().zip(texts.by_ref());
        pages.extend(files.map(|(file, text)| PreviewPage {
            group: "examples".to_owned(),
            title: format!("{name}/{}", file.name),
            path: format!("{path}/{}", file.name),
            text,
        }));
    }
    pages
}

/// Returns the README of a module, followed by its inputs and outputs.
fn page_of_part(group: &str, title: &str, path: &str, part: &ModulePart) -> PreviewPage {
    let mut text = part.readme.clone().unwrap_or_default();
    let inputs = part.inputs.iter().map(|input| {
        let constraint = input.constraint.as_deref().unwrap_or("any");
        let default = input.default.as_deref();
        let default = default.map_or_else(String::new, |value| format!(" = {value}"));
        let name = format!("{} ({constraint}){default}", input.name);
        line(&name, input.description.as_deref())
    });
    push(&mut text, "Inputs", inputs.collect());
    let outputs = part.outputs.iter();
    let outputs = outputs.map(|output| line(&output.name, output.description.as_deref()));
    push(&mut text, "Outputs", outputs.collect());
    PreviewPage {
        group: group.to_owned(),
        title: title.to_owned(),
        path: path.to_owned(),
        text,
    }
}

fn line(name: &str, description: Option<&str>) -> String {
    match description {
        Some(description) => format!("  {name}: {description}"),
        None => format!("  {name}"),
    }
}

fn push(text: &mut String, title: &str, lines: Vec<String>) {
    if !lines.is_empty() {
        text.push_str(&format!("\n\n{title}\n\n{}", lines.join("\n")));
    }
}
