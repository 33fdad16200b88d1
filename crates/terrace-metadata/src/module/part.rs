//! One directory with configuration files.

use terrace_core::documentation::{ModulePart, ResourceMode};

use crate::configuration::{self, Block, Fault};
use crate::limits;
use crate::module::context::{Declarations, FileContext};
use crate::module::{blocks, provider};
use crate::source::ConfigurationFile;
use crate::text::{self, Lines, Messages};

/// A reader of directories that counts the bytes of all.
#[derive(Debug, Default)]
pub(super) struct PartReader {
    bytes: usize,
}

impl PartReader {
    pub(super) fn read(
        &mut self,
        files: &[ConfigurationFile<'_>],
        notes: &mut Messages,
    ) -> ModulePart {
        let mut declarations = Declarations::default();
        let mut errors = Vec::new();
        for file in files {
            let mut context = FileContext {
                path: file.file.path,
                is_override: file.is_override,
                errors: &mut errors,
                notes,
            };
            self.read_file(*file, &mut declarations, &mut context);
        }
        let omitted = errors.len().saturating_sub(limits::PART_ERRORS);
        errors.truncate(limits::PART_ERRORS);
        if omitted > 0 {
            errors.push(format!("{omitted} further errors"));
        }
        part(declarations, errors)
    }

    fn read_file(
        &mut self,
        file: ConfigurationFile<'_>,
        declarations: &mut Declarations,
        context: &mut FileContext<'_>,
    ) {
        let bytes = file.file.bytes;
        let max = limits::CONFIGURATION_FILE_BYTES;
        if bytes.len() > max {
            let length = bytes.len();
            context.error(
                None,
                format!(
                    "the file has {length} bytes and is left out, because at most {max} are read: split it into smaller files"
                ),
            );
            return;
        }
        self.bytes += bytes.len();
        let max = limits::CONFIGURATION_BYTES;
        if self.bytes > max {
            context.error(
                None,
                format!(
                    "the file is left out, because it and the configuration files before it have more than {max} bytes, and no more are read"
                ),
            );
            return;
        }
        let (text, invalid) = text::decode(bytes);
        if let Some(at) = invalid {
            let line = Lines::of(&text).at(at);
            context.error(Some(line), "the file is not valid UTF-8");
        }
        let parsed = configuration::parse(&text, file.syntax);
        for Fault { line, message, .. } in parsed.faults {
            context.error(line, message);
        }
        for block in parsed.blocks {
            add(declarations, block, context);
        }
    }
}

fn add(all: &mut Declarations, block: Block<'_>, context: &mut FileContext<'_>) {
    match block.kind.as_str() {
        "variable" => blocks::add_input(&mut all.inputs, &block, context),
        "output" => blocks::add_output(&mut all.outputs, &block, context),
        "module" => blocks::add_call(&mut all.calls, &block, context),
        "provider" => provider::add_configuration(all, block, context),
        "terraform" => provider::add_settings(all, block, context),
        "resource" => blocks::add_resource(all, ResourceMode::Managed, &block, context),
        "data" => blocks::add_resource(all, ResourceMode::Data, &block, context),
        "ephemeral" => blocks::add_resource(all, ResourceMode::Ephemeral, &block, context),
        _ => {}
    }
}

fn part(mut all: Declarations, errors: Vec<String>) -> ModulePart {
    // A resource requires its provider, whether or not the module says so.
    for resource in all.resources.values() {
        all.providers
            .entry(resource.provider.clone())
            .or_insert_with(|| provider::unconstrained(&resource.provider));
    }
    ModulePart {
        inputs: all.inputs.into_values().collect(),
        outputs: all.outputs.into_values().collect(),
        resources: all.resources.into_values().collect(),
        providers: all.providers.into_values().collect(),
        required_versions: all.required_versions,
        calls: all.calls.into_values().collect(),
        errors,
        ..ModulePart::default()
    }
}
