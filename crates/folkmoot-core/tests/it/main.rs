//! The core by what it takes from outside.

mod parsers;
