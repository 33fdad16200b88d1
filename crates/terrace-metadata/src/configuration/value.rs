//! Values: literals, references, objects and lists; everything else is source text.

use hcl_edit::Span;
use hcl_edit::expr::{Expression, ObjectKey, TraversalOperator};
use hcl_edit::template::{Element, Template};
use serde_json::Value as Json;

use crate::configuration::json;

/// The value of an attribute.
#[derive(Debug)]
pub(crate) enum Value<'s> {
    /// An expression, and the text that its span refers to.
    Native(Box<Expression>, &'s str),
    /// The text of a valid expression that the parser does not support.
    Raw(&'s str),
    /// A JSON value.
    Json(Json),
}

impl<'s> Value<'s> {
    pub(super) fn native(expression: Expression, source: &'s str) -> Self {
        Self::Native(Box::new(expression), source)
    }

    /// Returns the text as written.
    pub(crate) fn source(&self) -> String {
        match self {
            Self::Native(expression, source) => {
                let span = expression.span();
                span.and_then(|span| source.get(span))
                    .map_or_else(String::new, |text| text.trim().to_owned())
            }
            Self::Raw(text) => (*text).to_owned(),
            Self::Json(json) => format!("{json:#}"),
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        match self {
            Self::Native(expression, _) => expression.is_null(),
            Self::Raw(_) => false,
            Self::Json(json) => json.is_null(),
        }
    }

    /// Returns a literal as text, as clients convert it.
    pub(crate) fn literal(&self) -> Option<String> {
        match self {
            Self::Native(expression, _) => literal(expression),
            Self::Raw(_) => None,
            Self::Json(json) => json::literal(json),
        }
    }

    /// Returns the names of a reference, such as `aws` and `peer` for `aws.peer`, `"aws.peer"` or OpenTofu's
    /// `aws.peer[each.key]`.
    pub(crate) fn reference(&self) -> Option<Vec<String>> {
        if let Self::Native(expression, _) = self
            && let Some(names) = names(expression)
        {
            return Some(names);
        }
        let text = self.literal()?;
        let text = text.split('[').next()?;
        let names: Vec<String> = text.split('.').map(str::to_owned).collect();
        names.iter().all(|name| is_name(name)).then_some(names)
    }

    /// Returns the JSON that means the same. Literals are texts, and any other expression is a template with it.
    pub(super) fn into_json(self) -> Json {
        if self.is_null() {
            return Json::Null;
        }
        if let Some(text) = self.literal() {
            return text.into();
        }
        match &self {
            Self::Native(expression, _) if expression.is_array() => {
                let items = self.items().into_iter().flatten();
                items.map(Self::into_json).collect()
            }
            Self::Native(expression, _) if expression.is_object() => {
                let entries = self.entries().into_iter().flatten();
                entries.map(|(key, it)| (key, it.into_json())).collect()
            }
            _ => format!("${{{}}}", self.source()).into(),
        }
    }

    /// Returns the entries of an object that have literals as keys.
    pub(crate) fn entries(self) -> Option<Vec<(String, Self)>> {
        match self {
            Self::Native(expression, source) => {
                let Expression::Object(object) = *expression else {
                    return None;
                };
                let entries = object.into_iter();
                let entries = entries.filter_map(|(key, value)| {
                    Some((name_of(&key)?, Self::native(value.into_expr(), source)))
                });
                Some(entries.collect())
            }
            Self::Json(Json::Object(entries)) => {
                let entries = entries.into_iter();
                Some(
                    entries
                        .map(|(key, value)| (key, Self::Json(value)))
                        .collect(),
                )
            }
            Self::Raw(_) | Self::Json(_) => None,
        }
    }

    /// Returns the items of a list.
    pub(crate) fn items(self) -> Option<Vec<Self>> {
        match self {
            Self::Native(expression, source) => {
                let Expression::Array(array) = *expression else {
                    return None;
                };
                Some(
                    array
                        .into_iter()
                        .map(|item| Self::native(item, source))
                        .collect(),
                )
            }
            Self::Json(Json::Array(items)) => Some(items.into_iter().map(Self::Json).collect()),
            Self::Raw(_) | Self::Json(_) => None,
        }
    }
}

fn literal(expression: &Expression) -> Option<String> {
    match expression {
        Expression::String(text) => Some(text.value().clone()),
        Expression::Bool(flag) => Some(flag.value().to_string()),
        Expression::Number(number) => Some(number.value().to_string()),
        Expression::StringTemplate(template) => {
            let elements = template.iter();
            elements.map(literal_of).collect()
        }
        Expression::HeredocTemplate(heredoc) => text_of(&heredoc.template),
        Expression::Parenthesis(inner) => literal(inner.inner()),
        _ => None,
    }
}

fn text_of(template: &Template) -> Option<String> {
    template.iter().map(literal_of).collect()
}

fn literal_of(element: &Element) -> Option<&str> {
    element.as_literal().map(|text| text.value().as_str())
}

fn names(expression: &Expression) -> Option<Vec<String>> {
    match expression {
        Expression::Variable(name) => Some(vec![name.to_string()]),
        Expression::Traversal(traversal) => {
            let mut found = names(&traversal.expr)?;
            for operator in &traversal.operators {
                match operator.value() {
                    TraversalOperator::GetAttr(name) => found.push(name.to_string()),
                    TraversalOperator::Index(_) => return Some(found),
                    _ => return None,
                }
            }
            Some(found)
        }
        _ => None,
    }
}

fn name_of(key: &ObjectKey) -> Option<String> {
    match key {
        ObjectKey::Ident(name) => Some(name.to_string()),
        ObjectKey::Expression(expression) => literal(expression),
    }
}

fn is_name(text: &str) -> bool {
    let is_inner = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    text.chars().all(is_inner) && text.starts_with(|c: char| c.is_alphabetic() || c == '_')
}
