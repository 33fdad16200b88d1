//! The texts in Rust sources: string literals, also those in macros, and the doc comments that are clap's help. Byte
//! strings, reasons of lints and assertions at compile time are left out.

use std::fs;
use std::path::{Path, PathBuf};

use syn::buffer::{Cursor, TokenBuffer};
use syn::parse::Parser as _;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprLit, ExprMethodCall, ImplItem, Item, ItemMod, Lit, Meta, Token};

use super::text::{has_letters, is_text, is_title};

/// Returns the texts of a crate with their files. Modules are followed from `root` as the compiler follows them, so that no
/// file of the product is missing and files of tests are not read.
pub(super) fn texts(root: &Path) -> Vec<(PathBuf, Vec<String>)> {
    let mut files = Vec::new();
    let folder = root.parent().unwrap();
    read(root, folder, &mut files);
    files
}

/// Reads a file and the files of its modules, which are in `folder`.
fn read(file: &Path, folder: &Path, files: &mut Vec<(PathBuf, Vec<String>)>) {
    let code = fs::read_to_string(file).unwrap();
    let parsed = syn::parse_file(&code);
    let parsed = parsed.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let mut found = Found {
        has_pages: code.contains(".raw(\"<"),
        ..Found::default()
    };
    found.visit_file(&parsed);
    files.push((file.to_owned(), found.texts));
    for module in found.modules {
        let name = module.rsplit("::").next().unwrap();
        let path = folder.join(module.replace("::", "/"));
        let sibling = path.with_file_name(format!("{name}.rs"));
        if sibling.exists() {
            read(&sibling, &path, files);
        } else {
            read(&path.join("mod.rs"), &path, files);
        }
    }
}

/// The texts and module declarations of one file.
#[derive(Default)]
struct Found {
    texts: Vec<String>,
    /// The modules that the file declares, as paths below its own.
    modules: Vec<String>,
    /// The inline modules around the current item.
    inside: Vec<String>,
    /// Whether the current item derives clap's help from its doc comments.
    has_help: bool,
    /// Whether the file builds pages.
    has_pages: bool,
}

impl Found {
    fn add(&mut self, text: &str) {
        self.texts.push(text.to_owned());
    }

    /// Adds the help that clap derives from doc comments.
    fn add_help(&mut self, attributes: &[Attribute]) {
        if !self.has_help {
            return;
        }
        let lines = attributes.iter().filter_map(doc);
        let lines: Vec<String> = lines.map(|line| line.trim().to_owned()).collect();
        for paragraph in lines.split(String::is_empty) {
            self.add(&paragraph.join(" "));
        }
    }

    /// Returns the template of a page that a chain of calls builds. Values are shown as placeholders.
    fn page(&mut self, call: &ExprMethodCall) -> String {
        let before = match &*call.receiver {
            Expr::MethodCall(before) if appends_html(before) => self.page(before),
            other => {
                self.visit_expr(other);
                String::new()
            }
        };
        let appended = match call.args.first().unwrap() {
            Expr::Lit(ExprLit {
                lit: Lit::Str(html),
                ..
            }) => html.value(),
            value => {
                self.visit_expr(value);
                format!("{{{}}}", name(value))
            }
        };
        before + &appended
    }

    /// Adds the texts among the arguments of a macro or an attribute: expressions if it takes such, or else tokens.
    fn visit_tokens(&mut self, tokens: &TokenBuffer) {
        let stream = tokens.begin().token_stream();
        match Punctuated::<Expr, Token![,]>::parse_terminated.parse2(stream) {
            Ok(arguments) => arguments.iter().for_each(|it| self.visit_expr(it)),
            Err(_) => self.visit_literals(tokens.begin()),
        }
    }

    fn visit_literals(&mut self, mut at: Cursor<'_>) {
        while let Some((_, next)) = at.token_tree() {
            if let Some((mark, _)) = at.punct()
                && mark.as_char() == '#'
                && let Some((attribute, ..)) = next.any_group()
                && !attribute
                    .ident()
                    .is_some_and(|(name, _)| READ.iter().any(|it| name == it))
            {
                at = next.token_tree().map_or(next, |(_, next)| next);
                continue;
            }
            if let Some((inside, ..)) = at.any_group() {
                self.visit_literals(inside);
            } else if let Some((literal, _)) = at.literal() {
                self.visit_lit(&Lit::new(literal));
            }
            at = next;
        }
    }
}

