//! Folkmoot's server: REST, the event feed and WebSockets, on one port.
//!
//! A handler authenticates and translates; it never decides. Every error is problem+json with a
//! stable code. The accept loop is our own, because axum's does not limit how long a client may
//! take to send its headers.

mod accept;
mod app;
mod auth;
pub mod backup;
mod checkpoints;
mod config;
mod data_folder;
mod debates;
pub mod doctor;
mod error;
mod extract;
mod figures;
pub mod models;
mod notify;
mod observe;
pub mod open_files;
mod openapi;
mod plans;
mod protected;
mod routes;
mod run_frames;
mod server_key;
pub mod signed;
mod socket;
mod start;
mod view;

pub use checkpoints::Checkpoints;
pub use config::{BOOTSTRAP_TOKENS, BootstrapToken, Config, ConfigError, Plans, ServerLimits};
pub use data_folder::{DataFolder, DataFolderLock, LastServed, LocalModel, LocalToken, LocalTokens};

pub use folkmoot_notify::settings as notify_settings;
pub use folkmoot_workflows as workflows;
pub use notify::examine as examine_channels;
pub use observe::Adopt;
pub use openapi::document;
pub use protected::{ProtectedToken, UnlockError};
pub use server_key::{PublicKey, ServerKey};
pub use socket::Origin;
pub use start::{LivenessProbe, Server, StartError, your_name};
