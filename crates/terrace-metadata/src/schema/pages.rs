//! Pages generated from a schema, in the form of `tfplugindocs`.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;

use serde_json::{Map, Value};
use terrace_core::documentation::DocumentationKind as Kind;

use crate::schema::document::{
    AttributeSchema, BlockSchema, FunctionParameter, FunctionSignature, NestedBlock,
};
use crate::schema::{GeneratedPage, Part, Schema, types};
use crate::text::{one_line, short_name};

impl Schema {
    /// Returns a page for the provider and for each of its parts.
    pub(crate) fn pages(&self, provider_type: &str) -> impl Iterator<Item = GeneratedPage> {
        let overview = self.provider.as_ref().and_then(|block| {
            Some(GeneratedPage {
                kind: Kind::Overview,
                name: "index".parse().ok()?,
                symbol: format!("{provider_type} Provider"),
                description: block.description.clone(),
                markdown: block_page(&format!("{provider_type} Provider"), block),
            })
        });
        let parts = self.parts.iter().filter_map(move |((kind, symbol), part)| {
            let name = short_name(symbol, provider_type).parse();
            let (description, markdown) = match part {
                Part::Block(block) => {
                    let title = format!("{} ({})", escaped(symbol), kind_title(*kind));
                    (&block.description, block_page(&title, block))
                }
                Part::Function(function) => (&function.summary, function_page(symbol, function)),
            };
            Some(GeneratedPage {
                kind: *kind,
                name: name.ok()?,
                symbol: symbol.clone(),
                description: description.clone(),
                markdown,
            })
        });
        overview.into_iter().chain(parts)
    }

    /// Returns the arguments of the provider's own block, one a line.
    pub(crate) fn provider_arguments(&self) -> Option<String> {
        self.provider.as_ref().map(arguments_of)
    }

    /// Returns the arguments and attributes of a part, one a line, or the signature of a function.
    pub(crate) fn arguments(&self, kind: Kind, name: &str) -> Option<String> {
        Some(match self.parts.get(&(kind, name.to_owned()))? {
            Part::Block(block) => arguments_of(block),
            Part::Function(function) => format!("signature: {}", signature("", function)),
        })
    }
}

fn arguments_of(block: &BlockSchema) -> String {
    let mut lines = Vec::new();
    let mut nested = VecDeque::from([(String::new(), items_of(block))]);
    while let Some((path, items)) = nested.pop_front() {
        for (name, item) in &items {
            lines.push(format!(
                "{path}{name}: {}, {}",
                item.group.title(),
                item.words
            ));
            nested.push_back((format!("{path}{name}."), item.items()));
        }
    }
    lines.join("\n")
}

fn kind_title(kind: Kind) -> &'static str {
    match kind {
        Kind::Overview => "Provider",
        Kind::Guide => "Guide",
        Kind::Function => "Function",
        Kind::EphemeralResource => "Ephemeral Resource",
        Kind::Resource => "Resource",
        Kind::DataSource => "Data Source",
        Kind::ListResource => "List Resource",
        Kind::Action => "Action",
        Kind::StateStore => "State Store",
    }
}

fn block_page(title: &str, block: &BlockSchema) -> String {
    let mut page = format!("# {title}\n\n");
    if block.deprecated {
        page.push_str("~> **Deprecated**\n\n");
    }
    if !block.description.trim().is_empty() {
        page.push_str(block.description.trim());
        page.push_str("\n\n");
    }
    page.push_str("## Schema\n\n");
    let mut nested = VecDeque::new();
    write_groups(&mut page, &items_of(block), &[], &mut nested);
    while let Some(Nested {
        path,
        anchor,
        items,
    }) = nested.pop_front()
    {
        let name = path.join(".");
        let _ = writeln!(
            page,
            "<a id=\"{anchor}\"></a>\n### Nested Schema for `{name}`\n"
        );
        write_groups(&mut page, &items, &path, &mut nested);
    }
    page
}

/// The group in which an attribute or a block is listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Group {
    Required,
    Optional,
    ReadOnly,
}

