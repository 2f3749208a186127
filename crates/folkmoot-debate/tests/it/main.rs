//! The rules of debates by what they take from outside.

mod parsers;
