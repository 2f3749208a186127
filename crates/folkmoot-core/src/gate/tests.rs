//! The rules of gates, as transcripts. `crate::transcript` says how to read one.

mod amend;
mod cancel;
mod check;
mod content;
mod decide;
mod expire;
mod extend;
mod open;
mod policy;
mod properties;
mod quorum;
mod remind;
mod simulation;
mod texts;
