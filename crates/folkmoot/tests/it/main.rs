//! The real executable, as people and scripts use it.

mod capacity;
mod cli;
mod crash;
mod http;
mod jail;
mod logs;
mod secrets;
mod server;
#[cfg(feature = "otel")]
mod telemetry;
