//! Every limit of the extraction. The limits of the result are those of `terrace_core::limits`.

/// Maximum size of a configuration file that is parsed, in bytes. The largest files of public modules have about 200 KB.
pub const CONFIGURATION_FILE_BYTES: usize = 1024 * 1024;

/// Maximum size of one top-level block of a configuration file, in bytes: the parser copies expressions, so its time
/// grows faster than its input.
pub const BLOCK_BYTES: usize = 256 * 1024;

/// Maximum size of the parsed configuration files of a module with its submodules and examples, in bytes.
pub const CONFIGURATION_BYTES: usize = 32 * 1024 * 1024;

/// Maximum number of brackets, quotes, templates and heredocs that contain each other. The recursive parser has a limit
/// of its own, which is lower and counts differently.
pub const NESTING_LEVELS: usize = 100;

/// Maximum number of items in one pair of brackets: the parser compares each key of an object with all earlier ones.
pub const BRACKET_ITEMS: usize = 5_000;

/// Maximum number of errors that are reported for one directory.
pub const PART_ERRORS: usize = 100;

/// Maximum number of notes in an archive, and of warnings about a directory of documentation.
pub const NOTES: usize = 200;

/// Maximum number of characters of an error, a note or a warning.
pub const NOTE_CHARS: usize = 400;

/// Maximum size of a type, a default value or a description, in bytes. Types of public modules reach 20 KB.
pub const TEXT_BYTES: usize = 64 * 1024;

/// Maximum size of the arguments of a provider's resources, in bytes: each page of the provider reads them. A provider with 200
/// resources has about 100 KB.
pub const ARGUMENTS_BYTES: usize = 256 * 1024;

/// Maximum size of a provider's schema, in bytes. That of the largest public provider has about 70 MB.
pub const SCHEMA_BYTES: usize = 256 * 1024 * 1024;
