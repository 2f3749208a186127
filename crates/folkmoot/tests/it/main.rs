//! The real executable, as people and scripts use it.

mod cli;
mod crash;
mod jail;
mod server;
