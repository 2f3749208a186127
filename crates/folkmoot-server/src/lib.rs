//! Folkmoot's server: REST, the event feed and WebSockets, on one port.
//!
//! A handler translates and authenticates; it never decides. Every error is problem+json with a stable code. The accept
//! loop is our own, because a stock one has no limit on how long a client may take to send its headers.

mod accept;
mod app;
mod auth;
mod config;
mod data_folder;
mod error;
mod extract;
mod figures;
mod observe;
mod openapi;
mod routes;
mod server_key;
mod socket;
mod start;
mod view;

pub use config::{BootstrapToken, Config, ConfigError, Limits};
pub use data_folder::{DataFolder, LocalToken, LocalTokens, Lock};
pub use folkmoot_workflows as workflows;
pub use observe::Adopt;
pub use openapi::document;
pub use server_key::{PublicKey, ServerKey};
pub use socket::Origin;
pub use start::{Server, StartError};
