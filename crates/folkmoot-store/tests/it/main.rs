//! What a store promises, on both databases, and what it does when they fail it.

mod conformance;
mod faults;
mod nodes;
mod support;
