//! How large everything may be. What is over a limit is refused by name and size, before work is spent on it.

/// The text of a template, and of each text it includes.
pub const TEMPLATE_BYTES: usize = 64 * 1024;

/// Words and signs of one tag: reading an expression takes stack for what is nested in it.
pub const TAG_TOKENS: usize = 1000;

/// `elif`s of one template: each is nested in the one before it.
pub const ELIFS: usize = 200;

/// All texts a template may include, together.
pub const INCLUDES_BYTES: usize = 256 * 1024;

/// Filled values or system values, as JSON.
pub const VALUES_BYTES: usize = 256 * 1024;

/// The descriptions, examples and system values of a definition, each.
pub const DEFINITION_TEXT_BYTES: usize = 64 * 1024;

/// What a template writes, and what its objects are once the values are in them.
pub const OUTPUT_BYTES: usize = 1024 * 1024;

/// Objects of one task.
pub const OBJECTS: usize = 100;

/// Steps of the template engine.
pub const FUEL: u64 = 500_000;

/// Problems that are told at once.
pub const PROBLEMS: usize = 100;
