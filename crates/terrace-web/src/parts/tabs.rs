//! Tabs that work without JavaScript: radio buttons, each before its label and panel. The stylesheet shows the panel of
//! the selected button, and print shows all.

use maud::{Markup, html};

/// A tab and its panel.
pub(crate) struct Tab {
    /// The label.
    pub(crate) label: &'static str,
    /// The contents of the panel.
    pub(crate) panel: Markup,
}

/// Returns a group of tabs. `id` is unique in the page; `legend` names the choice.
pub(crate) fn tabs(id: &str, legend: &str, tabs: &[Tab]) -> Markup {
    html! {
        fieldset.tabs {
            legend.hidden { (legend) }
            @for (at, tab) in tabs.iter().enumerate() {
                input #{ (id) (at) } type="radio" name=(id) checked[at == 0];
                label for={ (id) (at) } { (tab.label) }
                div.panel { (tab.panel) }
            }
        }
    }
}
