//! Code blocks and texts that readers copy.

use maud::{Markup, html};

/// Returns a block of code with a button that copies it. `name` says what it is, for screen readers. The block can be
/// focused, because it may scroll.
pub(crate) fn block(name: &str, code: &str) -> Markup {
    html! {
        div.snippet {
            pre tabindex="0" aria-label=(name) { code { (code) } }
            (copy_button(name))
        }
    }
}

/// Returns a commented block of code: a heading line, such as a file name, and the block.
pub(crate) fn file(name: &str, code: &str) -> Markup {
    html! {
        figure.file {
            figcaption { code { bdi { (name) } } }
            (block(name, code))
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
