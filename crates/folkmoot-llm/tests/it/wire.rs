//! The vendors, each against a server that answers in its format, and wrongly in every way that we
//! could think of.

mod embeddings;
mod live;
mod plain;
mod requests;
mod rules;
mod streams;
pub mod vendor;
