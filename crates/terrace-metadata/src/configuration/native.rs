//! The native syntax.

use hcl_edit::Span;
use hcl_edit::parser::{self, parse_body};
use hcl_edit::structure::{self, Body, Structure};
use serde_json::Map;

use crate::configuration::scan::{Segment, segments};
use crate::configuration::{Attribute, Block, Fault, Parsed, Value};
use crate::text::Lines;

/// How many levels of blocks are read one by one if the block around them has an error: `terraform` and
/// `required_providers`.
const LEVELS: usize = 2;

/// Parses a file block by block, so that an error costs one block.
pub(super) fn parse(text: &str) -> Parsed<'_> {
    let lines = Lines::of(text);
    let source = Source {
        text,
        start: 0,
        lines: &lines,
    };
    let mut parsed = Parsed::default();
    for structure in source.structures(LEVELS, &mut parsed.faults) {
        match structure {
            Found::Block(block) => parsed.blocks.push(block),
            Found::Attribute(_, attribute) => parsed.faults.push(Fault {
                line: attribute.line,
                message: "an argument stands outside all blocks".to_owned(),
                is_limit: false,
            }),
        }
    }
    parsed.faults.sort_by_key(|fault| fault.line);
    parsed
}

/// How deep blocks are read part by part if one of their values is refused: `terraform`, `required_providers`, and their values.
const READ_LEVELS: usize = 3;

/// Returns a file as the JSON that means the same: a block is an object below its labels, and several without labels are a list.
pub(super) fn to_json(text: &str) -> Result<Map<String, serde_json::Value>, Fault> {
    let lines = Lines::of(text);
    let source = Source {
        text,
        start: 0,
        lines: &lines,
    };
    let mut faults = Vec::new();
    // An invalid value does not hide the other values of its block.
    let found = source.structures(READ_LEVELS, &mut faults);
    let faults = faults.into_iter().filter(|fault| !fault.is_limit);
    match faults.min_by_key(|fault| fault.line) {
        Some(fault) => Err(fault),
        None => Ok(object(found)),
    }
}

fn object(found: Vec<Found<'_>>) -> Map<String, serde_json::Value> {
    let mut members = Map::new();
    for found in found {
        match found {
            Found::Attribute(name, attribute) => {
                members.insert(name, attribute.value.into_json());
            }
            Found::Block(block) => {
                let blocks = block.blocks.into_iter().map(Found::Block);
                let attributes = block.attributes.into_iter();
                let attributes = attributes.map(|(name, it)| Found::Attribute(name, it));
                let body = object(attributes.chain(blocks).collect());
                add(
                    &mut members,
                    block.kind,
                    block.labels.into_iter(),
                    body.into(),
                );
            }
        }
    }
    members
}

/// Adds the body of a block below its labels.
fn add(
    members: &mut Map<String, serde_json::Value>,
    name: String,
    mut labels: impl Iterator<Item = String>,
    body: serde_json::Value,
) {
    let place = members.entry(name).or_insert(serde_json::Value::Null);
    match (labels.next(), place) {
        (Some(label), serde_json::Value::Object(inner)) => add(inner, label, labels, body),
        (Some(label), place) => {
            let mut inner = Map::new();
            add(&mut inner, label, labels, body);
            *place = inner.into();
        }
        (None, serde_json::Value::Array(bodies)) => bodies.push(body),
        (None, place @ serde_json::Value::Null) => *place = body,
        (None, place) => *place = vec![place.take(), body].into(),
    }
}

