//! Code blocks and texts that readers copy.

use maud::{Markup, PreEscaped, html};

use crate::highlight;

/// Returns a block of code with a button that copies it. `name` describes it, for screen readers. The block can be
/// focused, because it may scroll.
pub(crate) fn block(name: &str, code: &str) -> Markup {
    html! {
        div.snippet {
            pre tabindex="0" aria-label=(name) { code { (code) } }
            (copy_button(name))
        }
    }
}

/// Returns a block of Terraform code with a button that copies it.
pub(crate) fn terraform(name: &str, code: &str) -> Markup {
    html! {
        div.snippet {
            pre tabindex="0" aria-label=(name) { code { (PreEscaped(highlight::terraform(code))) } }
            (copy_button(name))
        }
    }
}

/// Returns a block of code below the name of its file, highlighted if the name is that of Terraform code.
pub(crate) fn file(name: &str, code: &str) -> Markup {
    let is_terraform = [".tf", ".tofu", ".tfvars", "rc"]
        .iter()
        .any(|end| name.ends_with(end));
    html! {
        figure.file {
            figcaption { code { bdi { (name) } } }
            @if is_terraform { (terraform(name, code)) } @else { (block(name, code)) }
        }
    }
}

/// Returns a text in one line with a button that copies it. A narrow column shows its beginning.
pub(crate) fn value(name: &str, text: &str) -> Markup {
    html! { span.value { code title=(text) { (text) } (copy_button(name)) } }
}

/// Returns a button that the script shows; it copies the code before it.
fn copy_button(name: &str) -> Markup {
    html! { button.copy type="button" hidden aria-label={ "Copy " (name) } { "Copy" } }
}
