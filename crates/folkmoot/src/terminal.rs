//! Terminal output and input: tables, colour, wrapping, prompts.

pub(crate) mod printable;
pub(crate) mod prompt;
pub(crate) mod screen;
pub(crate) mod span;
pub(crate) mod style;
pub(crate) mod table;
pub(crate) mod tty;
pub(crate) mod wrap;