/// An attribute or a block.
struct Item<'s> {
    group: Group,
    /// The type, with remarks.
    words: String,
    description: &'s str,
    anchor: &'static str,
    inner: Inner<'s>,
}

impl Group {
    fn title(self) -> &'static str {
        match self {
            Self::Required => "Required",
            Self::Optional => "Optional",
            Self::ReadOnly => "Read-Only",
        }
    }
}

/// The contents of an item.
enum Inner<'s> {
    None,
    Block(&'s BlockSchema),
    Attributes(&'s BTreeMap<String, AttributeSchema>),
    Object(&'s Map<String, Value>, Group),
}

/// A section for the contents of an item.
struct Nested<'s> {
    path: Vec<String>,
    anchor: String,
    items: BTreeMap<&'s str, Item<'s>>,
}

impl<'s> Item<'s> {
    /// Returns the items that it contains.
    fn items(&self) -> BTreeMap<&'s str, Item<'s>> {
        match self.inner {
            Inner::None => BTreeMap::new(),
            Inner::Block(block) => items_of(block),
            Inner::Attributes(inner) => attributes(inner),
            Inner::Object(object, group) => object_items(object, group),
        }
    }
}

fn items_of(block: &BlockSchema) -> BTreeMap<&str, Item<'_>> {
    let mut items = attributes(&block.attributes);
    let blocks = block.block_types.iter();
    items.extend(blocks.map(|(name, nested)| (name.as_str(), block_item(nested))));
    items
}

fn attributes(attributes: &BTreeMap<String, AttributeSchema>) -> BTreeMap<&str, Item<'_>> {
    let items = attributes.iter();
    items
        .map(|(name, it)| (name.as_str(), attribute_item(it)))
        .collect()
}

fn attribute_item(attribute: &AttributeSchema) -> Item<'_> {
    let group = match attribute {
        AttributeSchema { required: true, .. } => Group::Required,
        AttributeSchema { optional: true, .. } => Group::Optional,
        AttributeSchema { computed: true, .. } => Group::ReadOnly,
        _ => Group::Optional,
    };
    let inner = match &attribute.nested_type {
        Some(nested) => Inner::Attributes(&nested.attributes),
        None => match types::object(&attribute.value_type) {
            Some(object) => Inner::Object(object, group),
            None => Inner::None,
        },
    };
    let mut words = vec![match &attribute.nested_type {
        Some(nested) => format!("Attributes{}", mode(&nested.nesting_mode)),
        None => types::title(&attribute.value_type),
    }];
    let flags = [
        (attribute.sensitive, "Sensitive"),
        (attribute.deprecated, "Deprecated"),
        (attribute.write_only, "Write-only"),
    ];
    words.extend(
        flags
            .into_iter()
            .filter(|it| it.0)
            .map(|it| it.1.to_owned()),
    );
    Item {
        group,
        words: words.join(", "),
        description: &attribute.description,
        anchor: "nestedatt",
        inner,
    }
}

fn block_item(nested: &NestedBlock) -> Item<'_> {
    let mut words = vec![format!("Block{}", mode(&nested.nesting_mode))];
    if nested.min_items > 0 && nested.nesting_mode != "single" {
        words.push(format!("Min: {}", nested.min_items));
    }
    if nested.max_items > 0 && nested.nesting_mode != "single" {
        words.push(format!("Max: {}", nested.max_items));
    }
    if nested.block.deprecated {
        words.push("Deprecated".to_owned());
    }
    let mut attributes = nested.block.attributes.values().peekable();
    let has_attributes = attributes.peek().is_some();
    let group = if nested.min_items > 0 {
        Group::Required
    } else if has_attributes
        && nested.block.block_types.is_empty()
        && attributes.all(|it| it.computed && !it.optional && !it.required)
    {
        Group::ReadOnly
    } else {
        Group::Optional
    };
    Item {
        group,
        words: words.join(", "),
        description: &nested.block.description,
        anchor: "nestedblock",
        inner: Inner::Block(&nested.block),
    }
}