/// A block, or an attribute with its name.
enum Found<'s> {
    Block(Block<'s>),
    Attribute(String, Attribute<'s>),
}

/// A part of a file.
#[derive(Clone, Copy)]
struct Source<'s, 'l> {
    text: &'s str,
    start: usize,
    lines: &'l Lines,
}

impl<'s, 'l> Source<'s, 'l> {
    fn line(self, offset: usize) -> usize {
        self.lines.at(self.start + offset)
    }

    fn line_of(self, item: &impl Span) -> Option<usize> {
        item.span().map(|span| self.line(span.start))
    }

    fn part(self, range: std::ops::Range<usize>) -> Source<'s, 'l> {
        Source {
            text: self.text.get(range.clone()).unwrap_or_default(),
            start: self.start + range.start,
            lines: self.lines,
        }
    }

    /// Reads all blocks and attributes. If a block has an error, its contents are read one by one, up to `levels`
    /// levels deep.
    fn structures(self, levels: usize, faults: &mut Vec<Fault>) -> Vec<Found<'s>> {
        let mut found = Vec::new();
        for segment in segments(self.text) {
            if let Some(fault) = segment.fault {
                faults.push(Fault {
                    line: Some(self.line(fault.offset)),
                    message: fault.message,
                    is_limit: fault.is_limit,
                });
                continue;
            }
            let source = self.part(segment.range.clone());
            match parse_body(&segment.parseable) {
                Ok(body) => found.extend(source.body(body)),
                Err(error) => found.extend(source.recover(&segment, levels, error, faults)),
            }
        }
        found
    }

    fn body(self, body: Body) -> impl Iterator<Item = Found<'s>> {
        body.into_iter().map(move |structure| match structure {
            Structure::Block(block) => Found::Block(self.block(block)),
            Structure::Attribute(attribute) => {
                let name = attribute.key.to_string();
                let line = self.line_of(&attribute);
                let value = Value::native(attribute.value, self.text);
                Found::Attribute(name, Attribute { value, line })
            }
        })
    }

    fn block(self, block: structure::Block) -> Block<'s> {
        let line = self.line_of(&block);
        let labels = block.labels.iter();
        let labels = labels.map(|label| label.as_str().to_owned()).collect();
        let mut found = Block::new(block.ident.to_string(), labels, line);
        found.extend(self.body(block.body));
        found
    }

    /// Reads the parts of a segment that are valid.
    fn recover(
        self,
        segment: &Segment,
        levels: usize,
        error: parser::Error,
        faults: &mut Vec<Fault>,
    ) -> Option<Found<'s>> {
        if let Some(body) = segment.body.clone().filter(|_| levels > 0)
            && let Some(mut block) = self.header(segment, body.start)
        {
            let known = faults.len();
            block.extend(self.part(body).structures(levels - 1, faults));
            if faults.len() == known && !is_valid(&error) {
                faults.push(self.fault(&error));
            }
            return Some(Found::Block(block));
        }
        if is_valid(&error) {
            return self.raw_attribute();
        }
        faults.push(self.fault(&error));
        None
    }

    /// Parses the first line of a block.
    fn header(self, segment: &Segment, body: usize) -> Option<Block<'s>> {
        let header = segment.parseable.get(..body)?;
        let block = parse_body(&format!("{header}}}")).ok()?;
        match block.into_iter().next()? {
            Structure::Block(block) => Some(self.block(block)),
            Structure::Attribute(_) => None,
        }
    }

    fn raw_attribute(self) -> Option<Found<'s>> {
        let (name, value) = self.text.split_once('=')?;
        let before = self.text.len() - self.text.trim_start().len();
        let attribute = Attribute {
            value: Value::Raw(value.trim()),
            line: Some(self.line(before)),
        };
        Some(Found::Attribute(name.trim().to_owned(), attribute))
    }

    fn fault(self, error: &parser::Error) -> Fault {
        Fault {
            line: Some(self.line(error.location().offset())),
            message: format!("the syntax is not valid: {}", error.message()),
            is_limit: false,
        }
    }
}

impl<'s> Block<'s> {
    fn extend(&mut self, found: impl IntoIterator<Item = Found<'s>>) {
        for found in found {
            match found {
                Found::Block(block) => self.blocks.push(block),
                Found::Attribute(name, attribute) => {
                    self.attributes.insert(name, attribute);
                }
            }
        }
    }
}

/// Returns whether clients accept the code nevertheless: the last of equal keys counts.
fn is_valid(error: &parser::Error) -> bool {
    error.message().contains("redefined object key")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;

    #[test]
    fn an_error_costs_one_attribute_and_has_its_line() {
        let text = "variable \"a\" {\n  type = string\n  default = [1 2]\n  sensitive = true\n}\nvariable \"b\" {}";
        let parsed = parse(text);
        let lines: Vec<_> = parsed.faults.iter().map(|fault| fault.line).collect();
        assert_eq!(lines, [Some(3)]);
        let names = parsed.blocks[0].attributes.keys();
        assert_eq!(names.collect::<Vec<_>>(), ["sensitive", "type"]);
        assert_eq!(parsed.blocks.len(), 2);
    }

    #[test]
    fn deep_nesting_overflows_no_stack() {
        for levels in [
            60,
            64,
            65,
            limits::NESTING_LEVELS,
            limits::NESTING_LEVELS + 1,
            100_000,
        ] {
            for (open, close) in [
                ("[", "]"),
                ("{ a = ", "}"),
                ("(", ")"),
                ("f(", ")"),
                ("\"${", "}\""),
                ("\"%{ if a }", "%{ endif }\""),
                ("[for a in ", " : a]"),
                ("a[", "]"),
                ("!", ""),
                ("-", ""),
                ("a ? ", " : b"),
                ("1 + ", ""),
                ("a.", ""),
            ] {
                let text = format!(
                    "a {{\n b = {}c{}\n}}\nz {{}}",
                    open.repeat(levels),
                    close.repeat(levels)
                );
                let parsed = parse(&text);
                assert!(
                    parsed.blocks.iter().any(|block| block.kind == "z"),
                    "{open} {levels}"
                );
                // `1 +` and `a.` do not nest.
                let is_within = levels <= limits::NESTING_LEVELS || matches!(open, "1 + " | "a.");
                assert!(is_within || !parsed.faults.is_empty(), "{open} {levels}");
                let text = format!("a {{\n b = {}", open.repeat(levels));
                parse(&text);
            }
            parse(&"a {\n".repeat(levels));
            parse(&format!(
                "{}{}",
                "a {\n".repeat(levels),
                "}\n".repeat(levels)
            ));
            parse(&format!("a = {}", "<<E\n${".repeat(levels)));
        }
    }
}