/// Attributes with messages and help. Others hold doc comments, names and the reasons of lints.
const READ: [&str; 5] = ["arg", "command", "error", "group", "value"];

impl Visit<'_> for Found {
    fn visit_item(&mut self, item: &Item) {
        let attributes = attributes(item);
        if is_test(attributes) {
            return;
        }
        // An assertion at compile time.
        if matches!(item, Item::Const(item) if item.ident == "_") {
            return;
        }
        self.has_help = attributes.iter().any(derives_help);
        self.add_help(attributes);
        visit::visit_item(self, item);
        self.has_help = false;
    }

    fn visit_impl_item(&mut self, item: &ImplItem) {
        let attributes = match item {
            ImplItem::Fn(item) => &item.attrs[..],
            ImplItem::Const(item) => &item.attrs[..],
            _ => &[],
        };
        if !is_test(attributes) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &ItemMod) {
        self.inside.push(item.ident.to_string());
        if item.content.is_none() {
            self.modules.push(self.inside.join("::"));
        }
        visit::visit_item_mod(self, item);
        self.inside.pop();
    }

    fn visit_variant(&mut self, variant: &syn::Variant) {
        self.add_help(&variant.attrs);
        visit::visit_variant(self, variant);
    }

    fn visit_field(&mut self, field: &syn::Field) {
        self.add_help(&field.attrs);
        visit::visit_field(self, field);
    }

    fn visit_attribute(&mut self, attribute: &Attribute) {
        let Meta::List(list) = &attribute.meta else {
            return;
        };
        let tokens = TokenBuffer::new2(list.tokens.clone());
        if attribute.path().is_ident("error") {
            // Messages of errors, however short.
            if let Some((literal, _)) = tokens.begin().literal()
                && let Lit::Str(literal) = Lit::new(literal)
                && has_letters(&literal.value())
            {
                self.add(&literal.value());
            }
        }
        if READ.iter().any(|name| attribute.path().is_ident(name)) {
            self.visit_tokens(&tokens);
        }
    }

    fn visit_macro(&mut self, call: &syn::Macro) {
        self.visit_tokens(&TokenBuffer::new2(call.tokens.clone()));
    }

    fn visit_expr_method_call(&mut self, call: &ExprMethodCall) {
        if appends_html(call) {
            let page = self.page(call);
            if is_text(&page) {
                self.add(&page);
            }
        } else {
            visit::visit_expr_method_call(self, call);
        }
    }

    fn visit_lit_str(&mut self, literal: &syn::LitStr) {
        let text = literal.value();
        if is_text(&text) || self.has_pages && is_title(&text) {
            self.add(&text);
        }
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        _ => &[],
    }
}

/// Returns whether only tests are compiled with the item.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => list
            .parse_args::<syn::Path>()
            .is_ok_and(|it| it.is_ident("test")),
        _ => false,
    })
}

/// Returns whether the attribute derives a trait of clap that turns doc comments into help.
fn derives_help(attribute: &Attribute) -> bool {
    let derived = Punctuated::<syn::Path, Token![,]>::parse_terminated;
    let Meta::List(list) = &attribute.meta else {
        return false;
    };
    let traits = ["Args", "Parser", "Subcommand", "ValueEnum"];
    list.path.is_ident("derive")
        && list.parse_args_with(derived).is_ok_and(|derived| {
            let mut names = derived.iter().filter_map(|path| path.segments.last());
            names.any(|name| traits.iter().any(|it| name.ident == it))
        })
}

/// Returns the line of a doc comment.
fn doc(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(doc) = &attribute.meta else {
        return None;
    };
    match &doc.value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(line),
            ..
        }) if doc.path.is_ident("doc") => Some(line.value()),
        _ => None,
    }
}

/// Returns whether a call is part of a chain that builds a page: `raw` appends HTML, `text` appends a value.
fn appends_html(call: &ExprMethodCall) -> bool {
    call.args.len() == 1 && (call.method == "raw" || call.method == "text")
}

/// Returns a name for a value: that of the variable or field that it comes from.
fn name(value: &Expr) -> String {
    match value {
        Expr::Path(path) => path.path.segments.last().unwrap().ident.to_string(),
        Expr::Field(syn::ExprField {
            member: syn::Member::Named(name),
            ..
        }) => name.to_string(),
        Expr::MethodCall(call) => name(&call.receiver),
        Expr::Reference(reference) => name(&reference.expr),
        _ => String::new(),
    }
}