fn object_items(object: &Map<String, Value>, group: Group) -> BTreeMap<&str, Item<'_>> {
    let items = object.iter().map(|(name, value_type)| {
        let inner = match types::object(value_type) {
            Some(object) => Inner::Object(object, group),
            None => Inner::None,
        };
        let item = Item {
            group,
            words: types::title(value_type),
            description: "",
            anchor: "nestedobjatt",
            inner,
        };
        (name.as_str(), item)
    });
    items.collect()
}

fn mode(nesting_mode: &str) -> &'static str {
    match nesting_mode {
        "list" => " List",
        "set" => " Set",
        "map" => " Map",
        _ => "",
    }
}

fn summary(words: &str, description: &str) -> String {
    let description = description.trim();
    if description.is_empty() {
        format!("({words})")
    } else {
        format!("({words}) {description}")
    }
}

fn write_groups<'s>(
    page: &mut String,
    items: &BTreeMap<&'s str, Item<'s>>,
    path: &[String],
    nested: &mut VecDeque<Nested<'s>>,
) {
    for group in [Group::Required, Group::Optional, Group::ReadOnly] {
        let title = group.title();
        let mut members = items
            .iter()
            .filter(|(_, item)| item.group == group)
            .peekable();
        if members.peek().is_none() {
            continue;
        }
        let _ = match path {
            [] => writeln!(page, "### {title}\n"),
            _ => writeln!(page, "{title}:\n"),
        };
        for (name, item) in members {
            let path: Vec<String> = path.iter().cloned().chain([(*name).to_owned()]).collect();
            let anchor = format!("{}--{}", item.anchor, path.join("--"));
            let _ = write!(
                page,
                "- `{name}` {}",
                summary(&item.words, item.description)
            );
            let items = item.items();
            if matches!(item.inner, Inner::None) {
                page.push('\n');
                continue;
            }
            let _ = writeln!(page, " (see [below for nested schema](#{anchor}))");
            nested.push_back(Nested {
                path,
                anchor,
                items,
            });
        }
        page.push('\n');
    }
}

fn function_page(name: &str, function: &FunctionSignature) -> String {
    let mut page = format!("# function: {}\n\n", escaped(name));
    if !function.deprecation_message.is_empty() {
        let message = one_line(&function.deprecation_message);
        let _ = writeln!(page, "~> **Deprecated** {message}\n");
    }
    for text in [&function.summary, &function.description] {
        if !text.trim().is_empty() {
            let _ = writeln!(page, "{}\n", text.trim());
        }
    }
    let _ = writeln!(
        page,
        "## Signature\n\n```text\n{}\n```\n",
        signature(name, function)
    );
    if function.parameters.is_empty() && function.variadic_parameter.is_none() {
        return page;
    }
    page.push_str("## Arguments\n\n");
    for parameter in &function.parameters {
        write_parameter(&mut page, parameter, "");
    }
    if let Some(parameter) = &function.variadic_parameter {
        write_parameter(&mut page, parameter, "Variadic, ");
    }
    page
}

fn signature(name: &str, function: &FunctionSignature) -> String {
    let parameters = function.parameters.iter();
    let mut arguments: Vec<String> = parameters
        .map(|it| format!("{} {}", it.name, types::signature(&it.value_type)))
        .collect();
    let rest = function.variadic_parameter.iter();
    arguments.extend(rest.map(|it| format!("{} {}...", it.name, types::signature(&it.value_type))));
    let arguments = arguments.join(", ");
    let result = types::signature(&function.return_type);
    format!("{name}({arguments}) {result}")
}

fn write_parameter(page: &mut String, parameter: &FunctionParameter, variadic: &str) {
    let nullable = if parameter.is_nullable {
        ", Nullable"
    } else {
        ""
    };
    let title = types::title(&parameter.value_type);
    let description = parameter.description.trim();
    let line = format!(
        "1. `{}` ({variadic}{title}{nullable}) {description}",
        parameter.name
    );
    let _ = writeln!(page, "{}", line.trim_end());
}

/// Returns a name as text of Markdown.
fn escaped(name: &str) -> String {
    name.replace('_', "\\_")
}
