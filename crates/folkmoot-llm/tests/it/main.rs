//! What the crate promises, against servers that speak the vendors' wire formats.

mod server;
mod wire;
